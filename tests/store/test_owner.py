"""Whether an owner runs, and which of several claimants becomes the owner without a lock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.store.owner import STALE_AFTER_S, Health, Owner, OwnerRecord
from jobmon_core.system.process import start_ticks
from tests.support.processes import python, said, stat_of
from tests.support.waiting import eventually

ME = Owner.this_process()
GONE = replace(ME, pid=2**22 + 1)
ELSEWHERE = replace(ME, host="another-login-node")
RACERS, RECORDS = 4, 60
RACER = """
import sys
from pathlib import Path
from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.store.owner import Owner, OwnerRecord
print("ready", flush=True)
sys.stdin.readline()
won = []
for path in sorted(Path(sys.argv[1]).glob("*.json")):
    try:
        OwnerRecord(path.with_suffix(".owner")).claim(Owner.this_process())
        won.append(path.stem)
    except AlreadyWatched:
        pass
print(*won, flush=True)
sys.stdin.readline()
"""


def life(owner: Owner, heartbeat_s: float | None = None) -> Health:
    return owner.health(time.time() if heartbeat_s is None else heartbeat_s)


def test_this_process_is_alive_with_any_heartbeat() -> None:
    assert life(Owner.this_process(), heartbeat_s=0.0) is Health.ALIVE


def test_a_reused_pid_is_not_the_owner() -> None:
    this = Owner.this_process()
    assert life(replace(this, start_ticks=this.start_ticks + 1)) is Health.DEAD


def test_no_owner_survives_a_reboot() -> None:
    assert life(replace(Owner.this_process(), boot_id="another")) is Health.DEAD


def test_an_owner_without_a_process_is_dead() -> None:
    assert life(replace(Owner.this_process(), pid=2**22 + 1)) is Health.DEAD


@pytest.mark.parametrize("pid", [0, -1])
def test_an_owner_with_an_impossible_pid_is_dead(pid: int) -> None:
    assert life(replace(Owner.this_process(), pid=pid, start_ticks=0)) is Health.DEAD


def test_an_owner_on_another_host_is_alive_while_its_heartbeat_is_recent() -> None:
    elsewhere = replace(Owner.this_process(), host="another-login-node", pid=1)
    assert life(elsewhere) is Health.REMOTE
    assert life(elsewhere, time.time() - STALE_AFTER_S - 1) is Health.STALE


def test_an_owner_keeps_its_identity_through_an_exec() -> None:
    show = "from jobmon_core.store.owner import Owner; print(Owner.this_process(), flush=True)"
    again = f"{show}; import os, sys; os.execv(sys.executable, ['python', '-c', {show!r}])"
    done = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, check=True)
    before, after = done.stdout.splitlines()
    assert before == after


def test_a_zombie_is_dead() -> None:
    with subprocess.Popen(["/bin/true"]) as process:
        eventually(lambda: stat_of(process.pid)[0] == "Z")
        owner = replace(Owner.this_process(), pid=process.pid, start_ticks=int(stat_of(process.pid)[19]))
        assert life(owner) is Health.DEAD


def test_a_process_is_recognized_under_any_program_name(tmp_path: Path) -> None:
    program = tmp_path / "a) Z 1 ("
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([str(program), "60"]) as process:
        try:
            eventually(lambda: ") Z" in Path(f"/proc/{process.pid}/comm").read_text(encoding="ascii"))
            ticks = int(stat_of(process.pid)[19])
            assert life(replace(Owner.this_process(), pid=process.pid, start_ticks=ticks)) is Health.ALIVE
        finally:
            process.kill()


def test_a_record_holds_the_owner_and_its_latest_heartbeat(tmp_path: Path) -> None:
    record, this = OwnerRecord(tmp_path / "x.owner"), Owner.this_process()
    assert record.read() is None
    record.write(this)
    os.utime(record.path, (0, 0))
    assert record.read() == (this, 0.0)
    record.heartbeat()
    dated = record.read()
    assert dated is not None
    assert time.time() - dated[1] < 60
    record.remove()
    assert record.read() is None
    record.remove()  # a second time without effect
    record.heartbeat()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"host": 1}', "[" * 100_000, "\x00"])
def test_a_damaged_record_names_no_owner(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.owner"
    path.write_text(content, encoding="ascii")
    assert OwnerRecord(path).read() is None


@pytest.fixture
def record(tmp_path: Path) -> OwnerRecord:
    return OwnerRecord(tmp_path / "12.owner")


@pytest.fixture
def neighbour() -> Iterator[Owner]:
    """Another running process of this host."""
    with subprocess.Popen(["/bin/sleep", "600"]) as process:
        yield replace(ME, pid=process.pid, start_ticks=start_ticks(process.pid) or 0)
        process.kill()


def silent(record: OwnerRecord, owner: Owner, for_s: float) -> None:
    record.write(owner)
    os.utime(record.path, (0, time.time() - for_s))


def owner_of(record: OwnerRecord) -> Owner | None:
    dated = record.read()
    return dated[0] if dated else None


def left_beside(record: OwnerRecord) -> list[str]:
    return sorted(
        path.name for path in record.path.parent.iterdir() if path.suffix not in (".owner", ".stamp")
    )


def test_a_job_without_an_owner_can_be_claimed(record: OwnerRecord) -> None:
    record.claim(ME)
    record.claim(ME)  # without effect
    assert owner_of(record) == ME
    assert left_beside(record) == []
    assert record.path.stat().st_mode & 0o777 == 0o600


def test_a_job_with_a_living_owner_cannot_be_claimed(record: OwnerRecord, neighbour: Owner) -> None:
    silent(record, neighbour, 10 * STALE_AFTER_S)
    with pytest.raises(AlreadyWatched, match=f"12 is watched by monitor {neighbour.pid} on {neighbour.host}"):
        record.claim(ME)
    assert owner_of(record) == neighbour


def test_a_job_of_another_host_can_be_claimed_once_its_owner_is_stale(record: OwnerRecord) -> None:
    silent(record, ELSEWHERE, STALE_AFTER_S - 60)
    with pytest.raises(AlreadyWatched, match="on another-login-node"):
        record.claim(ME)
    silent(record, ELSEWHERE, STALE_AFTER_S + 60)
    record.claim(ME)
    assert owner_of(record) == ME
    assert left_beside(record) == []


def test_a_job_with_a_dead_owner_can_be_claimed(record: OwnerRecord) -> None:
    record.write(GONE)
    record.claim(ME)
    assert owner_of(record) == ME


def test_a_claimant_that_was_killed_does_not_block_the_next_one(record: OwnerRecord) -> None:
    record.write(GONE)
    later = replace(GONE, start_ticks=GONE.start_ticks + 1)
    for before, killed in ((GONE, later), (later, replace(later, pid=later.pid + 1))):
        record._successor_of((before, 0.0)).write(killed)  # noqa: SLF001 - what a kill at that instant leaves
    record.claim(ME)
    assert owner_of(record) == ME
    assert left_beside(record) == []


def test_a_claim_in_progress_is_not_overtaken(record: OwnerRecord, neighbour: Owner) -> None:
    record.write(GONE)
    record._successor_of((GONE, 0.0)).write(neighbour)  # noqa: SLF001 - what stands there in that instant
    with pytest.raises(AlreadyWatched, match="12 is watched by"):
        record.claim(ME)
    assert owner_of(record) == GONE


def test_one_of_several_simultaneous_claimants_succeeds(tmp_path: Path) -> None:
    for number in range(RECORDS):
        (tmp_path / f"{number}.json").touch()
        if number % 3:
            silent(OwnerRecord(tmp_path / f"{number}.owner"), ELSEWHERE, 2 * STALE_AFTER_S)
        if number % 3 == 1:
            OwnerRecord(tmp_path / f"{number}.owner")._successor_of((ELSEWHERE, 0.0)).write(GONE)  # noqa: SLF001 - killed
    with ExitStack() as running:
        racers = [running.enter_context(python(RACER, str(tmp_path))) for _ in range(RACERS)]
        assert {said(racer) for racer in racers} == {"ready"}
        for racer in racers:
            go(racer)
        won = [said(racer).split() for racer in racers]
        named = {
            path.stem: owner.pid
            for path in tmp_path.glob("*.owner")
            if (owner := owner_of(OwnerRecord(path)))
        }
        assert sorted(job for jobs in won for job in jobs) == sorted(map(str, range(RECORDS)))
        assert named == {job: racer.pid for racer, jobs in zip(racers, won, strict=True) for job in jobs}
    assert list(tmp_path.glob("*.heir")) == []


def go(racer: subprocess.Popen[str]) -> None:
    assert racer.stdin is not None
    racer.stdin.write("\n")
    racer.stdin.flush()


def test_a_replaced_owner_learns_it_at_its_next_heartbeat_and_keeps_the_record(
    record: OwnerRecord,
) -> None:
    record.claim(ME)
    record.heartbeat()
    record.write(ELSEWHERE)
    with pytest.raises(AlreadyWatched, match=r"12 was adopted by monitor .* on another-login-node"):
        record.heartbeat()
    record.remove()
    assert owner_of(record) == ELSEWHERE


def test_a_heartbeat_is_compared_by_the_clock_of_the_file_system(record: OwnerRecord) -> None:
    record.write(ELSEWHERE)
    dated = record.read()
    assert dated is not None
    hours_off_s = dated[1] + 4 * 3600  # this host's clock
    assert ELSEWHERE.health(dated[1], lambda: hours_off_s) is Health.STALE
    assert abs(record.now() - dated[1]) < 60
    assert ELSEWHERE.health(dated[1], record.now) is Health.REMOTE


def test_a_heartbeat_far_in_the_future_does_not_count(record: OwnerRecord) -> None:
    silent(record, ELSEWHERE, -10 * STALE_AFTER_S)
    dated = record.read()
    assert dated is not None
    assert ELSEWHERE.health(dated[1], record.now) is Health.STALE


def test_a_folder_in_the_place_of_a_record_is_reported_with_a_remedy(record: OwnerRecord) -> None:
    record.path.mkdir()
    with pytest.raises(StorageFailed, match=r"12\.owner cannot be written: it is a folder, .* move it away"):
        record.write(ME)
    with pytest.raises(StorageFailed, match=r"12\.owner cannot be written: it is a folder, .* move it away"):
        record.claim(ME)
    record.heartbeat()
    record.remove()  # neither raises
    assert left_beside(record) == []


def test_renaming_the_host_does_not_cost_a_monitor_its_job(tmp_path: Path) -> None:
    code = """
import socket, sys
from pathlib import Path
from jobmon_core.store.owner import Owner, OwnerRecord
record = OwnerRecord(Path(sys.argv[1]))
record.claim(Owner.this_process())
socket.sethostname("by-dhcp")
record.heartbeat()
record.remove()
print(sorted(path.name for path in record.path.parent.iterdir()))
"""
    alone = (shutil.which("unshare") or "/bin/false", "--uts")
    if subprocess.run([*alone, "/bin/true"], capture_output=True, check=False).returncode:
        pytest.skip("renaming a host of our own is not permitted here")
    command = [*alone, sys.executable, "-c", code, str(tmp_path / "12.owner")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_heartbeat_without_a_record_returns_false(record: OwnerRecord) -> None:
    record.claim(ME)
    assert record.heartbeat()
    record.path.unlink()
    assert not record.heartbeat()
    assert record.read() is None


def test_the_holder_of_a_job_replaces_a_dead_owner(record: OwnerRecord) -> None:
    record.claim(ME)
    record.write(replace(ME, pid=4_000_000))
    assert record.heartbeat()
    assert owner_of(record) == ME


def test_only_the_owner_passes_the_check(record: OwnerRecord) -> None:
    record.claim(ME)
    record.check()
    record.path.unlink()
    with pytest.raises(StorageFailed, match="12 has no owner record, so its state must be read again"):
        record.check()
    record.write(ELSEWHERE)
    with pytest.raises(AlreadyWatched):
        record.check()
    assert owner_of(record) == ELSEWHERE
