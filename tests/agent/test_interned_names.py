"""What an agent does every few seconds takes no more memory after hours than at first.

A `Path` interns the names in it; each that comes again takes a place in Python's table of interned strings,
which grows.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes import python, said

_OFTEN = """
import os, sys
from pathlib import Path
from benchmarks.load_parts.processes import memory
from jobmon_core.agent.node import bytes_of_cards, read_folder
from jobmon_core.system.files import write_atomically

def repeat(times):
    for _ in range(times):
        {call}

folder = Path(sys.argv[1])
proc, system, results, report = (str(folder / name) for name in ("proc", "sys", "results/of/a/run", "report"))
report = Path(report)
repeat(100)
before = memory(os.getpid()).private
repeat(10_000)
print(memory(os.getpid()).private - before)
"""
_CARDS = 8
_NOTHING_KB = 100


@pytest.mark.parametrize(
    "call",
    ["bytes_of_cards(proc, system)", "read_folder(results)", 'write_atomically(report, b"", durable=False)'],
)
def test_names_that_come_again_and_again_take_no_memory(call: str, tmp_path: Path) -> None:
    cards = "".join(f"card{number}: 1 0 0 0 0 0 0 0 1 0\n" for number in range(_CARDS))
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/dev").write_text(f"Inter-|\n face |\n{cards}", encoding="ascii")
    with python(_OFTEN.format(call=call), str(tmp_path)) as process:
        assert int(said(process)) < _NOTHING_KB
