"""Pictures for a user interface.

Layer: L1; imports `wire` only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from dedalus_mcp.types.wire import Wire, from_members, members_of

__all__ = ("Icon",)


class Icon(Wire, frozen=True, kw_only=True):
    """A picture of a server, tool, prompt or resource (2025-11-25 and later).

    Attributes:
        src: An ``https:`` or ``data:`` URI.
        sizes: For example ``["48x48"]``, or ``["any"]`` for a scalable one.
        theme: The background it is drawn for.
    """

    src: str
    mimeType: str | None = None
    sizes: list[str] | None = None
    theme: Literal["light", "dark"] | None = None

    @classmethod
    def of(cls, icon: Icon | Mapping[str, Any]) -> Icon:
        """Return `icon` as an `Icon`; ``{"type": "url", "url": ...}`` is taken too.

        Raises:
            TypeError: It is no icon; the text says why.
        """
        if isinstance(icon, Icon):
            return icon
        members = members_of(icon, cls)
        if "url" in members:
            if "src" in members:
                raise TypeError("an icon has one URI, not both `src` and `url`")
            members["src"] = members.pop("url")
        if (type_ := members.pop("type", "url")) != "url":
            raise TypeError(f"an icon's type is 'url', not {type_!r}")
        return from_members(members, cls)
