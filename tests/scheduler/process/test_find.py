from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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


def test_processes_are_found_by_what_they_run_without_their_children(tmp_path: Path) -> None:
    waits, forks, name = tmp_path / "a/train.py", tmp_path / "b/train.py", f"{tmp_path.name}/a/train.py"
    for script, code in ((waits, _WAITS), (forks, _FORKS)):
        script.parent.mkdir()
        script.write_text(code)
    with (
        running(sys.executable, str(waits)) as first,
        running(sys.executable, str(forks)) as second,
        running(sys.executable, "-c", _WAITS, str(waits)) as other,
    ):
        found = [[process.id.pid for process in find_processes(str(script))] for script in (waits, forks)]
        assert [process.id.pid for process in find_processes(name)] == [first.pid]
        assert other.poll() is None
    assert found == [[first.pid], [second.pid]]


def test_jobmon_its_ancestors_and_what_it_runs_are_not_found(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(_WAITS)
    jobmon = tmp_path / "jobmon"
    jobmon.write_text("import subprocess, sys; subprocess.run([sys.executable, *sys.argv[1:]])")
    with (
        running(sys.executable, str(jobmon), str(script)),
        subprocess.Popen(
            [sys.executable, str(_written(tmp_path / "show.py", _SHOW))], stdout=subprocess.PIPE, text=True
        ) as shell,
    ):
        out, _ = shell.communicate(timeout=300)
        assert (find_processes(str(script)), out) == ([], "[]\n")


@contextmanager
def running(*argv: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that has printed a line, and runs until the end of the block."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.stdin is not None
        process.stdin.close()


def _written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


# finds its own script, which its parent is running
_SHOW = """
import subprocess, sys
code = "import sys; from jobmon_core.scheduler.process import find; print(find.find_processes(sys.argv[1]))"
subprocess.run([sys.executable, "-c", code, sys.argv[0]], check=True)
"""
