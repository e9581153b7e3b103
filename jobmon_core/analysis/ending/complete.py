"""What a helper does between the end of tasks and the message about it, step by step."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.system.helper import Step

if TYPE_CHECKING:
    from jobmon_core.analysis.ending.files import EndFiles
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis

    Diagnoses = dict[str, Diagnosis]

# a file server that does not respond must not delay the message any longer
_LOGS_TIMEOUT_S, _TIMEOUT_S = 300.0, 60.0
_CHANGES_TIMEOUT_S = 15.0  # the search for changes itself ends sooner


def end_steps(job: WatchedJob, keys: tuple[str, ...], files: EndFiles) -> list[Step[Diagnoses]]:
    """Return the steps that diagnose these tasks: each adds to what the ones before found.

    One that fails costs the others nothing. They import what they need: a waiting monitor stays small.
    """

    def diagnose(_: Diagnoses) -> Diagnoses:
        from jobmon_core.analysis.explainer import diagnoses_of

        return diagnoses_of(job, keys, files)

    def with_changes(found: Diagnoses) -> Diagnoses:
        changes = files.changes_of(found)
        return {key: replace(each, changes=changes.get(key, "")) for key, each in found.items()}

    def with_verdicts(found: Diagnoses) -> Diagnoses:
        from jobmon_core.analysis.ending.outputs import with_outputs

        return with_outputs(job, found, files.read_progress())

    def with_diagnostics(found: Diagnoses) -> Diagnoses:
        from jobmon_core.analysis.ending.bundle import with_bundles
        from jobmon_core.analysis.ending.core_dumps import with_core_dump
        from jobmon_core.analysis.ending.measured_use import with_measured_use

        explained = {key: with_core_dump(each, job, job.tasks[key]) for key, each in found.items()}
        measured = with_measured_use(job, explained, files.telemetry_of)
        return with_bundles(job, measured, files, os.environ)

    def with_comparison(found: Diagnoses) -> Diagnoses:
        from jobmon_core.analysis.ending.history import with_history

        return with_history(job, found, files)

    return [
        Step(diagnose, _LOGS_TIMEOUT_S, "the analysis of the logs failed"),
        Step(with_changes, _CHANGES_TIMEOUT_S, "what changed since the job last worked is not known"),
        Step(with_verdicts, _TIMEOUT_S, "the outputs could not be verified"),
        Step(with_diagnostics, _TIMEOUT_S, "no diagnostics were saved"),
        Step(with_comparison, _TIMEOUT_S, "the run was not compared with earlier ones"),
    ]
