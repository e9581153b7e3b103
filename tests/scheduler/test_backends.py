from __future__ import annotations

import ast
import json
import os
import re
from dataclasses import replace
from functools import partial
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from jobmon.cli import main
from jobmon_core.app.cancel import cancel
from jobmon_core.app.recover import RecoverJobs
from jobmon_core.context import Context, backend_names
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.scheduler.backends import (
    BACKENDS,
    NAMES,
    WITH_SCRIPTS,
    cancel_command,
    display_name,
    find_backend,
)
from jobmon_core.scheduler.base import Backend
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from tests.support.clock import FakeClock
from tests.support.messages import end_of
from tests.support.toy_backend import ToyScheduler, toy_backend

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    """Return the context of a home in which the toy backend is registered."""
    clock = FakeClock()
    monkeypatch.setitem(BACKENDS, "toy", toy_backend(clock.now))
    monkeypatch.setattr("jobmon_core.context.WITH_SCRIPTS", (*WITH_SCRIPTS, "toy"))
    monkeypatch.setattr(MonitorStarter, "start", lambda _self, job_ids: tuple(job_ids))  # no process
    monkeypatch.setattr(MonitorStarter, "prefork", lambda _self, _record: None)
    monkeypatch.setenv("JOBMON_HOME", str(tmp_path))
    return Context(Home(tmp_path), os.environ, clock=clock)


def state_file_of(ctx: Context, job_id: int) -> WatchedJob:
    (job,) = ctx.store.find(JobRef(job_id))
    return job


def test_a_registered_backend_is_submitted_to_listed_and_followed_to_the_end(
    ctx: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", "--backend", "toy", "7"]) == 0
    assert main(["status", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["job_id"], listed["backend"]) == ("7", "toy")

    job_id = state_file_of(ctx, 7).id
    ctx.owner_record(job_id).write(Owner.this_process())
    monitor = MonitorFactory(ctx).job_monitor(job_id, lambda _event: None)
    monitor.poll_once()
    assert monitor.job.tasks[""].state is JobState.RUNNING
    ToyScheduler(ctx.home.backend_folder("toy"), ctx.clock.now).set_state(7, JobState.COMPLETED)
    for _ in range(20):
        ctx.clock.wait(60)
        monitor.poll_once()
    assert end_of(monitor.job).state is JobState.COMPLETED
    (entry,) = monitor.job.outbox
    assert "7" in entry.message.title


def test_a_registered_backend_may_be_the_configured_one(ctx: Context) -> None:
    ctx.home.config.write_text(json.dumps({"backend": "toy"}), encoding="utf-8")
    ctx.home.config.chmod(0o600)
    assert ctx.configuration().backend == "toy"
    assert main(["submit", "8"]) == 0
    assert state_file_of(ctx, 8).backend == "toy"


def test_an_unknown_backend_is_rejected_with_the_names_of_those_there_are(
    ctx: Context, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", "--backend", "lsf", "7"]) != 0
    assert "slurm, local, pbs, toy, ray, kubernetes, not 'lsf'" in capsys.readouterr().err
    with pytest.raises(
        SchedulerMissing, match="'lsf'; it supports slurm, local, pbs, process, ray, ssh, kubernetes"
    ):
        ctx.scheduler("lsf")


def test_recovery_leaves_the_job_of_an_unknown_backend_alone_and_continues(ctx: Context) -> None:
    ctx.store.save(WatchedJob("a-12-x", 12, 100.0, backend="lsf", cluster="big"))
    ctx.store.save(WatchedJob("b-13-x", 13, 100.0, backend="toy"))
    first, second = sorted(RecoverJobs(ctx, MonitorStarter(ctx)).recover(), key=lambda result: result.subject)
    assert (first.is_changed, second.is_changed) == (False, True)
    assert first.action.startswith("skipped: this version of jobmon does not support the backend 'lsf'")


def test_the_default_backend_is_the_first(ctx: Context) -> None:
    assert backend_names()[0] == DEFAULT_BACKEND == ctx.configuration().backend


STOP_RAY = "ray job stop --address http://head:8265 raysubmit_x"


@pytest.mark.parametrize(
    ("backend", "hint"),
    [("slurm", " (`scancel 12` ends it)"), ("local", ""), ("toy", ""), ("pbs", " (`qdel 12` ends it)")],
)
def test_only_a_backend_with_a_cancel_command_offers_it(ctx: Context, backend: str, hint: str) -> None:
    ctx.store.save(WatchedJob("any-12-x", 12, 100.0, backend=backend))
    assert cancel(ctx, JobRef(12)).action == f"no longer watched; the job itself is not touched{hint}"


def test_each_backend_has_a_name_for_messages() -> None:
    assert [display_name(name) for name in ("slurm", "local", "lsf")] == [
        "Slurm",
        "The local scheduler",
        "The lsf scheduler",
    ]


RAY_JOB = WatchedJob("ray-3-x", 3, 100.0, backend="ray", cluster="head:8265", remote=True, name="raysubmit_x")
SLURM_JOB = WatchedJob("slurm-12-x", 12, 100.0, watched_part="3", cluster="here", name="train")


@pytest.mark.parametrize(
    ("job", "command"),
    [
        (SLURM_JOB, "scancel 12_3"),
        (
            replace(SLURM_JOB, cluster="other", remote=True),
            "scancel -M other 12_3",
        ),  # 12_3 here is another
        # without http://, Ray takes the address of a dashboard for that of its GCS
        (RAY_JOB, STOP_RAY),
        (replace(RAY_JOB, name="02000000"), ""),  # a driver: Ray cannot stop it
        (replace(SLURM_JOB, backend="local"), ""),
        (replace(SLURM_JOB, backend="pbs"), "qdel '12[3]'"),
        (replace(SLURM_JOB, backend="lsf"), ""),
    ],
)
def test_the_command_to_cancel_a_job_names_its_cluster(job: WatchedJob, command: str) -> None:
    assert cancel_command(job) == command


@pytest.mark.parametrize(
    ("name", "look", "stop"),
    [
        ("raysubmit_x", "status --address http://head:8265 raysubmit_x", (STOP_RAY,)),
        (
            "my run",
            "status --address http://head:8265 'my run'",
            (STOP_RAY.replace("raysubmit_x", "'my run'"),),
        ),
        ("02000000", "list --address http://head:8265", ()),  # a driver: Ray cannot stop it
    ],
)
def test_users_learn_how_to_look_at_a_job_of_ray_and_stop_it(
    ctx: Context, name: str, look: str, stop: tuple[str, ...]
) -> None:
    found = ctx.manual_commands(replace(RAY_JOB, name=name))
    assert found.look[0].startswith(f"ray job {look}")
    assert found.stop == stop
    assert found.start_note


def test_only_slurm_runs_sentinels_and_has_several_controllers() -> None:
    slurm, local = find_backend("slurm"), find_backend("local")
    assert (slurm.submit_sentinel is None, local.submit_sentinel is None) == (False, True)
    environments = [{"SLURM_CONF": conf} for conf in ("/a/slurm.conf", "/b/slurm.conf")]
    assert len({slurm.controller_id(environment) for environment in environments}) == 2
    assert {local.controller_id(environment) for environment in environments} == {""}


def test_the_table_names_those_that_take_scripts() -> None:
    assert [name for name in NAMES if find_backend(name).submitter] == list(WITH_SCRIPTS)


def test_no_code_compares_the_name_of_a_backend() -> None:
    """Only the backend's own folder, the defaults and the registry name one."""
    names = "|".join((*NAMES, "toy"))
    comparison = re.compile(rf"""[!=]= ?["']({names})["']""")
    sources = [path for package in ("jobmon", "jobmon_core") for path in (REPOSITORY / package).rglob("*.py")]
    assert [path.name for path in sources if comparison.search(path.read_text(encoding="utf-8"))] == []


@pytest.mark.parametrize("backend", [find_backend(each) for each in NAMES], ids=NAMES)
def test_what_a_backend_imports_late_is_in_its_folder_and_takes_what_it_is_given(backend: Backend) -> None:
    for name, value in backend._asdict().items():
        if isinstance(value, partial):
            module, attribute = value.args
            target = getattr(import_module(f"jobmon_core.scheduler.{module}"), attribute)
            hint = ast.walk(ast.parse(Backend.__annotations__[name].__forward_arg__))
            parameters = next(each.elts for each in hint if isinstance(each, ast.List))  # of a Callable
            signature(target).bind(*parameters)
            assert module.startswith(f"{backend.name}.")
