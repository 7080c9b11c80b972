"""The settings of a server, each with its unit and the reason of its default.

Layer: L4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import msgspec

from dedalus_mcp.jsonrpc.peer import Limits
from dedalus_mcp.schema.signature import is_async
from dedalus_mcp.server.hints import CACHEABLE, CacheHint
from dedalus_mcp.server.sessions import Session

__all__ = (
    "ElicitationConfig",
    "ParkingConfig",
    "PingConfig",
    "SamplingConfig",
    "ServerConfig",
    "check_texts",
    "config_of",
)

MAX_SUGGESTIONS = 100
"""Values in one answer to `completion/complete`, at most (MCP, server/utilities/completion)."""


class ElicitationConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How the user is asked.

    Attributes:
        timeout: How long to wait for an answer where the question does not say, in seconds;
            None for no limit.  Ten minutes: people read, look things up, get coffee.
        audit_values: Whether `MCPServer(on_ask=...)` is shown what was answered; off, since it is
            the user's own.

    Raises:
        ValueError: The time is negative, or none.
    """

    timeout: float | None = 600.0
    audit_values: bool = False

    def __post_init__(self) -> None:
        _check_timeout(self.timeout)


class SamplingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How the client's model is asked.

    All but the timeout is about requests in a session: on 2026-07-28 clients fetch questions, and
    answer them at their own pace.

    Attributes:
        timeout: How long to wait for an answer where the question does not say, in seconds; None for no
            limit.  Ten minutes, as for a question to the user: a person may have to let it pass.
        max_concurrent: Questions that one client is asked at a time; the others wait, and their time
            counts once they are asked.  Few models answer more at once any sooner.  A client that calls
            tools which ask, too, while it answers needs a place for each.
        failure_threshold: How many failures in a row (errors, answers that are not legal, none in time) are
            enough: then `AskFailed` is raised at once.
        cooldown_seconds: How long that goes on, in seconds, before one question is let through: its answer
            ends it, and its failure begins it anew.  By then whoever was restarted is back.

    Raises:
        ValueError: A number is out of bounds.
    """

    timeout: float | None = 600.0
    max_concurrent: int = 4
    failure_threshold: int = 3
    cooldown_seconds: float = 30.0

    def __post_init__(self) -> None:
        _check_timeout(self.timeout)
        for name in ("max_concurrent", "failure_threshold"):
            count: object = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int) or count < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, not {count!r:.80}")
        if not 0 <= self.cooldown_seconds < math.inf:
            raise ValueError(f"cooldown_seconds must be 0 or more, and finite, not {self.cooldown_seconds!r}")


def _check_timeout(timeout: float | None) -> None:
    if timeout is not None and not timeout >= 0:
        raise ValueError(f"timeout must be 0 or more seconds, or None, not {timeout!r}")


class ParkingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How long calls that ask in rounds wait for their next request, and how many may (2026-07-28).

    Attributes:
        round_seconds: How long one round waits for its answers.  Ten minutes, as a question does.
        call_seconds: How long a call may live in all, however often it asks.
        outcome_seconds: How long the end of a call is remembered, for a client that lost the response.
        max_parked: Calls that have asked and are not over, at most.
        max_parked_by_principal: The same for one client, where clients prove who they are.
        max_outcome_bytes: Bytes of remembered ends, at most; the oldest go first.

    Raises:
        ValueError: A number is negative.
    """

    round_seconds: float = 600.0
    call_seconds: float = 3600.0
    outcome_seconds: float = 60.0
    max_parked: int = 1000
    max_parked_by_principal: int = 100
    max_outcome_bytes: int = 16 << 20

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, but is {getattr(self, name)!r}")


class PingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How clients are asked whether they are there, see `MCPServer.start_ping_heartbeat`.

    Attributes:
        interval: How long from one question to the next, in seconds.
        jitter: By which part of that it varies, 0 to 1: many servers should not ask in step.
        timeout: How long to wait for an answer, in seconds.
        phi_threshold: The suspicion from which on a silent client is suspect, see `dedalus_mcp.server.suspicion`:
            at 5, one silence in 100,000 is as long.
        failure_budget: How many questions in a row may go without an answer; with the last the client is down.
        history: How many intervals between answers are remembered.
        max_concurrency: How many clients are asked at a time.
        on_suspect: Told of a suspect client, and of phi, once until it answers.
        on_down: Told of one that is down, likewise.  Both are plain functions, called in the event loop.

    Raises:
        ValueError: A number is out of bounds.
        TypeError: What is to be told is no plain function.
    """

    interval: float = 5.0
    jitter: float = 0.2
    timeout: float = 2.0
    phi_threshold: float = 5.0
    failure_budget: int = 3
    history: int = 32
    max_concurrency: int = 100
    on_suspect: Callable[[Session, float], None] | None = None
    on_down: Callable[[Session], None] | None = None

    def __post_init__(self) -> None:
        for name in ("interval", "timeout", "phi_threshold"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be more than 0, and finite, not {getattr(self, name)!r}")
        if not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter must be from 0 to 1, not {self.jitter!r}")
        for name, least in (("failure_budget", 1), ("history", 2), ("max_concurrency", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, not {getattr(self, name)!r}")
        for name in ("on_suspect", "on_down"):
            told: object = getattr(self, name)
            if told is not None and (not callable(told) or is_async(told)):
                raise TypeError(f"{name} is a plain function, which is called at once, not {told!r:.80}")


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a server.

    Attributes:
        elicitation: How the user is asked.
        sampling: How the client's model is asked.
        parking: The bounds of calls that ask in rounds.
        ping: How clients are asked whether they are there.
        pagination_limit: Items on one page of a list, at most.  There are clients that read no more than the first.
        completion_limit: Suggestions in one answer, at most; the protocol allows no more than 100 (COMP-04).
        max_resource_stream: Bytes or characters of a resource that is given piece by piece, at most; it is
            held in memory, since the protocol has no pieces.
        mask_errors: Whether clients read no more of an exception than that there was one.  Off, they read
            its type and message; either way the log has all of it.  What is meant for them passes
            anyhow: `ToolError`, `McpError`, `ResourceNotFound`.
        worker_threads: Sync tools that may run at once; the others wait.
        notice_delay: How long changes are gathered before clients are told, in seconds: what
            changes again meanwhile is told once.  Long enough for a loop that registers
            many tools, too short to be noticed.
        cache_hints: How long, and for whom, clients of 2026-07-28 may keep lists, by method (such as
            "tools/list"); "resources/read" is for the resources that do not say it themselves.
            Without one, nothing is to be kept.
        max_listens: Listen streams of 2026-07-28 that may be open at once.  Over HTTP each has a
            connection of its own.
        drain_seconds: How long running calls may go on after the client has gone; stdio only.
        limits: The bounds of one conversation.

    Raises:
        ValueError: There is no room for one item on a page, one suggestion, one byte or one thread, or for
            more suggestions than the protocol allows; a result that is never kept has a hint; or the delay is none.
    """

    elicitation: ElicitationConfig = ElicitationConfig()
    sampling: SamplingConfig = SamplingConfig()
    parking: ParkingConfig = ParkingConfig()
    ping: PingConfig = PingConfig()
    pagination_limit: int = 1000
    completion_limit: int = MAX_SUGGESTIONS
    max_resource_stream: int = 16 << 20
    mask_errors: bool = True
    worker_threads: int = 40
    notice_delay: float = 0.05
    cache_hints: Mapping[str, CacheHint] = {}
    max_listens: int = 10_000
    drain_seconds: float = 1.0
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for name in ("pagination_limit", "completion_limit", "max_resource_stream", "worker_threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)!r}")
        if self.completion_limit > MAX_SUGGESTIONS:
            raise ValueError(f"completion_limit must be at most {MAX_SUGGESTIONS}, not {self.completion_limit!r}")
        if unknown := self.cache_hints.keys() - set(CACHEABLE):
            raise ValueError(
                f"cache_hints: no results of {', '.join(sorted(unknown))} are kept; legal: {', '.join(CACHEABLE)}"
            )
        if not 0 <= self.notice_delay < math.inf:
            raise ValueError(f"notice_delay must be 0 or more seconds, not {self.notice_delay!r}")


def config_of(given: ServerConfig | None) -> ServerConfig:
    """Return the settings to use.

    Raises:
        TypeError: They are something else.
    """
    if not isinstance(given, ServerConfig | None):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers err
        raise TypeError(f"config is a ServerConfig(...), not {type(given).__name__}")
    return given or ServerConfig()


def check_texts(name: str, **others: str | None) -> None:
    """See to it that what a server says of itself is text.

    Raises:
        TypeError: Something of it is not.
    """
    for what, said in {"name": name, **others}.items():
        if not (isinstance(said, str) or (said is None and what != "name")):
            raise TypeError(f"{what} is a string, not {said!r:.80}")
