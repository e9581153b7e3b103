"""A cluster without accounting, where only slurmctld knows about jobs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from private_slurm import Cluster

from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.job.tracking.model import Source
from jobmon_core.domain.slurm.states import Outcome
from tests.support.messages import end_of, facts, only, read, title
from tests.support.restarts import Story
from tests.support.user import User
from tests.support.waiting import eventually

pytestmark = pytest.mark.xdist_group("without accounting")


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    """A cluster without slurmdbd, where slurmctld remembers ended jobs for a minute."""
    with Cluster(accounting=False, min_job_age=60) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def forgetful() -> Iterator[Cluster]:
    """A cluster without slurmdbd that soon forgets ended jobs."""
    with Cluster(accounting=False) as cluster:
        yield cluster


def test_an_end_shown_by_squeue_is_sufficient(user: User, slurm: Cluster) -> None:
    good = user.submit("--wrap", "true")
    bad = user.submit("--wrap", "exit 137")
    assert user.told(good).outcome is Outcome.SUCCESS
    end = end_of(user.told(bad))
    assert (end.outcome, end.exit_code, end.exit_code_exact) == (Outcome.FAILURE, 137, True)
    (success,), (failure,) = user.discord.received(Route.SUCCESS), user.discord.received(Route.ERROR)
    assert title(success) == f"✅ wrap ({good}) completed"
    assert title(failure) == f"❌ wrap ({bad}) failed: Killed (SIGKILL)"
    assert slurm.name in facts(success)["Where"]


def test_a_job_forgotten_before_a_poll_saw_its_end_has_an_unknown_outcome(
    user: User, forgetful: Cluster
) -> None:
    user.environment |= forgetful.env
    job_id = user.submit("-J", "lost", "--wrap", "until [ -e go ]; do sleep 0.5; done")
    user.watched_as(job_id, "RUNNING")
    # the state comes from squeue, the name from scontrol, which is asked only after that state is saved
    eventually(lambda: user.job(job_id).name == "lost")
    with user.paused_monitor(job_id):
        (user.work / "go").touch()
        eventually(lambda: user.is_forgotten(job_id))
    job = user.told(job_id)
    assert (job.outcome, end_of(job).source) == (Outcome.UNKNOWN, Source.NONE)
    payload = only(user, Route.ERROR)
    assert title(payload) == f"⚠ lost ({job_id}) ended, outcome unknown"
    assert "keeps no accounting" in read(payload)
    assert user.status(job_id)["outcome"] == "unknown"


def test_a_training_whose_outcome_is_unknown_is_never_restarted(user: User, forgetful: Cluster) -> None:
    user.environment |= forgetful.env
    story = Story(user)
    job_id = story.submit("rename", "wait@6", "--restart")
    eventually(lambda: story.has_reached(6) and user.job(job_id).name == "job.sh")
    with user.paused_monitor(job_id):
        (story.folder / "go").touch()
        eventually(lambda: user.is_forgotten(job_id))
    assert user.told(job_id).outcome is Outcome.UNKNOWN
    assert story.decision().verdict is Verdict.ASK
    story.assert_never_restarted()


def test_a_pending_job_is_explained_and_its_wait_is_split(user: User, slurm: Cluster) -> None:
    user.environment |= slurm.env
    job_id = user.submit("-H", "--wrap", "true")
    user.watched_as(job_id, "PENDING")
    done = user.jobmon("why", str(job_id))
    assert (done.returncode, done.stderr) == (0, "")
    assert "It is held by its user." in done.stdout
    drained = user.slurm("sbatch", "--parsable", "-N", "99", "--wrap", "true").strip()
    eventually(lambda: "Partition main allows 3 nodes; it asks for 99." in user.jobmon("why", drained).stdout)
    user.slurm("scancel", drained)
    user.slurm("scontrol", "release", str(job_id))
    (task,) = user.told(job_id).tasks.values()
    assert task.end
    assert task.submit_s is not None
    assert task.end.eligible_s is not None
    assert task.end.eligible_s >= task.submit_s
    done = user.jobmon("why", str(job_id))
    assert "is not pending, it has ended: COMPLETED" in done.stdout
