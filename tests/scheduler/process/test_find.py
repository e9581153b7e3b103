from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from jobmon_core.scheduler.process.find import find_process, find_processes
from tests.support.waiting import eventually

_WAITS = "import sys; print(flush=True); sys.stdin.read()"
_FORKS = "import os, sys; pid = os.fork(); pid and print(flush=True); sys.stdin.read()"


def started(
    code: str, *arguments: str, stdout: int | None = None, stderr: int | None = None
) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=stdout, stderr=stderr)


def test_a_process_is_described_with_the_files_that_it_writes_to(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as file, started(_WAITS, "a b", stdout=file.fileno()) as child:
        eventually(lambda: log.stat().st_size > 0)
        process = find_process(child.pid)
        child.kill()
    assert process is not None
    assert process.argv == (sys.executable, "-c", _WAITS, "a b")
    assert (process.stdout, process.workdir) == (str(log), str(Path.cwd()))
    assert (process.id.pid, process.uid) == (child.pid, os.getuid())
    assert abs(process.started_s - time.time()) < 300


def test_a_pipe_or_a_deleted_file_is_no_log(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with log.open("wb") as file, started(_WAITS, stdout=subprocess.PIPE, stderr=file.fileno()) as child:
        assert child.stdout is not None
        child.stdout.readline()
        log.unlink()
        process = find_process(child.pid)
        child.kill()
    assert process is not None
    assert (process.stdout, process.stderr) == ("", "")


def test_a_pid_without_a_process_is_not_found() -> None:
    with started("pass") as child:
        child.wait()
    assert find_process(child.pid) is None


def test_a_thread_stands_for_its_process() -> None:
    with ThreadPoolExecutor() as pool:
        process = find_process(pool.submit(threading.get_native_id).result())
    assert process is not None
    assert process.id.pid == os.getpid()


def test_processes_are_found_by_their_command_lines_without_their_children() -> None:
    text = f"marker-{os.getpid()}"
    with (
        started(_WAITS, text, stdout=subprocess.PIPE) as first,
        started(_FORKS, text, stdout=subprocess.PIPE) as second,
        started(_WAITS, "other", stdout=subprocess.PIPE) as other,
    ):
        for child in (first, second, other):
            assert child.stdout is not None
            child.stdout.readline()
        found = [process.id.pid for process in find_processes(text)]
        for child in (first, second, other):
            assert child.stdin is not None
            child.stdin.close()
    assert found == [first.pid, second.pid]


def test_jobmon_itself_and_its_ancestors_are_not_found() -> None:
    text = f"marker-{os.getpid()}"
    with (
        started("import time; time.sleep(60)", "-m", "jobmon_core.monitor.main", text) as monitor,
        subprocess.Popen(
            [sys.executable, "-c", _SHOW, text], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        ) as shell,
    ):
        out, _ = shell.communicate(timeout=60)
        monitor.kill()
    assert out == "[]\n"


# finds a text that is in its own command line and in that of its parent
_SHOW = """
import subprocess, sys
code = "import sys; from jobmon_core.scheduler.process import find; print(find.find_processes(sys.argv[1]))"
subprocess.run([sys.executable, "-c", code, sys.argv[1]], check=True)
"""
