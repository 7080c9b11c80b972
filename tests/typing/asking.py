"""What type checkers must see of questions and their answers; never run."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any, Literal, TypedDict, assert_never, assert_type

import attrs
import msgspec
import pydantic

from dedalus_mcp import Accepted, AskRecord, Cancelled, Context, Declined, MCPServer, form
from dedalus_mcp.server.visits import Visit
from dedalus_mcp.types import CreateMessageResult, Root


class Region(enum.Enum):
    EU = "eu"


@form
@dataclasses.dataclass
class Deploy:
    region: Region


class Options(TypedDict):
    name: str


class Wire(msgspec.Struct):
    name: str


@attrs.define
class Attrs:
    name: str


class Model(pydantic.BaseModel):
    name: str


async def forms(ctx: Context) -> None:
    answer = await ctx.elicit("m", Deploy, timeout=None, key="k")
    assert_type(answer, Accepted[Deploy] | Declined | Cancelled)
    if answer:
        assert_type(answer.data, Deploy)
    else:
        assert_type(answer, Declined | Cancelled)
    if answer.action == "accept":
        assert_type(answer.data.region, Region)
    match answer:
        case Accepted(deploy):
            assert_type(deploy, Deploy)
        case Declined():
            pass
        case Cancelled():
            pass
        case _:
            assert_never(answer)
    assert_type(await ctx.elicit("m", Options), Accepted[Options] | Declined | Cancelled)
    assert_type(await ctx.elicit("m", Wire), Accepted[Wire] | Declined | Cancelled)
    assert_type(await ctx.elicit("m", Attrs), Accepted[Attrs] | Declined | Cancelled)
    assert_type(await ctx.elicit("m", Model), Accepted[Model] | Declined | Cancelled)
    assert_type(await ctx.elicit("m", {"type": "object"}), Accepted[dict[str, Any]] | Declined | Cancelled)
    await ctx.elicit("m")  # type: ignore[call-overload]
    await ctx.elicit("m", Deploy(Region.EU))  # type: ignore[call-overload]


async def short_questions(ctx: Context) -> None:
    assert_type(await ctx.confirm("m"), bool)
    assert_type(await ctx.choose("m", ["a", "b"]), str | None)
    assert_type(await ctx.choose("m", {1: "One"}), int | None)
    assert_type(await ctx.choose("m", Region), Region | None)
    assert_type(await ctx.choose_many("m", Region, minimum=1), list[Region] | None)
    assert_type(await ctx.choose_many("m", ["a"]), list[str] | None)
    assert_type(await ctx.text("m", format="email"), str | None)
    assert_type(await ctx.number("m", minimum=0.5), float | None)
    assert_type(await ctx.integer("m", default=1), int | None)
    await ctx.text("m", format="phone")  # type: ignore[arg-type]
    await ctx.confirm("m", timeout="soon")  # type: ignore[arg-type]


async def other_questions(ctx: Context) -> None:
    assert_type(await ctx.elicit_url("m", "https://example.com"), Visit)
    assert_type(await ctx.sample("m", tool_choice="auto"), CreateMessageResult)
    assert_type(await ctx.list_roots(), list[Root])
    await ctx.sample(7)  # type: ignore[arg-type]


def in_threads(ctx: Context) -> None:
    assert_type(ctx.wait(ctx.confirm("m")), bool)


def audited(record: AskRecord) -> None:
    assert_type(record.kind, Literal["elicitation", "sampling", "roots"])
    MCPServer("m", on_ask=audited)
    MCPServer("m", on_ask=in_threads)  # type: ignore[arg-type]
