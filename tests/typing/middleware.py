"""What type checkers must see of middleware, lifespans and sessions; never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, assert_type

from dedalus_mcp import CallNext, Context, Incoming, MCPServer, Middleware, Session, intercept
from dedalus_mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
)
from dedalus_mcp.types.methods import INITIALIZED, TOOLS_CALL, TOOLS_LIST


async def whatever(incoming: Incoming, call_next: CallNext) -> Any:
    assert_type(incoming.method, str)
    assert_type(incoming.params, Any)
    assert_type(incoming.context, Context)
    assert_type(incoming.notice, bool)
    return await call_next(incoming.params)


@intercept(TOOLS_CALL)
async def calls(
    incoming: Incoming[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, CallToolResult]
) -> CallToolResult:
    assert_type(incoming.params, CallToolRequestParams)
    assert_type(await call_next(), CallToolResult)
    await call_next(PaginatedRequestParams())  # type: ignore[arg-type]
    return await call_next(incoming.params)


@intercept(INITIALIZED)
async def notices(incoming: Incoming[NotificationParams], call_next: CallNext[NotificationParams, None]) -> None:
    await call_next()


@intercept(TOOLS_LIST)
async def loosely(incoming: Any, call_next: Any) -> ListToolsResult:
    result: ListToolsResult = await call_next()
    return result


@intercept(TOOLS_LIST)  # type: ignore[arg-type]
async def confused(
    incoming: Incoming[CallToolRequestParams], call_next: CallNext[CallToolRequestParams, CallToolResult]
) -> CallToolResult:
    return await call_next()


def plain(incoming: Incoming, call_next: CallNext) -> int:
    return 1


@asynccontextmanager
async def visit(session: Session) -> AsyncGenerator[int]:
    assert_type(session.id, str | None)
    assert_type(await session.ping(1), bool)
    yield 1


async def servers() -> None:
    assert_type(calls, Middleware)
    server = MCPServer("a", middleware=[whatever, calls, notices, loosely], session_lifespan=visit)
    server.middleware.add(whatever)
    MCPServer("a", middleware=[plain])  # type: ignore[list-item]
    MCPServer("a", session_lifespan=plain)  # type: ignore[arg-type]
    assert_type(server.active_sessions(), tuple[Session, ...])
    assert_type(await server.ping_clients(), dict[Session, bool])
