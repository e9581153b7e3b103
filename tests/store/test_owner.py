from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.store.owner import Liveness, Owner, OwnerRecord
from tests.support.processes import stat_of
from tests.support.waiting import eventually

STALE_AFTER_S = 900.0


def life(owner: Owner, heartbeat_s: float | None = None) -> Liveness:
    return owner.liveness(time.time() if heartbeat_s is None else heartbeat_s, STALE_AFTER_S)


def test_this_process_is_alive_however_old_its_heartbeat() -> None:
    assert life(Owner.this_process(), heartbeat_s=0.0) is Liveness.ALIVE


def test_a_process_that_got_the_same_pid_later_is_another_one() -> None:
    this = Owner.this_process()
    assert life(replace(this, start_ticks=this.start_ticks + 1)) is Liveness.DEAD


def test_nothing_survives_a_reboot() -> None:
    assert life(replace(Owner.this_process(), boot_id="another")) is Liveness.DEAD


def test_a_pid_that_nobody_has_is_dead() -> None:
    assert life(replace(Owner.this_process(), pid=2**22 + 1)) is Liveness.DEAD


@pytest.mark.parametrize("pid", [0, -1])
def test_a_pid_that_no_process_can_have_is_dead(pid: int) -> None:
    assert life(replace(Owner.this_process(), pid=pid, start_ticks=0)) is Liveness.DEAD


def test_an_owner_on_another_host_lives_while_it_gives_signs_of_life() -> None:
    elsewhere = replace(Owner.this_process(), host="another-login-node", pid=1)
    assert life(elsewhere) is Liveness.REMOTE
    assert life(elsewhere, time.time() - STALE_AFTER_S - 1) is Liveness.STALE


def test_an_owner_keeps_its_identity_through_an_exec() -> None:
    show = "from jobmon_core.store.owner import Owner; print(Owner.this_process(), flush=True)"
    again = f"{show}; import os, sys; os.execv(sys.executable, ['python', '-c', {show!r}])"
    done = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == after


def test_a_zombie_watches_nothing() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        eventually(lambda: stat_of(process.pid)[0] == "Z")
        owner = replace(Owner.this_process(), pid=process.pid, start_ticks=int(stat_of(process.pid)[19]))
        assert life(owner) is Liveness.DEAD


def test_a_process_is_known_whatever_it_calls_itself(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 ("
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "60"]) as process:
        try:
            eventually(lambda: ") Z" in Path(f"/proc/{process.pid}/comm").read_text(encoding="ascii"))
            ticks = int(stat_of(process.pid)[19])
            assert life(replace(Owner.this_process(), pid=process.pid, start_ticks=ticks)) is Liveness.ALIVE
        finally:
            process.kill()


def test_a_record_names_its_owner_and_when_it_last_gave_a_sign(tmp_path: Path) -> None:
    record, this = OwnerRecord(tmp_path / "x.owner"), Owner.this_process()
    assert record.read() is None
    record.write(this)
    os.utime(record.path, (0, 0))
    assert record.read() == (this, 0.0)
    record.heartbeat()
    found = record.read()
    assert found is not None
    assert time.time() - found[1] < 60
    record.remove()
    assert record.read() is None
    record.remove()  # nothing is left to do
    record.heartbeat()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"host": 1}', "[" * 100_000, "\x00"])
def test_a_record_that_makes_no_sense_names_nobody(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.owner"
    path.write_text(content, encoding="ascii")
    assert OwnerRecord(path).read() is None
