from __future__ import annotations

import signal

from jobmon_core.domain.slurm.states import JobState
from tests.scheduler.local.harness import LocalHarness
from tests.support.processes import is_running
from tests.support.waiting import eventually


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
