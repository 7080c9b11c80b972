"""`python -m dedalus_mcp`: the command line."""

from __future__ import annotations

import sys

from dedalus_mcp.cli import main

if __name__ == "__main__":
    sys.exit(main())
