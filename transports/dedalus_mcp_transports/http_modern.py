"""Modern requests over HTTP: each is a conversation of its own, and ends with its connection.

Layer: L5.
Source: MCP 2026-07-28, basic/transports/streamable-http.
"""

from __future__ import annotations

from functools import partial

from dedalus_mcp.jsonrpc.codec import Decoded
from dedalus_mcp.jsonrpc.messages import Call
from dedalus_mcp.jsonrpc.tasks import Tasks
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
        self._running: dict[PostChannel, Receiver | None] = {}  # none before the first step of its task
        self._tasks = Tasks()

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
        self._running[channel] = None
        self._tasks.start(partial(self._answer, message, channel))
        try:
            left = await self._pulse.stay(channel, receive, send, partial(self._close, channel))
        finally:
            receiver = self._running.pop(channel, None)
        if left:
            if receiver is not None:
                await receiver.idle()
            await answer_gone(channel, send)

    def _close(self, channel: PostChannel) -> None:
        receiver = self._running.get(channel)
        if receiver is not None:
            receiver.close("the client closed the stream")

    async def _answer(self, message: Call, channel: PostChannel) -> None:
        """Answer a call, in a task of its own: all that it takes is made here, since many may wait for their turn."""
        if channel in self._running:
            receiver = self._running[channel] = self._application.converse(channel)
            run = receiver.lend(message, channel)
            if run is not None:
                await run()

    def stop(self) -> list[Receiver]:
        """Return the conversations that are going on."""
        return [receiver for receiver in self._running.values() if receiver is not None]

    def close(self, reason: str) -> list[PostChannel]:
        """End the conversations; return the channels on which no reply will come now."""
        for receiver in self.stop():
            receiver.close(reason)
        channels, self._running = list(self._running), {}
        return channels
