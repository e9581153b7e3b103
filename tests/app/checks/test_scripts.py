"""Every planted fault is named, and nothing else; good scripts of many kinds pass."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon.commands.restart_options import restart_change
from jobmon_core.app.checks.check import CheckSubmission
from jobmon_core.context import Context
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.store.home import Home
from tests.support.batch_scripts import (
    BAD,
    BAD_FOR_RESTARTS,
    GOOD,
    GOOD_FOR_RESTARTS,
    Case,
    make_workspace,
    problems,
)

_SLURM = "slurm"  # which is not on PATH; tests/real asks it


@pytest.fixture
def submission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CheckSubmission:
    """Checks what is submitted in a folder with the files that the scripts name."""
    make_workspace(tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    (tmp_path / "bin" / "env").symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{tmp_path / 'work' / 'bin'}")
    home = tmp_path / "jobmon"
    home.mkdir(mode=0o700)
    webhook = "http://127.0.0.1:9/api/webhooks/1/abcdefghijklmnopqrstuvwxyz0123456789"
    config = {"discord": {"success_webhook": webhook, "error_webhook": webhook}}
    (home / "config.json").write_text(json.dumps(config))
    (home / "config.json").chmod(0o600)
    return CheckSubmission(Context(Home(home), dict(os.environ)), ("jobmon",))


def _check(submission: CheckSubmission, case: Case) -> tuple[Finding, ...]:
    """What the check says, but for its warning that Slurm did not answer."""
    items = submission.check(_SLURM, case.write(Path.cwd()))
    return tuple(item for item in items if (item.id, item.severity) != ("sbatch", Severity.WARNING))


@pytest.mark.parametrize("name", GOOD)
def test_a_good_script_fails_nowhere_and_warns_at_most_once(name: str, submission: CheckSubmission) -> None:
    items = _check(submission, GOOD[name])
    assert problems(items) == GOOD[name].expected, [item for item in items if item.id in problems(items)]


@pytest.mark.parametrize("name", [name for name, case in BAD.items() if not case.needs_slurm])
def test_the_planted_fault_is_named_with_advice_and_no_other(name: str, submission: CheckSubmission) -> None:
    case: Case = BAD[name]
    items = _check(submission, case)
    _assert_advice(items)
    assert problems(items) == case.expected, [i for i in items if i.id in problems(items)]


def _about_restarts(submission: CheckSubmission, case: Case) -> tuple[Finding, ...]:
    items = replace(submission, change=restart_change("on", {})).check(_SLURM, case.write(Path.cwd()))
    _assert_advice(items)
    return tuple(item for item in items if item.id.startswith("restart_"))


@pytest.mark.parametrize("name", GOOD_FOR_RESTARTS)
def test_a_script_that_can_be_restarted_gets_no_word_about_it(name: str, submission: CheckSubmission) -> None:
    items = _about_restarts(submission, GOOD_FOR_RESTARTS[name])
    assert problems(items) == {}, [item for item in items if item.id in problems(items)]
    assert len(items) == len({item.id for item in items}) == 4


@pytest.mark.parametrize("name", BAD_FOR_RESTARTS)
def test_what_would_make_a_restart_fail_is_named(name: str, submission: CheckSubmission) -> None:
    items = _about_restarts(submission, BAD_FOR_RESTARTS[name])
    expected = {BAD_FOR_RESTARTS[name].fault: Severity.WARNING}
    assert problems(items) == expected, [item for item in items if item.id in problems(items)]


@pytest.mark.parametrize("name", [*GOOD, *BAD])
def test_any_script_can_be_judged_with_a_view_to_restarts(name: str, submission: CheckSubmission) -> None:
    case = {**GOOD, **BAD}[name]
    assert "restart_folder" not in problems(_about_restarts(submission, case))


@pytest.mark.parametrize(("first", "is_named"), [("", False), ("set -u\n", True)])
def test_a_variable_of_jobmon_may_be_empty_in_the_first_attempt(
    first: str, submission: CheckSubmission, *, is_named: bool
) -> None:
    arguments = Case(f"{first}python3 -u train.py $JOBMON_RESUME_FROM\n").write(Path.cwd())
    items = replace(submission, change=restart_change("on", {})).check(_SLURM, arguments)
    assert ("variables" in problems(items)) == is_named


def test_nothing_is_said_about_restarts_unless_the_user_asks_for_them(submission: CheckSubmission) -> None:
    case, config = BAD_FOR_RESTARTS["--requeue"], Path("jobmon.yaml")
    arguments = case.write(Path.cwd())
    assert not [each for each in submission.check(_SLURM, arguments) if each.id.startswith("restart_")]
    config.write_text("restart: {mode: observe}\n")
    assert case.fault in problems(submission.check(_SLURM, arguments))
    config.write_text("restart: {mode: off, resume_arg: --resume}\n")
    assert case.fault not in problems(submission.check(_SLURM, arguments))


def _assert_advice(items: tuple[Finding, ...]) -> None:
    for item in items:
        assert item.text
        assert "\n" not in item.text
        assert item.advice or item.severity in (Severity.INFO, Severity.UNKNOWN)
