"""The errors that several parts of jobmon report to the user: one class for each way to react."""

from __future__ import annotations


class JobmonError(Exception):
    """An error that jobmon prints as one message, without a traceback."""

    exit_code = 1


class UsageError(JobmonError):
    """What was asked for is invalid; nothing was done."""

    exit_code = 2  # as argparse and most commands use


class SchedulerUnavailable(JobmonError):
    """The scheduler did not respond. The same request may work later."""

    exit_code = 69  # EX_UNAVAILABLE of sysexits.h


class SchedulerRejected(JobmonError):
    """The scheduler refused the request and will refuse it again unless it changes."""


class SchedulerMissing(JobmonError):
    """The scheduler's commands are not installed, or jobmon does not support the backend or the request."""

    exit_code = 127  # as a shell reports "command not found"


class CommandMissing(JobmonError):
    """The command to run does not exist."""

    exit_code = 127  # as above


class CommandNotExecutable(CommandMissing):
    """The command to run exists, but cannot be executed."""

    exit_code = 126  # as a shell reports "permission denied"


class Invalid(JobmonError):
    """A configuration, a pattern file or an input has faults; ``faults`` lists all of them."""

    exit_code = 78  # EX_CONFIG of sysexits.h

    def __init__(self, source: str, faults: list[str]) -> None:
        """Create the error for all ``faults`` of ``source``, e.g. the path of a file."""
        super().__init__(f"{source} is not usable:" + "".join(f"\n  - {fault}" for fault in faults))
        self.source = source
        self.faults = tuple(faults)


class ConfigInvalid(Invalid):
    """The configuration has faults."""


class StateUnreadable(JobmonError):
    """A state file is missing, unreadable, damaged or of a newer jobmon. jobmon leaves it as it is."""


class UnknownJob(JobmonError):
    """No record and no scheduler or host knows the job, it has no such task, or the name fits several."""


class UnknownGroup(JobmonError):
    """There is no group with this name."""


class AlreadyWatched(JobmonError):
    """The job has a monitor already (perhaps a dead one), or another monitor has just adopted it."""


class JobForgotten(AlreadyWatched):
    """The files of a watched job were removed: nothing is left to watch, nor a log to write to."""


class AlreadyReported(JobmonError):
    """The job ended and its message was created: nothing is left to watch."""

    exit_code = 0

    def __init__(self, message: str, state_id: str) -> None:
        """``state_id`` names the state file of the job."""
        super().__init__(message)
        self.state_id = state_id


class CommandBusy(JobmonError):
    """Another command holds the lock that this one needs, and did not finish in time."""

    exit_code = 75  # EX_TEMPFAIL of sysexits.h


class StorageFailed(JobmonError):
    """A file cannot be written or read, or the system refused a resource, such as a process or a port."""

    exit_code = 74  # EX_IOERR of sysexits.h
