"""Modern requests over HTTP: each is a conversation of its own, and ends with its connection.

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http.
"""

from __future__ import annotations

from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.tasks import one_step
from dedalus_mcp.transport import Application, Receiver
from dedalus_mcp_transports.http_channel import Form, PostChannel, answer_gone
from dedalus_mcp_transports.http_classify import status_of
from dedalus_mcp_transports.http_life import Pulse
from dedalus_mcp_transports.http_mirrors import Mirrors
from dedalus_mcp_transports.http_request import HttpRequest, Receive, Send, respond, respond_failure

__all__ = ("Modern",)


class Modern:
    """The modern requests of one server.

    Args:
        application: What is served.
        form: What a POST may be answered with.
        pulse: Keeps silent streams alive.
    """

    def __init__(self, application: Application, form: Form, pulse: Pulse) -> None:
        self._application = application
        self._form = form
        self._pulse = pulse
        self._mirrors = Mirrors(application.input_schema)
        self._running: dict[Receiver, PostChannel] = {}

    async def post(self, request: HttpRequest, message: Decoded, receive: Receive, send: Send) -> None:
        """Take a message; a client that leaves cancels its call."""
        if not isinstance(message, Call):
            await respond(send, 202)
            return
        refused = self._mirrors.check(message, request.fields)
        if refused is not None:
            await respond_failure(send, refused.status, refused.failure)
            return
        channel = PostChannel(request, send, self._form, status_of=status_of)
        receiver = self._application.converse(channel)
        receiver.take(message, channel)
        if channel.unsent:
            await channel.flush()
        if channel.over:
            return
        self._running[receiver] = channel
        try:
            await one_step()
            if not channel.over_for(send):  # most calls need no more than that
                await self._pulse.attend(channel, receive, send)
        finally:  # also when the server ends this task by force
            del self._running[receiver]
            left = channel.read_by(send)
            if left:
                channel.leave()
                receiver.close("the client closed the stream")
        if left:
            await receiver.idle()
            await answer_gone(channel, send)

    def stop(self) -> list[Receiver]:
        """Return the conversations that are going on."""
        return list(self._running)

    def close(self, reason: str) -> list[PostChannel]:
        """End the conversations; return the channels on which no reply will come now."""
        for receiver in self._running:
            receiver.close(reason)
        return list(self._running.values())
