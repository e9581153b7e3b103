"""What srun printed about the ended workers of a running task."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.analysis.worker_ends import errors_of_steps
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths


def test_what_srun_printed_for_an_earlier_run_in_the_same_log_does_not_count(tmp_path: Path) -> None:
    log = tmp_path / "shared.out"
    earlier = "srun: error: n1: task 2: Exited with exit code 7"
    log.write_text(f"{earlier}\nsrun: error: n1: task 3: Killed\n")
    known = LogExcerpt(str(log), (earlier,)).as_earlier_log()
    assert known is not None
    job = WatchedJob("slurm-12-x", 12, 0.0, logs=LogPaths(str(log), str(log), BY_USER))
    assert sorted(errors_of_steps(job, Task(""))) == [2, 3]
    told = WatchedJob("slurm-12-x", 12, 0.0, logs=job.logs, earlier_logs={str(log): known})
    assert sorted(errors_of_steps(told, Task(""))) == [3]
