"""A message of no single job belongs to the group that it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.many.groups.model import Group
from jobmon_core.store.group_files import GroupStore, groups_of_message


@pytest.mark.parametrize(
    ("message_id", "groups"),
    [
        ("group-sweep-1700000000-4-complete-3", ("sweep",)),
        ("group-sweep-1-1700000000-4-complete-3", ("sweep-1",)),
        ("group-sweep-a-1700000000-4-complete-3", ()),
        ("patrol-sweep-1700000000", ()),
    ],
)
def test_a_message_is_about_the_group_with_the_whole_name(
    tmp_path: Path, message_id: str, groups: tuple[str, ...]
) -> None:
    store = GroupStore(tmp_path / "groups")
    for name in ("sweep", "sweep-1", "other"):
        store.create(Group(name, 1_700_000_000.0))
    assert groups_of_message(store, message_id) == groups
