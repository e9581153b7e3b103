from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.delivery.card import Card, CardTone
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.messages.card import card_of
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Memory, Sample
from jobmon_core.domain.slurm.states import JobState
from tests.support.job_records import NOW_S, PENDING, failed, job_of, succeeded
from tests.support.live_jobs import progress_of, running_task

GIB = 2**30
RUNNING = job_of(running_task())
HALF = JobProgress(tasks={"": progress_of(500, 1000)})
STALLED = Event(NOW_S - 600, EventKind.STALLED, "no progress for 10m")


def card(
    job: WatchedJob, progress: JobProgress | None = None, *reports: AgentReport, now_s: float = NOW_S
) -> Card:
    return card_of(job, progress or JobProgress(), reports, now_s)


def values(shown: Card) -> dict[str, str | int | None]:
    return {field.name: field.value or field.at_s for field in shown.fields}


def gpu_report(*busy: float, at_s: float = NOW_S) -> AgentReport:
    gpus = tuple(
        Gpu(index, utilization_percent=each, memory=(10 + index) * GIB, memory_total=80 * GIB)
        for index, each in enumerate(busy)
    )
    return AgentReport(Sample(at_s, 5.0, gpus=gpus, memory=Memory(3 * GIB, 4 * GIB)), interval_s=5.0)


def test_a_pending_job_shows_its_reason_and_since_when_it_waits() -> None:
    shown = card(replace(job_of(PENDING), submitted_s=int(NOW_S - 90)))
    assert (shown.tone, shown.title) == (CardTone.PENDING, "train (12) is pending")
    assert values(shown) == {"Reason": "Priority", "Submitted": int(NOW_S - 90)}


def test_a_job_that_the_queue_has_not_shown_yet_is_pending() -> None:
    assert card(job_of()).title == "train (12) is pending"


def test_a_requeued_job_is_pending_again() -> None:
    shown = card(job_of(replace(PENDING, restarts=1)))
    assert shown.title == "train (12) is pending again, after 1 restart"


def test_a_running_job_shows_a_bar_its_eta_loss_and_speed() -> None:
    shown = card(RUNNING, HALF)
    assert (shown.tone, shown.title) == (CardTone.RUNNING, "train (12) is running")
    assert shown.text == "██████████░░░░░░░░░░ 50.0%\n500/1,000 steps"
    found = values(shown)
    assert {"ETA", "Loss", "Speed", "Started", "Time limit", "Where"} == set(found)
    assert (found["Loss"], found["Where"]) == ("0.35", "gpu[1-2]")
    expected_s = found["ETA"]
    assert isinstance(expected_s, int)
    assert abs(expected_s - (NOW_S + 9240)) < 600


def test_a_job_without_progress_shows_when_it_started() -> None:
    shown = card(RUNNING)
    assert shown.text == ""
    assert set(values(shown)) == {"Started", "Time limit", "Where"}


def test_the_bar_is_full_only_if_all_is_done() -> None:
    assert card(RUNNING, JobProgress(tasks={"": progress_of(999, 1000)})).text.startswith("█" * 19 + "░")
    done = card(RUNNING, JobProgress(tasks={"": progress_of(1000, 1000)}))
    assert done.text.startswith("█" * 20)
    assert values(done)["ETA"] == "not ended yet"


def test_an_unchanged_job_has_an_equal_card_later() -> None:
    assert card(RUNNING, HALF, now_s=NOW_S + 1) == card(RUNNING, HALF, now_s=NOW_S + 2)
    stalled = NOW_S + 7200
    assert card(RUNNING, HALF, now_s=stalled) == card(RUNNING, HALF, now_s=stalled + 600)


def test_a_pause_replaces_the_eta() -> None:
    found = values(card(RUNNING, HALF, now_s=NOW_S + 7200))
    assert "ETA" not in found
    assert "Speed" not in found
    assert found["Last progress"] == int(HALF.tasks[""].history.samples[-1].at_s)


def test_what_is_wrong_now_is_shown_until_it_is_over() -> None:
    shown = card(RUNNING, replace(HALF, events=(STALLED,)))
    assert shown.tone is Tone.ATTENTION
    assert shown.text.endswith("\n⚠️ no progress for 10m")
    over = Event(NOW_S, EventKind.RECOVERED, "goes on", ended=EventKind.STALLED)
    assert card(RUNNING, replace(HALF, events=(STALLED, over))) == card(RUNNING, HALF)


def test_one_gpu_shows_its_utilisation_and_memory() -> None:
    found = values(card(RUNNING, None, gpu_report(93.4)))
    assert (found["GPU"], found["GPU memory"]) == ("93%", "10.0 GiB of 80.0 GiB")
    assert found["Memory"] == "3.0 GiB of 4.0 GiB"


def test_several_gpus_show_their_mean_the_lowest_and_the_fullest_memory() -> None:
    found = values(card(RUNNING, None, gpu_report(90.0, 70.0), gpu_report(80.0)))
    assert found["3 GPUs"] == "80% (lowest 70%)"
    assert found["Fullest GPU memory"] == "11.0 GiB of 80.0 GiB"


def test_an_old_report_or_one_without_gpus_shows_none() -> None:
    assert "GPU" not in values(card(RUNNING, None, gpu_report(93.4, at_s=NOW_S - 600)))
    assert "GPU" not in values(card(RUNNING, None, AgentReport(Sample(NOW_S))))


def test_an_array_has_one_card_with_the_states_of_its_tasks() -> None:
    tasks = (running_task("1"), running_task("2"), failed("3"), succeeded("4"), succeeded("5"))
    job = replace(job_of(*tasks), array_indices="1-10", pending_indices="6-10")
    shown = card(job, JobProgress(events=(replace(STALLED, task="2"),)))
    assert shown.title == "train (12): 3 of 10 tasks ended"
    assert shown.text == (
        "██████░░░░░░░░░░░░░░\n5 pending, 2 running, 2 completed, 1 failed\n⚠️ 12_2: no progress for 10m"
    )
    assert shown.tone is Tone.ATTENTION


def test_an_array_that_has_not_started_is_pending() -> None:
    job = replace(job_of(), array_indices="1-3", pending_indices="1-3", pending_reason="Resources")
    shown = card(job)
    assert (shown.tone, shown.title) == (CardTone.PENDING, "train (12): 0 of 3 tasks ended")
    assert values(shown)["Reason"] == "Resources"


def test_the_end_has_the_title_and_the_colour_of_the_message_about_it() -> None:
    shown = card(job_of(succeeded(), concluded_s=NOW_S))
    assert (shown.tone, shown.title) == (Tone.SUCCESS, "train (12) completed in 1m")
    assert values(shown)["Wall time"] == "1m"
    assert card(job_of(failed(), concluded_s=NOW_S)).tone is Tone.FAILURE


def test_an_end_that_is_not_reported_yet_is_no_outcome() -> None:
    ending = replace(running_task(), state=JobState.COMPLETING)
    for task in (ending, succeeded()):
        assert card(job_of(task)).title == "train (12) is ending"


def test_a_job_that_is_not_watched_any_more_says_so() -> None:
    shown = card(replace(RUNNING, unwatched_s=NOW_S))
    assert (shown.tone, shown.title) == (Tone.CANCELLED, "train (12) is no longer watched")


def test_a_silent_scheduler_is_shown() -> None:
    shown = card(replace(RUNNING, stale_since_s=NOW_S - 60))
    assert values(shown)["Scheduler silent since"] == int(NOW_S - 60)


def test_a_suspended_job_is_no_running_one() -> None:
    assert card(job_of(Task("", JobState.SUSPENDED))).title == "train (12) is suspended"


def test_the_time_without_progress_goes_on_in_steps_of_five_minutes() -> None:
    lasting = replace(STALLED, lasting_s=(600.0,))
    shown = [
        card(RUNNING, replace(HALF, events=(lasting,)), now_s=lasting.at_s + 60 * minutes).text.splitlines()[
            -1
        ]
        for minutes in (0, 4, 6, 22)
    ]
    assert shown == [f"⚠️ no progress for {minutes}m" for minutes in (10, 10, 15, 30)]
