"""Every block of the document on prompts runs unchanged: in process, and over every transport and revision."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from dedalus_mcp import MCPClient, McpError, MCPServer, StdioServer, types
from dedalus_mcp.types.revisions import REVISIONS
from tests.interaction.reach import PATIENCE, Heard, script, ways
from tests.seeds.blocks import module
from tests.seeds.servers import PROMPTS, RETURNED, prompts


def target(transport: str) -> MCPServer | StdioServer:
    return prompts() if transport == "memory" else script("tests.seeds.servers", ["prompts"])


def said(result: types.GetPromptResult) -> list[tuple[str, str]]:
    """Who says what; a block that is no text says its type."""
    return [
        (
            message.role,
            message.content.text if isinstance(message.content, types.TextContent) else type(message.content).__name__,
        )
        for message in result.messages
    ]


RENDERED: list[tuple[str, dict[str, str] | None, str | None, list[tuple[str, str]]]] = [
    (
        "code-review",
        None,
        "Review code for issues",
        [("assistant", "You are a senior code reviewer."), ("user", "निम्नलिखित python कोड की समीक्षा करें।")],
    ),
    (
        "code-review",
        {"language": "rust", "focus": "unsafe"},
        "Review code for issues",
        [
            ("assistant", "You are a senior code reviewer."),
            ("user", "निम्नलिखित rust कोड की समीक्षा करें। Focus on: unsafe."),
        ],
    ),
    ("translate", {"text": "hi"}, "टेक्स्ट का अनुवाद करें", [("user", "Translate this to English: hi")]),
    (
        "translate",
        {"text": "hi", "target_lang": "हिन्दी", "extra": "x"},
        "टेक्स्ट का अनुवाद करें",
        [("user", "Translate this to हिन्दी: hi")],
    ),
    (
        "summarize",
        {"focus_areas_json": '["a", {"b": 1}]'},
        "दस्तावेज़ का सारांश बनाएं",
        [("user", "इस दस्तावेज़ का सारांश बनाएं। फोकस: ['a', {'b': 1}]")],
    ),
    (
        "status",
        {},
        "Status template",
        [("assistant", "You summarize daily status reports."), ("user", "Write yesterday/today/blockers.")],
    ),
    (
        "db-summary",
        None,
        "Summarize database state",
        [
            ("assistant", "You analyze database metrics."),
            ("user", "Summarize current DB health and recent anomalies."),
        ],
    ),
    (
        "analyze",
        {"language": "C"},
        "कोड का विश्लेषण करें",
        [("user", "इस C कोड में बग्स, स्टाइल और सुरक्षा के लिए विश्लेषण करें।")],
    ),
    ("tuples", None, "tuples", [("user", "hi")]),
    ("mappings", None, "mappings", [("user", "hi")]),
    ("messages", None, "messages", [("user", "hi")]),
    ("mixed", None, "mixed", [("user", "hi"), ("assistant", "ho"), ("user", "hi")]),
    ("mapping", None, "mapping", [("user", "hi")]),
    ("mapping-described", None, "its own", [("user", "hi")]),
    ("result", None, "result", [("user", "hi")]),
    ("nothing", None, "nothing", []),
    ("no-messages", None, "no-messages", []),
    ("string-content", None, "string-content", [("user", "hi")]),
    ("mapping-content", None, "mapping-content", [("user", "hi")]),
    ("block-content", None, "block-content", [("user", "hi")]),
    ("blocks", None, "blocks", [("user", "ImageContent"), ("assistant", "EmbeddedResource")]),
]

MISSING = "Missing required arguments: text"


@pytest.mark.parametrize(("name", "arguments", "description", "messages"), RENDERED)
async def test_in_process_a_prompt_renders_as_the_document_says(
    name: str, arguments: dict[str, str] | None, description: str | None, messages: list[tuple[str, str]]
) -> None:
    result = await prompts().invoke_prompt(name, arguments=arguments)

    assert isinstance(result, types.GetPromptResult)
    assert (result.description, said(result)) == (description, messages)


@ways
@pytest.mark.parametrize("revision", REVISIONS)
async def test_on_the_wire_a_prompt_renders_as_the_document_says(revision: str, transport: str) -> None:
    """PROMPT-01, PROMPT-02, PROMPT-07, PROMPT-08, B025, B028, B029, B031, B032."""
    heard = Heard[types.LoggingMessageNotificationParams]()
    with anyio.fail_after(PATIENCE):
        async with MCPClient.connect(target(transport), revision=revision, logging=heard) as client:
            assert client.server_capabilities.prompts is not None
            for name, arguments, description, messages in RENDERED:
                result = await client.get_prompt(name, arguments)
                assert (result.description, said(result)) == (description, messages)

            await client.set_logging_level("info")
            report = await client.get_prompt("generate-report", {"week": "3"})
            assert said(report) == [("user", "Generate a concise weekly report for this project.")]
            assert [(log.level, log.data) for log in await heard.wait(1)] == [
                ("info", {"msg": "Rendering prompt", "args": {"week": "3"}})
            ]

            await _faults(client)
            listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
    assert list(listed) == [*(name.replace("_", "-") for name in PROMPTS), *RETURNED]
    _listed(listed, revision)


async def _faults(client: MCPClient) -> None:
    for name, arguments, code, text in [
        ("translate", None, -32602, MISSING),
        ("translate", {"target_lang": "x"}, -32602, MISSING),
        ("nope", None, -32602, "Prompt 'nope' is not registered"),
        ("raw-string", None, -32603, "raw string"),
        ("summarize", {"focus_areas_json": "no JSON"}, -32603, "Internal error"),
    ]:
        with pytest.raises(McpError) as error:
            await client.get_prompt(name, arguments)
        assert error.value.code == code
        assert text in error.value.message


def _listed(listed: dict[str, types.Prompt], revision: str) -> None:
    review, translate, analyze = (listed[name] for name in ("code-review", "translate", "analyze"))
    assert [(argument.name, argument.required or False) for argument in review.arguments or ()] == [
        ("language", False),
        ("focus", False),
    ]
    assert [(argument.name, argument.required or False) for argument in translate.arguments or ()] == [
        ("text", True),
        ("target_lang", False),
    ]
    assert analyze.title == ("कोड विश्लेषण" if revision >= "2025-06-18" else None)
    assert analyze.meta == ({"category": "code"} if revision >= "2025-06-18" else None)
    icons = [icon.src for icon in analyze.icons or ()]
    assert icons == (["https://example.com/icon.png"] if revision >= "2025-11-25" else [])


@pytest.mark.parametrize("arguments", [None, {}, {"target_lang": "x"}], ids=repr)
async def test_a_missing_required_argument_is_named(arguments: dict[str, str] | None) -> None:
    with pytest.raises(McpError, match=MISSING) as error:
        await prompts().invoke_prompt("translate", arguments=arguments)
    assert error.value.error.code == -32602


async def test_a_raw_string_is_refused_with_a_type_error() -> None:
    with pytest.raises(TypeError, match="raw string"):
        await prompts().invoke_prompt("raw-string")


async def test_outside_of_a_request_a_prompt_has_no_context() -> None:
    with pytest.raises(LookupError, match="No active context"):
        await prompts().invoke_prompt("generate-report")


@pytest.mark.parametrize("name", ["blocks", "audio", "link"])
async def test_content_that_is_no_text_comes_through_unchanged(name: str) -> None:
    """PROMPT-07, PROMPT-08, B029, B031: a round trip is the identity."""
    async with MCPClient.connect(prompts(), revision="2025-11-25") as client:
        result = await client.get_prompt(name)

    sent = [content for _, content in RETURNED[name]]
    assert msgspec.to_builtins([message.content for message in result.messages]) == msgspec.to_builtins(sent)


def test_a_renderer_is_tested_as_the_plain_function_it_is() -> None:
    names = module("prompts.hi", "code_review", "plain_test")

    names["test_code_review_prompt"]()


async def test_a_prompt_is_tested_through_the_server() -> None:
    names = module("prompts.hi", "code_review", "server_test")

    await names["test_prompt_rendering"]()
    marks: list[Any] = names["test_prompt_rendering"].pytestmark
    assert [mark.name for mark in marks] == ["asyncio"]


def test_the_documents_own_servers_have_what_they_collect() -> None:
    assert module("prompts.hi", "code_review")["server"].prompt_names == ["code-review"]
    assert module("prompts.hi", "translate")["server"].prompt_names == ["translate"]
