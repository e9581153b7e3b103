from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.diagnose import DiagnoseCommand, Report, parse_job
from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, StateChange, Task, WatchedJob
from jobmon_core.domain.job.tracking.user_override import UserOverride
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.node.telemetry.model import AgentReport, Memory
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_SLURM, LogPaths
from jobmon_core.domain.slurm.rows import Disabled, NotListed, RecordAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.home import Home
from jobmon_core.store.telemetry import LATEST
from jobmon_core.system.json_codec import to_json
from tests.support.clock import FakeClock
from tests.support.live_jobs import progress_of
from tests.support.play import JOB, START_S, record, row, sacct_row
from tests.support.scheduler import FakeScheduler
from tests.support.situations import sample

NOTHING = UserOverride()
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
MISSING = "FileNotFoundError: [Errno 2] No such file or directory: 'x'\n"
DOWN = Unreachable("squeue: connection refused")
FAILED = End(
    JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=1, signal=0, started_s=1, ended_s=2
)
COMPLETED = replace(
    FAILED, state=JobState.COMPLETED, raw_state="COMPLETED", outcome=Outcome.SUCCESS, exit_code=0
)
RUNNING = Task("", JobState.RUNNING, "RUNNING", history=(StateChange("RUNNING", START_S),))


class SlurmctldOfOwnIds(FakeScheduler):
    """slurmctld shows an array task by the task's own number too, under the name that it has in the array."""

    def ask_record(self, job_id: int) -> RecordAnswer:
        known = self.records[0]
        own = tuple(each for each in known if each.raw_job_id == job_id) if isinstance(known, tuple) else ()
        return own or super().ask_record(job_id)


class Bench:
    """A folder with logs, a jobmon that may watch jobs, and a scheduler that says what a test wants."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.slurm = FakeScheduler()
        self.asked_for: list[tuple[str, str]] = []
        self.ctx = Context(Home(folder / "jobmon"), {}, clock=FakeClock(START_S + 100))

    def log(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def watched(self, *tasks: Task, expected: str = "", waiting: str = "", cluster: str = "") -> None:
        logs = LogPaths(f"{self.folder}/%a.out", f"{self.folder}/%a.err", BY_SLURM)
        if len(tasks) == 1 and not tasks[0].key:
            logs = LogPaths(f"{self.folder}/job.out", f"{self.folder}/job.err", BY_SLURM)
        job = WatchedJob("slurm-12-x", JOB, START_S, logs=logs, name="train", user="me", cluster=cluster)
        by_key = {task.key: task for task in tasks}
        self.ctx.store.save(replace(job, tasks=by_key, array_indices=expected, pending_indices=waiting))

    def ask(self, words: str, said: UserOverride = NOTHING) -> Report:
        def scheduler(backend: str, cluster: str) -> FakeScheduler:
            self.asked_for.append((backend, cluster))
            return self.slurm

        return DiagnoseCommand(self.ctx, scheduler).of_job(JobRef.parse(words), said)

    def read(self, *paths: str, said: UserOverride = NOTHING, stdin: bytes = b"") -> Report:
        return DiagnoseCommand(self.ctx, lambda _backend, _cluster: self.slurm).of_files(
            paths, said, io.BytesIO(stdin)
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_watched_job_that_ended_is_diagnosed_without_asking_slurm(bench: Bench) -> None:
    bench.watched(replace(RUNNING, end=FAILED))
    bench.log("job.err", OOM)
    report = bench.ask("12")
    assert report.diagnosis.cause == "cuda_oom"
    assert report.subject is not None
    assert (str(report.subject.ref), report.subject.name, report.subject.end) == ("12", "train", FAILED)
    assert not bench.slurm.asked


def test_without_its_log_a_job_is_diagnosed_as_when_it_ended(bench: Bench) -> None:
    found = Diagnosis("cuda_oom", "CUDA out of memory", "", "", evidence=(Line("/w/job.err", 7, "CUDA ..."),))
    bench.watched(replace(RUNNING, end=FAILED, diagnosis=found))
    gone = bench.ask("12").diagnosis
    assert (gone.cause, gone.evidence) == (found.cause, found.evidence)
    assert gone.note == (
        f"nothing to read: {bench.folder}/job.err does not exist; {bench.folder}/job.out does not exist; "
        "this is what was found when the job ended"
    )
    os.utime(bench.log("job.err", MISSING), (2, 2))  # put back as it was
    assert bench.ask("12").diagnosis.cause == "file_not_found"
    bench.log("job.err", MISSING)  # another job writes to the same file
    later = bench.ask("12").diagnosis
    assert later.cause == "cuda_oom"
    assert later.note.startswith("its log was written after its end, perhaps by another job; this is what")
    assert bench.ask("12", UserOverride.parse("FAILED", "2")).diagnosis.cause == "file_not_found"


def test_that_a_log_is_missing_is_said_once(bench: Bench) -> None:
    note = f"nothing to read: {bench.folder}/job.err does not exist; {bench.folder}/job.out does not exist"
    found = Diagnosis("slurm_launch", "The job could not start", "", "", note=note)  # nor was it there then
    bench.watched(replace(RUNNING, end=FAILED, diagnosis=found))
    assert bench.ask("12").diagnosis.note == f"{note}; this is what was found when the job ended"


def test_a_success_that_did_not_do_all_is_diagnosed_as_its_message_says(bench: Bench) -> None:
    bench.watched(replace(RUNNING, end=COMPLETED))
    bench.log("job.err", "Processed 30/100 items\n")
    (job,) = bench.ctx.store.find(JobRef(12))
    bench.ctx.store.save(replace(job, settings=JobSettings(total_items=100)))
    followed = progress_of(30, 100, unit="item")
    bench.ctx.progress_file(job.id).write(JobProgress(tasks={"": followed}))
    assert bench.ask("12").diagnosis.headline == "Processed only 30 of 100 items"


def test_what_slurm_said_of_the_end_is_evidence(bench: Bench) -> None:
    bench.watched(replace(RUNNING, end=replace(FAILED, state=JobState.TIMEOUT)))
    bench.log("job.err", "step 1\n")
    assert bench.ask("12").diagnosis.cause == "slurm_timeout"


def test_of_an_array_the_worst_part_is_diagnosed_and_named(bench: Bench) -> None:
    cancelled = replace(FAILED, state=JobState.CANCELLED, raw_state="CANCELLED", outcome=Outcome.CANCELLED)
    bench.watched(
        Task("1", end=COMPLETED),
        Task("2", end=cancelled),
        replace(RUNNING, key="3"),
        Task("10", end=FAILED),
        Task("9", end=FAILED),
        expected="1-12",
        waiting="11-12",
    )
    bench.log("9.err", MISSING)
    report = bench.ask("12")
    assert report.diagnosis.cause == "file_not_found"
    assert report.subject is not None
    assert str(report.subject.ref) == "12_9"
    assert (report.subject.same_outcome, report.subject.total) == (2, 7)


def test_the_task_that_is_named_is_diagnosed_by_its_own_log(bench: Bench) -> None:
    bench.watched(Task("1", end=FAILED), Task("2", end=FAILED, raw_job_id=14), expected="1-2")
    bench.log("1.err", OOM)
    bench.log("2.err", MISSING)
    for words in ("12_2", "14"):  # a task is known by its own id as well
        report = bench.ask(words)
        assert report.diagnosis.cause == "file_not_found"
        assert report.subject is not None
        assert (str(report.subject.ref), report.subject.total) == ("12_2", 1)


def test_the_tasks_that_failed_alike_are_named_with_the_one_that_is_explained(bench: Bench) -> None:
    missing = Diagnosis("file_not_found", "File or folder not found", "", "")
    tasks = [Task(key, end=FAILED, diagnosis=missing) for key in ("1", "4", "7")]
    other = Task("5", end=FAILED, diagnosis=Diagnosis("cuda_oom", "Out of GPU memory", "", ""))
    bench.watched(*tasks, other, expected="1-7")
    bench.log("1.err", MISSING)
    report = bench.ask("12")
    assert report.subject is not None
    assert (report.subject.total, report.subject.same_cause) == (4, "1,4,7")
    assert report.subject.other_causes == ("Out of GPU memory (task 5)",)
    one = bench.ask("12_1").subject
    assert one is not None
    assert (one.same_cause, one.other_causes) == ("", ())


def test_a_log_that_bears_the_id_of_the_whole_array_is_not_taken_for_that_of_a_task(bench: Bench) -> None:
    bench.watched(Task("1", end=FAILED, raw_job_id=JOB), Task("2", end=FAILED, raw_job_id=14), expected="1-2")
    bench.log(f"worker-{JOB}.err", OOM)
    os.utime(bench.log("worker-14.err", MISSING), (2, 2))  # while it ran
    assert bench.ask(f"{JOB}_1").diagnosis.cause is None
    assert bench.ask(f"{JOB}_2").diagnosis.cause == "file_not_found"


def test_the_worst_part_comes_before_one_that_runs_and_that_before_a_success(bench: Bench) -> None:
    running = replace(RUNNING, key="2")
    bench.slurm.queue = [(row("12_2", "RUNNING"), row("12_1", "COMPLETED"))]
    bench.watched(Task("1", end=COMPLETED), running, expected="1-2")
    report = bench.ask("12")
    assert report.subject is not None
    assert str(report.subject.ref) == "12_2"


def test_a_task_that_waits_does_not_hide_one_that_ended(bench: Bench) -> None:
    waits = Task("2", JobState.PENDING, "PENDING")
    bench.watched(Task("1", end=COMPLETED), waits, expected="1-2")
    bench.slurm.queue = [(row("12_2", "PENDING"),)]
    report = bench.ask("12")
    assert report.subject is not None
    assert (str(report.subject.ref), report.subject.same_outcome) == ("12_1", 1)


def test_of_a_job_that_runs_it_is_said_that_it_does(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.slurm.queue = [(row("12", "RUNNING"),)]
    bench.log("job.err", "step 1\n")
    report = bench.ask("12")
    assert report.diagnosis.label == "clean"
    assert report.diagnosis.note == "the job has not ended (RUNNING); this is what its log shows so far"
    assert report.subject is not None
    assert report.subject.end is None


def test_a_watched_job_that_ended_unseen_is_looked_up(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.slurm.accounting = [(replace(sacct_row("12", "OUT_OF_MEMORY"), nodes="n1"),)]
    bench.log("job.err", "step 1\n")
    assert bench.ask("12").diagnosis.cause == "host_oom_kill"
    assert bench.slurm.asked == {"record": 1, "queue": 1, "accounting": 1}


def test_where_slurm_is_silent_what_was_known_is_used_and_called_old(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.slurm.queue, bench.slurm.records, bench.slurm.accounting = [DOWN], [DOWN], [DOWN]
    bench.log("job.err", OOM)
    found = bench.ask("12").diagnosis
    assert found.cause == "cuda_oom"
    assert found.note == "Slurm gave no answer; the job had not ended when it was last seen"


def test_where_slurm_forgot_the_job_it_is_said_so(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.log("job.err", OOM)
    found = bench.ask("12").diagnosis
    assert found.cause == "cuda_oom"
    assert found.note.startswith("Slurm no longer knows the job")


def test_a_job_that_nobody_watched_is_found_in_slurmctlds_memory(bench: Bench) -> None:
    log = bench.log("other.log", MISSING)
    bench.slurm.records = [(replace(record("12", "FAILED", exit_code=1), stdout=log, stderr=log, user="x"),)]
    bench.slurm.accounting = [Disabled()]
    report = bench.ask("12")
    assert report.diagnosis.cause == "file_not_found"
    assert report.subject is not None
    assert (report.subject.name, report.subject.end and report.subject.end.exit_code) == ("train", 1)
    assert list(bench.ctx.store.all()) == []


def test_a_job_that_only_accounting_remembers_is_found_with_its_log(bench: Bench) -> None:
    bench.log("slurm-12.out", OOM)
    bench.slurm.accounting = [(replace(sacct_row("12", "FAILED", 1), workdir=str(bench.folder), name="old"),)]
    report = bench.ask("12")
    assert report.diagnosis.cause == "cuda_oom"
    assert report.subject is not None
    assert report.subject.name == "old"


def test_the_tasks_of_an_array_that_nobody_watched_are_told_apart(bench: Bench) -> None:
    rows = (sacct_row("12_1", "COMPLETED"), replace(sacct_row("12_2", "FAILED", 1), raw_job_id=14))
    bench.slurm.accounting = [tuple(replace(each, workdir=str(bench.folder)) for each in rows)]
    bench.slurm.script = "#!/bin/bash\n#SBATCH --output=run-%a-%j.log\n"
    bench.log("run-2-14.log", MISSING)
    for words in ("12", "12_2"):
        report = bench.ask(words)
        assert report.diagnosis.cause == "file_not_found", words
        assert report.subject is not None
        assert str(report.subject.ref) == "12_2"


def test_a_running_job_that_nobody_watched_is_diagnosed_so_far(bench: Bench) -> None:
    bench.slurm.queue = [(row("12_1", "RUNNING"), row("12_[2-3]", "PENDING"))]
    bench.slurm.records = [(record("12_1", "RUNNING"), record("12_[2-3]", "PENDING"))]
    bench.slurm.templates = LogPaths(f"{bench.folder}/%a.log", f"{bench.folder}/%a.log")
    bench.log("1.log", OOM)
    report = bench.ask("12")
    assert report.diagnosis.cause == "cuda_oom"
    assert "the job has not ended (RUNNING)" in report.diagnosis.note
    assert report.subject is not None
    assert (report.subject.same_outcome, report.subject.total) == (1, 3)


def test_a_task_that_nobody_watched_is_found_by_its_own_number(bench: Bench) -> None:
    bench.slurm = SlurmctldOfOwnIds()
    log = bench.log("2.log", OOM)
    told = replace(record("12_2", "RUNNING"), raw_job_id=14, stdout=log, stderr=log)
    bench.slurm.records = [(told, record("12_3", "RUNNING"))]
    bench.slurm.queue = [(replace(row("12_2", "RUNNING"), raw_job_id=14), row("12_3", "RUNNING"))]
    bench.slurm.templates = LogPaths(f"{bench.folder}/%a.log", "")
    report = bench.ask("14")
    assert report.diagnosis.cause == "cuda_oom"
    assert report.subject is not None
    assert (str(report.subject.ref), report.subject.total) == ("12_2", 1)


def test_a_job_that_has_only_just_begun_is_not_said_to_have_ended(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.slurm.queue = [(row("12", "RUNNING"),)]
    bench.log("job.err", "")
    found = bench.ask("12").diagnosis
    assert (found.title, found.cause, found.label) == ("Nothing to diagnose yet", None, None)
    assert "end" not in found.explanation


def test_somebody_elses_running_job_is_one_that_runs(bench: Bench) -> None:
    bench.slurm.records = [(replace(record("12", "RUNNING"), user="somebody"),)]
    assert "the job has not ended (RUNNING)" in bench.ask("12").diagnosis.note


def test_while_slurmctld_is_down_accounting_is_believed(bench: Bench) -> None:
    bench.slurm.queue, bench.slurm.records = [DOWN], [DOWN]
    bench.slurm.accounting = [(sacct_row("12", "TIMEOUT"),)]
    assert bench.ask("12").diagnosis.cause == "slurm_timeout"


def test_where_slurm_is_down_the_way_without_it_is_named(bench: Bench) -> None:
    bench.slurm.queue, bench.slurm.records, bench.slurm.accounting = [DOWN], [DOWN], [DOWN]
    with pytest.raises(
        SchedulerUnavailable, match="connection refused; `jobmon diagnose FILE` explains"
    ) as told:
        bench.ask("12")
    assert str(told.value).count("refused") == 1


@pytest.mark.parametrize("accounting", [(), Disabled()])
def test_a_job_that_slurm_does_not_know_is_unknown(bench: Bench, accounting: Disabled | tuple[()]) -> None:
    bench.slurm.accounting = [accounting]
    with pytest.raises(UnknownJob, match=r"unknown job 12\. Slurm lists no job under this id; ") as told:
        bench.ask("12")
    assert "name an array task as 12_3 and a het job component as 12+1, not by its $SLURM_JOB_ID" in str(
        told.value
    )


def test_a_task_that_the_array_never_had_is_unknown(bench: Bench) -> None:
    bench.slurm.accounting = [(sacct_row("12_1", "FAILED", 1),)]
    with pytest.raises(UnknownJob, match="unknown job 12_99: job 12 has no such task"):
        bench.ask("12_99")


@pytest.mark.parametrize("words", ["12", "12_3"])
def test_what_has_not_started_has_no_log_to_diagnose(bench: Bench, words: str) -> None:
    bench.slurm.queue = [(row("12_[1-9]", "PENDING", "Resources"),)]
    with pytest.raises(JobmonError, match=rf"job {words} has not started \(PENDING, Resources\)"):
        bench.ask(words)


def test_a_requeued_job_that_waits_again_has_a_log(bench: Bench) -> None:
    waits = Task("", JobState.PENDING, "PENDING", restarts=1)
    bench.watched(waits)
    bench.slurm.queue = [(row("12", "PENDING"),)]
    bench.log("job.err", OOM)
    assert bench.ask("12").diagnosis.cause == "cuda_oom"


def test_what_was_cancelled_before_its_start_is_not_said_to_lack_a_log(bench: Bench) -> None:
    end = replace(FAILED, state=JobState.CANCELLED, outcome=Outcome.CANCELLED, started_s=None)
    bench.watched(Task("", end=end))
    found = bench.ask("12").diagnosis
    assert found.cause == "slurm_cancelled"
    assert found.note == "the job never started, so there is no log"


def test_what_the_user_says_overrides_what_is_known(bench: Bench) -> None:
    bench.watched(replace(RUNNING, end=FAILED))
    bench.log("job.err", "step 1\n")
    assert bench.ask("12", UserOverride.parse("PREEMPTED", None)).diagnosis.cause == "slurm_preempted"
    assert bench.ask("12", UserOverride.parse(None, "0:125")).diagnosis.cause == "host_oom_kill"


def test_the_id_of_the_job_stands_in_the_advice(bench: Bench) -> None:
    bench.watched(replace(RUNNING, key="3", end=replace(FAILED, exit_code=137)))
    advice = bench.ask("12").diagnosis.advice
    assert "`sacct -j 12_3 -o JobID,MaxRSS,ReqMem,State`, or `seff 12_3`, where installed" in advice
    assert "JOBID" not in advice


def test_a_job_of_another_cluster_is_asked_for_by_its_name(bench: Bench) -> None:
    bench.watched(RUNNING, cluster="theirs")
    bench.slurm.queue = [(row("12", "RUNNING"),)]
    bench.ask("12")
    assert bench.asked_for[-1] == ("slurm", "theirs")
    bench.watched(RUNNING, cluster="fake")
    bench.ask("12")
    assert bench.asked_for[-1] == ("slurm", "")


def test_files_are_diagnosed_together_and_those_that_can_not_be_read_are_named(bench: Bench) -> None:
    out, err = bench.log("out", "step 1\n"), bench.log("err", MISSING)
    report = bench.read(out, err, str(bench.folder), "nowhere.log")
    assert report.diagnosis.cause == "file_not_found"
    assert report.unread == (f"{bench.folder} is a folder", "nowhere.log does not exist")


def test_where_no_file_can_be_read_every_one_is_named(bench: Bench) -> None:
    with pytest.raises(JobmonError, match=r"^a\.log does not exist; b\.log does not exist$"):
        bench.read("a.log", "b.log")


def test_standard_input_is_named_as_such(bench: Bench) -> None:
    found = bench.read("-", stdin=OOM.encode()).diagnosis
    assert found.cause == "cuda_oom"
    assert [(line.file, line.number) for line in found.evidence] == [("<stdin>", 1)]
    assert found.log_path == "<stdin>"
    assert bench.read("-").diagnosis.note == "nothing to read: <stdin> is empty"


def test_a_failed_exit_keeps_a_quiet_log_from_being_called_healthy(bench: Bench) -> None:
    log = bench.log("quiet.log", "step 1\n")
    assert bench.read(log).diagnosis.label == "clean"
    assert bench.read(log, said=UserOverride.parse(None, "1")).diagnosis.label is None


def test_a_word_is_a_job_only_if_it_looks_so_and_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_job("12") == JobRef(12)
    assert parse_job("12_3") == JobRef(12, task=3)
    assert parse_job("12+1") == JobRef(12, component=1)
    for word in ("12.log", "12.batch", "12_[1-3]", "", "-", "1" * 11, "\u0661\u0662"):
        assert parse_job(word) is None, word
    (tmp_path / "12").touch()
    assert parse_job("12") is None


def test_a_reply_of_not_listed_alone_makes_no_job_known(bench: Bench) -> None:
    bench.slurm.records = [NotListed()]
    bench.slurm.accounting = [DOWN]
    with pytest.raises(SchedulerUnavailable):
        bench.ask("12")


def test_a_running_job_has_a_live_verdict_even_without_an_agent(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.slurm.queue = [(row("12", "RUNNING"),)]
    live = bench.ask("12").live
    assert live
    assert live.findings[0].name == "not-known"
    assert live.unseen == ("processes, GPUs, memory and node: no agent reports about this job",)


def test_a_loss_that_is_nan_is_not_called_healthy(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.slurm.queue = [(row("12", "RUNNING"),)]
    nan = Event(START_S, EventKind.DIVERGED, "the loss is nan")
    bench.ctx.progress_file("slurm-12-x").write(JobProgress(START_S, {"": FollowedTask()}, (nan,)))
    live = bench.ask("12").live
    assert live
    assert (live.findings[0].name, live.findings[0].text) == ("diverged", "the loss is nan")


def test_what_agents_measured_is_judged(bench: Bench) -> None:
    bench.watched(RUNNING)
    bench.slurm.queue = [(row("12", "RUNNING"),)]
    folder = bench.ctx.telemetry("slurm-12-x", "").folder / "n1"
    folder.mkdir(parents=True)
    full = replace(sample(memory=Memory(31 * 2**30, 32 * 2**30)), at_s=START_S + 100, span_s=60.0)
    (folder / LATEST).write_text(json.dumps(to_json(AgentReport(full))))
    live = bench.ask("12").live
    assert live
    assert (live.findings[0].name, live.findings[0].is_critical) == ("memory-near-limit", True)
    assert not any("no agent" in text for text in live.unseen)


def test_a_job_that_has_ended_has_no_live_verdict(bench: Bench) -> None:
    bench.watched(replace(RUNNING, end=FAILED))
    assert bench.ask("12").live is None
