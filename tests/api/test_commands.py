"""What `jobmon.api` runs as commands in processes of their own: nothing that Python can say is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon import api
from jobmon.api import submitting
from jobmon.api.records import explanation_of
from jobmon_core.app.diagnose import Report
from jobmon_core.app.live.verdict import LiveVerdict
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.store.home import Home
from tests.support.fake_ray import FakeRay
from tests.support.processes import kill_all
from tests.support.waiting import PATIENCE_S, eventually

SSH = '#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n'


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Context]:
    """The home of a user, who is in an empty folder."""
    home, work = tmp_path / "home", tmp_path / "work"
    for folder in (home, work):
        folder.mkdir(mode=0o700)
    (home / "config.json").write_text(
        '{"poll": {"running_s": 5}, "agent": {"enabled": false}}', encoding="ascii"
    )
    (home / "config.json").chmod(0o600)
    monkeypatch.setenv("JOBMON_HOME", str(home))
    monkeypatch.chdir(work)
    yield Context(Home(home), {})
    kill_all(home)


def only_job(ctx: Context) -> WatchedJob:
    (path,) = ctx.store.paths()
    return ctx.store.load(path.stem)


def test_a_job_of_ray_gets_what_its_api_takes_and_restarts(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeRay() as ray:
        monkeypatch.setenv("RAY_API_SERVER_ADDRESS", ray.url)
        job = api.submit(
            "python",
            "--lr 1",
            backend="ray",
            group="sweep",
            restart=api.Restart(max={"node": 2}, checkpoint_dir="saved"),
            ray={"metadata": {"owner": "me"}, "runtime_env": {"env_vars": {"TOKEN": "x"}}},
        )
        (started,) = ray.jobs
        assert started["entrypoint"] == "python '--lr 1'"
        assert started["metadata"].items() >= {("owner", "me")}
        assert started["runtime_env"]["env_vars"].items() >= {("TOKEN", "x"), ("JOBMON_ATTEMPT", "0")}
        settings = only_job(ctx).settings
        assert settings
        assert settings.restart
        assert settings.restart.budgets == {"node": 2}
        assert settings.checkpoint_dir == str(Path("saved").absolute())
        assert [each.state_id for each in ctx.groups.load("sweep").members.values()] == [only_job(ctx).id]
        assert [each.number for each in api.attempts(job.job_id)] == [0]


def test_a_job_configuration_counts_on_another_host_as_on_the_command_line(
    ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(SSH, encoding="ascii")
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    Path("job.yaml").write_text(
        "job: {total_items: 9}\npaths: {log_dir: logs}\ndone: {marker: /tmp/no/DONE}\n", encoding="ascii"
    )
    job = api.watch(f"pid:{os.getpid()}", host="box", job_config="job.yaml")
    watched = only_job(ctx)
    assert watched.settings
    assert (watched.settings.total_items, watched.settings.log_dir) == (9, "")
    with pytest.raises(api.AlreadyWatched):
        api.watch(f"pid:{os.getpid()} marker:/tmp/no/DONE", host="box")
    with pytest.raises(api.AlreadyWatched):
        api.watch(f"box:pid:{os.getpid()}", job_config="job.yaml")
    assert job.backend == "ssh"


def test_the_record_of_a_job_that_ends_after_its_monitor_was_found_is_returned(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("job.sh").write_text("#!/bin/sh\nexit 3\n", encoding="ascii")
    job = api.submit("job.sh", backend="local")
    api.wait(job.job_id, at_most_s=PATIENCE_S)
    eventually(lambda: only_job(ctx).closed)

    def was_too_early(*_command: str) -> api.Job:
        raise api.AlreadyWatched("by a monitor that has now ended")

    monkeypatch.setattr(submitting, "watched", was_too_early)
    assert api.watch(job.job_id, backend="local").outcome is api.Outcome.FAILURE


def test_a_text_may_look_like_an_option_or_like_stdin(ctx: Context) -> None:
    for text, title in (("-", ""), ("--wait", "--level=no")):
        sent = api.notify(text, title=title, wait_s=0.25)
        assert (sent.channels, sent.was_hidden) == ((), False)
    del ctx


def test_an_error_arrives_with_all_that_it_says(ctx: Context) -> None:
    (ctx.home.root / "config.json").write_text(json.dumps({"nonsense": 1, "poll": {"running_s": "x"}}))
    with pytest.raises(api.ConfigInvalid) as caught:
        api.notify("x")
    assert len(caught.value.faults) == 2
    assert isinstance(caught.value.faults, tuple)
    assert str(caught.value) == f"{caught.value.source} is not usable:" + "".join(
        f"\n  - {fault}" for fault in caught.value.faults
    )


def test_an_explanation_has_the_problems_of_a_running_job() -> None:
    event = Event(90.0, EventKind.TROUBLE, "hangs", subject="hang", title="Hang", lasting_s=(60.0,))
    diagnosis = Diagnosis(None, "Nothing found", "", "", (Line("a.log", 3, "step 1"),), log_path="a.log")
    found = explanation_of(Report(diagnosis, live=LiveVerdict((event,))))
    assert found.problems == (
        api.Problem(name="hang", title="Hang", text="hangs", is_critical=False, since_s=30.0),
    )
    assert (found.headline, found.log) == ("Nothing found", "a.log")
    assert found.evidence == (api.Evidence(file="a.log", line=3, text="step 1"),)
