"""The handover page, and its section about one job."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon.views.handover import handover_page, job_section
from jobmon_core.app.handover_facts import Handover, HandoverJob, Resume
from jobmon_core.app.live.job_view import JobFiles, JobView
from jobmon_core.domain.artifacts.model import Artifacts, Growth, Outputs
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.groups.model import Group, GroupSettings
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.job_records import NOW_S, RUNNING, ended, failed, job_of, status_of, succeeded

CANCELLED = ended(JobState.CANCELLED, Outcome.CANCELLED)
UNKNOWN = ended(JobState.UNKNOWN, Outcome.UNKNOWN)
UNWATCHED = replace(job_of(RUNNING), unwatched_s=NOW_S)


def entry(job: WatchedJob, progress: JobProgress = JobProgress()) -> HandoverJob:  # noqa: B008 - frozen
    """Return what a page says about a job that `jobmon rerun` can submit again."""
    return HandoverJob(
        JobView(status_of(job), progress, (), JobFiles(), None),
        record=None,
        logs=(),
        waits_for=(),
        checkpoints=(),
        look=(),
        stop=(),
        resume=Resume(f"jobmon rerun {job.ref}"),
        notes=(),
    )


def section(job: WatchedJob) -> str:
    """Return the section of a job that `jobmon rerun` can submit again."""
    return "\n".join(job_section(entry(job), NOW_S))


def page(job: WatchedJob) -> str:
    """Return a page about one job."""
    return handover_page(Handover(NOW_S, "me", "login1", (entry(job),)), ())


def test_a_job_that_is_no_longer_watched_is_marked() -> None:
    mark = "no longer watched"
    assert f"has not ended, except those marked `{mark}`, and sends a message" in page(UNWATCHED)
    assert section(UNWATCHED).splitlines()[0].endswith(f": RUNNING, {mark}")
    assert mark not in page(job_of(RUNNING))


@pytest.mark.parametrize(
    ("job", "heading"),
    [
        (job_of(failed(), concluded_s=NOW_S), "Resume:"),
        (job_of(RUNNING), "Resume, but only after it has ended (else it runs twice):"),
        (
            UNWATCHED,
            "Resume, but only if it has ended (else it runs twice): jobmon does not watch it any more.",
        ),
        (
            job_of(UNKNOWN, concluded_s=NOW_S),
            "Resume, but only if it has ended (else it runs twice): jobmon found no proof that it has.",
        ),
        (
            job_of(failed("0"), replace(UNKNOWN, key="1"), concluded_s=NOW_S),
            "Resume, but only if it has ended (else it runs twice): jobmon found no proof that it has.",
        ),
    ],
)
def test_a_job_that_may_still_run_is_resumed_with_a_caution(job: WatchedJob, heading: str) -> None:
    assert heading in section(job).splitlines()


def test_failed_tasks_that_are_not_named_are_counted() -> None:
    lines = section(job_of(*(failed(str(index)) for index in range(10)), concluded_s=NOW_S)).splitlines()
    assert [line for line in lines if line.startswith("- failed: ")][8:] == ["- failed: 2 more tasks"]


@pytest.mark.parametrize(
    ("job", "purpose"),
    [
        (job_of(failed(), concluded_s=NOW_S), "why it failed, with the proof and what to do"),
        (job_of(CANCELLED, concluded_s=NOW_S), "how it ended, with the proof"),
        (job_of(succeeded(), concluded_s=NOW_S), "how it ended, with the proof"),
        (UNWATCHED, "whether it still runs, and what its log shows"),
        (job_of(UNKNOWN, concluded_s=NOW_S), "what its log shows"),
    ],
)
def test_diagnose_is_named_with_what_it_tells_about_this_job(job: WatchedJob, purpose: str) -> None:
    assert f"jobmon diagnose 12      # {purpose}" in section(job).splitlines()


@pytest.mark.parametrize(
    ("outputs", "line"),
    [
        (Outputs("/out", 3, Growth(2048)), "- outputs: 3 files, 2.0 KiB, in `/out`"),
        (
            Outputs("/out", 3, Growth(2048), is_partial=True),
            "- outputs: at least 3 files, 2.0 KiB, in `/out`",
        ),
        (Outputs("/out", problem="no such folder yet"), "- outputs: no such folder yet: `/out`"),
    ],
)
def test_outputs_that_could_not_be_counted_are_not_given_as_none(outputs: Outputs, line: str) -> None:
    progress = JobProgress(artifacts={"": Artifacts(NOW_S, outputs)})
    assert line in job_section(entry(job_of(RUNNING), progress), NOW_S)


@pytest.mark.parametrize(
    ("settings", "what_stops"),
    [
        (GroupSettings(), "only the messages stop."),
        (
            GroupSettings(then=("make", "plots")),
            "the messages stop, and `--then` and `--hold-when-broken` of groups do nothing.",
        ),
    ],
)
def test_it_says_what_stops_if_jobmon_stops(settings: GroupSettings, what_stops: str) -> None:
    groups = (Group("sweep1", NOW_S, settings),)
    page = handover_page(Handover(NOW_S, "me", "login1", (), groups=groups), ())
    assert f"The jobs run without jobmon: if it stops, {what_stops}" in page
