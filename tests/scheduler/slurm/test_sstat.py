"""What Slurm samples of running jobs. The lines are those of Slurm 22.05."""

from __future__ import annotations

from jobmon_core.domain.logs.diagnosis.model import StepUsage
from jobmon_core.scheduler.slurm.site.sstat import ask_step_usage, read_step_usage
from jobmon_core.system.runner import TimedOut
from tests.support.fake_runner import FakeRunner, said

ANSWER = """\
1001.batch|cpu=00:00:01,energy=0,fs/disk=1380449,mem=24340K,pages=0,vmem=236064K
1001.0|cpu=1-00:00:02,energy=0,fs/disk=6977,mem=1560K,pages=0,vmem=2920K
1001.extern|cpu=00:10:00,energy=0,mem=9999K
1002.batch|
 garbage
|||
"""


def test_the_steps_of_each_job_are_added_up() -> None:
    assert read_step_usage(ANSWER) == {
        1001: StepUsage((24340 + 1560) * 1024, 86_403.0),
        1002: StepUsage(),
    }


def test_one_query_asks_about_all_jobs_and_no_answer_is_no_figure() -> None:
    answer = said(ANSWER, "sstat: error: couldn't get steps for job 9\n")
    runner = FakeRunner().on("sstat", answers=[answer, TimedOut(("sstat",), 5.0)])
    assert set(ask_step_usage(runner, [1001, 1002, 9])) == {1001, 1002}
    assert runner.asked == [("sstat", "-a", "-n", "-P", "-j", "1001,1002,9", "-o", "JobID,TRESUsageInTot")]
    assert ask_step_usage(runner, [1001]) == {}
