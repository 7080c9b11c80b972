"""Several processes behind one port: forked before anything runs, looked after, and ended together.

    supervisor ──fork──▶ workers     each with an event loop of its own, all accepting at the same sockets
               ◀─death──             another takes its place, after a pause that grows
    SIGTERM, SIGINT ──SIGTERM──▶ workers drain and end ──▶ the supervisor returns

The supervisor has no event loop and no thread, so forking is safe, and it has nothing else to do
than to wait.  A worker whose supervisor is gone has to end by itself: it has another parent then.

Layer: L5.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

__all__ = ("Supervisor",)

STEADY_SECONDS = 10.0
"""A worker that lived so long had begun well: whatever ended it, the next may begin at once."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds before a worker is replaced that did not live so long; doubled each time."""
MAX_FAILURES = 6
"""Such deaths in a row, of one worker, after which another will not help: about four seconds."""

HEARD = (signal.SIGINT, signal.SIGTERM, *([signal.SIGCHLD] if sys.platform != "win32" else []))

logger = logging.getLogger("dedalus_mcp")


@dataclass(slots=True)
class _Place:
    """Where a worker is, or will be.

    Attributes:
        number: Its number, from 1.
        pid: The worker's process; 0 where there is none.
        since: When it was started.
        due: When the next may be started.
        failures: Deaths in a row, each soon after the start.
    """

    number: int
    pid: int = 0
    since: float = 0.0
    due: float = 0.0
    failures: int = 0


class Supervisor:
    """Runs the same work in several processes, until it is told to stop.

    Args:
        count: How many processes.
        work: What each does; a worker ends when it returns.
        patience: How long a worker may take to end once it is told to, in seconds.

    Raises:
        ValueError: Processes cannot be forked here.
    """

    def __init__(self, count: int, work: Callable[[], object], patience: float) -> None:
        if sys.platform == "win32" or not hasattr(os, "fork"):
            raise ValueError("workers= needs fork, which this system lacks: start the program several times instead")
        self._places = [_Place(number) for number in range(1, count + 1)]
        self._work = work
        self._patience = patience
        self._stopping: float | None = None  # when those that are left are killed
        self._interrupts = 0

    def run(self) -> None:
        """Start the workers, and return when all have ended.

        Raises:
            RuntimeError: One ended again and again, soon after it began; or this is not the main thread.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("workers= needs the main thread, since only it hears of signals")
        with _hearing() as heard:
            try:
                while self._go_on():
                    for number in heard(self._pause()):
                        self._told(number)
            finally:
                self._kill()  # whatever was raised, nobody is left behind
        given_up = [place for place in self._places if place.failures >= MAX_FAILURES]
        if given_up:
            raise RuntimeError(
                f"worker {given_up[0].number} ended {MAX_FAILURES} times in a row, each time within "
                f"{STEADY_SECONDS:g} seconds; the log says how"
            )

    def _go_on(self) -> bool:
        """Look after each place; False once all workers have ended for good."""
        now = time.monotonic()
        for place in self._places:
            if place.pid and (status := _ended(place.pid)) is not None:
                self._died(place, status, now)
        if self._stopping is not None and now >= self._stopping:
            logger.warning("workers have not ended in %g seconds, and are killed", self._patience)
            self._stopping = float("inf")
            self._send(signal.SIGKILL)
        if self._stopping is None:
            for place in self._places:
                if not place.pid and now >= place.due:
                    place.since, place.pid = now, _fork(self._work)
                    logger.info("worker %d is process %d", place.number, place.pid)
        return self._stopping is None or any(place.pid for place in self._places)

    def _died(self, place: _Place, status: int, now: float) -> None:
        pid, place.pid = place.pid, 0
        if self._stopping is not None:
            return
        code = os.waitstatus_to_exitcode(status)
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        place.failures = place.failures + 1 if now - place.since < STEADY_SECONDS else 0
        if place.failures >= MAX_FAILURES:
            logger.error("worker %d (process %d) ended %s, again; all are ended", place.number, pid, how)
            self._stop()
            return
        pause = min(FIRST_PAUSE * 2 ** (place.failures - 1), LONGEST_PAUSE) if place.failures else 0.0
        place.due = now + pause
        logger.warning("worker %d (process %d) ended %s; another follows", place.number, pid, how)

    def _pause(self) -> float | None:
        """How long nothing is to be done, unless a signal comes; None for ever."""
        times = [place.due for place in self._places if not place.pid] if self._stopping is None else [self._stopping]
        return None if not times or times == [float("inf")] else max(0.0, min(times) - time.monotonic())

    def _told(self, number: int) -> None:
        if number == signal.SIGINT:
            self._interrupts += 1
        if number == signal.SIGINT and self._interrupts > 1:  # Ctrl-C again
            self._send(signal.SIGKILL)
        elif number in (signal.SIGINT, signal.SIGTERM) and self._stopping is None:
            self._stop()

    def _stop(self) -> None:
        self._stopping = time.monotonic() + self._patience
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        for place in self._places:
            if place.pid:
                with suppress(ProcessLookupError):
                    os.kill(place.pid, number)

    def _kill(self) -> None:
        self._send(signal.SIGKILL)
        for place in self._places:
            if place.pid:
                with suppress(ChildProcessError):
                    os.waitpid(place.pid, 0)


@contextmanager
def _hearing() -> Generator[Callable[[float | None], bytes]]:
    """Hear of signals: what is given waits, so many seconds at most, and returns the numbers of those that came."""
    reader, writer = os.pipe()
    for end in (reader, writer):
        os.set_blocking(end, False)
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        handlers = {number: signal.signal(number, _heed) for number in HEARD}
        woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

        def heard(seconds: float | None) -> bytes:
            return os.read(reader, 1024) if selector.select(seconds) else b""

        try:
            yield heard
        finally:
            signal.set_wakeup_fd(woken)
            for number, handler in handlers.items():
                signal.signal(number, handler or signal.SIG_DFL)
            os.close(reader)
            os.close(writer)


def _heed(number: int, frame: FrameType | None) -> None:
    """Handle a signal by doing nothing: that it came is heard elsewhere, or means nothing."""


def _ended(pid: int) -> int | None:
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # somebody else has waited for it
        return 0
    return status if found else None


def _fork(work: Callable[[], object]) -> int:
    _flush()  # what is buffered would be written by both
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)  # a signal between the two would be the wrong one's
    try:
        pid = os.fork()
        if not pid:
            _be_worker(work, mask)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return pid


def _be_worker(work: Callable[[], object], mask: set[int | signal.Signals]) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in HEARD:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, _heed)  # a terminal tells everybody; the supervisor says what it means
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        work()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        logger.exception("a worker failed")
    finally:
        with suppress(Exception):
            logging.shutdown()
        _flush()
        os._exit(code)  # what the program does afterwards is the supervisor's to do


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # None without such a descriptor; broken; closed
            stream.flush()
