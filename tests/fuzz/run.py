"""Throws inputs at one target, in a process of its own: ``python -m tests.fuzz.run TARGET EXECUTIONS SECONDS ENGINE``.

An input that breaks the invariant is written into the corpus, where `make test` finds it until the
fault is mended, and ever after.

Two engines: atheris, which knows which branches an input takes and keeps those that take new ones, and
one without that knowledge, which needs nothing installed.  Both say at the end what they did, in the
words of libFuzzer.
"""

from __future__ import annotations

import hashlib
import importlib
import logging
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from tests.fuzz.mutation import LONGEST, WORDS, mutated
from tests.fuzz.targets import CORPUS, corpus, load

__all__ = ("plain", "with_coverage")

HANG_SECONDS = 60
"""Seconds of CPU that one input may take: far more than any needs, on any machine."""

MAX_MEGABYTES = 1024
"""What a target may need in all; what grows with each input does not stay below it."""


class Hanging(BaseException):
    """An input takes too long; nothing that is under test catches it."""


def plain(name: str, executions: int, seconds: int) -> None:
    """Throw inputs that are like those of the corpus."""
    target, seeds, random = load(name), corpus(name), Random()
    signal.signal(signal.SIGVTALRM, _hang)
    began, done = time.monotonic(), 0
    while done < executions and time.monotonic() - began < seconds:
        data = mutated(random.choice(seeds), seeds, random)
        done += 1
        signal.setitimer(signal.ITIMER_VIRTUAL, HANG_SECONDS)
        try:
            target(data)
            assert _megabytes() < MAX_MEGABYTES, f"more than {MAX_MEGABYTES} MiB are in use"
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                error.add_note(f"the input is in {_keep(name, data)}")
            raise
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    _say("number_of_executed_units", done)
    _say("average_exec_per_sec", round(done / max(time.monotonic() - began, 1e-3)))
    _say("peak_rss_mb", _megabytes())


def with_coverage(name: str, executions: int, seconds: int) -> None:
    """Throw inputs with atheris; does not return."""
    atheris: Any = importlib.import_module("atheris")
    random = Random()
    with atheris.instrument_imports(include=["dedalus_mcp", "dedalus_mcp_transports"]):
        target = load(name)
    seeds = corpus(name)

    def mutator(data: bytes, longest: int, seed: int) -> bytes:
        random.seed(seed)
        if random.random() < 0.5:
            return bytes(atheris.Mutate(data, longest))
        return mutated(data, seeds, random)[:longest]

    work = Path(tempfile.mkdtemp(prefix=f"fuzz-{name}-"))
    (work / "new").mkdir()
    (work / "words").write_text("".join(map(_quoted, WORDS)))
    options = {
        "runs": executions,
        "max_total_time": seconds,
        "max_len": LONGEST,
        "timeout": HANG_SECONDS,
        "report_slow_units": HANG_SECONDS,
        "rss_limit_mb": MAX_MEGABYTES,
        "dict": work / "words",
        "artifact_prefix": f"{CORPUS / name}/found-",
        "print_final_stats": 1,
    }
    given = [f"-{option}={value}" for option, value in options.items()]
    atheris.Setup([sys.argv[0], *given, str(work / "new"), str(CORPUS / name)], target, custom_mutator=mutator)
    atheris.Fuzz()


def _quoted(word: bytes) -> str:
    """A word as libFuzzer's dictionaries have it."""
    return '"' + "".join(map("\\x{:02x}".format, word)) + '"\n'


def _hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hanging(f"an input takes more than {HANG_SECONDS} s")


def _keep(name: str, data: bytes) -> Path:
    path = CORPUS / name / f"found-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def _megabytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _say(what: str, value: int) -> None:
    sys.stderr.write(f"stat::{what}: {value}\n")


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # what is said of hostile input would be all that is said
    target_name, wanted, patience, engine = sys.argv[1:]
    run = with_coverage if engine == "atheris" else plain
    run(target_name, int(wanted), int(patience))
