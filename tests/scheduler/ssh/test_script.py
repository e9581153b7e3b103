"""The scripts, run by this machine's /bin/sh as on a host, and what is read from their answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.node.hosts.model import HostProcess, SeenRun
from jobmon_core.domain.node.hosts.settings import Host
from jobmon_core.domain.node.telemetry.model import Memory
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.answer import Answer, read_answer
from jobmon_core.scheduler.ssh.connection import answer, framed
from jobmon_core.system.runner import Ran
from tests.support.waiting import eventually

BOX = Host("box", "box")
FORGED = "exit 7 0 1"
ARGUMENT = f"an argument of {os.getpid()}"  # tests that run at the same time have their own
AWKWARD = "a 'b' $(touch hit) \"c\" * ; é.log"


def reply(text: str, home: Path) -> str:
    """Run a script as ssh does, in a home directory; return what counts of its output."""
    done = subprocess.run(
        ["/bin/sh", "-s"],
        input=framed(text, "N").encode(),
        capture_output=True,
        check=False,
        cwd=home,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "TMUX_TMPDIR": str(home)},
    )
    found = answer(
        Ran(("ssh",), done.returncode, f"noise\n{done.stdout.decode()}", done.stderr.decode()), "N", BOX
    )
    assert isinstance(found, str), found
    return found


def look(home: Path, *lines: str) -> Answer:
    return read_answer(reply(script.look(lines, "~"), home))


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that writes to a log of its own and waits."""
    with (tmp_path / AWKWARD).open("wb") as log:
        log.write(b"step 1/2\n")
        process = subprocess.Popen(
            [sys.executable, "-c", "input()", ARGUMENT],
            stdin=subprocess.PIPE,
            stdout=log,
            cwd=tmp_path,
        )
    with process:
        yield process
        process.kill()


def test_one_look_shows_the_host_processes_markers_and_logs(
    tmp_path: Path, program: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "DONE x").write_text("")
    log = tmp_path / AWKWARD
    log.write_bytes(b"\xff\x00 first\nsecond \xe2\x82")
    size = log.stat().st_size
    found = look(
        tmp_path,
        *("process 1", f"process {program.pid}", "process 4194303"),
        script.marker_line(3, "~/DONE x"),
        script.marker_line(4, "missing"),
        script.log_line(5, AWKWARD, "", 0, 1000),
        script.log_line(6, str(log), str(log.stat().st_ino), 3, 1000),
        script.log_line(7, str(log), "999999", 3, 7),
        script.log_line(8, f"~/{AWKWARD}", str(log.stat().st_ino), size, 1000),
        script.log_line(9, "/dev/zero", "", 0, 1000),
    ).look
    assert found.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found.machine == os.uname().nodename
    seen = found.processes[program.pid]
    assert seen is not None
    assert (seen.parent, seen.runs) == (os.getpid(), True)
    process = HostProcess(program.pid, seen.start_ticks, found.boot_id, found.pid_namespace)
    assert found.is_alive(process) is True
    assert found.processes[4194303] is None
    assert 0 <= found.clock_there_s - found.started_there_s(seen.start_ticks) < 600
    assert set(found.markers) == {3}
    assert [found.logs[number].data for number in (5, 6, 7, 8)] == [
        log.read_bytes(),
        log.read_bytes()[3:],
        b"cond \xe2\x82",  # another file: its end
        b"",
    ]
    assert [found.logs[number].from_bytes for number in (5, 6, 7, 8)] == [0, 3, size - 7, size]
    assert 9 not in found.logs
    (disk,), node = found.usage.disks, found.usage.node
    assert 0 < disk.free_bytes < disk.total_bytes
    assert 0 < (node.memory_available or 0) < (node.memory_total or 0)
    assert not (tmp_path / "hit").exists()


def test_a_look_at_a_dead_process_says_that_it_is_gone(
    tmp_path: Path, program: subprocess.Popen[bytes]
) -> None:
    seen = look(tmp_path, f"process {program.pid}").look
    status = seen.processes[program.pid]
    assert status is not None
    process = HostProcess(program.pid, status.start_ticks, seen.boot_id, seen.pid_namespace)
    program.kill()
    # on a busy machine, it takes a moment to die; then it is a zombie
    eventually(lambda: look(tmp_path, f"process {program.pid}").look.is_alive(process) is False)
    program.wait()
    gone = look(tmp_path, f"process {program.pid}").look
    assert (gone.processes[program.pid], gone.is_alive(process)) == (None, False)


def test_a_process_is_found_by_the_log_that_it_writes_or_by_its_command_line(
    tmp_path: Path, program: subprocess.Popen[bytes]
) -> None:
    lines = (script.writers_line(AWKWARD), script.running_line(f"t() {ARGUMENT}"))
    both = [read_answer(reply(script.examine([line]), tmp_path)) for line in lines]
    assert [each.pids for each in both] == [[program.pid], [program.pid]]
    found = both[0]
    details = found.details[program.pid]
    assert details.argv == (sys.executable, "-c", "input()", ARGUMENT)
    assert (details.workdir, details.stdout) == (str(tmp_path), str(tmp_path / AWKWARD))


def test_a_command_that_never_started_is_kept_from_starting(tmp_path: Path) -> None:
    untaken = look(tmp_path, script.run_line(1, "r1", prevent_start=False)).look.runs
    assert untaken == {1: SeenRun(has_begun=False)}
    for _ in range(2):  # later looks say the same
        taken = look(tmp_path, script.run_line(1, "r1", prevent_start=True)).look.runs
        assert taken == {1: SeenRun(has_begun=True, is_unstarted=True)}


@pytest.mark.parametrize(
    ("written", "namespace", "machine"),
    [
        ("", "", ""),  # by an earlier version
        ("pid:[4026531836]", "pid:[4026531836]", ""),
        ("- login1", "", "login1"),
        ("pid:[4026531836] login1", "pid:[4026531836]", "login1"),
    ],
)
def test_the_processes_of_a_command_are_read_with_what_the_host_shows_of_them(
    tmp_path: Path, written: str, namespace: str, machine: str
) -> None:
    folder = tmp_path / ".local/state/jobmon/r1"
    (folder / "taken").mkdir(parents=True)
    (folder / "pid").write_text(f"76 990 77 1000 boot-1 {written}\n")
    run = look(tmp_path, script.run_line(1, "r1", prevent_start=False)).look.runs[1]
    assert run.wrapper == HostProcess(76, 990, "boot-1", namespace)
    assert run.command == HostProcess(77, 1000, "boot-1", namespace)
    assert run.machine == machine


def test_the_files_of_a_folder_are_counted_and_the_latest_ones_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "LATEST_FILES", 3)
    folder = tmp_path / AWKWARD / "sub"
    folder.mkdir(parents=True)
    for number in range(9):
        file = folder / f"part {number} 'x'.pt"
        file.write_text("x" * 10)
        os.utime(file, (number, 1_000_000 + number))
    (folder / "link").symlink_to(folder / "part 8 'x'.pt")
    (folder / f"a\n{FORGED}").write_text("x" * 10)
    whole = look(tmp_path, script.files_line(7, AWKWARD), script.files_line(8, "missing")).look
    found = whole.files[7]
    assert (found.count, found.size_bytes, found.is_partial, found.problem) == (10, 100, False, "")
    assert [(each.name, each.size_bytes, each.modified_s) for each in found.files[1:]] == [
        ("sub/part 8 'x'.pt", 10, 1_000_008.0),
        ("sub/part 7 'x'.pt", 10, 1_000_007.0),
    ]
    assert whole.files[8].problem == "no such folder yet"
    assert whole.runs == {}
    monkeypatch.setattr(script, "MAX_FILES", 4)
    part = look(tmp_path, script.files_line(7, AWKWARD)).look.files[7]
    assert (part.count, part.is_partial) == (4, True)
    (tmp_path / "empty").mkdir()
    empty = look(tmp_path, script.files_line(7, "empty")).look.files[7]
    assert (empty.count, empty.files, empty.is_partial) == (0, (), False)


def test_only_what_jobmon_made_is_removed(tmp_path: Path) -> None:
    runs = tmp_path / ".local/state/jobmon"
    for name in ("a1", "b2", "target"):
        (runs / name / "taken").mkdir(parents=True)
        for file in ("run.sh", "exit", "pid", "output.log", "run.77"):
            (runs / name / file).write_text("x")
    (runs / "b2/results").mkdir()
    (runs / "b2/results/model").write_text("of the user")
    (runs / "link").symlink_to(runs / "target")
    (runs / "a1/exit").unlink()
    (runs / "a1/exit").symlink_to(runs / "target/exit")
    lines = (script.remove_line(job, name) for job, name in enumerate(("a1", "b2", "link", "missing"), 1))
    assert look(tmp_path, *lines).look.removed == (1, 2, 3, 4)
    assert not (runs / "a1").exists()
    assert [each.name for each in (runs / "b2").iterdir()] == ["results"]
    assert (runs / "b2/results/model").read_text() == "of the user"
    assert len(list((runs / "target").iterdir())) == 6
    assert (runs / "link").is_symlink()


def test_no_name_on_a_host_makes_up_a_line_of_the_answer(tmp_path: Path) -> None:
    """dash's echo turns backslash and n into a newline; a folder may have any name."""
    code = "import ctypes; ctypes.CDLL(None).prctl(15, b'\\\\nboot 1\\\\c'); print(1, flush=True); input()"
    for name in (f"a\\n{FORGED}\\c", f"b\n{FORGED}", f"c\r{FORGED}", f"d\x85{FORGED}"):
        folder = tmp_path / name
        folder.mkdir()
        with (folder / "log").open("w+") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", code, f"x\r{FORGED}"], cwd=folder, stdin=subprocess.PIPE, stdout=log
            )
            with process:
                eventually(lambda: bool((folder / "log").stat().st_size))  # noqa: B023 - called at once
                text = reply(script.examine([f"details {process.pid}"]), tmp_path)
                process.kill()
        assert not [line for line in text.split("\n") if line.startswith(("exit", "boot 1"))]
        found = read_answer(f"run 7 taken\n{text}")
        assert found.look.runs == {7: SeenRun(has_begun=True)}
        assert found.look.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert found.look.processes[process.pid]
        assert FORGED in found.details[process.pid].workdir
        assert found.details[process.pid].stdout.endswith("/log")


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x1c", "\x85", "\u2028"])
def test_only_a_newline_ends_a_line_of_an_answer(end: str) -> None:
    found = read_answer(f"run 7 taken\npane %1|7|0||||0|0|x{end}{FORGED}\nboot b")
    assert found.look.runs == {7: SeenRun(has_begun=True)}
    assert found.look.boot_id == "b"


def test_an_incomplete_script_does_nothing(tmp_path: Path) -> None:
    """The connection may be cut at any place of the script."""
    whole = framed(f"mkdir {tmp_path}/began", "N")
    for end in range(0, len(whole) - 2, 7):
        subprocess.run(["/bin/sh", "-s"], input=whole[:end], capture_output=True, text=True, check=False)
        assert not (tmp_path / "began").exists(), whole[:end]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "proc",
        "proc 7 (x) S",
        "gone x",
        "pane 1|2",
        "log 1 2",
        "log 1 2 3 4 5\n!!!\nend",
        "exit 1 2 3",
        "df",
    ],
)
def test_a_damaged_line_costs_that_line(text: str) -> None:
    found = read_answer(f"{text}\nboot b1\ngone 5")
    assert (found.look.boot_id, found.look.processes) == ("b1", {5: None})
    assert (found.look.logs, found.look.runs) == ({}, {})


def test_figures_of_memory_and_disk_are_read() -> None:
    text = (
        "memory.max 1000\nmemory.current 600\noom_kill 2\nMemTotal: 4 kB\nMemAvailable: 1 kB\n"
        "df Filesystem 1024-blocks Used Available Capacity Mounted on\ndf /dev/sda 100 80 20 80% /data\n"
        "dfi Filesystem Inodes IUsed IFree IUse% Mounted on\ndfi /dev/sda 0 0 0 - /data\n"
    )
    look = read_answer(text).look
    assert (look.usage.memory, look.oom_kills) == (Memory(600, 1000, source="cgroup of the host"), 2)
    assert look.usage.disks == (Disk(20 * 1024, 100 * 1024),)  # this file system counts no inodes
    without_limit = read_answer(text.replace("memory.max 1000", "memory.max max")).look.usage
    assert without_limit.memory is None
    assert (without_limit.node.memory_available, without_limit.node.memory_total) == (1024, 4 * 1024)


def test_a_dead_pane_may_have_no_pid() -> None:
    (pane,) = read_answer("pane %1||1|3||0|0|train").look.panes
    assert (pane.pid, pane.is_dead, pane.status, pane.session) == (None, True, 3, "train")


@pytest.mark.parametrize(
    ("sent", "number"), [("9", 9), ("kill", 9), ("SIGTERM", 15), ("", None), ("0", None)]
)
def test_the_signal_of_a_pane_is_a_number_or_a_name(sent: str, number: int | None) -> None:
    (pane,) = read_answer(f"pane %1|7|1||{sent}|0|0|a|b").look.panes
    assert (pane.signal, pane.status, pane.session, pane.is_dead) == (number, None, "a|b", True)


def test_the_processes_of_a_lineage_are_found_by_their_environment(tmp_path: Path) -> None:
    lineage = f"{os.getpid():x}abc"
    child = subprocess.Popen(["/bin/sleep", "1000"], env={"JOBMON_LINEAGE": lineage})
    try:
        other = subprocess.Popen(["/bin/sleep", "1000"], env={"JOBMON_LINEAGE": f"{lineage}0", "X": lineage})
        try:
            found = read_answer(reply(script.examine([script.lineage_line(lineage)]), tmp_path))
        finally:
            other.kill()
            other.wait()
    finally:
        child.kill()
        child.wait()
    assert found.pids == [child.pid]
    assert found.has_searched
    found = read_answer(reply(script.examine([script.lineage_line(lineage)]), tmp_path))
    assert (found.pids, found.has_searched) == ([], True)


def test_without_a_grep_that_reads_environments_nothing_is_claimed(tmp_path: Path) -> None:
    (tmp_path / "grep").write_text("#!/bin/sh\nexit 2\n")
    (tmp_path / "grep").chmod(0o755)
    text = f'PATH="$HOME:$PATH"\n{script.examine([script.lineage_line("abc")])}'
    assert not read_answer(reply(text, tmp_path)).has_searched


def test_the_files_of_a_folder_are_listed_with_its_path_and_their_ends_are_read(tmp_path: Path) -> None:
    folder = tmp_path / AWKWARD
    (folder / "checkpoint-2/deep").mkdir(parents=True)
    (folder / "checkpoint-2/model.pt").write_bytes(b"head" + b"x" * 1000 + b"tail")
    (folder / "checkpoint-2/deep/a b").write_bytes(b"ab")
    (folder / "link").symlink_to(folder / "checkpoint-2/model.pt")
    lines = (
        script.saved_files_line(7, f"~/{AWKWARD}", 2, 100),
        script.saved_files_line(8, "~/none", 2, 100),
        script.ends_line(1, f"{folder}/checkpoint-2/model.pt", 4),
        script.ends_line(2, f"{folder}/checkpoint-2/deep/a b", 4),
        script.ends_line(3, f"{folder}/none", 4),
    )
    found = read_answer(reply(script.examine(lines), tmp_path))
    assert found.folders == {7: str(folder)}
    assert [(file.name, file.size_bytes) for file in found.look.files[7].files] == [
        ("checkpoint-2/model.pt", 1008)
    ]
    assert found.look.files[8].problem == "no such folder yet"
    assert found.heads == {1: b"head", 2: b"ab"}
    assert {key: (log.file.size_bytes, log.data) for key, log in found.look.logs.items()} == {
        1: (1008, b"tail"),
        2: (2, b"ab"),
    }
