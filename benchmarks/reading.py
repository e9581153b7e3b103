"""Measure what reading a large or strange log costs.

It needs no Slurm, and about 1 GB of disk space while it runs::

    .venv/bin/python benchmarks/reading.py

Bounds: reading the end of a 10 GB log takes at most 1.5 times as long as reading that of a 10 MB or of a 40
MB log (only in the 10 MB log are the lines before the end counted); a line of 1 GB needs at most 100 MB of
memory; regular expressions that take backtracking matchers exponentially long take at most a second; plain
text is cleaned at 300 MB/s or more. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import gc
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure, report
from benchmarks.options import options_parser
from jobmon_core.domain.logs.diagnosis.log_lines import clean_lines
from jobmon_core.observe.logs.read import TAIL_BYTES, read_tail
from jobmon_core.observe.patterns.re2_regex import compile_regex

MEGA, GIGA = 10**6, 10**9
PLAIN = b"2024-05-01 12:00:00 INFO step 1234 loss=0.1234 lr=1e-4 throughput=1234 tokens/s\n"
BARS = b"".join(
    b"\r\x1b[32m%3d%%\x1b[0m|%s| %d/1000 [12.3it/s]" % (n // 10, b"#" * (n // 20), n) for n in range(1000)
)
# for the first, RE2 needs only the last byte of the text; for the others it reads everything
TRICKY = ("(a+)+$", "^(a+)+$", "(a+)+c")
PROBE = """
import re, sys
from pathlib import Path
from jobmon_core.observe.logs.read import read_head, read_tail

def peak_kb():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

before = peak_kb()
parts = read_head(sys.argv[1]), read_tail(sys.argv[1])
assert all(part.texts for part in parts), parts
print(before, peak_kb())
"""


def main() -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = options_parser(__doc__, repeats=(31, "how often each is measured")).parse_args()
    with tempfile.TemporaryDirectory(prefix="jobmon-benchmark-") as name:
        folder = Path(name)
        figures = [
            *of_size(folder, options.repeats),
            *of_memory(folder),
            *of_matching(options.repeats),
            *of_cleaning(options.repeats),
        ]
    return report(figures, as_json=options.json)


def of_size(folder: Path, repeats: int) -> list[Figure]:
    """Time reading the end of logs of different sizes with the same end."""
    # in logs of up to 32 MiB, the lines before the end are counted too
    sizes = {"10 GB": 10 * GIGA, "10 MB": 10 * MEGA, "40 MB": 40 * MEGA}
    logs = {label: log_of(folder / label, size) for label, size in sizes.items()}
    medians_s = interleaved({label: partial(read_tail, str(log)) for label, log in logs.items()}, repeats)
    times = [Figure(f"end of {label}, ms", took_s * 1000) for label, took_s in medians_s.items()]
    ratios = [
        Figure(f"10 GB to {label}, ratio", medians_s["10 GB"] / medians_s[label], at_most=1.5)
        for label in ("10 MB", "40 MB")
    ]
    return times + ratios


def log_of(path: Path, size: int) -> Path:
    """Write a log of ``size`` bytes; all but the end of a large one is a hole, which uses no disk space."""
    lines = min(size, 40 * MEGA) // len(PLAIN)
    with path.open("wb") as file:
        file.truncate(size - lines * len(PLAIN))
        file.seek(0, 2)
        file.write(PLAIN * lines)
    return path


def interleaved(tasks: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return the median seconds of each task; they take turns, so that other load affects all of them."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats + 1):
        for name, task in tasks.items():
            # without gc.enable, timeit would disable garbage collection
            times[name].append(timeit.timeit(task, gc.enable, number=1))
    return {name: statistics.median(seconds[1:]) for name, seconds in times.items()}  # the first warms caches


def of_memory(folder: Path) -> list[Figure]:
    """Measure the memory that a new process needs to read both ends of a line of 1 GB.

    The line has 250 MB if the disk has less than 3 GB free.
    """
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
        Figure("line in memory, peak of the process in MB", peak_kb * 1024 / MEGA, at_most=100),
        Figure("line in memory, used by reading in MB", (peak_kb - before_kb) * 1024 / MEGA, at_most=100),
    ]


def of_matching(repeats: int) -> list[Figure]:
    """Time expressions that take backtracking matchers exponentially long."""
    text = b"a" * MEGA + b"b"
    searches = {regex: partial(compile_regex(regex).search, text) for regex in TRICKY}
    medians_s = interleaved(searches, repeats)
    return [
        Figure(f"{regex} on a megabyte, ms", took_s * 1000, at_most=1000)
        for regex, took_s in medians_s.items()
    ]


def of_cleaning(repeats: int) -> list[Figure]:
    """Measure how fast lines are cleaned, for texts as large as the end of a log that jobmon reads."""
    texts = {"plain text": PLAIN, "progress bars and colours": BARS + b"\n"}
    ends = {name: (text * (TAIL_BYTES // len(text) + 1))[:TAIL_BYTES] for name, text in texts.items()}
    medians_s = interleaved({name: partial(clean_lines, end) for name, end in ends.items()}, repeats)
    return [
        Figure(
            f"cleaning of {name}, MB/s",
            TAIL_BYTES / took_s / MEGA,
            at_least=300 if name == "plain text" else None,
        )
        for name, took_s in medians_s.items()
    ]


if __name__ == "__main__":
    sys.exit(main())
