"""What git says about a folder, and that a repository's configuration runs nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from jobmon_core.observe.git import commits_between, git_state
from jobmon_core.system.runner import Runner

_AUTHOR = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["/usr/bin/env", "git", "-C", folder, *arguments],
        env={**os.environ, **_AUTHOR},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "train.py").write_text("a\n", encoding="ascii")
    (root / "data.bin").write_text("b\n", encoding="ascii")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "one")
    return root


def test_the_commit_the_branch_and_the_changed_files_are_named(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    state, problem = git_state(str(repository), Runner())
    assert state
    assert (problem, state.root, state.commit, state.branch) == ("", str(repository), commit, "main")
    assert state.changed == ()
    (repository / "sub").mkdir()
    (repository / "train.py").write_text("changed\n", encoding="ascii")
    (repository / "untracked.py").write_text("x", encoding="ascii")
    changed, _ = git_state(str(repository / "sub"), Runner())
    assert changed
    assert changed.changed == ("train.py",)
    (repository / "train.py").write_text("changed again\n", encoding="ascii")
    again, _ = git_state(str(repository), Runner())
    assert again
    assert again.changed_digest != changed.changed_digest
    git(repository, "commit", "-q", "-a", "-m", "two")
    assert commits_between(str(repository), commit, "HEAD", Runner()) == 1
    assert commits_between(str(repository), "0" * 40, "HEAD", Runner()) is None


def test_outside_a_repository_without_commits_and_without_git_there_is_no_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert git_state(str(tmp_path), Runner()) == (None, "")
    git(tmp_path, "init", "-q")
    state, problem = git_state(str(tmp_path), Runner())
    assert state
    assert (problem, state.commit, state.changed) == ("", "", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(str(tmp_path), Runner()) == (None, "")


def test_a_repository_that_names_programs_runs_none_of_them(repository: Path, tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\necho $0 $* >> {proof}\ncat\n", encoding="ascii")
    program.chmod(0o755)
    for hook in ("post-index-change", "post-checkout", "fsmonitor-watchman", "pre-auto-gc"):
        (repository / ".git" / "hooks" / hook).symlink_to(program)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n", encoding="ascii")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    for key in ("core.fsmonitor", "diff.external", "filter.evil.clean", "filter.evil.smudge",
                "filter.evil.process", "diff.evil.textconv", "diff.evil.command", "core.pager", "pager.diff",
                "pager.config", "core.sshCommand", "core.editor", "credential.helper"):  # fmt: skip
        git(repository, "config", key, str(program))
    git(repository, "config", "filter.evil.required", "true")
    git(repository, "config", "remote.origin.url", f"ext::{program}")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "remote.origin.partialclonefilter", "blob:none")
    (repository / "train.py").write_text("changed\n", encoding="ascii")
    blob = git(repository, "rev-parse", "HEAD:data.bin")
    proof.unlink(missing_ok=True)
    state, _ = git_state(str(repository), Runner())
    assert state
    assert state.changed == ("train.py",)
    assert commits_between(str(repository), "HEAD~1", "HEAD", Runner()) == 1
    (repository / "data.bin").write_text("other\n", encoding="ascii")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()  # of a partial clone, git would fetch it
    assert git_state(str(repository), Runner())[0]
    assert not proof.exists(), proof.read_text(encoding="ascii")
    Runner().capture(("git", "-C", str(repository), "diff", "HEAD"), 30.0)
    assert proof.exists()  # without jobmon's options, programs do run


def test_a_filter_whose_name_cannot_be_turned_off_leaves_the_changed_files_unknown(repository: Path) -> None:
    git(repository, "config", "filter.a=b.clean", "false")
    state, problem = git_state(str(repository), Runner())
    assert state
    assert state.changed is None
    assert "filter" in problem
