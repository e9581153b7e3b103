"""What sinfo says of partitions, and what older, newer and broken ones may."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.before.pending.partitions import partition_uses
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.slurm.commands import SEP, SINFO_FIELDS
from jobmon_core.scheduler.slurm.partitions import ask_partitions, read_equal_nodes
from tests.support.fake_runner import FakeRunner, said

_ROWS = [
    ("gpu*", "up", "mixed", "2", "96/32/0/128", "gpu:a100:4(S:0-1)", "gpu:a100:3(IDX:0-2)"),
    ("gpu*", "up", "idle", "1", "0/64/0/64", "gpu:a100:4,gpu:v100:2", "gpu:a100:0(IDX:N/A),gpu:v100:0"),
    ("gpu*", "up", "down*", "1", "0/0/64/64", "gpu:a100:4", "gpu:a100:0"),
    ("gpu*", "up", "draining", "1", "8/0/56/64", "gpu:a100:4", "gpu:a100:1"),
    ("gpu*", "up", "idle~", "3", "0/192/0/192", "gpu:a100:4", "gpu:a100:0"),
    ("cpu", "drain", "idle*", "5", "0/320/0/320", "(null)", "gpu:0"),
]


def _text(rows: Sequence[Sequence[str]]) -> str:
    return "".join(SEP.join(row) + "\n" for row in rows)


def test_what_is_free_is_added_up_over_the_nodes_that_take_jobs() -> None:
    gpu, cpu = partition_uses(read_equal_nodes(_text(_ROWS)))
    assert (gpu.name, gpu.is_default, gpu.availability) == ("gpu", True, "up")
    assert gpu.nodes == {"mixed": 2, "idle": 4, "down": 1, "draining": 1}
    assert (gpu.idle_nodes, gpu.total_nodes) == (4, 8)
    assert gpu.gpus == {"a100": 32, "v100": 2}
    assert gpu.free_gpus == {"a100": 2 + 4 + 12, "v100": 2}
    assert (gpu.free_cpus, gpu.cpus) == (288, 512)
    assert (cpu.name, cpu.is_default, cpu.availability) == ("cpu", False, "drain")
    assert cpu.nodes == {"not responding": 5}
    assert (cpu.idle_nodes, dict(cpu.gpus)) == (0, {})


def test_a_silent_controller_and_a_missing_program_are_no_empty_cluster() -> None:
    silent = FakeRunner().on("sinfo", answers=[said("", "sinfo: error: Unable to contact slurm", 1)])
    for runner in (silent, FakeRunner()):
        answer = ask_partitions(runner)
        assert isinstance(answer, Unreachable)
        assert answer.why.startswith("sinfo: ")


def test_invalid_rows_are_skipped() -> None:
    torn = [_ROWS[0][:4], ("gpu", "up", "idle", "x", "1/1/0/2", "", ""), ("", "", "", "1", "1/1", "", "")]
    assert len(list(read_equal_nodes(_text([*torn, _ROWS[1]])))) == 1


@given(st.lists(st.lists(st.text(max_size=12), min_size=len(SINFO_FIELDS), max_size=len(SINFO_FIELDS))))
def test_no_answer_makes_the_reader_fail(rows: list[list[str]]) -> None:
    partition_uses(read_equal_nodes(_text(rows)))
