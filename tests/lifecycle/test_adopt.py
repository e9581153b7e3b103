"""Offers of jobs to running monitors. What monitors do with them: test_monitor_limit.py."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.lifecycle.adopt import Handoffs


def test_an_offer_is_pending_until_it_is_removed(tmp_path: Path) -> None:
    handoffs = Handoffs(tmp_path / "offers", "this-env")
    assert handoffs.pending() == []
    for job_id in ("slurm-13-x", "slurm-12-x-7"):
        handoffs.create(job_id)
    assert handoffs.pending() == ["slurm-12-x-7", "slurm-13-x"]
    for _ in range(2):
        handoffs.remove("slurm-13-x")
        assert handoffs.pending() == ["slurm-12-x-7"]


def test_an_offer_for_another_environment_is_not_seen(tmp_path: Path) -> None:
    this_env, other_env = (Handoffs(tmp_path / "offers", name) for name in ("this-env", "other-env"))
    other_env.create("a")
    assert this_env.pending() == []
    this_env.remove("a")
    assert other_env.pending() == ["a"]


def test_an_offer_is_private(tmp_path: Path) -> None:
    Handoffs(tmp_path / "offers", "this-env").create("a")
    (path,) = (tmp_path / "offers").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
