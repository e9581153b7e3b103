"""The figures of GPUs in a table that a program writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.groups.log_text import GpuFigures, figures_of_rows
from jobmon_core.monitor.groups.actions import gpu_figures
from jobmon_core.store.home import Home
from tests.support.job_records import RUNNING

_AS_NVIDIA_SMI = """\
name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], memory.total [MiB]
H100, 12 %, 3 %, 1024 MiB, 81920 MiB
H100, 87 %, 40 %, 40960 MiB, 81920 MiB
"""


@pytest.mark.parametrize(
    ("row", "figures"),
    [
        ({"gpu_util": "57.4", "gpu_mem_used": "30.2", "gpu_mem_total": "79.6"}, GpuFigures(57.4, 30.2, 79.6)),
        ({"util": "57", "mem_used_mib": "2048", "mem_total_mib": "4096"}, GpuFigures(57.0, 2.0, 4.0)),
        ({"util": "57", "memory_used_bytes": str(2**31)}, GpuFigures(57.0, 2.0, None)),
        ({"util": "57", "mem_used": "40960"}, GpuFigures(57.0, 40.0, None)),  # too much for GiB
        ({"step": "3", "gpu_mem_used": "1"}, None),
        ({"gpu_util": "n/a"}, None),
    ],
)
def test_columns_are_found_by_their_names(row: dict[str, str], figures: GpuFigures | None) -> None:
    assert figures_of_rows([{"gpu_util": "1"}, row]) == figures


@pytest.mark.parametrize("output_dir", ["", "out"])
def test_the_last_line_in_the_folder_of_outputs_or_of_the_job_counts(tmp_path: Path, output_dir: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / output_dir / "gpu_metrics.csv").write_text(_AS_NVIDIA_SMI, encoding="ascii")
    job = WatchedJob(
        "slurm-12-x",
        12,
        1.0,
        workdir=str(tmp_path),
        tasks={"": RUNNING},
        settings=JobSettings(output_dir=output_dir),
    )
    assert gpu_figures(Context(Home(tmp_path / "home"), {}), job) == GpuFigures(87.0, 40.0, 80.0)


@pytest.mark.parametrize("text", [None, "", "gpu_util\n", "gpu_util\n5", "\x00\n\xff,\n"])
def test_a_table_that_is_missing_or_incomplete_is_left_out(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "gpu_metrics.csv").write_text(text, encoding="latin-1")
    job = WatchedJob("slurm-12-x", 12, 1.0, workdir=str(tmp_path), tasks={"": RUNNING})
    found = gpu_figures(Context(Home(tmp_path / "home"), {}), job)
    assert found in (None, GpuFigures(5.0))
