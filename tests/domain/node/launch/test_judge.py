"""How the launch of a run is judged, from look to look."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.launch.checklist import step_errors
from jobmon_core.domain.node.launch.judge import launch_events, without_repeats
from jobmon_core.domain.node.launch.model import FIRST_OUTPUT, WORKERS, LaunchFacts, LaunchState, WorkerLogs
from jobmon_core.domain.node.telemetry.model import (
    AgentReport,
    Folder,
    Gpu,
    Node,
    RankGroup,
    Sample,
    Worker,
    WorkerStatus,
)
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.launches import follow

START_S = 1000.0
FACTS = LaunchFacts(START_S, START_S, START_S, is_complete=True, has_output=True)


def worker(rank: int | None = None, **figures: object) -> Worker:
    return replace(Worker(100 + (rank or 0), "python train.py", rank), **figures)  # type: ignore[arg-type]  # any field


def gpu(index: int, *pids: int, busy: float = 90.0) -> Gpu:
    return Gpu(index, utilization_percent=busy, highest_percent=busy, own_pids=pids, other_processes=0)


def report(
    *groups: RankGroup, gpus: tuple[Gpu, ...] = (), workers: tuple[Worker, ...] = (), node: str = "n1"
) -> AgentReport:
    ranked = tuple(worker(rank) for group in groups for rank in group.running)
    sample = Sample(START_S, node=Node(node), workers=workers or ranked, gpus=gpus)
    return AgentReport(sample, ranks=groups)


def srun(*running: int, size: int = 4, ended: tuple[int, ...] = ()) -> RankGroup:
    return RankGroup("srun", "0", size, running, ended)


def torch(*running: int, size: int = 4, ended: tuple[int, ...] = (), name: str = "none") -> RankGroup:
    return RankGroup("torch", name, size, running, ended, needs_all=True)


def seen(*reports: AgentReport, **more: object) -> LaunchFacts:
    return replace(FACTS, reports=reports, **more)  # type: ignore[arg-type]  # any field


def texts(facts: LaunchFacts, until_s: float = 90.0) -> list[str]:
    return [event.text for event in follow(facts, until_s=until_s)[1]]


def result_of(state: LaunchState, name: str) -> Severity:
    return next(item.severity for item in state.items if item.id == name)


def test_a_launch_with_all_workers_and_gpus_passes_once_at_the_end_of_the_window() -> None:
    gpus = tuple(gpu(rank, 100 + rank) for rank in range(4))
    facts = seen(report(srun(0, 1, 2, 3), gpus=gpus))
    assert follow(facts, until_s=55.0)[0].verdict is Severity.PENDING
    state, (event,) = follow(facts)
    assert (state.verdict, event.kind, event.at_s) == (Severity.INFO, EventKind.LAUNCHED, START_S + 60)
    assert event.text == "launched: 4/4 workers, 4/4 GPUs in use"


@pytest.mark.parametrize(
    ("reports", "text"),
    [
        ((report(workers=(worker(),)),), "launched: 1 worker"),
        ((report(workers=(worker(name="tee"), worker(pid=7, name="sleep"))),), "launched: 1 worker"),
        ((report(srun(0, 1), node="n1"), report(srun(2, 3), node="n2")), "launched: 4/4 workers"),
        ((report(srun(0, 1, size=2), replace(srun(0, 1, size=2), name="1")),), "launched: 4/4 workers"),
        ((report(srun(0, 1, 2, ended=(3,))),), "launched: 4/4 workers, 1 of which have already ended"),
        (
            (report(workers=(worker(),), gpus=(gpu(0), gpu(1))),),
            "launched: 1 worker, 1 warning",  # no GPU is in use yet: data are loaded
        ),
        (
            (report(workers=(worker(),), gpus=(gpu(0, 100, 101), gpu(1, 100, busy=3.0))),),
            "launched: 1 worker, 2/2 GPUs in use, 2 warnings",
        ),
        (
            (report(workers=(worker(),), gpus=(gpu(0, 100), replace(gpu(1), is_mig=True))),),
            "launched: 1 worker, 1/1 GPU in use",
        ),
    ],
)
def test_an_ordinary_launch_raises_nothing(reports: tuple[AgentReport, ...], text: str) -> None:
    assert texts(seen(*reports), until_s=900.0) == [text]


@pytest.mark.parametrize(
    ("facts", "text", "evidence"),
    [
        (
            seen(report(torch(0, 1, 3))),
            "only 3 of 4 workers are running",
            ("rank 2 of 4 (torch): not seen",),
        ),
        (
            seen(report(torch(0, ended=(1,)), node="n1"), report(node="n2", workers=(worker(),))),
            "only 1 of 4 workers are running",
            ("rank 1 of 4 (torch): ended", "ranks 2-3 of 4 (torch): not seen"),
        ),
        (
            seen(report(srun(0, 1, 2)), step_errors={3: "srun: error: n1: task 3: Exited with exit code 7"}),
            "only 3 of 4 workers are running",
            ("srun: error: n1: task 3: Exited with exit code 7",),
        ),
        (
            seen(report(workers=(worker(), worker(pid=7))), num_workers=3),
            "only 2 of 3 workers are running",
            ("running: process 100 python train.py", "running: process 7 python train.py"),
        ),
        (seen(report(srun(0, 1, 2, 3)), num_workers=6), "only 4 of 6 workers are running", ()),
        (
            seen(report(workers=(worker(),), gpus=(gpu(0, 100), gpu(1), gpu(2)))),
            "no process on GPU 1, GPU 2 (of 3 GPUs)",
            (),
        ),
        (
            seen(report(workers=(worker(),)), folder=Folder("/data/out", exists=True)),
            "the output folder cannot be written",
            ("/data/out",),
        ),
        (
            seen(report(workers=(worker(),)), folder=Folder("/data/out"), is_folder_of_node=True),
            "the output folder does not exist, and the job cannot create it",
            ("/data/out",),
        ),
        (
            seen(report(srun(0, 1)), num_workers=2, worker_logs=WorkerLogs(0, ("/l/worker_0.log",))),
            "only 1 of 2 workers have a log",
            ("1 empty worker log",),
        ),
    ],
)
def test_what_is_missing_is_reported_once_with_its_proof(
    facts: LaunchFacts, text: str, evidence: tuple[str, ...]
) -> None:
    assert follow(facts, until_s=55.0)[1] == []
    state, (event,) = follow(facts, until_s=600.0)
    assert state.verdict is Severity.CRITICAL
    assert text in event.text
    assert event.evidence == evidence
    assert event.is_critical
    kind = EventKind.NO_OUTPUT if "log" in text else EventKind.LAUNCH_FAILED
    assert event.kind is kind


@pytest.mark.parametrize(
    "facts",
    [
        seen(),  # no agent
        seen(report(torch(0, 1, 3)), is_complete=False),  # a node does not report
        seen(report(srun(0, 1, 2))),  # the last one may have done its share
        seen(report(replace(torch(0), is_sure=False))),  # a script exports RANK and WORLD_SIZE
        seen(report(workers=(worker(0),))),  # a rank without a size
        seen(report(workers=(worker(threads=8),)), num_workers=8),  # they may be its threads
        seen(report(torch(0, 1, 3)), is_at_end=True),  # workers that are done end
    ],
)
def test_what_cannot_be_seen_neither_passes_nor_fails(facts: LaunchFacts) -> None:
    state, events = follow(facts, until_s=900.0)
    assert (state.verdict, events) == (Severity.UNKNOWN, [])


def test_an_agent_that_has_not_reported_yet_is_not_called_missing() -> None:
    item = next(each for each in follow(seen(), until_s=30.0)[0].items if each.id == WORKERS)
    assert (item.severity, item.text) == (
        Severity.UNKNOWN,
        "workers: no agent beside the job has reported yet",
    )


def test_workers_that_are_processes_of_one_program_are_counted() -> None:
    facts = seen(report(workers=(worker(children=6),)), num_workers=6)
    assert texts(facts) == ["launched: 6/6 workers, processes of one program"]


def test_warnings_alone_never_cause_a_message() -> None:
    facts = seen(
        report(workers=(worker(),)),
        folder=Folder("/data/out", is_writable=True),
        has_output=False,
        outputs=0,
        worker_logs=WorkerLogs(0, ("/l/a.log",), are_counted=False),
    )
    assert texts(facts) == ["launched: 1 worker, 4 warnings"]


def test_a_job_that_first_unpacks_its_data_is_given_ten_minutes_unless_the_user_names_a_time() -> None:
    facts = seen(report(workers=(worker(),)), num_workers=4)
    assert texts(facts, until_s=590.0) == []
    assert "only 1 of 4" not in "".join(texts(facts, until_s=590.0))
    assert texts(facts, until_s=700.0) == [
        "launch failed, 10m after its start: 1 of 4 workers are running so far"
    ]
    named = replace(facts, has_own_window=True)
    assert texts(named) == ["launch failed, 1m after its start: only 1 of 4 workers are running"]
    none = seen(report(workers=()), has_own_window=True)
    assert texts(none) == ["launch failed, 1m after its start: no process of the job seen yet"]


def test_workers_that_start_one_after_the_other_are_waited_for() -> None:
    state: LaunchState | None = None
    events: list[Event] = []
    for second in range(0, 120, 5):
        ranks = tuple(range(max(0, (second - 50) // 5)))[:4]
        facts = seen(report(*([torch(*ranks)] if ranks else []), workers=() if ranks else (worker(),)))
        state, new = launch_events(state, replace(facts, now_s=START_S + second))
        events += new
    assert [event.text for event in events] == ["launched: 4/4 workers"]


def test_a_worker_that_comes_late_ends_the_failure() -> None:
    state, (failed,) = follow(seen(report(torch(0, 1, 2))))
    late = replace(seen(report(torch(0, 1, 2, 3))), now_s=START_S + 180)
    assert launch_events(state, replace(late, reports=()))[1] == (), "silence shows nothing"
    state, (event,) = launch_events(state, late)
    assert (failed.kind, event.kind, event.ended) == (
        EventKind.LAUNCH_FAILED,
        EventKind.RECOVERED,
        EventKind.LAUNCH_FAILED,
    )
    assert event.text == "launched after all, 3m after its start: 4/4 workers"
    assert state.verdict is Severity.INFO
    assert launch_events(state, replace(late, now_s=START_S + 190)) == (state, ())


def test_an_output_that_the_user_wants_in_time_is_reported_and_so_is_its_arrival() -> None:
    silent = seen(has_output=False, has_own_window=True)
    assert follow(silent, until_s=55.0)[1] == []
    state, (event,) = follow(silent)
    assert (event.kind, event.text) == (
        EventKind.NO_OUTPUT,
        "started 1m ago, but its logs have no output yet",
    )
    state, (event,) = launch_events(state, replace(silent, now_s=START_S + 120, has_output=True))
    assert (event.kind, event.ended) == (EventKind.RECOVERED, EventKind.NO_OUTPUT)
    assert event.text == "has written the missing logs, 2m after its start"
    assert state.reported is None


def test_a_run_that_was_seen_late_is_not_judged_by_its_processes() -> None:
    late = replace(seen(report(torch(0))), now_s=START_S + 3600)
    state, events = launch_events(None, late)
    assert (state.verdict, events) == (Severity.UNKNOWN, ())
    _, (event,) = launch_events(None, replace(late, has_output=False, has_own_window=True))
    assert event.kind is EventKind.NO_OUTPUT


def test_a_run_that_is_already_done_is_not_called_seen_too_late() -> None:
    state, _ = launch_events(None, seen(report(torch(0, 1, 3)), is_at_end=True))
    assert state.items[0].text == "workers: its work is done, so some may have ended"


def test_a_new_run_is_checked_anew_and_ends_the_failure_of_the_last_one() -> None:
    state, _ = follow(seen(report(torch(0, 1))))
    new = replace(seen(report(torch(0, 1, 2, 3))), run_s=5000.0, started_s=5000.0, now_s=5030.0)
    state, (event,) = launch_events(state, new)
    assert event.kind is EventKind.RESTARTED
    assert (state.verdict, state.reported) == (Severity.PENDING, None)
    _, (event,) = launch_events(state, replace(new, now_s=5060.0))
    assert event.kind is EventKind.LAUNCHED


def test_a_worker_that_has_ended_does_not_count_as_running() -> None:
    gone = worker(pid=7, status=WorkerStatus.DEAD)
    facts = seen(report(workers=(worker(), worker(pid=6), gone)), num_workers=3)
    assert "only 2 of 3 workers are running" in texts(facts)[0]


def test_the_user_may_name_the_gpus_that_count() -> None:
    facts = seen(report(workers=(worker(),), gpus=(gpu(0, 100), gpu(1))), gpu_ids=(0,))
    assert texts(facts) == ["launched: 1 worker, 1/1 GPU in use"]


def test_a_driver_that_hides_processes_leaves_the_gpus_unknown() -> None:
    hidden = replace(gpu(1), other_processes=None)
    assert texts(seen(report(workers=(worker(),), gpus=(gpu(0, 100), hidden)))) == ["launched: 1 worker"]


def test_the_list_shows_each_check() -> None:
    state, _ = follow(seen(report(torch(0, 1, 2)), has_output=False))
    assert result_of(state, FIRST_OUTPUT) is Severity.WARNING
    assert [item.id for item in state.of(Severity.CRITICAL)] == ["workers"]


def test_a_worker_that_was_lost_after_the_window_dates_the_failure() -> None:
    waits = seen(report(srun(0, 1, 2, 3), gpus=(gpu(0), gpu(1))), worker_logs=WorkerLogs(1), num_workers=4)
    before = LaunchState(START_S, START_S, failing_since_s=START_S + 75)
    lost = replace(waits, reports=(report(torch(0, 1, 2, ended=(3,))),), now_s=START_S + 108)
    _, (event,) = launch_events(before, lost)
    assert event.text.startswith("launch failed, 1m 15s after its start: only 3 of 4 workers are running")


ERROR = Event(10.0, EventKind.ERROR, "CUDA out of memory", "3", subject="cuda_oom")
MISSING = Event(60.0, EventKind.LAUNCH_FAILED, "only 3 of 4 workers are running", "3")
DEAD = Event(600.0, EventKind.TROUBLE, "rank 2 ended", "3", subject="dead-worker")
OVER = Event(900.0, EventKind.RECOVERED, "over", "3", ended=EventKind.TROUBLE, subject="dead-worker")


def quiet(event: Event, *known: Event) -> bool:
    (found,) = without_repeats((event,), known, "3")
    assert replace(found, is_quiet=False) == event
    return found.is_quiet


def test_the_missing_worker_of_a_reported_failure_is_only_shown() -> None:
    assert quiet(MISSING, ERROR)
    assert not quiet(MISSING)
    assert not quiet(MISSING, replace(ERROR, task="4")), "of another task"
    survived = Event(20.0, EventKind.RECOVERED, "survived", "3", ended=EventKind.ERROR, subject="cuda_oom")
    assert not quiet(MISSING, ERROR, survived)


def test_a_worker_whose_absence_was_reported_is_not_reported_again_as_ended() -> None:
    assert quiet(DEAD, MISSING)
    assert not quiet(DEAD)
    assert not quiet(OVER, MISSING)


def test_the_ranks_of_failed_tasks_are_those_that_srun_names() -> None:
    lines = (
        "step 1/40",
        "srun: error: n1: task 3: Exited with exit code 7",
        "0: srun: error: n[1-2]: tasks 0-1,5: Killed",
        "srun: error: Unable to create step for job 8: More processors requested than permitted",
        "srun: error: n1: tasks 0-9999999999: Killed",
    )
    found = step_errors(lines)
    assert sorted(found) == [0, 1, 3, 5]
    assert found[3] == "srun: error: n1: task 3: Exited with exit code 7"
    assert found[5] == "srun: error: n[1-2]: tasks 0-1,5: Killed"


def test_a_launch_that_an_earlier_version_saved_is_read() -> None:
    saved = {
        "started_s": 5.0,
        "verdict": "failed",
        "items": [{"name": "workers", "result": "not yet", "text": "0 of 2", "details": ["rank 1"]}],
    }
    checks = (Finding(Severity.PENDING, "0 of 2", evidence=("rank 1",), id="workers"),)
    assert from_json(LaunchState, saved) == LaunchState(5.0, verdict=Severity.CRITICAL, items=checks)
    assert from_json(LaunchState, to_json(from_json(LaunchState, saved))).items == checks
