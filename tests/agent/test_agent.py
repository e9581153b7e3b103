"""An agent as a process of its own, beside real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobmon_core.agent.loop import Logs
from jobmon_core.domain.node.telemetry.agent import AgentOptions, agent_command
from jobmon_core.domain.node.telemetry.model import AgentReport, Worker, WorkerStatus
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.files import open_files
from tests.support.waiting import eventually

BUSY = "while True: pass"
IDLE = "import time; time.sleep(600)"


@contextmanager
def running(*argv: str, env: dict[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, and kill it at the end."""
    process = subprocess.Popen(argv, env={**os.environ, **(env or {})}, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def agent(folder: Path, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Run an agent that reports each half second."""
    command = agent_command(AgentOptions(str(folder), node="n1", interval_s=0.5, **options))  # type: ignore[arg-type]  # the test names them
    with running(sys.executable, *command) as process:
        yield process


def report(folder: Path) -> AgentReport:
    return TaskTelemetry(folder).report("n1")


def worker(folder: Path, pid: int) -> Worker | None:
    return next((each for each in report(folder).latest.workers if each.pid == pid), None)


def worker_where(folder: Path, pid: int, condition: Callable[[Worker], bool]) -> None:
    eventually(lambda: (found := worker(folder, pid)) is not None and condition(found))


def test_the_figures_of_a_worker_are_those_of_proc(tmp_path: Path) -> None:
    with (
        running(sys.executable, "-c", BUSY, env={"OMP_NUM_THREADS": "4"}) as busy,
        agent(tmp_path, pids=(busy.pid,), disks=(str(tmp_path),)),
    ):
        worker_where(tmp_path, busy.pid, lambda found: bool(found.cpu_percent))
        before_s, before = time.monotonic(), _cpu_s(busy.pid)
        seen: dict[float, float] = {}
        eventually(lambda: len(_gather(seen, _percents(tmp_path, busy.pid))) >= 6)
        truth = 100 * (_cpu_s(busy.pid) - before) / (time.monotonic() - before_s)
        found = worker(tmp_path, busy.pid)
        resident = int(Path(f"/proc/{busy.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        latest = report(tmp_path).latest
    assert found is not None
    assert sum(seen.values()) / len(seen) == pytest.approx(truth, abs=25)  # two percent of a tick each
    assert found.memory == pytest.approx(resident, rel=0.02)
    assert found.status is WorkerStatus.RUNNING
    assert found.omp_threads == 4
    assert abs(found.started_s - time.time()) < 600
    assert latest.cpu is not None
    assert latest.cpu.cores == len(os.sched_getaffinity(0))
    assert latest.memory is not None
    assert latest.disks[0].total_bytes > 0


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _gather(into: dict[float, float], new: dict[float, float]) -> dict[float, float]:
    into.update(new)
    return into


def _percents(folder: Path, pid: int) -> dict[float, float]:
    latest, found = report(folder).latest, worker(folder, pid)
    return {latest.at_s: found.cpu_percent} if found and found.cpu_percent is not None else {}


def test_the_time_of_children_that_come_and_go_is_counted(tmp_path: Path) -> None:
    script = f"while :; do {sys.executable} -c 'for i in range(3000000): pass'; done"
    with running("bash", "-c", script) as shell, agent(tmp_path, pids=(shell.pid,)):
        eventually(lambda: (cpu := report(tmp_path).latest.cpu) is not None and (cpu.used_percent or 0) > 20)


def test_a_worker_that_was_stopped_or_became_a_zombie_is_shown_so(tmp_path: Path) -> None:
    zombie = (
        "import os, time\npid = os.fork()\nif not pid: os._exit(1)\nprint(pid, flush=True)\ntime.sleep(600)"
    )
    with running(sys.executable, "-c", IDLE) as idle, agent(tmp_path, pids=(idle.pid,)):
        worker_where(tmp_path, idle.pid, lambda found: found.status is WorkerStatus.SLEEPING)
        idle.send_signal(signal.SIGSTOP)
        worker_where(tmp_path, idle.pid, lambda found: found.status is WorkerStatus.STOPPED)
        idle.kill()  # its parent, this test, does not wait for it yet
    with subprocess.Popen([sys.executable, "-c", zombie], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        with agent(tmp_path, pids=(parent.pid,)):
            worker_where(tmp_path, parent.pid, lambda found: found.children == 1)
        assert Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
        parent.kill()


def test_a_rank_that_dies_while_others_run_is_shown_as_dead(tmp_path: Path) -> None:
    with running(sys.executable, "-c", IDLE, env={"RANK": "0"}) as zero:
        one = subprocess.Popen([sys.executable, "-c", IDLE], env={**os.environ, "RANK": "1"})
        with agent(tmp_path, pids=(zero.pid, one.pid)):
            worker_where(tmp_path, one.pid, lambda found: found.rank == 1)
            one.kill()
            worker_where(tmp_path, one.pid, lambda found: found.status is WorkerStatus.ZOMBIE)
            one.wait()
            worker_where(tmp_path, one.pid, lambda found: found.status is WorkerStatus.DEAD)
            assert worker(tmp_path, zero.pid) is not None
            assert report(tmp_path).ended_s is None


def test_a_process_that_was_never_there_is_not_found(tmp_path: Path) -> None:
    with running(sys.executable, "-c", IDLE) as idle, agent(tmp_path, pids=(idle.pid, 2**22 - 1)):
        worker_where(tmp_path, 2**22 - 1, lambda found: found.status is WorkerStatus.NOT_FOUND)


def test_the_agent_ends_with_the_last_process_and_says_when(tmp_path: Path) -> None:
    with running(sys.executable, "-c", IDLE) as idle, agent(tmp_path, pids=(idle.pid,)) as process:
        worker_where(tmp_path, idle.pid, lambda found: found.memory is not None)
        killed_s = time.time()
        idle.kill()
        assert process.wait(300) == 0
        assert killed_s - 1 <= (report(tmp_path).ended_s or 0) <= time.time() + 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_agent_with_a_last_report(tmp_path: Path, number: signal.Signals) -> None:
    with running(sys.executable, "-c", IDLE) as idle, agent(tmp_path, pids=(idle.pid,)) as process:
        worker_where(tmp_path, idle.pid, lambda found: found.memory is not None)
        process.send_signal(number)
        assert process.wait(300) == 0
        assert report(tmp_path).ended_s is not None


def test_the_agent_ends_when_its_folder_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    with running(sys.executable, "-c", IDLE) as idle, agent(folder, pids=(idle.pid,)) as process:
        worker_where(folder, idle.pid, lambda found: found.memory is not None)
        folder.rename(tmp_path / "removed")
        assert process.wait(300) == 0
        assert not folder.exists()


def test_an_agent_makes_way_for_a_newer_one(tmp_path: Path) -> None:
    with running(sys.executable, "-c", IDLE) as idle, agent(tmp_path, pids=(idle.pid,)) as old:
        worker_where(tmp_path, idle.pid, lambda found: found.memory is not None)
        with agent(tmp_path, pids=(idle.pid,)) as new:
            assert old.wait(300) == 0
            assert new.poll() is None
            assert report(tmp_path).ended_s is None


def test_the_agent_ends_after_its_lifetime(tmp_path: Path) -> None:
    with (
        running(sys.executable, "-c", IDLE) as idle,
        agent(tmp_path, pids=(idle.pid,), lifetime_s=1.0) as process,
    ):
        assert process.wait(300) == 0


def test_the_agent_gives_way_to_the_job_in_everything(tmp_path: Path) -> None:
    with running(sys.executable, "-c", IDLE) as idle, agent(tmp_path, pids=(idle.pid,)) as process:
        worker_where(tmp_path, idle.pid, lambda found: found.memory is not None)
        proc = Path(f"/proc/{process.pid}")
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == 19
        assert (proc / "oom_score_adj").read_text().strip() == "1000"
        assert (proc / "cwd").readlink() == Path("/")
        assert "Max core file size        0" in (proc / "limits").read_text()
        eventually(lambda: not [name for name in open_files(process.pid) if name.startswith(str(tmp_path))])
        memory = (proc / "smaps_rollup").read_text()
    pss_kib = int(memory.partition("\nPss:")[2].split()[0])
    assert pss_kib <= 24 * 1024  # benchmarks/overhead.py measures it


def test_a_suspicious_line_is_noticed_but_not_one_that_was_there_before(tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_text("Traceback of an earlier run\n")
    folder = tmp_path / "job"
    folder.mkdir()
    with running(sys.executable, "-c", IDLE) as idle, agent(folder, pids=(idle.pid,), logs=(str(log),)):
        worker_where(folder, idle.pid, lambda found: found.memory is not None)
        assert report(folder).suspicious_log_s is None
        with log.open("a") as file:
            file.write("RuntimeError: CUDA out of memory\n")
        eventually(lambda: report(folder).suspicious_log_s is not None)


def test_wrong_options_are_refused_in_one_line() -> None:
    module = agent_command(AgentOptions("/f", "8"))[:3]
    result = subprocess.run(
        [sys.executable, *module, "--folder=f"], capture_output=True, text=True, check=False, timeout=300
    )
    assert result.returncode == 64
    assert result.stderr.count("\n") == 1
    assert not result.stdout


def test_a_word_that_was_there_before_is_not_found_again_at_its_end(tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_text("an earlier error\n")
    logs = Logs((str(log),))
    logs.skip_old()
    for text, is_suspicious in (("step 1\n", False), ("fail", False), ("ed\n", True), ("step 2\n", False)):
        with log.open("a") as file:
            file.write(text)
        assert logs.look() is is_suspicious, text
    log.write_text("killed\n")  # the log was truncated
    assert logs.look()
    assert not logs.look()
