"""Groups are polled by whichever monitor can, and nothing is lost or repeated if it is killed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.delivery.outbox import StoredMessage
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.many.groups.model import Group, GroupSettings, Member, MemberMessages
from jobmon_core.monitor.groups import actions
from jobmon_core.monitor.groups.keeper import GroupKeeper
from jobmon_core.store.group_files import GroupStore
from jobmon_core.store.home import Home
from jobmon_core.system.helper import Helper
from tests.support.clock import FakeClock
from tests.support.job_records import JOB, OOM, failed, succeeded
from tests.support.lineages import NODE_FAIL, attempt, job_of_attempt, lineage_of
from tests.support.lineages import save as save_lineage
from tests.support.waiting import eventually

IDS = ("slurm-1-x", "slurm-2-x")


class Watch:
    """A home with a group of two jobs, and a monitor of both."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.ctx = Context(Home(folder), {}, clock=self.clock)
        self.logged = list[str]()
        members = {name: Member(state_id) for name, state_id in zip("ab", IDS, strict=True)}
        settings = GroupSettings(messages=MemberMessages.NONE)
        self.ctx.groups.create(Group("sweep1", self.clock.now(), settings, members))
        for number, state_id in enumerate(IDS, 1):
            self.ctx.store.save(replace(JOB, id=state_id, job_id=number))
        self.restart()

    def restart(self) -> None:
        self.keeper = GroupKeeper(self.ctx, Helper(), self.logged.append)

    def end_all(self) -> None:
        tasks = (succeeded(), failed(diagnosis=OOM))
        for number, (state_id, task) in enumerate(zip(IDS, tasks, strict=True), 1):
            self.ctx.store.save(
                replace(JOB, id=state_id, job_id=number, tasks={"": task}, concluded_s=self.clock.now())
            )

    def log_text(self) -> str:
        path = self.ctx.home.group_log("sweep1")
        return path.read_text("utf-8") if path.exists() else ""

    @property
    def group(self) -> Group:
        return self.ctx.groups.load("sweep1")


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(tmp_path / "home")


def test_a_group_is_polled_at_its_interval_and_completed_by_the_monitor_that_ends_last(watch: Watch) -> None:
    assert watch.keeper.run_due(IDS) == watch.clock.now() + 60
    assert watch.log_text().count("STATUS_CHECK") == 1
    watch.clock.now_s += 30
    watch.keeper.run_due(IDS)
    assert watch.log_text().count("STATUS_CHECK") == 1
    watch.end_all()
    watch.keeper.run_due(None)
    assert watch.log_text().count("ALL_COMPLETE") == 1
    (message,) = watch.ctx.messages.all()
    assert isinstance(message, StoredMessage)
    assert message.id.startswith("group-sweep1-")
    counts = json.loads(watch.ctx.groups.summary_path("sweep1").read_text())["counts"]
    assert counts == {"completed": 1, "failed": 1}
    watch.keeper.run_due(None)
    assert watch.log_text().count("ALL_COMPLETE") == 1


def test_the_monitors_of_other_jobs_leave_a_group_alone_until_it_is_long_overdue(watch: Watch) -> None:
    watch.keeper.run_due(IDS)
    watch.clock.now_s += 100
    due_s = watch.keeper.run_due(("slurm-9-x",))
    assert due_s
    assert due_s > watch.clock.now()  # else the monitor would not wait at all
    assert watch.log_text().count("STATUS_CHECK") == 1
    watch.clock.now_s += 100
    watch.keeper.run_due(("slurm-9-x",))
    assert watch.log_text().count("STATUS_CHECK") == 2


def test_a_monitor_that_ends_leaves_the_members_of_others(watch: Watch) -> None:
    watch.keeper.run_due(None)
    assert "ALL_COMPLETE" not in watch.log_text()
    assert watch.group.complete_s is None


class Killed(BaseException):
    """What stands for kill -9."""


def _counted(function: Callable[..., object], calls: list[int], *, before: bool) -> Callable[..., object]:
    """Return ``function``, which kills at one of the calls counted in ``calls``."""

    def call(*arguments: object, **named: object) -> object:
        calls[0] -= 1
        if before and calls[0] == 0:
            raise Killed
        result = function(*arguments, **named)
        if not before and calls[0] == 0:
            raise Killed
        return result

    return call


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("at_call", range(1, 8))
def test_a_kill_at_any_step_loses_and_repeats_nothing(
    watch: Watch, at_call: int, *, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.keeper.run_due(IDS)
    watch.end_all()
    calls = [at_call]
    with monkeypatch.context() as patched:
        for owner, name in (
            (type(watch.ctx.groups), "save"),
            (type(watch.ctx.messages), "create"),
            (actions, "append_pending"),
            (actions, "write_atomically"),
        ):
            patched.setattr(owner, name, _counted(getattr(owner, name), calls, before=before))
        try:
            watch.keeper.run_due(None)
        except Killed:
            watch.restart()
    watch.keeper.run_due(None)
    lines = watch.log_text().splitlines()
    assert sum("ALL_COMPLETE" in line for line in lines) == 1
    assert sum("STATE_CHANGE: b" in line for line in lines) == 2  # running, failed
    assert len(list(watch.ctx.messages.all())) == 1
    assert watch.ctx.groups.summary_path("sweep1").exists()
    group = watch.group
    assert (group.unsent, group.log.pending, group.complete_s is not None) == ((), "", True)


def test_a_log_that_cannot_be_written_does_not_delay_the_digest(watch: Watch) -> None:
    watch.ctx.home.group_log("sweep1").mkdir(parents=True)
    watch.end_all()
    watch.keeper.run_due(None)
    assert len(list(watch.ctx.messages.all())) == 1
    watch.ctx.home.group_log("sweep1").rmdir()
    watch.keeper.run_due(None)
    assert watch.log_text().count("ALL_COMPLETE") == 1


def test_a_group_that_cannot_be_saved_does_not_stop_the_others(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"c": Member(IDS[0])}
    watch.ctx.groups.create(Group("other", watch.clock.now(), GroupSettings(), members))
    save = type(watch.ctx.groups).save

    def failing(store: GroupStore, group: Group) -> None:
        if group.name == "other":
            raise StorageFailed("the disk is full")
        save(store, group)

    monkeypatch.setattr(type(watch.ctx.groups), "save", failing)
    with pytest.raises(StorageFailed, match="disk is full"):
        watch.keeper.run_due(IDS)
    assert watch.log_text().count("STATUS_CHECK") == 1


def test_a_member_whose_state_file_was_removed_keeps_its_outcome(watch: Watch) -> None:
    watch.end_all()
    watch.ctx.store.save(replace(JOB, id=IDS[0], job_id=1))
    watch.keeper.run_due(IDS)
    watch.ctx.store.path(IDS[1]).unlink()
    watch.ctx.store.save(
        replace(JOB, id=IDS[0], job_id=1, tasks={"": succeeded()}, concluded_s=watch.clock.now())
    )
    watch.keeper.run_due(None)
    (stored,) = watch.ctx.messages.all()
    assert isinstance(stored, StoredMessage)
    assert "1 completed, 1 failed" in stored.message.title
    assert "UNWATCHED" not in watch.log_text()


def test_a_damaged_group_is_logged_once_and_left_as_it_is(watch: Watch) -> None:
    path = watch.ctx.groups.path("sweep1")
    path.write_text("{", encoding="ascii")
    watch.keeper.run_due(IDS)
    watch.restart()
    watch.keeper.run_due(IDS)
    assert "is damaged" in watch.logged[0]
    assert path.read_text(encoding="ascii") == "{"


def test_the_settings_of_a_group_apply_to_its_members_until_it_is_complete(watch: Watch) -> None:
    settings = watch.keeper.settings_of(IDS[0])
    assert settings
    assert settings.messages is MemberMessages.NONE
    assert watch.keeper.settings_of("slurm-9-x") is None
    watch.end_all()
    watch.keeper.run_due(None)
    assert watch.keeper.settings_of(IDS[0]) is None


def test_the_program_of_the_user_starts_once_and_gets_the_summary(watch: Watch) -> None:
    script = "import json, os, sys; print(json.load(sys.stdin)['group'], os.environ['JOBMON_GROUP'])"
    settings = GroupSettings(then=(sys.executable, "-c", script))
    watch.ctx.groups.save(replace(watch.group, settings=settings))
    watch.end_all()
    watch.keeper.run_due(None)
    watch.restart()
    watch.keeper.run_due(None)
    eventually(lambda: watch.group.then_result == "exit code 0")
    output = watch.ctx.home.logs / "group-sweep1.then.log"
    assert output.read_text("ascii") == "sweep1 sweep1\n"


def test_a_program_of_the_user_that_could_not_be_started_does_not_count_as_running(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.ctx.groups.save(replace(watch.group, settings=GroupSettings(then=("/bin/true",))))
    watch.end_all()
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with pytest.raises(StorageFailed, match="/no/such/python"):
        watch.keeper.run_due(None)
    assert watch.group.then_result == (
        "not started: /no/such/python cannot be started: No such file or directory"
    )
    watch.keeper.run_due(None)  # it is not tried again, so that the monitor ends


def test_a_file_of_a_group_that_cannot_be_removed_is_reported(watch: Watch) -> None:
    watch.ctx.groups.summary_path("sweep1").mkdir()
    with pytest.raises(StorageFailed, match=r"sweep1\.summary cannot be removed"):
        watch.ctx.groups.remove("sweep1")


def test_a_program_that_is_missing_is_said_so(watch: Watch) -> None:
    watch.ctx.groups.save(replace(watch.group, settings=GroupSettings(then=("/no/such/program",))))
    watch.end_all()
    watch.keeper.run_due(None)
    eventually(lambda: watch.group.then_result.startswith("/no/such/program cannot be started"))


def test_the_command_that_holds_members_uses_the_same_home(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = list[tuple[object, Path, dict[str, str]]]()
    monkeypatch.setattr(actions, "start_beside", lambda *given: started.append(given))
    ctx = Context(watch.ctx.home, {"JOBMON_HOME": "relative"}, clock=watch.clock)
    actions.perform_saved(ctx, replace(watch.group, hold=True), {})
    ((_, _, environment),) = started
    assert environment["JOBMON_HOME"] == str(watch.ctx.home.root)


def test_a_member_follows_the_newest_attempt_of_its_lineage(watch: Watch) -> None:
    first = replace(job_of_attempt(0, NODE_FAIL, restart_due_s=watch.clock.now() + 60), id=IDS[0])
    watch.ctx.store.save(first)
    second = replace(JOB, id=IDS[1], job_id=2, tasks={"": succeeded()}, concluded_s=watch.clock.now())
    watch.ctx.store.save(second)
    watch.keeper.run_due(None)
    assert watch.group.complete_s is None  # a restart is due: the first attempt has not failed the group
    assert watch.group.members["a"].outcome is None

    attempts = (replace(attempt(0), state_id=IDS[0]), attempt(1))
    save_lineage(watch.ctx, lineage_of(*attempts), replace(first, restart_due_s=None), job_of_attempt(1))
    watch.keeper.run_due(None)
    assert (watch.group.complete_s, watch.group.members["a"].state_id) == (None, "slurm-8124-x")

    watch.ctx.store.save(job_of_attempt(1, succeeded()))
    watch.keeper.run_due(None)
    counts = json.loads(watch.ctx.groups.summary_path("sweep1").read_text())["counts"]
    assert counts == {"completed": 2}
    assert "failed" not in watch.log_text()
