"""What an agent reads of its node every few seconds takes no more memory in the end than in the beginning."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import python, said

_READ_OFTEN = """
import os, sys
from benchmarks.load_parts.processes import memory
from jobmon_core.agent import node

def read(times):
    for _ in range(times):
        assert node.bytes_of_cards(proc, system)
        assert node.read_folder(folder).is_writable

proc, system, folder = sys.argv[1:]
read(100)
before = memory(os.getpid()).private
read(10_000)
print(memory(os.getpid()).private - before)
"""
_CARDS = 8
_NOTHING_KB = 100


def test_names_of_cards_and_folders_that_are_read_again_and_again_take_no_memory(tmp_path: Path) -> None:
    cards = "".join(f"card{number}: 1 0 0 0 0 0 0 0 1 0\n" for number in range(_CARDS))
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/dev").write_text(f"Inter-|\n face |\n{cards}", encoding="ascii")
    folders = (str(tmp_path / "proc"), str(tmp_path / "sys"), str(tmp_path / "results/of/one/run"))
    with python(_READ_OFTEN, *folders) as process:
        assert int(said(process)) < _NOTHING_KB
