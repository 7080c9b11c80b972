"""What goes away: told to whoever still uses it, by a warning that names when, and what to use instead.

    @deprecated("`Form.old` is deprecated since 0.9, removed in 0.11: use `Form.new`")
    def old(self): ...

    warn_deprecated("`connect(old=)` is deprecated since 0.9, removed in 0.11: use `new=`")

The text is all there is: people read it, and so do type checkers, which know the decorator as that of PEP 702.
The project's tests hold it to this form, and fail once the version that removes the thing has come.

Layer: L0; imports nothing of this package.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar

__all__ = ("DedalusDeprecationWarning", "deprecated", "warn_deprecated")

F = TypeVar("F", bound=Callable[..., Any])


class DedalusDeprecationWarning(FutureWarning):
    """Something of this package goes away, and is still used.

    Python shows it unless it is told not to: those who run a program may have to tell those who wrote it.
    ``warnings.filterwarnings("error", category=DedalusDeprecationWarning)`` finds all uses.
    """


def warn_deprecated(text: str, *, above: int = 1) -> None:
    """Warn the caller of the function that calls this, be they plain or async.

    Args:
        text: "`what` is deprecated since 0.9, removed in 0.11: use `instead`".
        above: How many calls above that function the one stands that has to change.
    """
    warnings.warn(text, DedalusDeprecationWarning, stacklevel=2 + above)


if TYPE_CHECKING:
    from typing_extensions import deprecated  # of the checkers' own: nothing has to be installed
else:

    def deprecated(text: str, /) -> Callable[[F], F]:
        """Mark a function or a method, plain or async, so that each call warns its caller.

        It goes beneath `staticmethod`, `classmethod` and `property`.  A class calls `warn_deprecated` where it
        is made.

        Args:
            text: See `warn_deprecated`.
        """

        def mark(function: F) -> F:
            if iscoroutinefunction(function):

                @wraps(function)
                async def called(*args: Any, **kwargs: Any) -> Any:
                    warn_deprecated(text)
                    return await function(*args, **kwargs)
            else:

                @wraps(function)
                def called(*args: Any, **kwargs: Any) -> Any:
                    warn_deprecated(text)
                    return function(*args, **kwargs)

            called.__deprecated__ = text
            return called

        return mark
