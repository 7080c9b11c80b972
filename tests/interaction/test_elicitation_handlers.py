"""A client's user is asked: handlers of every kind, what they may return, and the clocks meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from dedalus_mcp import Form, MCPClient, McpError, MCPServer, RequestTimeout, get_context, tool, types
from dedalus_mcp.errors import ErrorData
from dedalus_mcp.server.context import current
from tests.interaction.raw import Raw, Scripted
from tests.interaction.reach import PATIENCE, script, text_of, ways
from tests.interaction.scripts import text
from tests.interaction.server import YES_OR_NO, make

asking = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])


async def by_params(params: types.ElicitRequestParams) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"ok": params.message == "?"})


def in_a_thread(params: types.ElicitRequestParams) -> Mapping[str, Any]:
    return {"ok": threading.current_thread() is not threading.main_thread()}


async def by_form(form: Form) -> types.ElicitResult:
    assert [field.name for field in form.fields] == ["ok"]
    return form.accept(ok=True)


def by_form_in_a_thread(form: Form) -> types.ElicitResult:
    return form.accept({"ok": True})


class Asked:
    async def __call__(self, params: types.ElicitRequestParams) -> dict[str, Any]:
        return {"ok": True}

    async def method(self, form: Form) -> types.ElicitResult:
        return form.accept(ok=True)


@asking
@pytest.mark.parametrize(
    "handler",
    [by_params, in_a_thread, by_form, by_form_in_a_thread, Asked(), Asked().method],
    ids=["params", "thread", "form", "form-thread", "object", "method"],
)
async def test_a_handler_may_be_any_callable(handler: Any, revision: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision, elicitation=handler) as client:
            assert text_of(await client.call_tool("ask", {"message": "?"})) == "accept {'ok': True}"


@asking
@pytest.mark.parametrize(
    ("returned", "found"),
    [
        (types.ElicitResult(action="decline", content={"ok": True}), "no error"),
        (ErrorData(-7, "closed"), "-7 closed"),
        ({"ok": "no boolean"}, "-32602 "),
        ({"other": 1}, "-32602 "),
        (None, "-32603 The client's handler gave no legal answer to elicitation/create"),
        ("yes", "-32603 The client's handler gave no legal answer to elicitation/create"),
        (ValueError("secret"), "-32603 Internal error"),
        (McpError(-8, "of its own"), "-8 of its own"),
    ],
    ids=str,
)
async def test_what_a_handler_returns_keeps_the_rules_of_the_wire(returned: Any, found: str, revision: str) -> None:
    """ELIC-20: a failing handler is an error for its server and for nobody else."""

    async def handler(params: types.ElicitRequestParams) -> Any:
        if isinstance(returned, Exception):
            raise returned
        return returned

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision, elicitation=handler) as client:
            assert text_of(await client.call_tool("code", {"message": "?"})).startswith(found)
            assert text_of(await client.call_tool("echo", {"text": "on"})) == "on"


async def test_a_client_declares_exactly_what_it_can_do() -> None:
    """ELIC-01, ELIC-37, B020: and refuses the rest: -32601 without a handler, -32602 for a mode that has none."""
    asked = {"message": "?", "requestedSchema": YES_OR_NO}
    page = {"message": "?", "mode": "url", "url": "https://example.com", "elicitationId": "1"}
    cases: list[tuple[dict[str, Any], Any, list[int | None]]] = [
        ({}, None, [-32601, -32601]),
        ({"elicitation": by_params}, {"form": {}}, [None, -32602]),
        ({"elicitation_url": by_params}, {"url": {}}, [-32602, None]),
        ({"elicitation": by_params, "elicitation_url": by_params}, {"form": {}, "url": {}}, [None, None]),
    ]
    for handlers, declared, codes in cases:
        found: list[Any] = []

        async def server(raw: Raw, found: list[Any] = found) -> None:
            first = await raw.hear()
            found.append(first["params"]["capabilities"].get("elicitation"))
            await raw.say({"id": first["id"], "result": {**AGREED}})
            call = await raw.hear_method("tools/call")
            for params in (asked, page):
                reply = await raw.call("q", "elicitation/create", params)
                found.append(reply.get("error", {}).get("code"))
            await raw.say({"id": call["id"], "result": text("2025-11-25", "on")})

        with anyio.fail_after(PATIENCE):
            async with anyio.create_task_group() as group:
                client = await MCPClient.connect(Scripted(group, server), revision="2025-11-25", **handlers)
                async with client:
                    await client.call_tool("echo")
        assert found == [declared, *codes]


AGREED: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "s", "version": "1"},
}


@ways
@asking
async def test_a_handler_may_call_the_server_back(revision: str, transport: str) -> None:
    """B011: ten questions in one call, each of whose answers takes a call of its own."""
    clients: list[MCPClient] = []

    async def handler(params: types.ElicitRequestParams) -> dict[str, Any]:
        said = await clients[0].call_tool("echo", {"text": params.message})
        assert text_of(said) == params.message
        await clients[0].list_tools()
        return {"ok": True}

    target = make() if transport == "memory" else script("tests.interaction.server")
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target, revision=revision, elicitation=handler) as client:
            clients.append(client)
            result = await client.call_tool("ask_in_turn", {"times": 10})
    assert result.structuredContent == {"result": [True] * 10}


@pytest.mark.parametrize("revision", ["2025-11-25"])
async def test_no_call_runs_out_of_time_while_the_user_is_asked(revision: str) -> None:
    """B013: every open call stands still; afterwards the clocks go on."""
    asked, answered = anyio.Event(), anyio.Event()

    async def handler(params: types.ElicitRequestParams) -> dict[str, Any]:
        asked.set()
        await answered.wait()
        return {"ok": True}

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision, elicitation=handler, timeout=None) as client:

            async def held() -> None:
                with pytest.raises(RequestTimeout):
                    await client.call_tool("hold", {"key": "k"}, timeout=0.2)
                await client.call_tool("until", {"what": "k cancelled"})

            async def asking() -> None:
                assert text_of(await client.call_tool("ask", {"message": "?"}, timeout=0.1)) == "accept {'ok': True}"

            async with anyio.create_task_group() as group:
                group.start_soon(held)
                group.start_soon(asking)
                await asked.wait()
                await anyio.sleep(0.5)  # longer than both limits: what must not happen needs its chance
                assert text_of(await client.call_tool("story")) == "k began"  # and is not cancelled
                answered.set()


@asking
async def test_a_question_taken_back_ends_its_handler(revision: str) -> None:
    """B049, B013: by the call's cancellation and by the question's own timeout."""
    ended = 0
    asked = anyio.Event()

    async def handler(params: types.ElicitRequestParams) -> dict[str, Any]:
        nonlocal ended
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended += 1
        return {}

    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(make(), revision=revision, elicitation=handler) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "ask", {"message": "1"})
                await asked.wait()
                group.cancel_scope.cancel()
            await client.call_tool("until", {"what": "1 over"})
            assert text_of(await client.call_tool("code", {"message": "2", "timeout": 0.01})).startswith("-32603")
            await client.ping()
            assert ended == 2


@asking
async def test_closing_the_client_ends_its_handlers(revision: str) -> None:
    """B023: a handler that waits for a person does not keep the client from closing."""
    asked, ended = anyio.Event(), anyio.Event()

    async def handler(params: types.ElicitRequestParams) -> dict[str, Any]:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return {}

    async def call(client: MCPClient) -> None:
        with pytest.raises(ConnectionError):
            await client.call_tool("ask", {"message": "?"})

    with anyio.fail_after(PATIENCE):
        client = await MCPClient.connect(make(), revision=revision, elicitation=handler)
        async with anyio.create_task_group() as group:
            group.start_soon(call, client)
            await asked.wait()
            await client.close()
        assert ended.is_set()


@asking
async def test_a_proxy_hands_questions_on(revision: str) -> None:
    """B022: client, proxy, backend; ten conversations at once do not mix their answers."""

    def proxy() -> MCPServer:
        server = MCPServer("proxy")

        with server.binding():

            @tool
            async def ask(message: str) -> str:
                context = get_context()

                async def hand_on(params: types.ElicitRequestParams) -> types.ElicitResult:
                    current.set(context)  # the task is the inner client's
                    return await server.request_elicitation(params)

                async with MCPClient.connect(make(), revision=revision, elicitation=hand_on) as backend:
                    first = await backend.call_tool("ask", {"message": f"{message} 1"})
                    second = await backend.call_tool("ask", {"message": f"{message} 2"})
                return f"{text_of(first)}, {text_of(second)}"

        return server

    async def converse(number: int) -> None:
        heard: list[str] = []

        async def user(params: types.ElicitRequestParams) -> dict[str, Any]:
            heard.append(params.message)
            return {"ok": number % 2 == 0}

        async with MCPClient.connect(server, revision=revision, elicitation=user) as client:
            result = await client.call_tool("ask", {"message": f"user {number}"})
        told = f"accept {{'ok': {number % 2 == 0}}}"
        assert text_of(result) == f"{told}, {told}"
        assert heard == [f"user {number} 1", f"user {number} 2"]

    server = proxy()
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            for number in range(10):
                group.start_soon(converse, number)
