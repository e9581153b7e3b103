from __future__ import annotations

from pathlib import Path

from jobmon_core.store.handoffs import Handoffs


def test_an_offer_stands_until_somebody_strikes_it(tmp_path: Path) -> None:
    offers = Handoffs(tmp_path / "offers", "here")
    assert offers.pending() == []
    for job_id in ("slurm-13-x", "slurm-12-x-7"):
        offers.create(job_id)
    assert offers.pending() == ["slurm-12-x-7", "slurm-13-x"]
    assert offers.remove("slurm-13-x")
    assert not offers.remove("slurm-13-x")
    assert not offers.is_pending("slurm-13-x")
    assert offers.pending() == ["slurm-12-x-7"]


def test_what_is_offered_elsewhere_is_not_seen(tmp_path: Path) -> None:
    here, there = (Handoffs(tmp_path / "offers", mark) for mark in ("here", "there"))
    there.create("a")
    assert here.pending() == []
    assert not here.is_pending("a")
    assert not here.remove("a")
    assert there.is_pending("a")


def test_an_offer_is_private(tmp_path: Path) -> None:
    Handoffs(tmp_path / "offers", "here").create("a")
    (path,) = (tmp_path / "offers").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
