"""What can go wrong, told apart by what the reader should do about it.

JobmonError
├── SchedulerUnavailable    the scheduler did not answer: later may work
├── SchedulerRejected        the scheduler said no: unchanged it never will
├── SchedulerMissing    its commands are not on this machine
├── ConfigInvalid       the configuration has faults, all named at once
├── PatternsInvalid     a pattern file has faults, all named at once
├── StateUnreadable     a state file is damaged, or from a newer jobmon
├── UnknownJob          nothing is known of that job
├── AlreadyWatched      another monitor has that job
├── CommandBusy         the same command is running already
└── StorageFailed       the disk refused: full, read-only, no permission
"""

from __future__ import annotations


class JobmonError(Exception):
    """A failure that the user is told in one message, without a traceback."""

    exit_code = 1


class SchedulerUnavailable(JobmonError):
    """The scheduler did not answer. The same question may be answered later."""

    exit_code = 69  # EX_UNAVAILABLE of sysexits.h


class SchedulerRejected(JobmonError):
    """The scheduler refused. The same question will be refused again."""


class SchedulerMissing(JobmonError):
    """The scheduler's own commands are not installed here."""

    exit_code = 127  # what a shell answers for a command that is not there


class Invalid(JobmonError):
    """A file that the user writes has faults; ``faults`` names every one of them."""

    exit_code = 78  # EX_CONFIG of sysexits.h

    def __init__(self, source: str, faults: list[str]) -> None:
        """Collect the ``faults`` of ``source``, a path."""
        super().__init__(f"{source} is not usable:" + "".join(f"\n  - {fault}" for fault in faults))
        self.source = source
        self.faults = tuple(faults)


class ConfigInvalid(Invalid):
    """The configuration has faults."""


class PatternsInvalid(Invalid):
    """A pattern file has faults."""


class StateUnreadable(JobmonError):
    """A state file is damaged or was written by a newer jobmon. It is kept as it is."""


class UnknownJob(JobmonError):
    """Neither jobmon nor the scheduler knows that job."""


class AlreadyWatched(JobmonError):
    """A living monitor has that job already."""


class CommandBusy(JobmonError):
    """The same command is running already and did not end in time."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h


class StorageFailed(JobmonError):
    """The disk refused a write."""

    exit_code = 74  # EX_IOERR of sysexits.h
