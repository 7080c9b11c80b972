"""A server that asks before it acts: two tools with questions, a form, and prompts.

python examples/deploy.py
"""

from __future__ import annotations

import json
from typing import Any

from dedalus_mcp import McpError, MCPServer, get_context, prompt, tool, types

server = MCPServer("deploy", title="Deployment desk", instructions="Deploys and creates projects; asks first.")


async def ask(message: str, properties: dict[str, Any], required: list[str]) -> types.ElicitResult:
    """Ask the user of the client that called, and wait for the answer."""
    schema = {"type": "object", "properties": properties, "required": required}
    return await server.request_elicitation(types.ElicitRequestParams(message=message, requestedSchema=schema))


with server.binding():

    @tool(description="Deploy to environment")
    async def deploy(env: str) -> str:
        result = await ask(f"Deploy to {env}?", {"confirm": {"type": "boolean"}}, ["confirm"])

        if result.action == "accept" and result.content and result.content.get("confirm"):
            return f"Deployed to {env}"
        return "Deployment cancelled"

    @tool(description="नया प्रोजेक्ट बनाएं")
    async def create_project() -> str:
        name = await ask("प्रोजेक्ट का नाम:", {"name": {"type": "string"}}, ["name"])
        if name.action != "accept" or not name.content:
            return "रद्द किया गया"

        kind = await ask("प्रोजेक्ट का प्रकार (web/api/cli):", {"type": {"type": "string"}}, ["type"])
        if kind.action != "accept" or not kind.content:
            return "रद्द किया गया"

        question = f"{kind.content['type']} प्रोजेक्ट '{name.content['name']}' बनाएं?"
        confirm = await ask(question, {"confirm": {"type": "boolean"}}, ["confirm"])
        if confirm.action == "accept" and confirm.content and confirm.content.get("confirm"):
            return f"{name.content['name']} बनाया गया"
        return "रद्द किया गया"

    @tool(description="Set a service up by one form")
    async def configure() -> str:
        fields = {
            "name": {"type": "string", "title": "Service", "description": "What others will call it", "minLength": 1},
            "replicas": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
            "size": {"type": "string", "title": "Machine", "enum": ["small", "large"], "default": "small"},
            "dry_run": {"type": "boolean", "description": "Only say what would be done"},
        }
        try:
            result = await ask("कॉन्फ़िगरेशन दर्ज करें", fields, ["name"])
        except McpError as error:  # the client cannot ask its user, or nobody answered in time
            return f"Elicitation अनुपलब्ध: {error}"

        match result.action:
            case "accept":
                return f"Got: {json.dumps(result.content)}"
            case "decline":
                return "User declined"
            case "cancel":
                return "User cancelled"

    @prompt(
        "code-review",
        description="Review code for issues",
        arguments=[{"name": "language", "required": False}, {"name": "focus", "required": False}],
    )
    def code_review(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
        args = arguments or {}
        language = args.get("language", "python")
        focus = args.get("focus")
        focus_text = f" Focus on: {focus}." if focus else ""
        return [
            ("assistant", "You are a senior code reviewer."),
            ("user", f"निम्नलिखित {language} कोड की समीक्षा करें।{focus_text}"),
        ]

    @prompt(
        "translate",
        description="टेक्स्ट का अनुवाद करें",
        arguments=[{"name": "text", "required": True}, {"name": "target_lang", "required": False}],
    )
    def translate(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
        args = arguments or {}
        target = args.get("target_lang", "English")
        return [("user", f"Translate this to {target}: {args['text']}")]

    @prompt(
        "summarize",
        description="दस्तावेज़ का सारांश बनाएं",
        arguments=[{"name": "focus_areas_json", "required": False}],
    )
    def summarize(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
        focus_areas = json.loads((arguments or {}).get("focus_areas_json", "[]"))
        return [("user", f"इस दस्तावेज़ का सारांश बनाएं। फोकस: {focus_areas}")]

    @prompt("status", description="Daily status template")
    def status(_: dict[str, str] | None) -> dict[str, Any]:
        return {
            "description": "Status template",
            "messages": [
                ("assistant", "You summarize daily status reports."),
                ("user", "Write yesterday/today/blockers."),
            ],
        }

    @prompt("db-summary", description="Summarize database state")
    async def db_summary(_: dict[str, str] | None) -> list[tuple[str, str]]:
        return [
            ("assistant", "You analyze database metrics."),
            ("user", "Summarize current DB health and recent anomalies."),
        ]

    @prompt(
        "analyze",
        description="कोड का विश्लेषण करें",
        title="कोड विश्लेषण",
        icons=[{"type": "url", "url": "https://example.com/icon.png"}],
        meta={"category": "code"},
        arguments=[{"name": "language", "required": False}],
    )
    def analyze(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
        language = (arguments or {}).get("language", "python")
        return [("user", f"इस {language} कोड में बग्स, स्टाइल और सुरक्षा के लिए विश्लेषण करें।")]

    @prompt("generate-report", description="Generate a report request")
    async def generate_report(arguments: dict[str, str] | None) -> list[tuple[str, str]]:
        await get_context().info("Rendering prompt", data={"args": arguments or {}})
        return [("user", "Generate a concise weekly report for this project.")]


if __name__ == "__main__":
    server.run()
