"""``jobmon.yaml`` and ``--job-config`` on the real Slurm."""

from __future__ import annotations

import os

from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.job_settings import ErrorPattern
from tests.support.messages import only, title
from tests.support.user import User

_CONFIG = r"""
job:
  num_workers: 2
  total_items: 40
paths:
  log_dir: "workers/%j"
patterns:
  logs: "worker_*.log"
monitoring:
  stall_timeout: 300
progress_patterns:
  items: 'done (\d+) of (\d+)'
error_patterns:
  - pattern: '(shard lost)'
    severity: 'critical'
"""
_SCRIPT = """mkdir -p workers/$SLURM_JOB_ID
echo 'done 3 of 20' > workers/$SLURM_JOB_ID/worker_0.log
echo 'shard lost on disk 7' > workers/$SLURM_JOB_ID/worker_1.log
echo starting
exit 1"""


def test_the_settings_of_a_job_serve_its_diagnosis_and_other_jobs_have_none(user: User) -> None:
    script = user.script(_SCRIPT, name="shards.sh")
    plain = user.submit(script)
    (user.work / "jobmon.yaml").write_text(_CONFIG)
    beside = user.submit("-J", "shards", script)
    (user.work / "jobmon.yaml").rename(user.work / "mine.yaml")
    named = user.submit("--job-config", "mine.yaml", script)
    assert user.told(plain).settings is None
    for job_id, name in ((beside, "jobmon.yaml"), (named, "mine.yaml")):
        job = user.told(job_id)
        assert job.settings is not None
        assert job.settings.source == str(user.work / name)
        assert job.settings.log_files == f"{user.work}/workers/%j/worker_*.log"
        assert job.settings.error_patterns == (ErrorPattern("(shard lost)"),)
        (task,) = job.tasks.values()
        assert task.diagnosis is not None
        assert task.diagnosis.title == "Error pattern of this job: (shard lost)"
        assert task.diagnosis.log_path == f"{user.work}/workers/{job_id}/worker_1.log"
        assert "shard lost on disk 7" in user.jobmon("diagnose", str(job_id)).stdout
        assert "worker_0.log" in user.jobmon("logs", str(job_id)).stdout


def test_a_job_is_watched_with_the_settings_that_the_user_names(user: User) -> None:
    (user.work / "mine.yaml").write_text("error_patterns: [{pattern: 'shard lost'}]\n")
    job_id = int(user.slurm("sbatch", "--parsable", "--hold", "--wrap", "echo shard lost; exit 1"))
    refused = user.jobmon("watch", str(job_id), "--job-config", "none.yaml")
    assert (refused.returncode, "none.yaml is not usable" in refused.stderr) == (78, True)
    assert user.jobmon("watch", str(job_id), "--job-config", "mine.yaml").returncode == 0
    user.slurm("scontrol", "release", str(job_id))
    assert user.told(job_id).settings is not None
    assert "shard lost" in title(only(user, Route.ERROR))


def test_a_pipe_in_place_of_the_settings_delays_no_submission(user: User) -> None:
    os.mkfifo(user.work / "jobmon.yaml")
    assert user.told(user.submit(user.script("true"))).settings is None
