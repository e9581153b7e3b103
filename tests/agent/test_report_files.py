"""The files of an agent stay small."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.agent.report_files import HEADER, ReportFiles
from jobmon_core.domain.node.telemetry.mean import rounded
from jobmon_core.domain.node.telemetry.model import AgentReport, Cpu, Gpu, Memory, Node, Sample, Worker
from jobmon_core.store.telemetry import GPU_METRICS, TaskTelemetry
from tests.support.documentation import page
from tests.support.processes import python, said

START_S, MINUTE_S = 1_790_000_000.0, 60.0


def test_three_days_of_eight_gpus_and_eight_workers_take_less_than_20_mb(tmp_path: Path) -> None:
    files = ReportFiles(tmp_path / "n1", START_S)
    largest = 0
    for minute in range(10, 3 * 24 * 60):
        files.write(AgentReport(full_sample(START_S + minute * MINUTE_S), START_S, 5.0))
        if minute % 60 == 0:
            largest = max(largest, sum(path.stat().st_size for path in (tmp_path / "n1").iterdir()))
    assert largest < 20 * 10**6
    history = TaskTelemetry(tmp_path).history("n1")
    assert len(history) > 1500
    assert [sample.at_s for sample in history] == sorted(sample.at_s for sample in history)
    assert history[0].at_s < START_S + 1200
    assert (tmp_path / "n1" / GPU_METRICS).read_text().splitlines()[0] == HEADER


def full_sample(at_s: float) -> Sample:
    """Return a sample with every figure, all with many digits."""
    percent = at_s % 977 / 9.77 + 0.123456
    workers = tuple(
        Worker(
            *(1234567 + rank, "python train.py", rank),
            started_s=START_S,
            cpu_percent=100 + percent,
            memory=int(64e9 + at_s % 1e9),
            threads=120,
            children=9,
            blocked_percent=percent,
            last_activity_s=at_s,
            gpus=(rank,),
            read_per_s=at_s % 1e9,
            written_per_s=at_s % 1e8,
            omp_threads=16,
        )
        for rank in range(8)
    )
    gpus = tuple(
        Gpu(
            index,
            "GPU-12345678-1234-1234-1234-123456789012",
            "NVIDIA H100 80GB HBM3",
            utilization_percent=percent,
            lowest_percent=percent,
            highest_percent=percent,
            memory=int(70e9 + at_s % 1e9),
            memory_total=85_899_345_920,
            power_w=at_s % 700,
            power_limit_w=700.0,
            temperature_c=61.0,
            own_pids=(1234567 + index,),
            other_processes=0,
            sm_percent=percent,
            tensor_percent=percent,
            bandwidth_percent=percent,
            throttle_reasons=("power cap",),
            ecc_errors=0,
            remapped_rows=0,
            nvlink_errors=0,
        )
        for index in range(8)
    )
    node = Node("node-0123", 192, at_s % 100, percent, percent, 2 * 10**12, int(1e12 + at_s % 1e9), 1e9, 1e9)
    return Sample(
        at_s,
        MINUTE_S,
        rounded(node),
        tuple(rounded(worker) for worker in workers),
        tuple(rounded(gpu) for gpu in gpus),
        Memory(int(5e11 + at_s % 1e9), 10**12, 0, "cgroup v2"),
        rounded(Cpu(96.0, percent * 9, percent)),
    )


def test_the_documentation_explains_each_column_in_its_order() -> None:
    rows = page("gpus").partition("| columns | meaning |")[2].partition("\n\n")[0].splitlines()[2:]
    assert [name for row in rows for name in row.split("|")[1].split("`")[1::2]] == HEADER.split(",")


_OFTEN = """
import os, sys
from pathlib import Path
from benchmarks.load_parts.processes import memory
from jobmon_core.agent.proc import bytes_of_cards, read_folder
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
