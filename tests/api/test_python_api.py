"""`jobmon.api`: its documented examples run, users' code is type-checked, their process is left alone."""

from __future__ import annotations

import doctest
import json
import logging
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobmon import api
from tests.support.fake_discord import FakeDiscord
from tests.support.fake_ray import FakeRay, ray_job
from tests.support.processes import processes_of
from tests.support.waiting import eventually

CHECKOUT = Path(__file__).resolve().parents[2]
DOC = CHECKOUT / "docs" / "python-api.md"
TRAIN = """\
#!/bin/sh
echo 'epoch 1/2 loss 0.7'
exec python3 -c "settings = {}; settings['lr']"
"""
LOG = "67300/100000 [2:31:34<1:13:38,  7.40it/s, loss=0.345]\n"
USER_CODE = """\
from jobmon import api

job: api.Job = api.submit("train.sbatch", "--epochs", "3")
result = api.wait(job.job_id, 8123, "latest", at_most_s=590)
if result.result is api.Result.FAILURE:
    why = api.diagnose(job.job_id)
    line: int | None = why.evidence[0].line if why.evidence else None
    api.notify(f"{why.headline}: {why.advice}", level="critical", wait_s=0)
rate: float | None = api.progress("train.log").rate_per_s
api.watch(pid=[4711, 4712], log="train.log").tasks[0].upper()
"""
WRONG = 'api.status(8123).no_such_field\napi.submit(12)\napi.wait(at_most_s="9m")\n'


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of a user who has Python and a small training."""
    folder = tmp_path / "work"
    folder.mkdir()
    script = folder / "train.sh"
    script.write_text(TRAIN.replace("python3", sys.executable), encoding="utf-8")
    (folder / "train.log").write_text(LOG, encoding="utf-8")
    for number, done in enumerate((15_000, 14_000)):
        text = f"Processed {done}/100000 items\n" + number * "torch.OutOfMemoryError: CUDA out of memory.\n"
        (folder / f"worker_{number}.log").write_text(text, encoding="utf-8")
    (folder / "results_0.json").write_text('[{"x": 1}, {"x": 2}]', encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


def _examples() -> str:
    blocks = re.findall(r"^```python\n(.*?)^```$", DOC.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return "\n".join(blocks)


def test_the_documented_examples_run(
    work: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "jobmon"
    home.mkdir(mode=0o700)
    threads = threading.active_count()
    handlers = (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    with FakeDiscord() as server, FakeRay() as ray:
        ray.jobs = [ray_job("raysubmit_abc123")]
        ray.logs["raysubmit_abc123"] = b"step 40/100 loss=0.25\nstep 41/100 loss=0.24\n"
        ray.cluster_status = "Total Usage:\n 3.0/16.0 CPU\n 4.0/4.0 GPU\n"
        monkeypatch.setenv("RAY_API_SERVER_ADDRESS", ray.url)
        hooks = {"success_webhook": server.success_url, "error_webhook": server.error_url}
        config = home / "config.json"
        config.write_text(json.dumps({"discord": hooks, "poll": {"running_s": 5}}), encoding="utf-8")
        config.chmod(0o600)
        test = doctest.DocTestParser().get_doctest(_examples(), {}, DOC.name, str(DOC), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        report: list[str] = []
        try:
            runner.run(test, out=report.append)
        finally:
            logging.getLogger().handlers.clear()
        assert "".join(report) == ""
        assert runner.tries > 20
        server.wait_for(2)  # the failure, and the message of the training
        eventually(lambda: not list(processes_of(home)))
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == handlers
    assert capfd.readouterr().out == ""
    assert (work / "TRAIN_DONE").is_file()
    eventually(lambda: threading.active_count() <= threads)  # those of the servers have just ended


def test_the_configured_backend_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "jobmon"
    home.mkdir(mode=0o700)
    (home / "config.json").write_text('{"backend": "ray"}', encoding="ascii")
    (home / "config.json").chmod(0o600)
    with FakeRay() as ray:
        monkeypatch.setenv("RAY_API_SERVER_ADDRESS", ray.url)
        with pytest.raises(api.UnknownJob, match=f"the Ray cluster {ray.service} has no job 8123"):
            api.watch(8123)
        ray.token = "of somebody else"
        with pytest.raises(api.SchedulerRejected, match=r"the Ray dashboard .* got no token"):
            api.submit("python", "train.py")
        assert ray.started == []


def test_the_code_of_a_user_is_checked_by_mypy_strict(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USER_CODE + WRONG, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--follow-imports=silent", "use.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    first = USER_CODE.count("\n") + 1
    assert lines == [first, first + 1, first + 2], done.stdout


def test_the_packages_say_that_they_have_types() -> None:
    assert all((CHECKOUT / package / "py.typed").is_file() for package in ("jobmon", "jobmon_core"))


def test_a_training_that_only_sends_messages_loads_no_diagnosis() -> None:
    code = "import sys; from jobmon.api import mark, notify; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {
        "re2",
        "requests",
        "yaml",
        "jobmon_core.app.diagnose",
        "jobmon_core.analysis.explain",
        "jobmon.views.model",
    }
    assert heavy & set(done.stdout.split()) == set()


def test_every_public_name_exists_and_is_listed() -> None:
    assert dir(api) == sorted(api.__all__, key=lambda name: (name.lower() == name, name))
    assert all(getattr(api, name) is not None for name in api.__all__)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (api.watch, api.JobmonError, "either a job"),
        (lambda: api.watch("8123", host="box"), api.JobmonError, "tmux:NAME"),
        (lambda: api.watch("no-id"), api.JobmonError, "no-id"),
        (
            lambda: api.watch(pid=1, host="box"),
            api.JobmonError,
            "--pid is not for jobs on another host",
        ),
        (lambda: api.watch(pid=1, stdout="x"), api.JobmonError, "--output and --error are for jobs"),
        (lambda: api.watch(pid=1, again=True), api.JobmonError, "--again and --backend are for jobs"),
        (lambda: api.watch(8123, log="x"), api.JobmonError, "--log is for processes"),
        (
            lambda: api.watch("a", backend="ray", stderr="x"),
            api.JobmonError,
            "--error and --log are not for jobs of Ray",
        ),
        (
            lambda: api.watch("pid:1", host="box", log="x"),
            api.JobmonError,
            "--log is not for jobs on another host",
        ),
        (
            lambda: api.watch("pid:1", host="box", backend="ray"),
            api.JobmonError,
            "--backend is not for jobs on another host",
        ),
        (lambda: api.notify("x", level="loud"), api.JobmonError, "critical, warning, info, progress"),
        (lambda: api.mark("x", status=256), api.JobmonError, "0 to 255"),
        (api.diagnose, api.JobmonError, "diagnose takes one job, or the log files"),
        (api.progress, api.JobmonError, "progress takes one job, or the log files"),
        (lambda: api.progress("no.log", "8123"), api.JobmonError, "neither a job"),
        (lambda: api.wait("nobody"), api.UnknownJob, "nobody"),
    ],
)
def test_a_wrong_call_raises_the_error_of_the_command(
    call: object, error: type[Exception], text: str, work: Path
) -> None:
    del work
    assert callable(call)
    with pytest.raises(error, match=text):
        call()
