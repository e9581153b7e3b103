from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.client import LocalScheduler
from tests.scheduler.local.harness import REPOSITORY, LocalHarness
from tests.support.processes import is_running, kill
from tests.support.waiting import eventually

_STAYS = "echo up; while [ ! -e go ]; do sleep 0.05; done; exit 4"


def _kill_supervisor(local: LocalHarness, job_id: int) -> None:
    pid = local.supervisor(job_id)
    kill(pid)


def test_a_job_survives_the_kill_of_its_submitter(local: LocalHarness) -> None:
    code = f"""
import sys, time
from pathlib import Path
from jobmon_core.scheduler.local.client import LocalScheduler
LocalScheduler(Path(sys.argv[1])).submit(["--wrap", {_STAYS!r}], lambda job: None)
time.sleep(1000)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    submitter = subprocess.Popen(
        [sys.executable, "-c", code, str(local.root)], cwd=local.work, env=environment, stdout=subprocess.PIPE
    )
    with submitter:
        eventually(lambda: local.says("slurm-1.out", "up"))
        os.kill(submitter.pid, signal.SIGKILL)

    (local.work / "go").touch()
    (record,) = local.ends(1)
    assert (record.state, record.exit_code) == (JobState.FAILED, 4)


def test_a_supervisor_is_detached_from_session_terminal_and_parent(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)

    stat = (
        Path(f"/proc/{local.supervisor(job_id)}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    )

    parent, session, terminal = int(stat[1]), int(stat[3]), int(stat[4])
    assert parent != os.getpid()
    assert session != os.getsid(0)
    assert session != local.supervisor(job_id)  # not its leader: it can't acquire a terminal by accident
    assert terminal == 0


def test_a_submission_returns_at_once_and_holds_no_pipe_of_its_caller(local: LocalHarness) -> None:
    done = local.run("--wrap", _STAYS)  # would not return while the job held its stdout

    assert done.stdout == b"Submitted batch job 1\n"
    assert local.records(1)[0].state in (JobState.PENDING, JobState.RUNNING)


def test_a_job_whose_supervisor_was_killed_is_running_then_not_listed(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.says("slurm-1.out", "up"))
    eventually(lambda: local.records(job_id)[0].state is JobState.RUNNING)

    _kill_supervisor(local, job_id)

    (row,) = local.queue(job_id)
    assert (row.state, row.reason) == (
        JobState.RUNNING,
        "its supervisor was killed: how the job ends will not be recorded",
    )
    (local.work / "go").touch()
    eventually(lambda: local.is_unknown(job_id))
    assert (local.queue(job_id), local.accounting(job_id)) == ((), ())


def test_tasks_that_ended_before_their_supervisor_was_killed_stay_listed(local: LocalHarness) -> None:
    script = "[ $SLURM_ARRAY_TASK_ID = 1 ] && exit 3; echo up; kill -9 $PPID; sleep 0.2"
    job_id = local.start("-a", "1-3", "--wrap", script)

    eventually(lambda: local.says("slurm-1_2.out", "up"))
    eventually(lambda: len(local.queue(job_id)) == 1)

    (row,) = local.accounting(job_id)
    assert (row.ref.task, row.state, row.exit_code) == (1, JobState.FAILED, 3)


def test_folders_that_cannot_be_read_are_unreachable_not_empty(local: LocalHarness) -> None:
    scheduler = LocalScheduler(local.root / "missing")

    assert isinstance(scheduler.ask_queue("me"), Unreachable)
    assert isinstance(scheduler.ask_record(1), NotListed)


def test_an_end_is_retried_until_the_disk_accepts_it(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.says("slurm-1.out", "up"))
    eventually(lambda: local.records(job_id)[0].state is JobState.RUNNING)
    supervisor = local.supervisor(job_id)
    _, hard = resource.prlimit(supervisor, resource.RLIMIT_FSIZE)
    resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (0, hard))  # as if the disk were full

    (local.work / "go").touch()
    eventually(lambda: not _children(supervisor))
    assert local.records(job_id)[0].state is JobState.RUNNING
    resource.prlimit(supervisor, resource.RLIMIT_FSIZE, (hard, hard))
    os.kill(supervisor, signal.SIGCHLD)  # any signal wakes it, so that the test need not wait

    (record,) = local.ends(job_id)
    assert (record.state, record.exit_code) == (JobState.FAILED, 4)
    assert not [path for path in local.folder(job_id).path.iterdir() if path.name.startswith(".")]


def _children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")


def test_a_supervisor_whose_folder_was_removed_does_not_stay(local: LocalHarness) -> None:
    job_id = local.start("--wrap", _STAYS)
    eventually(lambda: local.says("slurm-1.out", "up"))
    supervisor = local.supervisor(job_id)

    local.folder(job_id).path.rename(local.work / "removed")  # at once: the supervisor may write into it
    (local.work / "go").touch()

    eventually(lambda: not is_running(supervisor))


def test_a_job_that_cannot_be_started_leaves_no_trace(local: LocalHarness) -> None:
    done = local.run("--wrap", "true", before="prlimit --fsize=10")  # as if the disk were full

    assert (done.returncode, done.stdout) == (1, b"")
    assert (
        done.stderr
        == (
            f"jobmon: local: the job could not be started: {local.root}/1/slurm_script cannot be written: "
            "File too large\n"
        ).encode()
    )
    assert list(local.root.iterdir()) == []


def test_twenty_submissions_at_once_get_twenty_numbers(local: LocalHarness) -> None:
    with ThreadPoolExecutor(20) as pool:
        done = list(pool.map(lambda number: local.run("--wrap", f"echo {number}"), range(20)))

    assert sorted(result.stdout for result in done) == sorted(
        f"Submitted batch job {number}\n".encode() for number in range(1, 21)
    )
    for number in range(1, 21):
        assert local.ends(number)[0].state is JobState.COMPLETED
    said = {(local.work / f"slurm-{number}.out").read_text(encoding="utf-8") for number in range(1, 21)}
    assert len(said) == 20


def test_all_records_are_json_objects(local: LocalHarness) -> None:
    job_id = local.start("--wrap", "true")
    local.ends(job_id)

    for path in local.folder(job_id).path.glob("*.json"):
        assert isinstance(json.loads(path.read_text(encoding="utf-8")), dict)


def test_a_job_starts_after_the_success_of_another_and_never_after_its_failure(local: LocalHarness) -> None:
    first = local.start("--wrap", "while [ ! -e go ]; do sleep 0.05; done; exit 0")
    second = local.start(f"--dependency=afterok:{first}", "--wrap", "date +%s%N; exit 4")
    third = local.start("-d", f"afterok:{first}:{second}", "--kill-on-invalid-dep=yes", "--wrap", "echo ran")
    assert [(row.state, row.reason) for row in local.queue(second)] == [(JobState.PENDING, "Dependency")]
    (local.work / "go").touch()
    ends = [local.ends(job_id)[0] for job_id in (first, second, third)]
    assert [each.state for each in ends] == [JobState.COMPLETED, JobState.FAILED, JobState.CANCELLED]
    assert ends[2].reason == "DependencyNeverSatisfied"
    assert (ends[1].start_s or 0) >= (ends[0].end_s or 0)
    assert not (local.work / f"slurm-{third}.out").exists()


def test_a_job_never_starts_after_one_that_left_no_record(local: LocalHarness) -> None:
    first = local.start("--wrap", _STAYS)
    second, other = (local.start("-d", f"afterok:{first}", "--wrap", "echo ran") for _ in range(2))
    os.kill(local.supervisor(other), signal.SIGTERM)
    assert local.ends(other)[0].reason == ""
    _kill_supervisor(local, first)
    assert local.ends(second)[0].reason == "DependencyNeverSatisfied"
    (local.work / "go").touch()
    assert local.submit("-d", "afterok:99", "--wrap", "true").exit_code == 1


def test_a_job_that_ignores_sigterm_is_killed_after_the_wait(local: LocalHarness) -> None:
    record = local.finish("-t", "0:10", "--wrap", "trap '' TERM; while :; do sleep 0.05; done")

    assert (record.state, record.signal) == (JobState.TIMEOUT, signal.SIGKILL)


def test_a_script_that_is_ended_does_not_go_on_to_its_next_command(local: LocalHarness) -> None:
    for name in ("a", "b", "c"):
        record = local.finish("-t", "0:01", "--wrap", f"sleep 1000; touch went-on-{name}")
        assert record.state is JobState.TIMEOUT

    assert not list(local.work.glob("went-on-*"))


def test_nothing_that_the_script_started_outlives_it(local: LocalHarness) -> None:
    stray = "setsid sleep 1000 & echo $! > own-session; timeout 1000 sleep 1000 & echo $! > own-group"
    record = local.finish("--wrap", f"{stray}; (sleep 1000 & echo $! > orphan)")

    assert record.state is JobState.COMPLETED
    for name in ("own-session", "own-group", "orphan"):
        pid = int((local.work / name).read_text(encoding="utf-8"))
        eventually(lambda pid=pid: not is_running(pid))  # type: ignore[misc]  # one of these


def test_a_job_sees_no_signal_blocked_or_ignored_although_nohup_started_it(local: LocalHarness) -> None:
    assert local.run("--wrap", "grep -E 'Sig(Blk|Ign)' /proc/self/status", before="nohup").returncode == 0
    local.ends(1)

    lines = (local.work / "slurm-1.out").read_text(encoding="utf-8").split()
    # 32 and 33 are the C library's own: no program can set them, so they are inherited from the test runner
    masks = [int(mask, 16) & ~(0b11 << 31) for mask in lines[1::2]]
    assert (lines[::2], masks) == (["SigBlk:", "SigIgn:"], [0, 0])
