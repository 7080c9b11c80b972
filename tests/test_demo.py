"""`make demo` does what it says: by itself, and with a person at a terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from tests.sources import PACKAGES, ROOT

DEMO = ROOT / "examples" / "demo.py"
PATHS = {**os.environ, "PYTHONPATH": os.pathsep.join(str(root) for root in PACKAGES.values())}
COMMAND = [sys.executable, "-W", "error", str(DEMO)]
PATIENCE = 30.0
"""Seconds without a word after which the demonstration hangs."""
CHOOSE = "accept, decline or cancel? [accept] "


class Terminal:
    """A person's terminal, with the demonstration running in it."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process = process
        self._screen = screen
        self._unread = b""

    def see(self, text: str) -> str:
        """Wait until `text` is on the screen; return what came before it, since the last look."""
        wanted = text.encode()
        while wanted not in self._unread:
            self._unread += self._read() or pytest.fail(f"{text!r} never came:\n{self._unread.decode()}")
        before, self._unread = self._unread.split(wanted, 1)
        return before.decode()

    def type(self, *keys: str) -> None:
        os.write(self._screen, "".join(keys).encode())

    def rest(self) -> str:
        """Wait for the end; return what came since the last look."""
        while more := self._read():
            self._unread += more
        self.process.wait(PATIENCE)
        return self._unread.decode()

    def _read(self) -> bytes:
        if not select.select([self._screen], [], [], PATIENCE)[0]:
            pytest.fail(f"the demonstration hangs:\n{self._unread.decode()}")
        try:
            return os.read(self._screen, 65536).replace(b"\r\n", b"\n")
        except OSError:  # how Linux says that nobody writes any more
            return b""


@contextmanager
def terminal() -> Generator[Terminal]:
    screen, inside = pty.openpty()
    process = subprocess.Popen(
        COMMAND, stdin=inside, stdout=inside, stderr=inside, cwd=ROOT, env={**PATHS, "ASK": "1"}, start_new_session=True
    )
    os.close(inside)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def answered(screen: str) -> list[str]:
    """The lines that say what was asked, answered and returned."""
    return [line.strip() for line in screen.splitlines() if line.startswith(("  ?", "  !", "  ="))]


def test_the_demonstration_answers_by_itself() -> None:
    """PROMPT-03, ELIC-16: prompts are rendered, questions are answered and the tools go on."""
    done = subprocess.run(
        COMMAND, cwd=ROOT, env={**PATHS, "ASK": ""}, capture_output=True, text=True, timeout=PATIENCE, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "user: निम्नलिखित rust कोड की समीक्षा करें। Focus on: error handling." in done.stdout
    assert answered(done.stdout) == [
        "? Deploy to staging?",
        '! accept {"confirm": true}',
        "= Deployed to staging",
        "? Deploy to production?",
        "! decline",
        "= Deployment cancelled",
        "? प्रोजेक्ट का नाम:",
        '! accept {"name": "sitar"}',
        "? प्रोजेक्ट का प्रकार (web/api/cli):",
        '! accept {"type": "api"}',
        "? api प्रोजेक्ट 'sitar' बनाएं?",
        '! accept {"confirm": true}',
        "= sitar बनाया गया",
        "? कॉन्फ़िगरेशन दर्ज करें",
        '! accept {"name": "sitar", "replicas": 3, "size": "small"}',
        '= Got: {"name": "sitar", "replicas": 3, "size": "small"}',
    ]


def test_a_person_accepts_declines_and_cancels() -> None:
    """ELIC-16: each of the three actions reaches the tool, which goes on with it."""
    with terminal() as screen:
        screen.see(CHOOSE)
        screen.type("\n")
        screen.see("confirm (true or false): ")
        screen.type("yes\n")
        assert "= Deployed to staging" in screen.see(CHOOSE)
        screen.type("decline\n")
        assert "= Deployment cancelled" in screen.see(CHOOSE)
        screen.type("cancel\n")
        assert "= रद्द किया गया" in screen.see(CHOOSE)
        screen.type("d\n")

        assert answered(screen.rest()) == ["! decline", "= User declined"]
        assert screen.process.returncode == 0


def test_a_form_is_shown_field_by_field_and_asks_again_for_what_is_not_legal() -> None:
    with terminal() as screen:
        for _ in range(3):
            screen.see(CHOOSE)
            screen.type("cancel\n")
        screen.see("कॉन्फ़िगरेशन दर्ज करें")
        screen.see(CHOOSE)
        screen.type("perhaps\n")
        screen.see("'perhaps' is none of them")
        screen.see(CHOOSE)
        screen.type("accept\n")
        assert "What others will call it" in screen.see("Service (")
        screen.type("\n")
        assert "required" in screen.see("Service (")
        screen.type("tabla\n")
        screen.see("[2]: ")
        screen.type("10\n")
        assert "expected an integer" in screen.see("[2]: ")
        screen.type("4\n")
        assert "2. large" in screen.see("[small]: ")
        screen.type("2\n")
        screen.see("[leave out]: ")
        screen.type("\n")

        assert '! accept {"name": "tabla", "replicas": 4, "size": "large"}' in answered(screen.rest())
        assert screen.process.returncode == 0


def test_the_end_of_input_cancels_what_is_asked() -> None:
    with terminal() as screen:
        for _ in range(4):
            screen.see(CHOOSE)
            screen.type("\x04")

        assert answered(screen.rest()) == ["! cancel", "= User cancelled"]
        assert screen.process.returncode == 0


def test_an_interrupt_ends_it_without_a_traceback() -> None:
    with terminal() as screen:
        screen.see(CHOOSE)
        screen.process.send_signal(signal.SIGINT)

        assert screen.rest() == "\nStopped.\n"
        assert screen.process.returncode == 130
