"""Run the fuzzing processes, one for each target and driver, and collect their results."""

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

from fuzzing.mutator import INPUT_TIMEOUT_S, Bound, Tally, current_input, save
from tests.fuzz.targets import TARGETS

_EXECUTED = re.compile(r"stat::number_of_executed_units: +(\d+)")
_TOOK = re.compile(r"^Done \d+ runs in (\d+) second", re.MULTILINE)
_PROGRESS = re.compile(r"^#(\d+)\t", re.MULTILINE)
_ARTIFACT = re.compile(r"(?:crash|timeout|oom|slow-unit)-")
_MAX_INPUT = 16 * 1024  # bytes, for atheris
_SPARE_S = 600.0  # to start, to load the patterns, and to end: 70 s with a tenth of a CPU


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one target with one driver."""

    target: str
    driver: str
    tally: Tally
    saved: tuple[Path, ...]  # the inputs that revealed its defects
    stderr: str  # empty without a defect


def has_atheris() -> bool:
    """Return whether atheris is installed."""
    return find_spec("atheris") is not None


def run_all(names: Sequence[str], bound: Bound, folder: Path) -> Iterator[Result]:
    """Run the targets with all drivers, as many at once as there are CPUs; yield the results in order.

    Args:
        names: the targets to run.
        bound: when each driver of each target stops.
        folder: where inputs that reveal defects are saved.
    """
    drivers = (_run_mutator, _run_atheris) if has_atheris() else (_run_mutator,)
    pairs = [(name, driver) for name in names for driver in drivers]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda pair: pair[1](pair[0], bound, folder), pairs)


def _run_mutator(name: str, bound: Bound, folder: Path) -> Result:
    with tempfile.TemporaryDirectory(prefix="jobmon-fuzz-") as work:
        seed = int.from_bytes(os.urandom(4))
        arguments = [f"--seconds={bound.seconds}", f"--inputs={bound.inputs}", f"--seed={seed}"]
        done = _run("fuzzing.mutator", [name, work, *arguments], work, bound)
        current = current_input(Path(work), name)
        if done.returncode == 0:
            tally = Tally(**json.loads(done.stdout.splitlines()[-1]))
        elif current.exists():
            save(name, current.read_bytes(), current.parent)  # the process died on this input
            tally = Tally(crashes=1)
        else:
            raise SystemExit(f"fuzz: {name} did not start:\n{done.stderr}")
        found = [path for path in Path(work).glob(f"{name}-*") if path.is_file()]
        saved = tuple(save(name, path.read_bytes(), folder) for path in found)
    return Result(name, "mutation", tally, saved, done.stderr if tally.crashes else "")


def _run_atheris(name: str, bound: Bound, folder: Path) -> Result:
    with tempfile.TemporaryDirectory(prefix="jobmon-fuzz-") as work:
        corpus = Path(work) / "corpus"
        corpus.mkdir()
        for number, data in enumerate(TARGETS[name].seeds()):
            (corpus / str(number)).write_bytes(data[:_MAX_INPUT])
        arguments = [
            f"-max_total_time={max(1, round(bound.seconds))}",
            f"-runs={min(bound.inputs, 2**31 - 1)}",
            f"-artifact_prefix={work}/",
            f"-timeout={INPUT_TIMEOUT_S:.0f}",
            f"-max_len={_MAX_INPUT}",
            "-rss_limit_mb=2048",
            "-print_final_stats=1",
        ]
        done = _run("fuzzing.guided", [name, *arguments, str(corpus)], work, bound)
        artifacts = [path for path in Path(work).iterdir() if _ARTIFACT.match(path.name)]
        saved = tuple(save(name, path.read_bytes(), folder) for path in artifacts)
    inputs = _EXECUTED.findall(done.stderr) or _PROGRESS.findall(done.stderr) or ["0"]
    took_s = _TOOK.findall(done.stderr) or ["0"]
    tally = Tally(int(inputs[-1]), float(took_s[-1]), len(saved) or int(done.returncode != 0))
    return Result(name, "atheris", tally, saved, done.stderr if tally.crashes else "")


def _run(module: str, arguments: Sequence[str], work: str, bound: Bound) -> subprocess.CompletedProcess[str]:
    """Run one driver; its temporary files and its home are in ``work``."""
    argv = [sys.executable, "-m", module, *arguments]
    try:
        return subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=bound.seconds + _SPARE_S,
            env={**os.environ, "TMPDIR": work, "JOBMON_HOME": f"{work}/home", "HOME": work},
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 124, "", "the process hung")
