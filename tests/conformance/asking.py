"""The fixtures that ask: forms of every kind, the client's model, its roots.

The keys, messages and forms are those that the scenarios look for.
"""

from __future__ import annotations

from typing import Any

import anyio
import msgspec

from dedalus_mcp import Accepted, Context, MCPServer, prompt, tool, types

__all__ = ("QUESTIONS", "live_questions")

_ANSWER = {"type": "string", "description": "The user's answer"}
_CONTACT: dict[str, Any] = {
    "type": "object",
    "properties": {"username": _ANSWER, "email": _ANSWER},
    "required": ["username", "email"],
}
_DEFAULTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
_TITLED = [{"const": f"value{number}", "title": f"Option {number}"} for number in (1, 2, 3)]
_PLAIN = ["option1", "option2", "option3"]
_ENUMS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": _PLAIN},
        "titledSingle": {"type": "string", "oneOf": _TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": _PLAIN}},
        "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
    },
}


def form(**fields: str) -> dict[str, Any]:
    """A form of required fields, by their types."""
    properties = {name: {"type": kind} for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


def _words(reply: types.CreateMessageResult) -> str:
    blocks = reply.content if isinstance(reply.content, list) else [reply.content]
    return " ".join(block.text for block in blocks if isinstance(block, types.TextContent))


def live_questions(server: MCPServer) -> None:
    """Questions in whatever way the revision of the call has, by their names of before 2026-07-28."""

    async def ask(message: str, schema: dict[str, Any]) -> str:
        params = types.ElicitRequestParams(message=message, requestedSchema=schema)
        result = await server.request_elicitation(params)
        return f"User response: {result.action} {msgspec.json.encode(result.content).decode()}"

    @tool
    async def test_elicitation(message: str) -> str:
        """Ask who the user is."""
        return await ask(message, _CONTACT)

    @tool
    async def test_elicitation_sep1034_defaults() -> str:
        """Ask with a default for every type."""
        return await ask("Please review and update the form fields with defaults", _DEFAULTS)

    @tool
    async def test_elicitation_sep1330_enums() -> str:
        """Ask with every kind of options."""
        return await ask("Please select options from the enum fields", _ENUMS)

    @tool
    async def test_streaming_elicitation() -> str:
        """Ask in whatever way the request's revision has."""
        return await ask("What is your name?", _CONTACT)

    @tool
    async def test_sampling(prompt: str, context: Context) -> str:
        """Ask the client's model."""
        reply = await context.sample(prompt, max_tokens=100)
        return f"LLM response: {_words(reply)}"


async def _asked(call: Context, message: str, key: str, **fields: str) -> dict[str, Any]:
    """What the user filled in; nothing if he did not."""
    answer = await call.elicit(message, form(**fields), key=key)
    return answer.data if isinstance(answer, Accepted) else {}


# Questions under the keys of 2026-07-28.


@tool
async def test_input_required_result_elicitation(context: Context) -> str:
    """Ask for a name."""
    answer = await _asked(context, "What is your name?", "user_name", name="string")
    return f"Hello, {answer.get('name', 'stranger')}!"


@tool
async def test_input_required_result_sampling(context: Context) -> str:
    """Ask the client's model for a capital."""
    reply = await context.sample("What is the capital of France?", max_tokens=100, key="capital_question")
    return f"LLM response: {_words(reply)}"


@tool
async def test_input_required_result_list_roots(context: Context) -> str:
    """Ask for the client's roots."""
    roots = await context.list_roots(key="client_roots")
    return f"Roots: {', '.join(root.uri for root in roots)}"


@tool
async def test_input_required_result_request_state(context: Context) -> str:
    """Ask, and go on from the state that comes back."""
    await _asked(context, "Please confirm", "confirm", ok="boolean")
    return "state-ok"


@tool
async def test_input_required_result_tampered_state(context: Context) -> str:
    """Ask, and accept no other state."""
    await _asked(context, "Please confirm", "confirm", ok="boolean")
    return "The state is as it was"


@tool
async def test_input_required_result_multiple_inputs(context: Context) -> str:
    """Ask three things at once."""
    said: dict[str, str] = {}

    async def name() -> None:
        said["name"] = str((await _asked(context, "What is your name?", "user_name", name="string")).get("name"))

    async def greeting() -> None:
        said["greeting"] = _words(await context.sample("Generate a greeting", max_tokens=50, key="greeting"))

    async def roots() -> None:
        said["roots"] = str(len(await context.list_roots(key="client_roots")))

    async with anyio.create_task_group() as group:
        for ask in (name, greeting, roots):
            group.start_soon(ask)
    return ", ".join(f"{key}: {value}" for key, value in sorted(said.items()))


@tool
async def test_input_required_result_multi_round(context: Context) -> str:
    """Ask twice."""
    first = await _asked(context, "Step 1: What is your name?", "step1", name="string")
    second = await _asked(context, "Step 2: What is your favourite colour?", "step2", color="string")
    return f"{first.get('name')} likes {second.get('color')}"


@tool
async def test_input_required_result_capabilities(context: Context) -> str:
    """Ask in a way that the client has declared."""
    if context.client_capabilities.sampling is not None:
        return _words(await context.sample("Say something", max_tokens=50, key="said"))
    return str(await _asked(context, "Say something", "said", text="string"))


@prompt("test_input_required_result_prompt", description="A prompt that asks first")
async def asking_prompt(context: Context) -> Any:
    answer = await _asked(context, "What context should the prompt use?", "user_context", context="string")
    return [("user", f"Use this context: {answer.get('context')}")]


QUESTIONS = (
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    asking_prompt,
)
