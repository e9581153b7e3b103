"""Run as ``python -m jobmon``."""

from __future__ import annotations

import sys

from jobmon.cli import main

if __name__ == "__main__":
    sys.exit(main())
