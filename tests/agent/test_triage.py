"""Programs that do something wrong, and healthy ones, judged by what an agent measures of them.

Conditions must last for seconds here, by the job configuration, and not for minutes; the rules are the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.waiting import eventually
from tests.support.watched_program import STEPS, WITHIN_S, finds, watched

_HEALTHY_S, _LEAST_SAMPLES = 10.0, 5

LEAKING = (
    STEPS + "kept = globals().setdefault('kept', []); kept.append(bytearray(os.urandom(1) * 3_000_000))\n"
)
LEAKING += " time.sleep(0.2)"
BUFFERED = (
    "import os, time\n"
    "for i in range(10000):\n"
    " print(f'step {i}/10000'); open(os.environ['DISK'] + '/out.txt', 'a').write('result\\n')\n"
    " time.sleep(0.3)"
)
FAVOURED = (  # if it may: other tests leave it less of the core than a crowd takes
    "import contextlib\n"
    "with contextlib.suppress(OSError), open('/proc/self/autogroup', 'w') as nice: nice.write('-15')\n"
)
CROWDED = (
    FAVOURED + "import os, threading\nos.sched_setaffinity(0, {0})\n"
    "def spin():\n while True: pass\n"
    "for _ in range(63): threading.Thread(target=spin, daemon=True).start()\nspin()"
)
CROWDED_BY_CHILDREN = (  # no variable tells how many threads there are
    FAVOURED + "import os\nos.sched_setaffinity(0, {0})\n"
    "for _ in range(12): os.getpid() == os.getpgrp() and os.fork()\nwhile True: pass"
)
DEADLOCKED = (  # the ranks take two locks in opposite order
    "import itertools, os, threading, time\n"
    "for i in itertools.count(1):\n"
    " print(f'step {i}/100000', flush=True); time.sleep(0.1)\n"
    " if os.path.exists(os.environ['DISK'] + '/fault'): break\n"
    "a, b, both = threading.Lock(), threading.Lock(), threading.Barrier(2)\n"
    "def take(x, y):\n with x:\n  both.wait()\n  with y: pass\n"
    "threading.Thread(target=take, args=(a, b)).start()\ntake(b, a)"
)
ZOMBIES = (
    "import os, time\n"
    "for i in range(10000):\n"
    " if i < 5 and not os.fork(): os._exit(1)\n"
    " print(f'step {i}/10000', flush=True); time.sleep(0.2)"
)
FILLING = (
    STEPS + "i < 96 and open(os.environ['DISK'] + '/part', 'ab').write(bytes(2_000_000)); time.sleep(0.05)"
)

STARVED = STEPS + "time.sleep(0.3)  # waits for its data"
STALLED = """\
import os, signal, subprocess, sys
if len(sys.argv) == 1:
    ranks = [subprocess.Popen([sys.executable, "-c", os.environ["RANK_CODE"], "rank"], env={**os.environ,
             "RANK": str(rank)}) for rank in (0, 1)]
    for rank in ranks:
        rank.wait()
"""
RANK_OF_STALLED = """\
import os, signal, time
def all_reduce():
    signal.pause()
def load_batch():
    signal.pause()
for i in range(1, 20):
    print(f"step {i}/100", flush=True)
    time.sleep(0.1)
all_reduce() if os.environ["RANK"] == "0" else load_batch()
"""

HEALTHY = {
    "steps that sleep": STEPS + "time.sleep(0.3)",
    "steps that compute": STEPS + "sum(range(3_000_000))",
    "memory taken and returned": STEPS + "block = bytearray(50_000_000 * (i % 2 + 1)); time.sleep(0.2)",
    "two processes": "import os, time\nos.fork()\n" + STEPS + "sum(range(300_000)); time.sleep(0.1)",
}


@pytest.mark.parametrize(
    ("code", "name", "variables"),
    [
        pytest.param(LEAKING, "memory-leak", {}, id="a loop that leaks"),
        pytest.param(BUFFERED, "block-buffered-output", {}, id="a printer with a buffer"),
        pytest.param(CROWDED, "thread-oversubscription", {"OMP_NUM_THREADS": "64"}, id="64 threads"),
        pytest.param(CROWDED_BY_CHILDREN, "thread-oversubscription", {}, id="12 children"),
        pytest.param(DEADLOCKED, "deadlock", {}, id="a deadlocked pair"),
        pytest.param(ZOMBIES, "zombie-workers", {}, id="a zombie maker"),
    ],
)
def test_a_program_gets_the_right_verdict(
    tmp_path: Path, code: str, name: str, variables: dict[str, str]
) -> None:
    with watched(tmp_path, code, variables) as job:
        assert finds(job, name).evidence


@pytest.mark.skipif(os.getuid() != 0, reason="only root may mount a small disk")
def test_a_program_that_fills_a_disk_gets_the_right_verdict(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount") or "mount"
    if subprocess.run([mount, "-t", "tmpfs", "-o", "size=200m", "jobmon", disk], check=False).returncode:
        pytest.skip("this machine mounts no tmpfs")
    try:
        with watched(tmp_path, FILLING, disk=disk) as job:
            event = finds(job, "disk-full")
        assert event.is_critical
    finally:
        subprocess.run([shutil.which("umount") or "umount", "-l", disk], check=True)


@pytest.mark.parametrize("code", HEALTHY.values(), ids=HEALTHY)
def test_a_healthy_program_gets_no_verdict(tmp_path: Path, code: str) -> None:
    with watched(tmp_path, code) as job:
        telemetry = TaskTelemetry(tmp_path / "telemetry")
        until_s = time.monotonic() + _HEALTHY_S
        found: list[Event] = []

        def has_looked_for_long_enough() -> bool:
            found.extend(job.look())
            enough = time.monotonic() > until_s and len(telemetry.history("n1")) >= _LEAST_SAMPLES
            return enough or bool(found)

        eventually(has_looked_for_long_enough, WITHIN_S)
    assert found == []


def test_a_loop_whose_gpu_waits_for_data_gets_the_right_verdict(tmp_path: Path, driver: Path) -> None:
    gpus = tmp_path / "gpus.txt"
    gpus.write_text("util=5 pids=PID\n")
    variables = {"LD_LIBRARY_PATH": str(driver), "FAKE_NVML": str(gpus)}
    with watched(tmp_path, STARVED, variables, gpus=gpus) as job:
        event = finds(job, "data-loading")
    assert event.text == "its GPUs are busy 5% of the time: they wait for data"


def test_the_rank_that_did_not_arrive_is_named_before_anyone_ends_it(tmp_path: Path) -> None:
    on_stall = JobSettings(stacks_on_stall=True, stall_timeout_s=5)
    with watched(tmp_path, STALLED, {"RANK_CODE": RANK_OF_STALLED}, settings=on_stall) as job:
        eventually(lambda: any(event.subject == "stacks-at-stall" for event in job.look()), WITHIN_S)
        event = next(event for event in job.look() if event.subject == "stacks-at-stall")
    if "ermission" in event.text:
        pytest.skip("this machine lets no process read another one")
    assert event.text == (
        "no progress; rank 1 did not arrive: it is at load_batch (<string>:5); "
        "the other waits in all_reduce (<string>:3)"
    )
    assert event.is_critical
