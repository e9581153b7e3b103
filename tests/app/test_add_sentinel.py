"""Submitting a sentinel, and the line that the user reads about it."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.app.add_sentinel import add_sentinel
from jobmon_core.context import Context
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.store.config_file import write_config
from jobmon_core.store.home import Home
from tests.support.fake_runner import FakeRunner, said

JOB = NewJob("slurm-12-x", 12, 100.0, 0.0, "slurm")
HOOK, OTHER = (f"https://discord.com/api/webhooks/12345678901234567{end}/{'a' * 68}" for end in "89")


def printed_line(home: Path, variables: dict[str, str], runner: FakeRunner) -> str:
    """Return the one line that the user reads."""
    lines: list[str] = []
    add_sentinel(Context(Home(home), variables), JOB, lines.append, runner)
    (line,) = lines
    return line


def slurm() -> FakeRunner:
    return FakeRunner().on("setsid", answers=[said("13\n")])


def test_the_user_is_told_which_job_the_sentinel_is(tmp_path: Path) -> None:
    line = printed_line(tmp_path, {}, slurm())
    assert line.startswith("sentinel 13 will start when job 12 has ended, wait for the monitor")


def test_a_webhook_variable_that_the_configuration_repeats_does_not_prevent_a_sentinel(
    tmp_path: Path,
) -> None:
    write_config(tmp_path / "config.json", {"discord": {"error_webhook": HOOK}})
    assert "sentinel 13" in printed_line(tmp_path, {"JOBMON_ERROR_WEBHOOK": HOOK}, slurm())


def test_a_sentinel_that_would_use_another_webhook_is_not_submitted(tmp_path: Path) -> None:
    write_config(tmp_path / "config.json", {"discord": {"error_webhook": HOOK}})
    runner = slurm()
    line = printed_line(tmp_path, {"JOBMON_ERROR_WEBHOOK": OTHER}, runner)
    assert line.startswith("job 12 has no sentinel: it would lack $JOBMON_ERROR_WEBHOOK")
    assert "a" * 68 not in line
    assert runner.asked == []


def test_a_configuration_fixed_by_a_variable_is_reported_in_one_line_without_the_webhook(
    tmp_path: Path,
) -> None:
    write_config(tmp_path / "config.json", {"discord": {"error_webhook": HOOK.replace("https", "http")}})
    line = printed_line(tmp_path, {"JOBMON_ERROR_WEBHOOK": HOOK}, slurm())
    assert line.startswith("job 12 has no sentinel: ")
    assert "discord.error_webhook" in line
    assert "\n" not in line
    assert "a" * 68 not in line


def test_a_failed_submission_of_the_sentinel_is_reported(tmp_path: Path) -> None:
    assert printed_line(tmp_path, {}, FakeRunner()) == "job 12 has no sentinel: setsid: not found on PATH"
