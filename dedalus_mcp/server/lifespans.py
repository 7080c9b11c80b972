"""What lifespans have given, as a handler sees it: the part of `Context` that is typed by its author.

    async def report(ctx: Context[Database]) -> str: ...                # ctx.lifespan is a Database
    async def visit(ctx: Context[Database, Visitor]) -> str: ...        # and ctx.session_lifespan a Visitor

Neither has to be named: both are `Any` for a plain `Context`.

Layer: L4.
"""

from __future__ import annotations

from types import GenericAlias
from typing import TYPE_CHECKING, Any, Generic, cast

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from dedalus_mcp.server.composition import Home

    L_co = TypeVar("L_co", covariant=True, default=Any)
    S_co = TypeVar("S_co", covariant=True, default=Any)
else:  # defaults are the checkers' business alone
    from typing import TypeVar

    L_co = TypeVar("L_co", covariant=True)
    S_co = TypeVar("S_co", covariant=True)

__all__ = ("L_co", "Lifespans", "S_co")


class Lifespans(Generic[L_co, S_co]):
    """What the server's lifespan gave, and the session's.

    Attributes:
        homes: The included servers on the way to the handler.
    """

    __slots__ = ("_lifespan", "_session_lifespan", "homes")

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: Any) -> Any:
            return GenericAlias(cls, types)  # one of the two is enough

    _lifespan: Any
    _session_lifespan: Any
    homes: tuple[Home, ...]

    @property
    def lifespan(self) -> L_co:
        """What the lifespan of the handler's server yielded; None without one."""
        value: L_co = self.homes[-1].lifespan if self.homes else self._lifespan
        return value

    @property
    def session_lifespan(self) -> S_co:
        """What the session's lifespan yielded; None without one, and before the session has called a handler."""
        value: Any = getattr(self, "_session_lifespan", None)  # set where there is one: most servers have none
        return cast("S_co", value)

    def keep_session_lifespan(self, value: Any) -> None:
        """The session's lifespan is entered; this is what it yielded."""
        self._session_lifespan = value
