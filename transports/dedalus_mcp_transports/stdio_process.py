"""A child process with all its descendants, and how they end.

    running ──stdin closed──▶ (grace) ──SIGTERM──▶ (grace) ──SIGKILL──▶ reaped
       └────── each arrow only if something of the group is still there ──────┘

The child leads a session and a process group of its own.  It is not reaped before its end is
wanted: as long as it is not, its number cannot become another process's or group's, so no
signal can reach a stranger.

Source: 2026-07-28, basic/transports/stdio, "Shutdown".
Layer: L5; imports anyio.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

import anyio

__all__ = ("Process", "until")

KILL_TIMEOUT = 1.0
"""Seconds to wait for a killed process to be gone: longer only if the kernel itself is stuck."""


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait at most so many seconds for `condition`, and return whether it came true.

    It looks again and again, at most 20 ms apart: no system call waits for a process group,
    and the few waits of a child's end are not worth a child watcher or a thread.
    """
    pause = 0.001
    with anyio.move_on_after(seconds):
        while not condition():
            await anyio.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True
    return condition()


class Process:
    """A running child.

    Args:
        command: The program and its arguments.
        env: Its whole environment.
        cwd: Where it runs; None means here.

    Attributes:
        stdin: Our end of its standard input; non-blocking, owned by the caller.
        stdout: Our end of its standard output; likewise.
        stderr: Our end of its standard error; blocking, owned by the caller.

    Raises:
        OSError: It cannot be started; the text names the command.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str] | None) -> None:
        self._popen = _start(command, env, cwd)
        self.pid = self._popen.pid
        self._code: int | None = None
        self._is_gone = False
        self.stdin, self.stdout, self.stderr = (
            _take(stream) for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr)
        )
        if sys.platform != "win32":  # these open files are ours alone: the child has the other ends
            os.set_blocking(self.stdin, False)
            os.set_blocking(self.stdout, False)

    def exited(self) -> bool:
        """Return whether the child itself has ended.  Does not reap it where the system can tell otherwise."""
        if self._code is None:
            self._code = self._look()
        return self._code is not None

    def ending(self) -> str | None:
        """Return how the child ended, in words; None while it runs."""
        if not self.exited() or self._code is None:
            return None
        if self._code >= 0:
            return f"exited with code {self._code}"
        try:
            return f"was ended by {signal.Signals(-self._code).name}"
        except ValueError:  # a real-time signal
            return f"was ended by signal {-self._code}"

    async def end(self, grace: float, tick: Callable[[], object]) -> None:
        """End the child, whose stdin has been closed, and its descendants, within about two graces.

        Args:
            grace: Seconds to go by itself, and again to heed SIGTERM.
            tick: Called now and then while waiting.
        """

        def exited() -> bool:
            tick()
            return self.exited()

        try:
            if await until(exited, grace) and self._gone():
                return
            self._terminate()
            await until(lambda: exited() and self._gone(), grace)
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill what is left of the group and reap the child.  Idempotent; blocks for at most a second."""
        if self._is_gone or (self.exited() and self._gone()):
            return
        self._is_gone = True
        if sys.platform != "win32":
            self._signal(signal.SIGKILL)
        else:
            tree = ["taskkill", "/T", "/F", "/PID", str(self.pid)]
            subprocess.run(tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        with suppress(subprocess.TimeoutExpired):  # inside a system call that cannot be interrupted
            self._popen.wait(KILL_TIMEOUT)

    def _look(self) -> int | None:
        if sys.platform == "win32" or not hasattr(os, "waitid"):  # macOS has it from Python 3.13 on
            return self._popen.poll()
        try:
            end = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # reaped by `_gone`; or by somebody else, or by the system as SIGCHLD is ignored
            return self._popen.poll() or 0
        if end is None:
            return None
        return end.si_status if end.si_code == os.CLD_EXITED else -end.si_status

    def _gone(self) -> bool:
        """Reap the child, which has ended, and return whether its group is empty now."""
        self._popen.poll()
        if sys.platform == "win32":
            self._is_gone = True
        elif not self._is_gone:  # afterwards the number may be a stranger's
            self._is_gone = not (self._signal(0) and _lives(self.pid))
        return self._is_gone

    def _terminate(self) -> None:
        if sys.platform != "win32":
            self._signal(signal.SIGTERM)
        else:
            self._popen.send_signal(signal.CTRL_BREAK_EVENT)

    def _signal(self, number: int) -> bool:
        """Signal the group and return whether there was anybody to get it."""
        if sys.platform == "win32":
            return False
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):  # macOS says the second of a group of zombies
            return False
        return True


def _lives(group: int) -> bool:
    """Return whether anybody of the group is more than a zombie.

    An orphan stays a zombie for ever where process 1 reaps nobody, as in many containers, and
    `killpg` finds it.
    """
    if sys.platform != "linux":
        return True
    from pathlib import Path  # noqa: PLC0415  # a costly import, needed when a server leaves children behind

    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            state, _, its_group = stat.read_bytes().rpartition(b")")[2].split()[:3]
            if int(its_group) == group and state != b"Z":
                return True
    return False


def _start(
    command: Sequence[str], env: Mapping[str, str], cwd: str | os.PathLike[str] | None
) -> subprocess.Popen[bytes]:
    argv = list(command)
    if sys.platform == "win32":  # CreateProcess knows .exe only; npx and its like are .cmd
        import shutil  # noqa: PLC0415  # a costly import, for Windows alone

        argv[0] = shutil.which(argv[0], path=env.get("PATH")) or argv[0]
    try:
        return subprocess.Popen(
            argv,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except OSError as error:
        if error.filename is not None and error.filename == cwd:
            raise
        said = error.strerror
        if isinstance(error, FileNotFoundError) and " " in argv[0]:
            said = f"{said} (arguments go into `args`, each by itself)"
        raise type(error)(error.errno or errno.ENOENT, said, argv[0]) from None


def _take(stream: IO[bytes] | None) -> int:
    """Take the descriptor out of a file object, which is closed."""
    if stream is None:
        raise ValueError("not a pipe")
    with stream:
        return os.dup(stream.fileno())
