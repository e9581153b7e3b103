"""Complete the diagnoses of ended tasks with what their files show; never at the cost of the diagnoses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.domain.job.tracking.model import WatchedJob

_TIMEOUT_S = 60.0  # for each part: a file server that does not respond must not delay the message any longer


def completed_diagnoses(
    job: WatchedJob,
    found: Mapping[str, Diagnosis],
    files: EndFiles,
    helper: Helper,
    log: Callable[[str], None],
) -> Mapping[str, Diagnosis]:
    """Return the diagnoses with what the outputs, core dumps and agents show, and the paths of the bundles.

    One helper process verifies the outputs and reads the results; a second one looks for core dumps, reads
    what agents measured and writes the diagnostics bundles. If one fails, that is logged, and what the other
    found stays.
    """

    def with_verdicts() -> dict[str, Diagnosis]:
        from jobmon_core.analysis.ending.outputs import with_outputs  # only in a child

        return with_outputs(job, found, files.read_progress())

    def with_diagnostics() -> dict[str, Diagnosis]:
        from jobmon_core.analysis.ending.bundle import with_bundles  # only in a child
        from jobmon_core.analysis.ending.core_dumps import with_core_dump
        from jobmon_core.analysis.ending.measured_use import with_measured_use

        explained = {key: with_core_dump(each, job, job.tasks[key]) for key, each in found.items()}
        measured = with_measured_use(job, explained, files.telemetry_of)
        return with_bundles(job, measured, files, os.environ)

    try:
        found = helper.run_twice(dict[str, Diagnosis], with_verdicts, _TIMEOUT_S)
    except HelperFailed as error:
        log(f"the outputs could not be verified: {error}")
    try:
        return helper.run_twice(dict[str, Diagnosis], with_diagnostics, _TIMEOUT_S)
    except HelperFailed as error:
        log(f"no diagnostics were saved: {error}")
        return found
