"""What jobmon stores about a group of jobs: the content of its state file.

Times are Unix seconds, durations are seconds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.slurm.states import Outcome

DEFAULT_INTERVAL_S = 60.0
MAX_NAME_CHARS = 100
_RESERVED = ("all", "latest")  # which mean other jobs where a command takes a job or a group
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]*")


class MemberMessages(StrEnum):
    """Which ends of members are reported by messages of their own, besides the digest."""

    ALL = "all"
    FAILURES = "failures"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A run of a file of runs, as it was when jobmon read it."""

    script: str
    arguments: tuple[str, ...] = ()  # after the script
    options: tuple[str, ...] = ()  # of sbatch, before the script


@dataclass(frozen=True, slots=True)
class Member:
    """A run of the group. Its job is watched like any other; its state file says how the job is."""

    state_id: str = ""  # the name of the job's state file
    planned: PlannedRun | None = None  # None if the job was submitted by other means
    submitting_since_s: float | None = None  # set before sbatch is called, cleared when the job id is saved
    logged_state: str = ""  # the state in the latest STATE_CHANGE of the group's log
    has_metrics: bool = False  # whether its COMPUTE_METRICS are logged
    # the outcome and its cause are kept here, too, because the state file of the job may be removed
    outcome: Outcome | None = None
    cause: str = ""
    is_stuck: bool = False  # whether the group's log says that it can never start
    submitting_session: int = 0  # of the process that submits it: Slurm records it with the job
    submitting_host: str = ""

    @property
    def job_id(self) -> str:
        """The job id in its state id, e.g. ``12`` of ``slurm-12-20260131T221315``."""
        return self.state_id.partition("-")[2].partition("-")[0]

    def with_attempt(self, state_id: str) -> Member:
        """Return the member with the next attempt of its lineage as its job."""
        return replace(self, state_id=state_id, outcome=None, cause="", has_metrics=False)


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What the user asked for."""

    interval_s: float = DEFAULT_INTERVAL_S  # between two STATUS_CHECKs
    messages: MemberMessages = MemberMessages.FAILURES
    then: tuple[str, ...] = ()  # a program and its arguments, started when the group is complete
    then_folder: str = ""  # its working directory
    # once this many members failed in the same way soon after their start, the user is notified; 0: never
    stop_after: int = 3
    hold_when_broken: bool = False  # without asking


@dataclass(frozen=True, slots=True)
class GroupLog:
    """What is in the file, and what is still to be appended."""

    path: str = ""
    size: int = 0  # bytes, before `pending` is appended
    pending: str = ""

    def with_text(self, text: str) -> GroupLog:
        """Return it with more to be appended."""
        return replace(self, pending=self.pending + text)


@dataclass(frozen=True, slots=True)
class Group:
    """A named set of jobs."""

    name: str
    created_s: float
    settings: GroupSettings = GroupSettings()
    members: dict[str, Member] = field(default_factory=dict)  # by the name of the run
    polls: int = 0
    polled_s: float | None = None
    log: GroupLog = GroupLog()
    broken: str = ""  # why, as reported
    hold: bool = False  # the pending members are still to be held
    unsent: tuple[Message, ...] = ()  # not given to the store of messages yet
    complete_s: float | None = None
    then_since_s: float | None = None  # saved before `then` is started, so that it starts at most once
    then_result: str = ""  # e.g. ``exit code 0``

    @property
    def unsubmitted(self) -> tuple[str, ...]:
        """Names of runs."""
        return tuple(name for name, member in self.members.items() if not member.state_id)

    @property
    def then_is_due(self) -> bool:
        """Whether the user's program is to be started."""
        return bool(self.settings.then) and self.complete_s is not None and self.then_since_s is None

    def with_member(self, name: str, member: Member) -> Group:
        """Return the group with a member added or replaced; a new job makes it open, and no longer broken."""
        is_new_job = member.state_id and member.state_id != self.members.get(name, Member()).state_id
        group = (
            replace(self, complete_s=None, then_since_s=None, then_result="", broken="")
            if is_new_job
            else self
        )
        return replace(group, members={**self.members, name: member})

    def with_members(self, members: Mapping[str, Member]) -> Group:
        """Nothing else changes."""
        return replace(self, members={**self.members, **members})

    def name_of(self, state_id: str) -> str:
        """Return the name of the run with this job."""
        return next((name for name, member in self.members.items() if member.state_id == state_id), "")

    def next_due_s(self) -> float | None:
        """Return when the next STATUS_CHECK is due; None if the group is complete."""
        if self.complete_s is not None:
            return None
        if self.polled_s is None:
            return 0.0
        return self.polled_s + self.settings.interval_s


def checked_name(name: str) -> str:
    """Return the name of a group, if it can be one: it is also the name of a file, and no job id."""
    reserved = " or ".join(map(repr, _RESERVED))
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME_CHARS or name in _RESERVED:
        raise Invalid(
            f"the group name {name!r}",
            [f"use at most {MAX_NAME_CHARS} letters, digits, '_-+.'; a letter or '_' first; not {reserved}"],
        )
    return name
