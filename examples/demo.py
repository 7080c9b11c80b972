"""Start the server of deploy.py as a program of its own and do with it what a chat application does.

python examples/demo.py        answers the server's questions by itself
ASK=1 python examples/demo.py  shows you each question, and you answer
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import anyio
from msgspec import UNSET

from dedalus_mcp import Field, Form, MCPClient, StdioServer, types

SERVER = Path(__file__).with_name("deploy.py")
ARGUMENTS = {
    "code-review": {"language": "rust", "focus": "error handling"},
    "translate": {"text": "नमस्ते दुनिया"},
    "summarize": {"focus_areas_json": '["cost", "risk"]'},
}
ANSWERS = {"confirm": True, "name": "sitar", "type": "api", "replicas": 3}


def scripted(form: Form) -> types.ElicitResult:
    """Say no to production, and yes to everything else."""
    if "production" in form.message:
        return form.decline()
    return form.accept({field.name: ANSWERS[field.name] for field in form.fields if field.name in ANSWERS})


def typed(form: Form) -> types.ElicitResult:
    """Let the person at the terminal answer; the end of input means that nobody is there."""
    try:
        match choose():
            case "decline":
                return form.decline()
            case "cancel":
                return form.cancel()
            case _:
                answers = {field.name: ask(field) for field in form.fields}
                return form.accept({name: value for name, value in answers.items() if value is not None})
    except EOFError:
        print()
        return form.cancel()


def choose() -> str:
    while True:
        word = input("    accept, decline or cancel? [accept] ").strip().lower() or "accept"
        found = [action for action in ("accept", "decline", "cancel") if action.startswith(word)]
        if found:
            return found[0]
        print(f"    {word!r} is none of them")


def ask(field: Field) -> Any:
    """Ask for one field until the answer is legal; None if it may be, and is, left out."""
    if field.description:
        print(f"    {field.description}:")
    for number, choice in enumerate(field.choices, 1):
        print(f"      {number}. {choice.title}")
    has_default = field.default is not UNSET
    hint = f" [{field.default}]" if has_default else "" if field.required else " [leave out]"
    while True:
        line = input(f"    {field.title} ({field.legal}){hint}: ")
        if not line.strip() and not has_default:
            if not field.required:
                return None
            print("    this one is required")
            continue
        try:
            return field.parse(line)
        except ValueError as error:
            print(f"    {error}")


def answer(form: Form) -> types.ElicitResult:
    """Print what was asked and what was answered.  A plain `def` runs in a thread, so it may wait."""
    print(f"  ? {form.message}")
    result = typed(form) if os.environ.get("ASK") else scripted(form)
    content = "" if result.content is None else " " + json.dumps(result.content, ensure_ascii=False)
    print(f"  ! {result.action}{content}")
    return result


def hear(message: types.LoggingMessageNotificationParams) -> None:
    print(f"  # {message.level}: {message.data['msg']}")


async def show_prompts(client: MCPClient) -> None:
    for prompt in (await client.list_prompts()).prompts:
        print(f"\nPrompt {prompt.name}: {prompt.description}")
        for message in (await client.get_prompt(prompt.name, ARGUMENTS.get(prompt.name))).messages:
            print(f"  {message.role}: {text(message.content)}")


async def call(client: MCPClient, name: str, **arguments: str) -> None:
    print(f"\nTool {name}{arguments or ''}")
    result = await client.call_tool(name, arguments)
    print("  =", *map(text, result.content))


def text(block: types.ContentBlock) -> str:
    return block.text if isinstance(block, types.TextContent) else f"<{type(block).__name__}>"


async def main() -> None:
    # The server is ours, so it may have our whole environment.
    target = StdioServer(sys.executable, [str(SERVER)], env=os.environ)
    async with MCPClient.connect(target, elicitation=answer, logging=hear) as client:
        print(f"Connected to {SERVER.name}, MCP {client.revision}: {client.instructions}")
        await show_prompts(client)
        await call(client, "deploy", env="staging")
        await call(client, "deploy", env="production")
        await call(client, "create_project")
        await call(client, "configure")


if __name__ == "__main__":
    try:
        anyio.run(main)
    except KeyboardInterrupt:
        print("\nStopped.", flush=True)
        os._exit(130)  # at once: a thread that waits for the keyboard would be waited for
