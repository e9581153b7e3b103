"""The process that an agent's program starts: what it prints, when it ends, and what it costs."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import psutil
import pytest

from jobmon.mcp.protocol import MAX_LINE_BYTES
from jobmon.mcp.server import lines_of
from jobmon_core.context import Context
from tests.support.dialogue import talk
from tests.support.job_records import failed, job_of
from tests.support.many_jobs import fill
from tests.support.mcp import McpServer, call, request
from tests.support.waiting import eventually


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with eight jobs and four that ended."""
    return fill(tmp_path / "home", 8, ended=4).home.root


def test_what_is_asked_before_the_end_of_input_is_answered(home: Path) -> None:
    lines = request("ping", request_id=1) + call("status", request_id=2) + call("nothing", request_id=3)
    with McpServer(home) as server:
        exit_code, answers, err = server.ends_with(lines + request("ping", request_id=4).rstrip())
    assert (exit_code, err) == (0, "")
    assert sorted(answer["id"] for answer in answers) == [1, 2, 3, 4]


def test_an_empty_input_ends_it_at_once_and_quietly(home: Path) -> None:
    with McpServer(home) as server:
        assert server.ends_with(b"\n \r\n") == (0, [], "")


def test_a_line_that_is_too_long_is_refused_and_the_next_one_answered(home: Path) -> None:
    with McpServer(home) as server:
        server.send(b"x" * (MAX_LINE_BYTES + 1))
        assert server.answer()["error"]["message"] == "a line has at most 1048576 bytes"
        server.send(b"x" * 3 * MAX_LINE_BYTES, b"\n", request("ping"))
        assert server.answer()["result"] == {}


def test_calls_run_side_by_side_and_a_ping_need_not_wait(home: Path) -> None:
    with McpServer(home) as server:
        server.send(
            *(call("status", request_id=number) for number in range(4)), request("ping", request_id="p")
        )
        assert server.answer()["id"] == "p"
        server.send(*(call("status", request_id=number) for number in range(4, 10)))
        assert sorted(server.answer()["id"] for _ in range(10)) == [*range(10)]


def test_a_child_that_is_killed_is_an_error_of_its_call_only(home: Path) -> None:
    with McpServer(home) as server:
        server.send(request("ping"))
        server.answer()
        results, stdout = list[dict[str, Any]](), server.process.stdout
        assert stdout

        def is_killed_in_time() -> bool:
            """Call the tool, and kill what runs it, which on a busy machine may have ended by then."""
            server.send(call("status"))
            while not (found := _grandchildren(server.process.pid)):
                if select.select([stdout], [], [], 0)[0]:
                    break
            for each in found:
                with suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            results.append(server.answer()["result"])
            return bool(results[-1]["isError"])

        eventually(is_killed_in_time)
        assert "killed" in results[-1]["content"][0]["text"]
        assert server.shown("status")["jobs"]


def test_an_answer_whose_process_is_killed_while_it_writes_does_not_stop_the_others(home: Path) -> None:
    with McpServer(home) as server:
        pid, stdout = server.process.pid, server.process.stdout
        assert stdout
        server.send(request("ping"))
        server.answer()
        filled = 0
        with open(f"/proc/{pid}/fd/1", "wb", buffering=0) as pipe:
            os.set_blocking(pipe.fileno(), False)
            while written := pipe.write(bytes(4096)):
                filled += written
        server.send(call("status"))
        eventually(lambda: bool(_writers(pid)))
        os.kill(_writers(pid)[0], signal.SIGKILL)
        eventually(lambda: not _writers(pid))
        assert stdout.read(filled) == bytes(filled)
        server.send(request("ping", request_id="after"))
        assert server.answer()["id"] == "after"


def _writers(pid: int) -> list[int]:
    """Return the children of a server that have the lock of its stdout."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    locks = [line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines()]
    return [int(lock[4]) for lock in locks if lock[1] == "POSIX" and lock[4] in children]


def _grandchildren(pid: int) -> list[int]:
    """Return what runs the calls of a server: each has a parent of its own, which answers."""
    found = []
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
        with suppress(OSError):  # it has just ended
            found += Path(f"/proc/{child}/task/{child}/children").read_text(encoding="ascii").split()
    return [*map(int, found)]


def test_a_call_that_takes_too_long_is_ended_and_the_next_one_answered(home: Path) -> None:
    program = "from jobmon.mcp.server import Server; Server(can_act=False, roots=[], timeout_s=0).serve()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=call("status", request_id=1) + call("show", {"job": "8123"}, 2),
        env={**os.environ, "JOBMON_HOME": str(home)},
        capture_output=True,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(answer["id"] for answer in answers) == [1, 2]
    assert all("no answer in time" in answer["result"]["content"][0]["text"] for answer in answers)


def test_a_client_that_is_gone_ends_it_quietly(home: Path) -> None:
    with McpServer(home) as server:
        assert server.process.stdout
        server.process.stdout.close()
        server.send(request("ping"))
        server.process.wait(300)
        assert server.process.returncode == 141
        assert server.process.stderr
        assert server.process.stderr.read() == b""


def test_sigterm_ends_it_quietly(home: Path) -> None:
    with McpServer(home) as server:
        server.send(request("ping"))
        server.answer()
        server.process.send_signal(signal.SIGTERM)
        out, err = server.process.communicate(timeout=300)
    assert (server.process.returncode, out, err) == (-signal.SIGTERM, b"", b"")


def test_it_stays_small_also_after_calls_and_its_first_answer_costs_little(home: Path) -> None:
    spent_s = []
    for _ in range(3):  # a busy machine takes more of the processor for the same
        with McpServer(home) as server:
            process = psutil.Process(server.process.pid)
            server.send(request("tools/list"))
            server.answer()
            times = process.cpu_times()
            spent_s.append(times.user + times.system)
            for _ in range(3):
                server.shown("status")
            assert process.memory_full_info().uss < 6 * 2**20
    # the first answer within 0.2 s on a machine that has nothing else to do
    assert min(spent_s) < 0.2


def test_it_loads_no_package_and_little_of_jobmon(home: Path) -> None:
    with McpServer(home) as server:
        server.send(request("ping"))
        server.answer()
        maps = Path(f"/proc/{server.process.pid}/maps").read_text(encoding="utf-8")
    assert "site-packages" not in maps


def test_a_line_that_is_too_long_costs_only_itself() -> None:
    text = b"one\r\n\n  two \n0123456789\n0123456789a\n" + b" " * 99 + b"\n" + b"long" * 9 + b"\nthree\nfour"
    found = [*lines_of(BytesIO(text), 10)]
    assert found == [b"one", b"two", b"0123456789", b"0123456789a", b"longlonglon", b"three", b"four"]


def test_twenty_jobs_take_at_most_2000_characters_whatever_they_are_called(tmp_path: Path) -> None:
    ctx = fill(tmp_path / "home", 0)
    for number in range(25):
        name = f"{'名' * 20} {number}" if number % 2 else f"train-llama-70b-seed-{number}-long-context"
        ctx.store.save(job_of(failed(str(number)), job_id=81_234_560 + number, name=name))
    with McpServer(ctx.home.root) as server:
        result = server.call("status")
    shown = result["structuredContent"]
    assert len(json.dumps(shown, separators=(",", ":"))) <= 2_000
    assert len(result["content"][0]["text"]) <= 2_000
    assert len(shown["jobs"]) + shown["left_out"] == 25
    assert all(set(job) >= {"job_id", "state"} for job in shown["jobs"])


def test_twenty_usual_jobs_are_all_listed(tmp_path: Path) -> None:
    ctx: Context = fill(tmp_path / "home", 16, ended=4)
    with McpServer(ctx.home.root) as server:
        result = server.call("status")
    assert len(result["structuredContent"]["jobs"]) == 20
    assert len(result["content"][0]["text"]) <= 2_000


def test_a_terminal_is_told_what_it_waits_for(home: Path) -> None:
    step = ("Ctrl-D ends it", "\x04")
    exit_code, said = talk(["mcp"], [step], home, {**os.environ, "JOBMON_HOME": str(home)})
    assert exit_code == 0, said
