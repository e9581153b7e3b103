"""Trainings on the real Slurm that end in many ways: restarted or stopped by the rules, and resumed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from private_slurm import Cluster

from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.slurm.states import JobState
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import end_of
from tests.support.processes import kill_all
from tests.support.restarts import SOON, Story
from tests.support.user import User
from tests.support.waiting import eventually

# one worker starts all of the first stories at once; each test then waits for its own
together = pytest.mark.xdist_group("restarts")

_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}
# what is submitted at once: layout, fates, settings
_STORIES = {
    "exit": ("rename", "exit:75@6", SOON),
    "torn": ("torn", "exit:75@6,exit:75@14", SOON),
    "highest": ("highest", "segv@6", SOON),
    "oom": ("marker", "eat@6", SOON),
    "grow": ("marker", "eat@6", f"{SOON}, grow: {{memory: 4}}"),
    "timeout": ("marker", "wait@6", SOON),
    "signal": ("rename", "save@6", SOON),
    "cancelled": ("rename", "wait@6", SOON),
    "user error": ("rename", "key@6", SOON),
    "unknown cause": ("rename", "exit:3@6", SOON),
    "observe": ("rename", "exit:75@6", SOON),
}

# the one is cut short once it has trained; the other gets its signal 45 to 75 seconds after its start, since
# slurmctld sends it up to 30 seconds early and looks each 30 seconds: a busy machine starts programs slowly
_OPTIONS = {"timeout": ("-t", "5"), "signal": ("-t", "2", "--signal=B:TERM@45")}


@pytest.fixture(scope="module")
def new_user(slurm: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], User]]:
    """Users of the cluster with a home each: the limit of submissions an hour is that of one user."""
    with ExitStack() as stack:

        def make(name: str) -> User:
            folder: Path = tmp_path_factory.mktemp(name.replace(" ", "-"))
            user = User(folder, stack.enter_context(FakeDiscord()), {**_ENVIRONMENT, **slurm.env})
            stack.callback(user.leave)
            return user

        yield make


@pytest.fixture(scope="module")
def stories(new_user: Callable[[str], User]) -> dict[str, Story]:
    """The stories that need nothing but a place in the queue, all submitted."""
    found = {}
    for name, (layout, fates, settings) in _STORIES.items():
        story = found[name] = Story(new_user(name))
        options = _OPTIONS.get(name, ())
        mode = "--restart=observe" if name == "observe" else "--restart"
        story.submit(layout, fates, mode, *options, settings=settings)
    late = found["timeout"]
    eventually(lambda: late.has_reached(6))
    late.user.at_its_limit(_first(late))
    return found


def _first(story: Story) -> str:
    return story.lineage.attempts[0].job


@together
def test_an_exit_code_that_asks_for_it_is_restarted_at_the_newest_checkpoint(
    stories: dict[str, Story],
) -> None:
    story = stories["exit"]
    lineage = story.ended()
    story.assert_resumed_and_finished(1, 5)
    assert [a.decision.verdict for a in lineage.attempts if a.decision] == [Verdict.RESTART, Verdict.FINISHED]
    assert story.decision().proof
    environment = story.starts[1]["environment"]
    assert environment["JOBMON_RESUME_FROM"] == str(story.folder / "checkpoints" / "step_4.pt")
    assert environment["JOBMON_LINEAGE"] == lineage.id
    assert environment["JOBMON_RESTART_REASON"]
    assert not set(story.starts[0]["environment"]) & {"JOBMON_RESUME_FROM", "JOBMON_RESTART_REASON"}


@together
def test_a_torn_checkpoint_is_passed_over(stories: dict[str, Story]) -> None:
    stories["torn"].ended()
    stories["torn"].assert_resumed_and_finished(1, 5, 13)


@together
def test_a_higher_incomplete_checkpoint_is_passed_over_after_a_crash(stories: dict[str, Story]) -> None:
    story = stories["highest"]
    story.ended()
    story.assert_resumed_and_finished(1, 5)
    assert story.decision().budget == "crash"


@together
def test_a_proven_lack_of_memory_asks(stories: dict[str, Story], slurm: Cluster) -> None:
    if not slurm.has_cgroup_memory:
        pytest.skip("OUT_OF_MEMORY needs writable cgroup v1 controllers")
    assert stories["oom"].decision().verdict is Verdict.ASK
    assert end_of(stories["oom"].user.told(_first(stories["oom"]))).state is JobState.OUT_OF_MEMORY
    stories["oom"].assert_never_restarted()


@together
def test_with_grow_a_proven_lack_of_memory_restarts_with_more(
    stories: dict[str, Story], slurm: Cluster
) -> None:
    if not slurm.has_cgroup_memory:
        pytest.skip("OUT_OF_MEMORY needs writable cgroup v1 controllers")
    story = stories["grow"]
    lineage = story.ended()
    story.assert_resumed_and_finished(1, 5)
    jobs = [attempt.job for attempt in lineage.attempts]
    listing = ("sacct", "-X", "-n", "-P", "-o", "JobID,ReqMem", "-j", ",".join(jobs))
    wanted = {f"{job}|{memory}" for job, memory in zip(jobs, ("60M", "240M"), strict=True)}
    eventually(lambda: {*story.user.slurm(*listing).split()} == wanted)  # accounting may be late


@together
def test_a_time_limit_after_a_new_checkpoint_is_restarted(stories: dict[str, Story]) -> None:
    story = stories["timeout"]
    story.ended()
    assert end_of(story.user.job(_first(story))).state is JobState.TIMEOUT
    story.assert_resumed_and_finished(1, 5)


@together
def test_exit_code_0_after_a_save_on_a_signal_goes_on(stories: dict[str, Story]) -> None:
    story = stories["signal"]
    story.ended()
    assert end_of(story.user.job(_first(story))).state is JobState.COMPLETED
    story.assert_resumed_and_finished(1, 7)


@together
def test_what_its_user_cancelled_is_never_restarted(stories: dict[str, Story]) -> None:
    story = stories["cancelled"]
    eventually(lambda: story.has_reached(6))
    story.user.slurm("scancel", _first(story))
    assert story.ended().attempts[0].decision is not None
    assert story.decision().verdict is Verdict.STOP
    story.assert_never_restarted()


@together
@pytest.mark.parametrize(("name", "verdict"), [("user error", Verdict.STOP), ("unknown cause", Verdict.ASK)])
def test_an_error_of_the_user_or_an_unknown_cause_is_never_restarted(
    stories: dict[str, Story], name: str, verdict: Verdict
) -> None:
    assert stories[name].decision().verdict is verdict
    stories[name].user.told(_first(stories[name]))
    stories[name].assert_never_restarted()


@together
def test_with_observe_it_only_says_what_it_would_have_done(stories: dict[str, Story]) -> None:
    story = stories["observe"]
    decision = story.decision()
    assert (decision.verdict, decision.is_observed) == (Verdict.RESTART, True)
    story.user.told(_first(story))
    story.assert_never_restarted()


@pytest.mark.xdist_group("n5")
def test_a_preempted_job_is_restarted(new_user: Callable[[str], User]) -> None:
    story = Story(new_user("preempted"))
    whole_node = ("--exclusive", "--mem=0")
    story.submit("marker", "wait@6", "--restart", "-p", "lowcancel", *whole_node)
    eventually(lambda: story.has_reached(6))
    story.user.slurm("sbatch", "-p", "high", *whole_node, "-o", "/dev/null", "--wrap", "sleep 1")
    story.ended()
    assert end_of(story.user.job(_first(story))).state is JobState.PREEMPTED
    story.assert_resumed_and_finished(1, 5)
    assert story.decision().budget == "preempted"


@pytest.mark.xdist_group("doomed")
def test_a_job_whose_node_failed_is_restarted(new_user: Callable[[str], User], slurm: Cluster) -> None:
    story = Story(new_user("node"))
    story.submit("rename", "wait@6", "--restart", "-p", "doomed")
    eventually(lambda: story.has_reached(6))
    slurm.kill_node("n4")
    try:
        assert story.decision().verdict is Verdict.RESTART
    finally:
        slurm.revive_node("n4")
    story.ended()
    assert end_of(story.user.job(_first(story))).state is JobState.NODE_FAIL
    story.assert_resumed_and_finished(1, 5)
    assert story.decision().budget == "node"


def _phase(story: Story) -> str:
    """Return how far a lineage has come: it changes with each step that is saved."""
    lineage = story.lineage
    if not lineage.newest:
        return "none"
    job = story.user.job(lineage.newest.job)
    marks = {
        "runs": job.is_running,
        "ended": job.ended,
        "decided": lineage.newest.decision is not None,
        "knows": job.decision is not None,
        "concluded": job.concluded_s is not None,
        "due": job.restart_due_s is not None,
        "submitting": lineage.submitting is not None,
    }
    return f"{lineage.newest.number}: {' '.join(name for name, is_so in marks.items() if is_so)}"


@together
def test_monitors_killed_between_all_steps_lose_and_repeat_nothing(new_user: Callable[[str], User]) -> None:
    story = Story(new_user("killed"))
    # each decision lasts so long that it is seen, however slowly this goes
    story.submit("rename", "exit:75@6,exit:75@14", "--restart", settings="delay: [10, 10]")
    seen: list[str] = []

    def is_over() -> bool:
        phase = _phase(story)
        if phase not in seen:
            seen.append(phase)
            kill_all(story.user.home)
            story.user.jobmon("recover")
        return bool(story.lineage.ended_why)

    eventually(is_over)
    story.ended()
    story.assert_resumed_and_finished(1, 5, 13)
    print(seen)
    assert sum("decided" in phase for phase in seen) >= len(story.starts)


@together
def test_a_sentinel_alone_carries_a_lineage_on(new_user: Callable[[str], User]) -> None:
    story = Story(new_user("sentinel"))
    story.submit("rename", "wait@6", "--restart", "--sentinel")
    eventually(lambda: story.has_reached(6))
    assert kill_all(story.user.home)
    os.kill(story.starts[0]["pid"], signal.SIGSEGV)
    story.ended()
    story.assert_resumed_and_finished(1, 5)
