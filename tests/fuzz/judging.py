"""What the invariant allows: errors of certain names, with a text that is not too long."""

from __future__ import annotations

from types import TracebackType

from dedalus_mcp.errors import McpError

__all__ = ("allowed",)

LONGEST = 64 * 1024
"""Characters of an error that names every field at fault."""


class allowed:  # noqa: N801 - reads as a function does
    """Lets errors of these kinds pass, and no others.

    Args:
        kinds: Their classes.
        code: The code that an `McpError` has to have.
        longest: Characters of their text.

    Raises:
        AssertionError: The error is of such a kind, and says too much, or has another code.
    """

    def __init__(self, *kinds: type[Exception], code: int | None = None, longest: int = LONGEST) -> None:
        self._kinds = kinds
        self._code = code
        self._longest = longest

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, self._kinds):
            return False
        if len(str(error)) > self._longest:
            raise AssertionError(f"an error of {len(str(error))} characters: {error!s:.200}")
        if self._code is not None and isinstance(error, McpError) and error.code != self._code:
            raise AssertionError(f"the code of an error is {error.code}, not {self._code}: {error!s:.200}")
        return True
