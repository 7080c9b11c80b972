"""Which scopes to ask for, without I/O.

    first      what the challenge says, and what the user wants; else all that the server lists; else nothing
    step-up    what was asked for before, and what the challenge says now

Layer: L4; no I/O.
Source: MCP 2026-07-28, basic/authorization, "Scope selection strategy" and "Step-up authorization flow".
"""

from __future__ import annotations

from collections.abc import Iterable

from dedalus_mcp.client.auth.metadata import AuthorizationServerMetadata, ResourceMetadata

__all__ = ("scopes_to_ask", "union")

OFFLINE = "offline_access"
MAX_SCOPES = 256
MAX_CHARACTERS = 6000
"""Scopes that are asked for at once, and characters of them in all; a URL holds no more."""


def union(*several: Iterable[str]) -> tuple[str, ...]:
    """Return all scopes, each once, in the order in which they come first, as far as a URL holds them."""
    every = dict.fromkeys(scope for scopes in several for scope in scopes if scope)
    room, chosen = MAX_CHARACTERS, list[str]()
    for scope in every:
        room -= len(scope)
        if room < 0 or len(chosen) == MAX_SCOPES:
            break
        chosen.append(scope)
    return tuple(chosen)


def scopes_to_ask(
    challenged: Iterable[str],
    wanted: Iterable[str],
    before: Iterable[str],
    *,
    resource: ResourceMetadata | None,
    server: AuthorizationServerMetadata,
    lasting: bool,
) -> tuple[str, ...]:
    """Choose.

    Args:
        challenged: What the server says that this request takes; it needs no relation to what it lists (AUTH-41).
        wanted: What the user of this library said.
        before: What was asked for before, so that nothing that was allowed is lost (AUTH-43).
        resource: What the server lists.
        server: Who is asked.
        lasting: Whether a token to refresh with is of use; then `offline_access` is asked for as well, if
            the authorization server knows it (AUTH-48) and there is anything else to ask for.
    """
    chosen = union(before, challenged, wanted)
    if not chosen and resource is not None:
        chosen = union(resource.scopes_supported or ())
    if lasting and chosen and OFFLINE in (server.scopes_supported or ()):
        chosen = union(chosen, (OFFLINE,))
    return chosen
