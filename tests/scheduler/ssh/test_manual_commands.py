"""The commands for a job on a host: what each shows is said beside it."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from jobmon_core.domain.node.hosts.model import HostJob, HostTarget
from jobmon_core.scheduler.base import BackendResources
from jobmon_core.scheduler.ssh.manual_commands import manual_commands
from jobmon_core.scheduler.ssh.records import HostRecords


@pytest.fixture
def resources(tmp_path: Path) -> BackendResources:
    return BackendResources(lambda: tmp_path, lambda _ref: False, nullcontext)


def test_the_commands_of_a_started_command_show_its_log_and_its_terminal(resources: BackendResources) -> None:
    job = HostJob("box", target=HostTarget(log="/l/out.log"), run_id="r1", command="./train")
    number = HostRecords(resources.folder()).create(job).number
    found = manual_commands(resources, "", number, "")
    assert [line.partition("    # ")[2] for line in found.look] == [
        "its log there",
        "its terminal, if tmux runs it; Ctrl-B D leaves it",
    ]
    assert (found.stop, found.start) == ((), "jobmon run --host box -- ./train")


def test_without_a_readable_record_a_note_says_why(resources: BackendResources) -> None:
    found = manual_commands(resources, "", 7, "")
    assert (found.look, found.stop, found.start) == ((), (), "")
    assert found.start_note.startswith("its record cannot be read: ")
