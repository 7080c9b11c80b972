"""Pages that a user was asked to visit.

Layer: L4.
Source: MCP 2025-11-25, client/elicitation.
"""

from __future__ import annotations

from typing import Literal

from dedalus_mcp.server.asking_call import AskingCall
from dedalus_mcp.types import ElicitationCompleteNotificationParams
from dedalus_mcp.types.methods import ELICITATION_COMPLETE
from dedalus_mcp.types.revisions import shape

__all__ = ("Visit",)


class Visit:
    """A page that the user was asked to visit: true if the user agreed to, which is not to have been there.

    Attributes:
        action: What the user did.
        elicitation_id: The id that the page's end is told under.
    """

    __slots__ = ("_call", "action", "elicitation_id")

    def __init__(self, call: AskingCall, action: Literal["accept", "decline", "cancel"], elicitation_id: str) -> None:
        self._call = call
        self.action: Literal["accept", "decline", "cancel"] = action
        self.elicitation_id = elicitation_id

    def __bool__(self) -> bool:
        return self.action == "accept"

    async def complete(self) -> None:
        """Tell the client that the page has done its work, also after the call is over.

        Only 2025-11-25 has such a notice; elsewhere nothing happens, nor where the user did not agree.
        """
        call = self._call
        if not self or call.revision not in ELICITATION_COMPLETE.server_sends:
            return
        params = ElicitationCompleteNotificationParams(elicitationId=self.elicitation_id)
        channel = None if call.finished else call.call.channel
        call.peer.notify(ELICITATION_COMPLETE.name, shape(params, call.revision), channel=channel)
        if channel is not None:
            await channel.flush()
