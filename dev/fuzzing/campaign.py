"""Run the processes, a pair for each target, and find out what came of each, dead ones included."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from fuzzing.mutating import HANGS_S, Bound, Present, Tally, save
from tests.fuzz.targets import TARGETS

_EXECUTED = re.compile(r"stat::number_of_executed_units: +(\d+)")
_TOOK = re.compile(r"^Done \d+ runs in (\d+) second", re.MULTILINE)
_SEEN = re.compile(r"^#(\d+)\t", re.MULTILINE)
_STOPPED = re.compile(r"(?:crash|timeout|oom|slow-unit)-")
_LONGEST = 16 * 1024  # bytes of an input that atheris makes
_SPARE_S = 120.0  # to start, to build the rules, and to end


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one target under one driver."""

    target: str
    driver: str
    tally: Tally
    saved: tuple[Path, ...]  # the inputs of its defects
    words: str  # what the process said on stderr


def has_atheris() -> bool:
    """Tell whether coverage can guide the inputs here."""
    return find_spec("atheris") is not None


def run(names: Sequence[str], bound: Bound, folder: Path) -> Iterator[Result]:
    """Drive the targets, as many at once as there are processors; yield their results in order.

    Args:
        names: of targets.
        bound: of each driver of each target.
        folder: where inputs of defects are kept.
    """
    drivers = (_mutate, _guide) if has_atheris() else (_mutate,)
    pairs = [(name, driver) for name in names for driver in drivers]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda pair: pair[1](pair[0], bound, folder), pairs)


def _mutate(name: str, bound: Bound, folder: Path) -> Result:
    with tempfile.TemporaryDirectory(prefix="jobmon-fuzz-") as place:
        seconds = [] if bound.seconds == float("inf") else [f"--seconds={bound.seconds}"]
        seed = int.from_bytes(os.urandom(4))
        words = [*seconds, f"--inputs={bound.inputs}", f"--seed={seed}"]
        ended = _started("fuzzing.mutating", [name, place, *words], place, bound)
        present = Path(place) / f"{name}.present"
        tally = _tallied(ended, name, present)
        found = [path for path in Path(place).glob(f"{name}-*") if path.is_file()]
        saved = tuple(save(name, path.read_bytes(), folder) for path in found)
    return Result(name, "mutation", tally, saved, ended.stderr if tally.crashes else "")


def _tallied(ended: subprocess.CompletedProcess[str], name: str, present: Path) -> Tally:
    """Return what a process says of itself; where something ended it, its last input did."""
    if ended.returncode == 0:
        return Tally(**json.loads(ended.stdout.splitlines()[-1]))
    if not present.exists():
        raise SystemExit(f"fuzz: {name} did not even start:\n{ended.stderr}")
    save(name, Present.noted_in(present), present.parent)
    return Tally(crashes=1)


def _guide(name: str, bound: Bound, folder: Path) -> Result:
    with tempfile.TemporaryDirectory(prefix="jobmon-fuzz-") as place:
        corpus = Path(place) / "corpus"
        corpus.mkdir()
        for number, data in enumerate(TARGETS[name].seeds()):
            (corpus / str(number)).write_bytes(data[:_LONGEST])
        seconds = [] if bound.seconds == float("inf") else [f"-max_total_time={max(1, round(bound.seconds))}"]
        words = [
            *seconds,
            f"-runs={min(bound.inputs, 2**31 - 1)}",
            f"-artifact_prefix={place}/",
            f"-timeout={HANGS_S:.0f}",
            f"-max_len={_LONGEST}",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
        ]
        ended = _started("fuzzing.guided", [name, *words, str(corpus)], place, bound)
        stopped = [path for path in Path(place).iterdir() if _STOPPED.match(path.name)]
        saved = tuple(save(name, path.read_bytes(), folder) for path in stopped)
    counts = _EXECUTED.findall(ended.stderr) or _SEEN.findall(ended.stderr) or ["0"]
    took_s = _TOOK.findall(ended.stderr) or ["0"]
    tally = Tally(int(counts[-1]), float(took_s[-1]), len(saved) or int(ended.returncode != 0))
    return Result(name, "atheris", tally, saved, ended.stderr if tally.crashes else "")


def _started(module: str, words: Sequence[str], place: str, bound: Bound) -> subprocess.CompletedProcess[str]:
    """Run one driver to its end; what it writes lies in ``place``, its home of jobmon too."""
    limit_s = None if bound.seconds == float("inf") else bound.seconds + _SPARE_S
    argv = [sys.executable, "-m", module, *words]
    try:
        return subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            env={**os.environ, "TMPDIR": place, "JOBMON_HOME": f"{place}/home", "HOME": place},
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", "it hung where no alarm reaches it")
