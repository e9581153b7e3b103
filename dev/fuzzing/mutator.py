"""Run one target on mutated inputs, in this process.

Each input is written to a file first, so that it can be found if a library kills the process.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import time
import traceback
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from types import FrameType

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS, Target

INPUT_TIMEOUT_S = 10.0  # an input that takes longer is a defect
_CLOCK_EVERY = 50  # inputs


class InputTimeout(Exception):
    """An input took too long."""


@dataclass(frozen=True, slots=True)
class Bound:
    """When to stop: after this time or this many inputs, whichever comes first."""

    seconds: float = 86_400.0
    inputs: int = 2**62


@dataclass(slots=True)
class Tally:
    """The result of one process."""

    inputs: int = 0
    seconds: float = 0.0
    crashes: int = 0  # defects at different places


def run_target(name: str, target: Target, bound: Bound, folder: Path, seed: int) -> Tally:
    """Run one target until ``bound``; save the first input of each defect in ``folder``."""
    tally, seeds, rng = Tally(), target.seeds(), random.Random(seed)  # noqa: S311 - chooses inputs
    places: set[tuple[str, str, int]] = set()
    current = os.open(current_input(folder, name), os.O_RDWR | os.O_CREAT, 0o600)
    started_s = time.monotonic()
    for data in chain(seeds, (mutated(seeds, rng) for _ in iter(int, 1))):
        if tally.inputs >= bound.inputs:
            break
        if tally.inputs % _CLOCK_EVERY == 0 and time.monotonic() - started_s >= bound.seconds:
            break
        os.ftruncate(current, os.pwrite(current, data, 0))
        error = _defect(target, data)
        if error and (place := _place(error)) not in places:
            places.add(place)
            save(name, data, folder)
            traceback.print_exception(error, limit=-6)
        tally.inputs += 1
    os.close(current)
    tally.seconds, tally.crashes = time.monotonic() - started_s, len(places)
    return tally


def current_input(folder: Path, name: str) -> Path:
    """Return the file with the input that a target is running on."""
    return folder / f"{name}.current"


def _defect(target: Target, data: bytes) -> Exception | None:
    """Run a target on one input; return what it raised."""
    signal.setitimer(signal.ITIMER_REAL, INPUT_TIMEOUT_S)
    try:
        target.check(data)
    except Exception as error:  # noqa: BLE001 - any exception is a defect
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def _place(error: Exception) -> tuple[str, str, int]:
    """Return the type of an error and where it was raised: many inputs can show one defect."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return type(error).__name__, last.filename, last.lineno or 0


def save(name: str, data: bytes, folder: Path) -> Path:
    """Save an input that revealed a defect; return its file."""
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def _raise_timeout(_signal: int, _frame: FrameType | None) -> None:
    raise InputTimeout(f"no result after {INPUT_TIMEOUT_S:g} s")


def main() -> int:
    """Run one target; the last line of stdout is the tally."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--inputs", type=int, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _raise_timeout)
    bound = Bound(options.seconds, options.inputs)
    tally = run_target(options.target, TARGETS[options.target], bound, options.folder, options.seed)
    print(json.dumps(asdict(tally)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
