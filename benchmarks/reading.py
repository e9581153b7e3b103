"""What reading a log costs, however large or strange it is.

Run it anywhere; it needs no Slurm, and about a gigabyte of disk for a moment::

    .venv/bin/python benchmarks/reading.py

Aims: the end of a log of 10 GB takes less than 1.5 times that of one of 10 MB, and that of one of 40 MB, of
which no lines are counted either; a line of 1 GB needs less than 100 MB of memory; expressions that make
backtracking matchers explode take less than a second; plain text is cleaned at more than 300 MB/s.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tabulate import tabulate

from jobmon_core.domain.diagnosis.log_text import clean_lines
from jobmon_core.observe.logs.read import TAIL_BYTES, read_tail
from jobmon_core.observe.patterns.re2_regex import compile_regex

MEGA, GIGA = 10**6, 10**9
PLAIN = b"2024-05-01 12:00:00 INFO step 1234 loss=0.1234 lr=1e-4 throughput=1234 tokens/s\n"
BARS = b"".join(
    b"\r\x1b[32m%3d%%\x1b[0m|%s| %d/1000 [12.3it/s]" % (n // 10, b"#" * (n // 20), n) for n in range(1000)
)
# RE2 looks at the last byte only to refuse the first of these; the others make it read everything
TRICKY = ("(a+)+$", "^(a+)+$", "(a+)+c")
PROBE = """
import re, sys
from pathlib import Path
from jobmon_core.observe.logs.read import read_head, read_tail

def peak_kb():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

before = peak_kb()
parts = read_head(sys.argv[1]), read_tail(sys.argv[1])
assert all(part.excerpt.texts for part in parts), parts
print(before, peak_kb())
"""


@dataclass(frozen=True)
class Figure:
    """Something measured, and the bound that it must keep; one of the bounds at most."""

    name: str
    value: float
    below: float | None = None
    above: float | None = None

    @property
    def kept(self) -> bool:
        """Whether the figure is within its bound."""
        return (self.below is None or self.value < self.below) and (
            self.above is None or self.value > self.above
        )


def main() -> int:
    """Print the figures; return 0 if all bounds were kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=31, help="how often each is timed (default: 31)")
    parser.add_argument("--json", action="store_true", help="one object instead of the table")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="jobmon-benchmark-") as name:
        folder = Path(name)
        figures = [
            *of_size(folder, options.repeats),
            *of_memory(folder),
            *of_matching(options.repeats),
            *of_cleaning(options.repeats),
        ]
    kept = all(figure.kept for figure in figures)
    print(as_json(figures) if options.json else table(figures))
    print(f"aims {'met' if kept else 'NOT MET'}", file=sys.stderr)
    return 0 if kept else 1


def of_size(folder: Path, repeats: int) -> list[Figure]:
    """Compare the time that the end of a log takes, for logs of different sizes with the same end."""
    # up to 32 MiB the lines before the end are counted for their numbers, which is a cost of small logs only
    sizes = {"10 GB": 10 * GIGA, "10 MB": 10 * MEGA, "40 MB": 40 * MEGA}
    logs = {label: log_of(folder / label, size) for label, size in sizes.items()}
    medians_s = interleaved({label: partial(read_tail, str(log)) for label, log in logs.items()}, repeats)
    times = [Figure(f"end of {label}, ms", took_s * 1000) for label, took_s in medians_s.items()]
    ratios = [
        Figure(f"10 GB to {label}, ratio", medians_s["10 GB"] / medians_s[label], below=1.5)
        for label in ("10 MB", "40 MB")
    ]
    return times + ratios


def log_of(path: Path, size: int) -> Path:
    """Write a log of ``size`` bytes; of a large one all but the end is a hole, which uses no disk."""
    written = min(size, 40 * MEGA) // len(PLAIN)
    with path.open("wb") as file:
        file.truncate(size - written * len(PLAIN))
        file.seek(0, 2)
        file.write(PLAIN * written)
    return path


def interleaved(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each task; they take turns, so that a busy moment hits them alike."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats + 1):
        for name, task in tasks.items():
            began = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - began)
    return {name: statistics.median(seconds[1:]) for name, seconds in times.items()}  # the first warms caches


def of_memory(folder: Path) -> list[Figure]:
    """Measure the memory that a fresh process needs for both ends of a line of a gigabyte."""
    size = GIGA if shutil.disk_usage(folder).free > 3 * GIGA else GIGA // 4
    log = folder / "one line"
    with log.open("wb") as file:
        for _ in range(size // MEGA):
            file.write(b"a" * MEGA)
    done = subprocess.run([sys.executable, "-c", PROBE, str(log)], capture_output=True, text=True, check=True)
    log.unlink()
    before_kb, peak_kb = map(int, done.stdout.split())
    return [
        Figure("line in memory, size in MB", size / MEGA),
        Figure("line in memory, peak of the process in MB", peak_kb * 1024 / MEGA, below=100),
        Figure("line in memory, of that for reading in MB", (peak_kb - before_kb) * 1024 / MEGA, below=100),
    ]


def of_matching(repeats: int) -> list[Figure]:
    """Time expressions that backtracking takes exponentially long for."""
    text = b"a" * MEGA + b"b"
    searches = {regex: partial(compile_regex(regex).search, text) for regex in TRICKY}
    medians_s = interleaved(searches, repeats)
    return [
        Figure(f"{regex} on a megabyte, ms", took_s * 1000, below=1000) for regex, took_s in medians_s.items()
    ]


def of_cleaning(repeats: int) -> list[Figure]:
    """Measure how fast lines are cleaned, in pieces as large as the end of a log that is read."""
    texts = {"plain text": PLAIN, "bars and colours": BARS + b"\n"}
    pieces = {name: (text * (TAIL_BYTES // len(text) + 1))[:TAIL_BYTES] for name, text in texts.items()}
    medians_s = interleaved({name: partial(clean_lines, piece) for name, piece in pieces.items()}, repeats)
    aims = {"plain text": 300}
    return [
        Figure(f"cleaning of {name}, MB/s", TAIL_BYTES / took_s / MEGA, above=aims.get(name))
        for name, took_s in medians_s.items()
    ]


def as_json(figures: list[Figure]) -> str:
    """Write the figures as one object, by their names."""
    keys = ("value", "below", "above", "kept")
    shown = {figure.name: {key: getattr(figure, key) for key in keys} for figure in figures}
    return json.dumps(shown, indent=2)


def table(figures: list[Figure]) -> str:
    """Draw the figures."""
    rows = [
        (figure.name, f"{figure.value:.4g}", bound(figure), "" if figure.kept else "NOT KEPT")
        for figure in figures
    ]
    return tabulate(rows, ("figure", "measured", "bound", ""), disable_numparse=True)


def bound(figure: Figure) -> str:
    """Return the bound of a figure in words."""
    if figure.below is not None:
        return f"below {figure.below:g}"
    return "" if figure.above is None else f"above {figure.above:g}"


if __name__ == "__main__":
    sys.exit(main())
