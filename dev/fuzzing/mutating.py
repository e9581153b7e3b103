"""One process that spoils real inputs and feeds them to one target.

What it feeds stands in a shared file meanwhile: a process that a library killed leaves its last input there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import mmap
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from types import FrameType

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS, Target

HANGS_S = 10.0  # what takes longer than this for one input is a defect too
_ROOM = 256 * 1024
_AT_ONCE = 50  # inputs between two looks at the clock
_LENGTH = 4


class Hung(Exception):
    """An input took too long."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How long to go on: whichever comes first."""

    seconds: float = float("inf")
    inputs: int = 2**62


@dataclass(slots=True)
class Tally:
    """What came of one process."""

    inputs: int = 0
    seconds: float = 0.0
    crashes: int = 0  # defects at different places


class Present:
    """The input that is being fed, for whoever looks after this process has died."""

    def __init__(self, path: Path) -> None:
        """Share ``path`` with the parent; what was in it is lost."""
        path.write_bytes(bytes(_ROOM))
        with path.open("r+b") as file:
            self._room = mmap.mmap(file.fileno(), _ROOM)

    def note(self, data: bytes) -> None:
        """Keep an input; of one without end its beginning."""
        kept = data[: _ROOM - _LENGTH]
        self._room[:_LENGTH] = len(kept).to_bytes(_LENGTH, "little")
        self._room[_LENGTH : _LENGTH + len(kept)] = kept

    @staticmethod
    def noted_in(path: Path) -> bytes:
        """Return the input that was noted last."""
        room = path.read_bytes()
        return room[_LENGTH : _LENGTH + int.from_bytes(room[:_LENGTH], "little")]


def drive(name: str, target: Target, bound: Bound, folder: Path, seed: int) -> Tally:
    """Feed one target until ``bound``; each defect's input is saved in ``folder``, once for each place."""
    tally, seeds, choose = Tally(), target.seeds(), random.Random(seed)  # noqa: S311 - no secret is made of it
    places: set[tuple[str, str, int]] = set()
    present = Present(folder / f"{name}.present")
    endless = (mutated(seeds, choose) for _ in iter(int, 1))
    started = time.monotonic()
    for data in chain(seeds, endless):
        if tally.inputs >= bound.inputs or (tally.inputs % _AT_ONCE == 0 and tally.seconds >= bound.seconds):
            break
        present.note(data)
        for error in _defects(target, data):
            place = _place(error)
            if place not in places:
                places.add(place)
                save(name, data, folder)
                traceback.print_exception(error, limit=-6)
        tally.inputs += 1
        tally.seconds = time.monotonic() - started
    tally.crashes = len(places)
    return tally


def _defects(target: Target, data: bytes) -> Iterator[Exception]:
    """Feed one input; yield what that raised, at most one error."""
    signal.setitimer(signal.ITIMER_REAL, HANGS_S)
    try:
        target.check(data)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what is looked for
        yield error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _place(error: Exception) -> tuple[str, str, int]:
    """Return the kind of a defect and where it was raised: many inputs, one defect."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return type(error).__name__, last.filename, last.lineno or 0


def save(name: str, data: bytes, folder: Path) -> Path:
    """Keep the input of a defect under a name of its own."""
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def ring(_signal: int, _frame: FrameType | None) -> None:
    """End an input that hangs."""
    raise Hung(f"no end after {HANGS_S:g} s")


def main() -> int:
    """Drive one target; the last line of stdout is the tally."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--inputs", type=int, default=2**62)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, ring)
    bound = Bound(given.seconds, given.inputs)
    print(json.dumps(asdict(drive(given.target, TARGETS[given.target], bound, given.folder, given.seed))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
