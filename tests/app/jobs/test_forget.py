from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.forget import forget, kept_because, prune
from jobmon_core.context import Context
from jobmon_core.domain.delivery.card import CardPhase, JobCard
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from tests.support.clock import FakeClock
from tests.support.job_records import ENTRY, NOW_S, RUNNING, failed, job_of, status_of
from tests.support.lineages import attempt, job_of_attempt, lineage_of
from tests.support.lineages import save as save_lineage

DAY_S = 86_400.0
ENDED = replace(
    job_of(failed(), concluded_s=NOW_S), outbox=(replace(ENTRY, delivered_s=NOW_S),), registered_s=NOW_S - 60
)
WATCHED = job_of(RUNNING, job_id=13)
WAITING = replace(ENDED, id="slurm-14-x", job_id=14, outbox=(replace(ENTRY, problem="connection refused"),))
GIVEN_UP = replace(ENDED, id="slurm-15-x", job_id=15, outbox=(replace(ENTRY, given_up="404"),))


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    ctx = Context(Home(tmp_path), {}, clock=FakeClock(NOW_S + 30 * DAY_S))
    for job in (ENDED, WATCHED, WAITING, GIVEN_UP):
        ctx.store.save(job)
        ctx.owner_record(job.id).write(replace(Owner.this_process(), boot_id="before the reboot"))
        ctx.monitor_log(job.id).write("watching")
    return ctx


def files_of(ctx: Context, job: WatchedJob) -> list[str]:
    return sorted(path.name for path in ctx.home.root.rglob(f"*{job.id}*"))


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (ENDED, ""),
        (replace(WATCHED, unwatched_s=1.0), ""),
        (replace(WAITING, unwatched_s=1.0), ""),  # the user decided that it is not sent
        (WATCHED, "jobmon still watches it; run `jobmon cancel 13` first"),
        (
            WAITING,
            "its message 'train failed' is not delivered yet (connection refused); `jobmon show 14` shows",
        ),
        (replace(ENDED, outage_s=1.0), "its monitor still reports an outage; run `jobmon cancel 12` first"),
        (
            replace(ENDED, card=JobCard(phase=CardPhase.RUNNING, message_id="7")),
            "its monitor still updates its card; run `jobmon cancel 12` first",
        ),
        (GIVEN_UP, "its message 'train failed' was never delivered: 404; once the channel works,"),
    ],
)
def test_only_jobs_that_ended_and_have_no_message_left_may_be_removed(job: WatchedJob, words: str) -> None:
    health = Health.DONE if job.finished else Health.ALIVE
    why = kept_because(status_of(job, health))
    assert why.startswith(words)
    assert bool(why) == bool(words)


def test_forgetting_removes_every_file_of_the_job_and_no_other(ctx: Context) -> None:
    (ctx.home.logs / f"{ENDED.id}.log.1").touch()
    (ctx.home.monitors / f"{ENDED.id}.0a1b2c3d.heir").touch()
    others = {job.id: files_of(ctx, job) for job in (WATCHED, WAITING, GIVEN_UP)}
    (removal,) = forget(ctx, JobRef(12))
    assert (removal.subject, removal.removed) == ("12 train", True)
    assert files_of(ctx, ENDED) == []
    assert {job.id: files_of(ctx, job) for job in (WATCHED, WAITING, GIVEN_UP)} == others


@pytest.mark.parametrize("job_id", [13, 14, 15])
def test_a_job_that_must_stay_keeps_its_files(ctx: Context, job_id: int) -> None:
    (removal,) = forget(ctx, JobRef(job_id))
    assert not removal.removed
    assert ctx.store.load(f"slurm-{job_id}-x").job_id == job_id


def test_a_message_that_was_given_up_is_dropped_only_on_request(ctx: Context) -> None:
    (removal,) = forget(ctx, JobRef(15), drop_given_up=True)
    assert removal.removed
    (removal,) = forget(ctx, JobRef(14), drop_given_up=True)
    assert not removal.removed


def test_all_records_of_a_job_are_forgotten_together(ctx: Context) -> None:
    ctx.store.save(replace(ENDED, id="slurm-12-y"))
    assert [removal.removed for removal in forget(ctx, JobRef(12))] == [True, True]


@pytest.mark.parametrize(
    ("ref", "words"),
    [(JobRef(99), "no record of job 99"), (JobRef(12, task=3), "use `jobmon forget 12`")],
)
def test_an_unknown_job_and_a_part_of_a_record_are_refused(ctx: Context, ref: JobRef, words: str) -> None:
    with pytest.raises(UnknownJob, match=words):
        list(forget(ctx, ref))


def test_a_job_that_a_monitor_adopts_meanwhile_is_kept(ctx: Context) -> None:
    ctx.owner_record(ENDED.id).write(replace(Owner.this_process(), host="login2"))
    (removal,) = forget(ctx, JobRef(12))
    assert "is watched by" in removal.kept_because


def test_pruning_removes_what_is_old_enough_and_names_what_it_keeps(ctx: Context) -> None:
    assert list(prune(ctx, 31 * DAY_S)) == []
    planned = list(prune(ctx, 29 * DAY_S, dry_run=True))
    assert len(list(ctx.store.all())) == 4
    done = list(prune(ctx, 29 * DAY_S))
    assert [removal.removed for removal in planned] == [removal.removed for removal in done]
    assert {removal.job.job_id: removal.removed for removal in done if removal.job} == {
        12: True,
        14: False,
        15: False,
    }
    assert {each.id for each in ctx.store.all() if isinstance(each, WatchedJob)} == {
        "slurm-13-x",
        "slurm-14-x",
        "slurm-15-x",
    }


def test_pruning_leaves_an_unreadable_file_alone_and_reports_it(ctx: Context) -> None:
    ctx.store.path("slurm-16-x").write_text("{")
    (removal,) = (each for each in prune(ctx, 0) if each.job is None)
    assert removal.subject == "slurm-16-x.json"
    assert ctx.store.path("slurm-16-x").exists()


def test_the_raw_id_of_an_array_task_does_not_forget_the_array(ctx: Context) -> None:
    array = replace(ENDED, id="slurm-20-x", job_id=20, tasks={"1": replace(failed("1"), raw_job_id=21)})
    ctx.store.save(array)
    with pytest.raises(UnknownJob, match="use `jobmon forget 20`"):
        list(forget(ctx, JobRef(21)))
    assert ctx.store.load(array.id) == array


def test_an_attempt_of_a_lineage_that_may_go_on_is_kept(ctx: Context) -> None:
    jobs = [job_of_attempt(number, failed()) for number in (0, 1)]
    attempts = attempt(0), attempt(1)
    save_lineage(ctx, lineage_of(*attempts), *jobs)
    (removal,) = forget(ctx, JobRef(8123))
    assert removal.kept_because == (
        "it is an attempt of a lineage that may be restarted; `jobmon restart --off 8123` ends that"
    )
    assert {each.subject for each in prune(ctx, 0.0, dry_run=True) if each.removed} == {"12 train"}

    save_lineage(ctx, lineage_of(*attempts, ended_why="finished"))
    assert [each.removed for each in forget(ctx, JobRef(8123))] == [True]
    assert ctx.lineages.ids() == ["7f3a"]  # the other attempt still needs it
    assert [each.removed for each in forget(ctx, JobRef(8124))] == [True]
    assert list(ctx.home.lineages.iterdir()) == []


def test_an_attempt_of_a_lineage_that_cannot_be_read_is_kept(ctx: Context) -> None:
    save_lineage(ctx, lineage_of(attempt(0)), job_of_attempt(0, failed()))
    (ctx.home.lineages / "7f3a.json").write_text("{", encoding="utf-8")
    (removal,) = forget(ctx, JobRef(8123))
    assert "7f3a.json cannot be read, so it is left as it is" in removal.kept_because
