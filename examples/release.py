"""A release assistant: it asks what to release and whether to, and writes down what it did, once.

python examples/release.py            a program that a desktop application starts
python examples/release.py 8000       serves many clients at http://127.0.0.1:8000/mcp

RELEASES is the SQLite file, "releases.db" if it is not set.  With the extra `seal`, and a key of 32
bytes or more in DEDALUS_MCP_STATE_KEYS, a release that has begun goes on after a restart of the HTTP
server: clients of 2026-07-28 bring what was answered so far, and the handler runs again from its top.
A question that was answered is not asked then, and a step that was taken is not taken again.

One gap is left, as everywhere: the process may die after a step and before the client has heard of
it.  So each step is written such that to take it twice changes nothing.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from dedalus_mcp import Context, MCPServer, form, resource, tool

FILE = Path(os.environ.get("RELEASES", "releases.db"))
TABLE = """
CREATE TABLE IF NOT EXISTS releases (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    service TEXT NOT NULL,
    version TEXT NOT NULL,
    channel TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'planned',
    told TEXT
)
"""


@contextmanager
def database() -> Generator[sqlite3.Connection]:
    """One transaction.  Each step has a connection of its own, since it runs in a thread of its own."""
    with closing(sqlite3.connect(FILE)) as connection, connection:
        connection.execute(TABLE)
        yield connection


@form
@dataclass
class Plan:
    version: Annotated[str, Meta(min_length=1, max_length=40, description="As it will be tagged, for example 1.4.0")]
    channel: Literal["canary", "stable"] = "canary"


def plan_release(key: str, service: str, plan: Plan) -> int:
    with database() as db:
        values = (key, service, plan.version, plan.channel)
        db.execute("INSERT OR IGNORE INTO releases (key, service, version, channel) VALUES (?, ?, ?, ?)", values)
        (id,) = db.execute("SELECT id FROM releases WHERE key = ?", (key,)).fetchone()
        return int(id)


def settle(id: int, state: str) -> None:
    with database() as db:
        db.execute("UPDATE releases SET state = ? WHERE id = ? AND state = 'planned'", (state, id))


def announce(id: int, audience: str) -> None:
    with database() as db:
        db.execute("UPDATE releases SET told = ? WHERE id = ? AND told IS NULL", (audience, id))


@tool
async def release(service: Annotated[str, Meta(min_length=1, max_length=40)], ctx: Context) -> str:
    """Release a service: asks for the version, and whether it is right, and whom to tell."""
    answer = await ctx.elicit(f"What is to be released of {service}?", Plan, key="plan")
    if not answer:
        return "Nothing was released"
    plan = answer.data
    id = await ctx.step("plan", plan_release, ctx.step_key("plan"), service, plan)

    if not await ctx.confirm(f"Release {service} {plan.version} to {plan.channel}?", key="sure"):
        await ctx.step("withdraw", settle, id, "withdrawn")
        return f"Release {id} was withdrawn"
    await ctx.step("publish", settle, id, "published")

    audience = await ctx.choose("Who is to be told?", ["nobody", "the team", "everybody"], key="audience")
    await ctx.step("announce", announce, id, audience or "nobody")
    return f"Release {id}: {service} {plan.version} is {plan.channel}, and {audience or 'nobody'} was told"


@resource("releases://all", mime_type="application/json")
def releases() -> list[dict[str, object]]:
    """Every release so far, the last one first."""
    with database() as db:
        db.row_factory = sqlite3.Row
        rows = db.execute("SELECT id, service, version, channel, state, told FROM releases ORDER BY id DESC")
        return [dict(row) for row in rows]


server = MCPServer("releases", instructions="Releases services. Every release asks the user first.")
server.collect(release, releases)

if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
