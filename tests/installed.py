"""Virtual environments that have our distribution as a user would have it, made without a network.

What we depend on comes from the environment that runs the tests, by a path line.  Such a line is
not a site directory, so an editable install of ours that is in there stays out of sight.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

__all__ = ("ROOT", "Installation")

ROOT = Path(__file__).parent.parent


class Installation:
    """A fresh virtual environment.

    Args:
        directory: Where to make it.
        requirement: Arguments of ``pip install`` that say what of ours goes in.
        beside: Further site-packages directories whose contents are there as well.
    """

    def __init__(self, directory: Path, *requirement: str, beside: tuple[Path, ...] = ()) -> None:
        run(sys.executable, "-m", "venv", "--without-pip", str(directory))
        self.python = directory / "bin" / "python"
        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.site = directory / "lib" / version / "site-packages"
        self._paths = self.site / "zz_dependencies.pth"
        self.put_beside(*beside)
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(self.python), "install", "--no-index"]
        run(*pip, "--no-deps", "--no-build-isolation", *requirement)

    def put_beside(self, *directories: Path) -> None:
        """Make the contents of exactly these site-packages directories, and our dependencies, importable."""
        lines = [*map(str, directories), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        self._paths.write_text("".join(f"{line}\n" for line in dict.fromkeys(lines)))

    def stand_alone(self) -> None:
        """Make nothing importable but what has been put into the installation itself."""
        self._paths.unlink()

    def say(self, program: str) -> str:
        """Run a program in a fresh interpreter, away from the source tree, and return what it prints."""
        return run(str(self.python), "-I", "-c", program, cwd=self.site).strip()


def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a command and return what it prints; an error shows what it said."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout
