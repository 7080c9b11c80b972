"""The protocol's words: every params, result, content block and capability of every revision.

One flat name space over one module per family, whose `__all__` says what it adds.  Attributes
carry their wire names (`requestedSchema`, `isError`), `_meta` is `meta`, and members that are
not there read as None.  `methods` has a constant for each method; `revisions` shapes values for
their readers.

Layer: L1; imports `errors` only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedalus_mcp.errors import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    RESOURCE_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    URL_ELICITATION_REQUIRED,
    ErrorData,
)
from dedalus_mcp.types import (
    capabilities,
    completion,
    content,
    elicitation,
    icons,
    lifecycle,
    messages,
    meta,
    notices,
    notifications,
    prompts,
    requests,
    resources,
    results,
    roots,
    rounds,
    sampling,
    subscriptions,
    tasks,
    tools,
)
from dedalus_mcp.types.capabilities import *  # noqa: F403
from dedalus_mcp.types.completion import *  # noqa: F403
from dedalus_mcp.types.content import *  # noqa: F403
from dedalus_mcp.types.elicitation import *  # noqa: F403
from dedalus_mcp.types.icons import *  # noqa: F403
from dedalus_mcp.types.lenient import block_of
from dedalus_mcp.types.lifecycle import *  # noqa: F403
from dedalus_mcp.types.messages import *  # noqa: F403
from dedalus_mcp.types.meta import *  # noqa: F403
from dedalus_mcp.types.notices import *  # noqa: F403
from dedalus_mcp.types.notifications import *  # noqa: F403
from dedalus_mcp.types.prompts import *  # noqa: F403
from dedalus_mcp.types.requests import *  # noqa: F403
from dedalus_mcp.types.resources import *  # noqa: F403
from dedalus_mcp.types.results import *  # noqa: F403
from dedalus_mcp.types.revisions import LATEST, V2025_03_26
from dedalus_mcp.types.roots import *  # noqa: F403
from dedalus_mcp.types.rounds import *  # noqa: F403
from dedalus_mcp.types.sampling import *  # noqa: F403
from dedalus_mcp.types.subscriptions import *  # noqa: F403
from dedalus_mcp.types.tasks import *  # noqa: F403
from dedalus_mcp.types.tools import *  # noqa: F403

if TYPE_CHECKING:
    from dedalus_mcp.jsonrpc.messages import Call as JSONRPCRequest
    from dedalus_mcp.jsonrpc.messages import Failure as JSONRPCError
    from dedalus_mcp.jsonrpc.messages import Message as JSONRPCMessage
    from dedalus_mcp.jsonrpc.messages import Notice as JSONRPCNotification
    from dedalus_mcp.jsonrpc.messages import Success as JSONRPCResponse

LATEST_PROTOCOL_VERSION = LATEST
DEFAULT_NEGOTIATED_VERSION = V2025_03_26  # what an HTTP request that names no version speaks

__all__: tuple[str, ...] = (
    "CONNECTION_CLOSED",
    "DEFAULT_NEGOTIATED_VERSION",
    "ErrorData",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "JSONRPCError",
    "JSONRPCMessage",
    "JSONRPCNotification",
    "JSONRPCRequest",
    "JSONRPCResponse",
    "LATEST_PROTOCOL_VERSION",
    "METHOD_NOT_FOUND",
    "MISSING_REQUIRED_CLIENT_CAPABILITY",
    "PARSE_ERROR",
    "RESOURCE_NOT_FOUND",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "URL_ELICITATION_REQUIRED",
    "block_of",
)
__all__ += capabilities.__all__
__all__ += completion.__all__
__all__ += content.__all__
__all__ += elicitation.__all__
__all__ += icons.__all__
__all__ += lifecycle.__all__
__all__ += messages.__all__
__all__ += meta.__all__
__all__ += notices.__all__
__all__ += notifications.__all__
__all__ += prompts.__all__
__all__ += requests.__all__
__all__ += resources.__all__
__all__ += results.__all__
__all__ += roots.__all__
__all__ += rounds.__all__
__all__ += sampling.__all__
__all__ += subscriptions.__all__
__all__ += tasks.__all__
__all__ += tools.__all__

_MESSAGES = {
    "JSONRPCError": "Failure",
    "JSONRPCMessage": "Message",
    "JSONRPCNotification": "Notice",
    "JSONRPCRequest": "Call",
    "JSONRPCResponse": "Success",
}


def __getattr__(name: str) -> Any:
    """Return an envelope under the name that the protocol's schema gives it.

    Envelopes are the engine's own types, of `jsonrpc.messages`, and are only imported when used.
    """
    if name not in _MESSAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dedalus_mcp.jsonrpc import messages  # noqa: PLC0415

    return getattr(messages, _MESSAGES[name])
