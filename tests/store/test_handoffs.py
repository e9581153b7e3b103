from __future__ import annotations

from pathlib import Path

from jobmon_core.store.handoffs import Offers


def test_an_offer_stands_until_somebody_strikes_it(tmp_path: Path) -> None:
    offers = Offers(tmp_path / "offers", "here")
    assert offers.open() == []
    for job_id in ("slurm-13-x", "slurm-12-x-7"):
        offers.make(job_id)
    assert offers.open() == ["slurm-12-x-7", "slurm-13-x"]
    assert offers.withdraw("slurm-13-x")
    assert not offers.withdraw("slurm-13-x")
    assert not offers.stands("slurm-13-x")
    assert offers.open() == ["slurm-12-x-7"]


def test_what_is_offered_elsewhere_is_not_seen(tmp_path: Path) -> None:
    here, there = (Offers(tmp_path / "offers", mark) for mark in ("here", "there"))
    there.make("a")
    assert here.open() == []
    assert not here.stands("a")
    assert not here.withdraw("a")
    assert there.stands("a")


def test_an_offer_is_private(tmp_path: Path) -> None:
    Offers(tmp_path / "offers", "here").make("a")
    (path,) = (tmp_path / "offers").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
