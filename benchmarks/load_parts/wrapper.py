"""Wrapper scripts that ``PATH`` finds instead of Slurm's programs."""

from __future__ import annotations

import shutil
from pathlib import Path


def install_wrapper(folder: Path, program: str, *lines: str) -> None:
    """Write a bash script called ``program`` into ``folder``; ``{real}`` in it is the real program."""
    real = shutil.which(program)
    if real is None:
        raise SystemExit(f"no {program} on PATH: run this in dev/with-slurm")
    folder.mkdir(exist_ok=True)
    script = folder / program
    script.write_text("\n".join(("#!/bin/bash", *lines, "")).replace("{real}", real), encoding="utf-8")
    script.chmod(0o755)
