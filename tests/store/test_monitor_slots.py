from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.monitor_slots import SlotHolder, acquire_slot, slot_holders, write_slot_holder
from jobmon_core.store.owner import Owner


def acquired(slots: Path, max_monitors: int) -> int:
    descriptor = acquire_slot(slots, max_monitors)
    assert descriptor is not None
    return descriptor


def this_monitor(jobs: int = 1) -> SlotHolder:
    return SlotHolder(Owner.this_process(), jobs, "here")


def test_there_are_as_many_slots_as_allowed_and_a_released_one_is_free(tmp_path: Path) -> None:
    slots = tmp_path / "slots"
    held = [acquired(slots, 3) for _ in range(3)]
    assert acquire_slot(slots, 3) is None
    os.close(held.pop(1))
    held.append(acquired(slots, 3))
    assert acquire_slot(slots, 3) is None
    assert len(list(slots.iterdir())) == 3
    for descriptor in held:
        os.close(descriptor)


def test_without_a_folder_there_are_no_holders(tmp_path: Path) -> None:
    assert slot_holders(tmp_path / "slots") == []


def test_the_living_holders_are_listed_the_least_busy_first(tmp_path: Path) -> None:
    slots = tmp_path / "slots"
    held = [acquired(slots, 4) for _ in range(4)]
    dead = replace(this_monitor(), owner=replace(Owner.this_process(), start_ticks=1))
    for descriptor, holder in zip(
        held, (this_monitor(7), dead, this_monitor(2)), strict=False
    ):  # the last slot has no record yet
        write_slot_holder(descriptor, holder)
    assert [holder.jobs for holder in slot_holders(slots)] == [2, 7]
    for descriptor in held:
        os.close(descriptor)


def test_the_record_of_a_slot_can_be_replaced_repeatedly(tmp_path: Path) -> None:
    slots = tmp_path / "slots"
    descriptor = acquired(slots, 1)
    for jobs in (100_000, 3):
        write_slot_holder(descriptor, this_monitor(jobs))
        assert slot_holders(slots) == [this_monitor(jobs)]
    os.close(descriptor)


def test_without_locks_a_slot_with_a_living_holder_is_taken(tmp_path: Path) -> None:
    slots = tmp_path / "slots"
    descriptor = acquired(slots, 1)
    write_slot_holder(descriptor, this_monitor())
    os.close(descriptor)  # as if the file system had not locked it
    assert acquire_slot(slots, 1) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"owner": 5}', b"\xff" * 600])
def test_a_slot_with_a_damaged_record_is_free(tmp_path: Path, content: bytes) -> None:
    slots = tmp_path / "slots"
    os.close(acquired(slots, 1))
    (path,) = slots.iterdir()
    path.write_bytes(content)
    assert slot_holders(slots) == []
    os.close(acquired(slots, 1))


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "slots").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed, match="symbolic link"):
        acquire_slot(tmp_path / "slots", 1)
