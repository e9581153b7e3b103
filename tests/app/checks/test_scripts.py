"""Every planted fault is named, and nothing else; good scripts of many kinds pass."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from jobmon_core.app.checks.check import CheckSubmission
from jobmon_core.context import Context
from jobmon_core.domain.checks.model import Item, Status
from jobmon_core.store.home import Home
from tests.support.batch_scripts import BAD, GOOD, Case, make_workspace, problems

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


@pytest.mark.parametrize("name", GOOD)
def test_a_good_script_fails_nowhere_and_warns_at_most_once(name: str, submission: CheckSubmission) -> None:
    items = submission.check(_SLURM, GOOD[name].write(Path.cwd()))
    assert problems(items) == GOOD[name].expected, [item for item in items if item.id in problems(items)]


@pytest.mark.parametrize("name", [name for name, case in BAD.items() if not case.needs_slurm])
def test_the_planted_fault_is_named_with_advice_and_no_other(name: str, submission: CheckSubmission) -> None:
    case: Case = BAD[name]
    items = submission.check(_SLURM, case.write(Path.cwd()))
    _assert_advice(items)
    assert problems(items) == case.expected, [i for i in items if i.id in problems(items)]


def _assert_advice(items: tuple[Item, ...]) -> None:
    for item in items:
        assert item.text
        assert "\n" not in item.text
        assert item.advice or item.status in (Status.PASS, Status.NOT_APPLICABLE)
