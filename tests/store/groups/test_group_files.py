"""A group is created once."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.errors import UnknownGroup
from jobmon_core.domain.many.groups.model import Group
from jobmon_core.store.group_files import GroupStore


def test_a_group_that_exists_is_not_replaced(tmp_path: Path) -> None:
    store = GroupStore(tmp_path / "groups")
    assert store.create(Group("sweep1", 100.0))
    assert not store.create(Group("sweep1", 200.0))
    assert store.load("sweep1") == Group("sweep1", 100.0)


def test_the_error_about_an_unknown_group_names_the_first_groups(tmp_path: Path) -> None:
    store = GroupStore(tmp_path / "groups")
    for number in range(11):
        store.create(Group(f"g{number:02}", 100.0))
    with pytest.raises(UnknownGroup, match=r"no group is named x; the groups are: g00, .*, g09, \.\.\.$"):
        store.load("x")
