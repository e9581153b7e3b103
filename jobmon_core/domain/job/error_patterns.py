"""The error patterns that the user lists for one job."""

from __future__ import annotations

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.logs.diagnosis.patterns import JOB_PATTERN, OF_JOB, Pattern, Role, Severity

_JOB_PRECEDENCE = 50  # as most patterns of known failures
_MAX_TITLE = 60  # characters of a regex


def job_patterns(settings: JobSettings | None) -> tuple[Pattern, ...]:
    """Return the error patterns that the user lists for one job.

    One that is only a warning is never the cause. A match alone casts no doubt on a success; a diagnosis
    mentions each that matches.
    """
    if settings is None:
        return ()
    return tuple(
        Pattern(
            id=f"{OF_JOB}{number}",
            title=f"{JOB_PATTERN}{error.regex[:_MAX_TITLE]}",
            severity=Severity.WARNING if error.is_warning else Severity.ERROR,
            role=Role.ROOT,
            regex=(error.regex,),
            cause="The log matches an error pattern of the job configuration.",
            advice="Read the matching line and those before it.",
            precedence=_JOB_PRECEDENCE,
        )
        for number, error in enumerate(settings.error_patterns, 1)
    )
