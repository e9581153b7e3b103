"""A group is created once."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.domain.groups.model import Group
from jobmon_core.store.groups.group_files import GroupStore


def test_a_group_that_exists_is_not_replaced(tmp_path: Path) -> None:
    store = GroupStore(tmp_path / "groups")
    assert store.create(Group("sweep1", 100.0))
    assert not store.create(Group("sweep1", 200.0))
    assert store.load("sweep1") == Group("sweep1", 100.0)
