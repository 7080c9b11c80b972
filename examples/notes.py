"""An MCP server within a FastAPI application, for clients with bearer tokens: each user has notes of their own.

NOTES_GRANTS=grants.json python examples/notes.py 8000      serves at http://127.0.0.1:8000/notes/mcp

The file says who holds which token, by the token's SHA-256, so that it is no secret itself:

    {"5dab...": {"user": "ann", "scopes": ["notes:read", "notes:write"]}}

Clients without a token read in the answer where the resource's metadata are (RFC 9728), and there who gives
tokens.  NOTES_URL is the address that clients use, http://127.0.0.1:8000 if it is not set; NOTES_ISSUER is the
authorization server.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
import uvicorn
from fastapi import FastAPI
from msgspec import Meta
from starlette.authentication import AuthCredentials, AuthenticationBackend, AuthenticationError, SimpleUser
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from dedalus_mcp import Context, MCPServer, ToolError, TransportSecuritySettings, tool

PUBLIC = os.environ.get("NOTES_URL", "http://127.0.0.1:8000").rstrip("/")
ISSUER = os.environ.get("NOTES_ISSUER", "https://login.example.com")
RESOURCE = f"{PUBLIC}/notes/mcp"
METADATA = "/.well-known/oauth-protected-resource/notes/mcp"
READ, WRITE = "notes:read", "notes:write"
MAX_NOTES = 1000  # of one user

notes: defaultdict[str, list[str]] = defaultdict(list)


class Grant(msgspec.Struct, frozen=True):
    user: str
    scopes: frozenset[str]


def granted(token: str) -> Grant | None:
    """What a token is good for, or None.

    A file says so here.  Elsewhere the authorization server does, or its signature; then compare the audience
    with `RESOURCE`: a token that was meant for another service is none, however valid it is.
    """
    file = os.environ.get("NOTES_GRANTS")
    grants = msgspec.json.decode(Path(file).read_bytes(), type=dict[str, Grant]) if file else {}
    return grants.get(hashlib.sha256(token.encode()).hexdigest())


class ScopeMissing(AuthenticationError):
    """The token is good, and not for this."""


class Bearer(AuthenticationBackend):
    async def authenticate(self, conn: HTTPConnection) -> tuple[AuthCredentials, SimpleUser]:
        scheme, _, token = conn.headers.get("authorization", "").partition(" ")
        grant = granted(token.strip()) if scheme.lower() == "bearer" else None
        if grant is None:
            raise AuthenticationError("a bearer token is needed")
        if READ not in grant.scopes:
            raise ScopeMissing(f"the token is not for {READ}")
        return AuthCredentials(sorted(grant.scopes)), SimpleUser(grant.user)


def refused(conn: HTTPConnection, error: AuthenticationError) -> JSONResponse:
    challenge = f'Bearer resource_metadata="{PUBLIC}{METADATA}", scope="{READ} {WRITE}"'
    if isinstance(error, ScopeMissing):
        return JSONResponse(
            {"error": str(error)}, 403, {"WWW-Authenticate": f'{challenge}, error="insufficient_scope"'}
        )
    return JSONResponse({"error": str(error)}, 401, {"WWW-Authenticate": challenge})


def may_write(ctx: Context) -> bool:
    """Asked at each list and each call, of the token that came with it: sessions outlive tokens."""
    grant = granted(ctx.headers.get("authorization", "").partition(" ")[2].strip())
    return grant is not None and WRITE in grant.scopes


def owner(ctx: Context) -> str:
    if ctx.principal is None:
        raise ToolError("nobody has signed in")  # on stdio, for example
    return ctx.principal


@tool
async def list_notes(ctx: Context) -> list[str]:
    """List the notes of whoever asks."""
    return notes[owner(ctx)]


@tool(enabled=may_write)
async def add_note(text: Annotated[str, Meta(min_length=1, max_length=2000)], ctx: Context) -> int:
    """Add a note, and return how many there are."""
    mine = notes[owner(ctx)]
    if len(mine) >= MAX_NOTES:
        raise ToolError(f"{MAX_NOTES} notes are the most")
    mine.append(text)
    return len(mine)


@tool(enabled=may_write)
async def clear_notes(ctx: Context) -> int:
    """Throw all notes away, if the user says so, and return how many there were."""
    mine = notes[owner(ctx)]
    if not mine or not await ctx.confirm(f"Throw {len(mine)} notes away?"):
        return 0
    thrown = len(mine)
    mine.clear()
    return thrown


server = MCPServer("notes", instructions="Keeps notes, for each user alone.")
server.collect(list_notes, add_note, clear_notes)

mcp = server.asgi_app(security=TransportSecuritySettings(allowed_hosts=[urlsplit(PUBLIC).netloc]))
app = FastAPI(lifespan=mcp.lifespan)
app.mount("/notes", AuthenticationMiddleware(mcp, backend=Bearer(), on_error=refused))


@app.get(METADATA)
async def metadata() -> dict[str, object]:
    return {"resource": RESOURCE, "authorization_servers": [ISSUER], "scopes_supported": [READ, WRITE]}


@app.get("/health")
async def health() -> dict[str, int]:
    return {"users": len(notes)}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), timeout_graceful_shutdown=5)
    else:
        print(__doc__)
