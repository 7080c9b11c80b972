"""Who sent a request, as far as somebody in front of the application has proved it.

A session, and a call that waits for its next round, are their owner's alone: whoever comes with
another's id is told that there is none.

Layer: L2; imports nothing of this package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ("authenticated_user",)


def authenticated_user(scope: Mapping[str, Any]) -> str | None:
    """Return the name of ASGI's `scope["user"]`, where a middleware has put one that is authenticated.

    Starlette's `AuthenticationMiddleware` does, and with it many others: the user has
    `is_authenticated`, and `identity` or `display_name`.  None for anybody else.
    """
    user = scope.get("user")
    if user is None or not getattr(user, "is_authenticated", False):
        return None
    for name in ("identity", "display_name"):
        try:
            found = getattr(user, name)
        except (AttributeError, NotImplementedError):  # Starlette's own users have no identity
            continue
        if isinstance(found, str) and found:
            return found
    return None
