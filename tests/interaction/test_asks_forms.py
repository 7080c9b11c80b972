"""What a handler asks the user in short words, over every transport and revision that has forms."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from decimal import Decimal
from typing import Any

import anyio
import pytest

from dedalus_mcp import Context, MCPServer, tool
from tests.ids import shown
from tests.interaction.asked import Talking, asked, everywhere, text_of
from tests.interaction.asking_server import make
from tests.interaction.reach import PATIENCE

asking = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
live = pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
FIRST, SELECTS = "2025-06-18", "2025-11-25"
ABLE: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
TITLED = [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}]


def client(
    revision: str, transport: str = "memory", able: dict[str, Any] = ABLE
) -> AbstractAsyncContextManager[Talking]:
    return asked(make(), "tests.interaction.asking_server", transport, revision, able)


def accepting(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


@everywhere
@asking
async def test_a_class_is_asked_for_and_comes_back_as_an_instance(revision: str, transport: str) -> None:
    """ELIC-04, ELIC-07 to ELIC-13, ELIC-19, B010: in the words of the revision."""
    with anyio.fail_after(PATIENCE):
        async with client(revision, transport) as talking:
            question = await talking.begin("deploy")
            assert question["params"]["message"] == "Deploy?"
            region: dict[str, Any] = {"enum": ["eu", "us"], "enumNames": ["Europe", "America"]}
            replicas = {"type": "integer", "minimum": 1, "maximum": 9}
            if revision >= SELECTS:
                region, replicas = {"oneOf": TITLED}, {**replicas, "default": 1}
            assert question["params"]["requestedSchema"] == {
                "type": "object",
                "properties": {
                    "region": {"type": "string", **region},
                    "replicas": replicas,
                    "note": {"type": "string"},
                },
                "required": ["region"],
            }
            found = await talking.text(question, accepting(region="us", replicas=2))
            assert found == "Deploy(region=<Region.US: 'us'>, replicas=2, note=None)"


@asking
@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("tool", ["deploy", "confirm", "choose_many", "text", "number", "integer"])
async def test_a_no_is_no_value(tool: str, action: str, revision: str) -> None:
    """ELIC-20, B014."""
    with anyio.fail_after(PATIENCE):
        async with client(revision) as talking:
            found = await talking.text(await talking.begin(tool), {"action": action})
    assert found == {"deploy": action, "confirm": "False"}.get(tool, "None")


@asking
@pytest.mark.parametrize(
    ("tool", "arguments", "property", "content", "found"),
    [
        ("confirm", {}, {"confirm": {"type": "boolean"}}, True, "True"),
        ("confirm", {}, {"confirm": {"type": "boolean"}}, False, "False"),
        ("choose", {"how": "list"}, {"choice": {"type": "string", "enum": ["a", "b"]}}, "b", "'b'"),
        (
            "text",
            {},
            {"text": {"type": "string", "minLength": 1, "maxLength": 9, "format": "email"}},
            "a@b.c",
            "'a@b.c'",
        ),
        ("number", {}, {"number": {"type": "number", "minimum": 0, "maximum": 2}}, 1, "1.0"),
        ("number", {}, {"number": {"type": "number", "minimum": 0, "maximum": 2}}, 0.5, "0.5"),
        ("integer", {}, {"number": {"type": "integer", "minimum": 0}}, 4.0, "4"),
    ],
    ids=shown,
)
async def test_a_short_question_is_a_form_of_one_field(
    tool: str, arguments: dict[str, Any], property: dict[str, Any], content: Any, found: str, revision: str
) -> None:
    """ELIC-07 to ELIC-12, B016: always an object with properties."""
    (name,) = property
    with anyio.fail_after(PATIENCE):
        async with client(revision) as talking:
            question = await talking.begin(tool, **arguments)
            schema = question["params"]["requestedSchema"]
            schema["properties"][name].pop("default", None)
            assert schema == {"type": "object", "properties": property, "required": [name]}
            assert await talking.text(question, accepting(**{name: content})) == found


@pytest.mark.parametrize(
    ("how", "sent", "answer", "found"),
    [
        ("mapping", [{"const": "1", "title": "One"}, {"const": "2", "title": "Two"}], "2", "2"),
        ("enum", TITLED, "eu", "<Region.EU: 'eu'>"),
    ],
)
async def test_a_choice_has_titles_and_gives_the_value_itself(how: str, sent: Any, answer: str, found: str) -> None:
    """ELIC-12, B017."""
    with anyio.fail_after(PATIENCE):
        async with client(SELECTS) as talking:
            question = await talking.begin("choose", how=how)
            assert question["params"]["requestedSchema"]["properties"]["choice"]["oneOf"] == sent
            assert await talking.text(question, accepting(choice=answer)) == found


async def test_a_choice_of_many_is_one_field_where_there_is_multiple_choice() -> None:
    """ELIC-13."""
    with anyio.fail_after(PATIENCE):
        async with client(SELECTS) as talking:
            question = await talking.begin("choose_many", minimum=1)
            field = question["params"]["requestedSchema"]["properties"]["choices"]
            assert field == {"type": "array", "items": {"anyOf": TITLED}, "minItems": 1}
            assert await talking.text(question, accepting(choices=["us", "eu"])) == (
                "[<Region.US: 'us'>, <Region.EU: 'eu'>]"
            )
            question = await talking.begin("choose_many", minimum=1)
            assert (await talking.text(question, accepting(choices=[]))).startswith("-32602 choices: ")


async def test_a_choice_of_many_is_a_yes_or_no_for_each_before_that() -> None:
    """ELIC-07, ELIC-10."""
    with anyio.fail_after(PATIENCE):
        async with client(FIRST) as talking:
            question = await talking.begin("choose_many", minimum=1, maximum=1)
            assert question["params"]["requestedSchema"]["properties"] == {
                "eu": {"type": "boolean", "title": "Europe", "default": False},
                "us": {"type": "boolean", "title": "America", "default": False},
            }
            assert await talking.text(question, accepting(us=True)) == "[<Region.US: 'us'>]"
            for content, number in (({}, 0), ({"us": True, "eu": True}, 2)):
                question = await talking.begin("choose_many", minimum=1, maximum=1)
                found = await talking.text(question, accepting(**content))
                assert found == f"-32602 choices: expected at least 1 and at most 1, got {number}"


@asking
async def test_a_form_that_cannot_be_shown_is_refused_at_the_call_by_field(revision: str) -> None:
    """ELIC-07, B017: nothing is sent."""
    with anyio.fail_after(PATIENCE):
        async with client(revision) as talking:
            assert text_of(await talking.begin("deep")) == (
                "-32602 Deep makes no form: Unsupported schema type 'object' for property 'deploy'; "
                "a field is a str, int, float, bool, date, Literal or Enum, or a list of the last two, or optional"
            )
            assert text_of(await talking.begin("raw_form", schema={"type": "object"})) == (
                "-32602 requestedSchema.properties must be a non-empty object"
            )
            assert text_of(await talking.begin("choose", how="none")) == "-32602 there is no option"


@asking
async def test_a_schema_may_be_asked_for_as_it_is(revision: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    with anyio.fail_after(PATIENCE):
        async with client(revision) as talking:
            question = await talking.begin("raw_form", schema=schema)
            assert question["params"]["requestedSchema"] == schema
            assert await talking.text(question, accepting(n=3)) == "{'n': 3}"
            question = await talking.begin("raw_form", schema=schema)
            assert await talking.text(question, accepting(n="3")) == ("-32602 n: expected an integer, got a string")


@everywhere
@asking
async def test_a_plain_function_waits_in_its_thread(revision: str, transport: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with client(revision, transport) as talking:
            question = await talking.begin("confirm_in_a_thread")
            assert await talking.text(question, accepting(confirm=True)) == "True"


@everywhere
@live
async def test_a_short_question_has_a_time_of_its_own(revision: str, transport: str) -> None:
    """CANC-02, B013."""
    with anyio.fail_after(PATIENCE):
        async with client(revision, transport) as talking:
            question = await talking.begin("impatient")
            cancelled = await talking.hear()
            assert cancelled["method"] == "notifications/cancelled"
            assert cancelled["params"]["requestId"] == question["id"]
            assert await talking.text() == "-32603 elicitation request timed out"


async def test_the_authors_name_is_that_of_the_question_in_rounds() -> None:
    with anyio.fail_after(PATIENCE):
        async with client("2026-07-28") as talking:
            question = await talking.begin("named")
            assert "sure" in question["id"]
            assert await talking.text(question, accepting(confirm=True)) == "True"


@asking
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"key": ""}, "the key of a question is a text of 1 to 200 printable characters"),
        ({"key": "half \ud800"}, "the key of a question is a text of 1 to 200 printable characters"),
        ({"timeout": -1}, "timeout: seconds is a number of seconds >= 0, not -1"),
        ({"timeout": 10**400}, "timeout: seconds is a number of seconds >= 0, not 1000"),
        ({"timeout": Decimal("0.01")}, "timeout: seconds is a number of seconds, an int or a float, not Decimal"),
    ],
    ids=shown,
)
async def test_a_key_or_a_time_that_is_none_is_refused_in_every_revision(
    options: dict[str, Any], named: str, revision: str
) -> None:
    @tool
    async def act(ctx: Context) -> str:
        return f"{await ctx.confirm('Really?', **options)}"

    server = MCPServer("asking")
    server.collect(act)
    with anyio.fail_after(PATIENCE):
        async with asked(server, "", "memory", revision, ABLE) as talking:
            reply = await talking.begin("act")

    assert reply["result"]["isError"]
    assert named in text_of(reply)


@asking
async def test_a_plain_function_in_the_event_loop_is_told_to_be_async(revision: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with client(revision) as talking:
            assert "async def" in text_of(await talking.begin("confirm_inline"))


@everywhere
@asking
@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "ask"}), ("resources/read", {"uri": "ask://it"})],
)
async def test_prompts_and_resources_ask_alike(
    method: str, params: dict[str, Any], revision: str, transport: str
) -> None:
    with anyio.fail_after(PATIENCE):
        async with client(revision, transport) as talking:
            question = await talking.call(method, **params)
            assert question["method"] == "elicitation/create"
            await talking.answer(question, accepting(confirm=True))
            result = (await talking.hear())["result"]
            content = result["messages"][0]["content"] if "messages" in result else result["contents"][0]
            assert content["text"] == "True"


@everywhere
async def test_a_page_is_asked_for_and_its_end_is_told(transport: str) -> None:
    """ELIC-06, ELIC-17, ELIC-34: under the id that the question had."""
    with anyio.fail_after(PATIENCE):
        async with client(SELECTS, transport) as talking:
            question = await talking.begin("visit")
            id = question["params"]["elicitationId"]
            assert question["params"] == {
                "mode": "url",
                "message": "Pay",
                "url": "https://example.com/pay",
                "elicitationId": id,
            }
            assert len(id) >= 32
            await talking.answer(question, {"action": "accept"})
            notice = await talking.hear()
            assert (notice["method"], notice["params"]) == (
                "notifications/elicitation/complete",
                {"elicitationId": id},
            )
            assert await talking.text() == "accept True"


@everywhere
async def test_a_page_has_no_id_and_no_end_in_rounds(transport: str) -> None:
    """ELIC-39."""
    with anyio.fail_after(PATIENCE):
        async with client("2026-07-28", transport) as talking:
            question = await talking.begin("visit")
            assert question["params"] == {"mode": "url", "message": "Pay", "url": "https://example.com/pay"}
            assert await talking.text(question, {"action": "accept"}) == "accept True"


async def test_a_question_that_cannot_be_asked_in_rounds_says_what_is_missing() -> None:
    """ELIC-03, META-06."""
    with anyio.fail_after(PATIENCE):
        async with client("2026-07-28", able={"sampling": {}}) as talking:
            for tool, mode in (("deploy", "form"), ("confirm_in_a_thread", "form"), ("visit", "url")):
                error = (await talking.begin(tool))["error"]
                assert (error["code"], error["data"]) == (
                    -32021,
                    {"requiredCapabilities": {"elicitation": {mode: {}}}},
                )


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_page_that_nobody_went_to_has_no_end(action: str) -> None:
    with anyio.fail_after(PATIENCE):
        async with client(SELECTS) as talking:
            assert await talking.text(await talking.begin("visit"), {"action": action}) == f"{action} False"


@pytest.mark.parametrize("revision", [SELECTS, "2026-07-28"])
async def test_nobody_is_sent_to_what_is_no_page_or_is_signed_in_already(revision: str) -> None:
    """ELIC-26: nothing is sent, and the text repeats no password."""
    with anyio.fail_after(PATIENCE):
        async with client(revision) as talking:
            for url in ("javascript:alert(1)", "https://me:hunter2@example.com/"):
                reply = await talking.begin("visit", url=url)
                assert (reply["result"]["isError"], "hunter2" in text_of(reply)) == (True, False)
                assert text_of(reply).startswith("url must ")


async def test_a_page_needs_a_url_and_a_revision_that_knows_pages() -> None:
    """ELIC-06."""
    with anyio.fail_after(PATIENCE):
        async with client(SELECTS) as talking:
            reply = await talking.begin("visit", url="no url")
            assert (reply["result"]["isError"], text_of(reply)) == (True, "url must be a URL, not 'no url'")
        async with client(FIRST) as talking:
            assert "2025-11-25 or later" in text_of(await talking.begin("visit"))


async def test_that_a_page_is_needed_first_may_be_the_error() -> None:
    """ELIC-33, B019: code and data pass through."""
    with anyio.fail_after(PATIENCE):
        async with client(SELECTS) as talking:
            error = (await talking.begin("must_visit"))["error"]
    page = {"mode": "url", "message": "Pay", "url": "https://example.com/pay", "elicitationId": "e7"}
    assert error == {"code": -32042, "message": "Pay first", "data": {"elicitations": [page]}}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28"])
async def test_no_other_revision_has_that_error(revision: str) -> None:
    """ELIC-33."""
    with anyio.fail_after(PATIENCE):
        async with client(revision) as talking:
            assert (await talking.begin("must_visit"))["error"] == {"code": -32603, "message": "Pay first"}


@live
@pytest.mark.parametrize("tool", ["deploy", "deep", "confirm", "text", "visit"])
async def test_a_client_that_cannot_be_asked_is_not(tool: str, revision: str) -> None:
    """ELIC-03, B020: the capability is looked at before the question."""
    with anyio.fail_after(PATIENCE):
        async with client(revision, able={"sampling": {}}) as talking:
            found = text_of(await talking.begin(tool))
    assert found.removeprefix("-32601 ") == "Client does not advertise the elicitation capability"
