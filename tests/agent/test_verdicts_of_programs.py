"""Programs with one fault each, all run at the same time, each with an agent beside it.

Each works as it should until its agent and the monitor have seen enough of that, then its fault begins. The
GPUs are those of the fake driver: a program writes what its GPUs do into the file that the driver reads.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.node.triage.state import Thresholds
from tests.support.program_places import NoSuchPlace, full_machine, in_cgroup, in_own_network
from tests.support.waiting import eventually
from tests.support.watched_program import QUICK, Watched, Within, watched

pytestmark = [pytest.mark.xdist_group("verdicts of programs"), pytest.mark.timeout(3600)]  # all use one run

_ROUND_S = 0.5  # between two looks of the monitor
_WITHIN_S = 1200.0  # after a machine stood still, a program must stand still for three times as long
_STEPS, _SAMPLES, _SPIKE_SAMPLES = 5, 3, 12  # of the progress, and of the agent, before the fault begins
_MIB = 2**20
_MEMORY_BYTES = 128 * _MIB
_NOISY = "noisy-neighbour"
_QUICK = replace(QUICK, idle_s=300)  # few of these programs idle
_SLOWER = replace(_QUICK, must_last_s=12)  # for rules that look at a fifth of that

TOOLS = """\
import contextlib, itertools, os, signal, socket, subprocess, sys, threading, time
here, number = os.environ["DISK"], itertools.count(1)
def step(pause_s=0.2):
    print(f"step {next(number)}/100000", flush=True)
    time.sleep(pause_s)
def go_on(while_=lambda: not os.path.exists(here + "/fault")):
    while while_():
        step()
def gpus(*lines, pids=()):
    pids = pids or [os.getpid()] * len(lines)
    text = "".join(line.replace("PID", str(pid)) + "\\n" for line, pid in zip(lines, pids))
    with open(here + "/gpus.new", "w") as file:
        file.write(text)
    os.replace(here + "/gpus.new", here + "/gpus.txt")
def hurry():  # other programs may fill this machine
    with contextlib.suppress(OSError):
        os.nice(-10)
        with open("/proc/self/autogroup", "w") as group:
            group.write("-10")
def ranks(count):  # starts this program once for each rank
    return [subprocess.Popen([sys.executable, "-c", os.environ["RANK_CODE"]],
                             env={**os.environ, "RANK": str(rank)}) for rank in range(count)]
"""
ALWAYS = "lambda: True"
GPU_HANG = TOOLS + 'go_on()\ngpus("util=100 sm=2 power=150000 pids=PID")\nsignal.pause()'
COLLECTIVE = (
    TOOLS
    + """
all_ranks = ranks(3)
pids = [rank.pid for rank in all_ranks]
gpus(*["util=90 pids=PID"] * 3, pids=pids)
go_on()
gpus("util=100 pids=PID", "util=0 pids=PID", "util=100 pids=PID", pids=pids)
signal.pause()
"""
)
WAITING_RANK = TOOLS + "signal.pause()"
IDLE = TOOLS + 'print("reads the model", flush=True)\nsignal.pause()'
STEPPING = TOOLS + f"go_on({ALWAYS})"
PREPROCESSING = TOOLS + "while True:\n step(0)\n sum(range(1_000_000))"
DOWNLOADING = (
    TOOLS
    + """
server = socket.create_server(("127.0.0.1", 0))
def send():
    connection, _ = server.accept()
    while True:
        connection.sendall(bytes(1_000_000))
        time.sleep(0.01)
def receive():
    connection = socket.create_connection(server.getsockname())
    while connection.recv(1_000_000):
        pass
threading.Thread(target=send, daemon=True).start()
threading.Thread(target=receive, daemon=True).start()
"""
    + f"go_on({ALWAYS})"
)
SAVING = (
    TOOLS
    + """
def save(path, seconds):
    until_s = time.monotonic() + seconds
    with open(path, "wb") as file:
        while time.monotonic() < until_s:
            file.write(os.urandom(2_000_000))
            time.sleep(0.08)
for index in itertools.count():
    gpus("util=95 pids=PID")
    for _ in range(12):
        step()
    gpus("util=2 pids=PID")
    save(f"{here}/model{index}.pt", 2.0)
    if index >= 4:
        os.remove(f"{here}/model{index - 4}.pt")
"""
)
UNSAVED = (
    TOOLS
    + """
for index in itertools.count():
    if not os.path.exists(here + "/fault"):
        open(f"{here}/model{index}.pt", "w").close()
    step(0.5)
"""
)
FAULTY_GPUS = (
    TOOLS
    + """
go_on()
gpus("util=90 xid=79 pids=PID", "util=90 ecc=2 pids=PID", "util=90 rows=1 pids=PID",
     "util=90 throttle=64 temperature=92 pids=PID", f"util=90 pids=PID,{os.getppid()}", "lost")
"""
    + f"go_on({ALWAYS})"
)
UNEVEN = (
    TOOLS
    + """
all_ranks = ranks(3)
gpus(*["util=95 pids=PID"] * 2, "util=30 pids=PID", pids=[rank.pid for rank in all_ranks])
"""
    + f"go_on({ALWAYS})"
)
UNEVEN_RANK = TOOLS + 'hurry()\nwhile os.environ["RANK"] == "2":\n pass\nsignal.pause()'
LOSING_A_RANK = (
    TOOLS
    + """
all_ranks = ranks(3)
go_on()
all_ranks[2].kill()
all_ranks[2].wait()
signal.pause()
"""
)
SPIKING = (
    TOOLS
    + """
go_on()
while True:
    gpus("util=90 memory=60000000000 pids=PID")
    go_on(lambda until_s=time.monotonic() + 1.5: time.monotonic() < until_s)
    gpus("util=90 memory=10000000000 pids=PID")
    go_on(lambda until_s=time.monotonic() + 3: time.monotonic() < until_s)
"""
)
FULL_MEMORY = (
    TOOLS
    + """
go_on()
child = os.fork()
if not child:
    open("/proc/self/oom_score_adj", "w").write("1000")
    kept = []
    while True:
        kept.append(b"x" * 2_000_000)
os.waitpid(child, 0)
kept = b"x" * (int(os.environ["MEMORY"]) * 94 // 100 - 4_000_000)  # the rest is that of Python
"""
    + f"go_on({ALWAYS})"
)

Place = Callable[[], AbstractContextManager[Within]]


@dataclass(frozen=True)
class Case:
    """A program, its GPUs when it starts, and the verdicts that it must get."""

    code: str
    wanted: frozenset[str]
    gpus: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    place: Place = lambda: nullcontext(Within())
    samples: int = _SAMPLES  # of the agent, before the fault begins
    thresholds: Thresholds = _QUICK
    allowed: frozenset[str] = frozenset()  # verdicts that are right, too
    is_elsewhere: bool = False  # whether the agent looks for another process, which has ended


def memory_limit() -> AbstractContextManager[Within]:
    """Return a cgroup whose memory is limited."""
    limits = {"memory.limit_in_bytes": _MEMORY_BYTES, "memory.memsw.limit_in_bytes": _MEMORY_BYTES}
    return in_cgroup("memory", {**limits, "memory.max": _MEMORY_BYTES, "memory.swap.max": 0})


def a_fifth_of_a_core() -> AbstractContextManager[Within]:
    """Return a cgroup whose processes may use a fifth of the time of a core."""
    shares = {"cpu.shares": 10_240, "cpu.weight": 1000}  # other programs may fill this machine
    return in_cgroup("cpu", {"cpu.cfs_quota_us": 20_000, "cpu.max": "20000 100000", **shares})


BUSY_GPU = "util=90 sm=80 power=600000 pids=PID"
CASES = {
    "GPUs that hang": Case(GPU_HANG, frozenset({"gpu-hang"}), (BUSY_GPU,)),
    "a rank that does not arrive": Case(
        COLLECTIVE, frozenset({"collective-stuck"}), ("util=90",) * 3, {"RANK_CODE": WAITING_RANK}
    ),
    "an idle allocation": Case(IDLE, frozenset({"idle-allocation"}), ("util=0 pids=PID",), thresholds=QUICK),
    "a GPU that is not used": Case(
        STEPPING,
        frozenset({"idle-gpu"}),
        (BUSY_GPU, "util=0"),
        {"CUDA_VISIBLE_DEVICES": "0,1"},
        thresholds=QUICK,
    ),
    "a CPU that is too slow": Case(
        PREPROCESSING, frozenset({"cpu-preprocessing"}), ("util=5 pids=PID",), place=a_fifth_of_a_core
    ),
    "data from the network": Case(
        DOWNLOADING, frozenset({"network-bound"}), ("util=5 pids=PID",), place=in_own_network
    ),
    "checkpoints that take long": Case(SAVING, frozenset({"checkpoint-overhead"}), (BUSY_GPU,)),
    "a node full of others": Case(STEPPING, frozenset({_NOISY}), place=full_machine),
    "results that are not saved": Case(UNSAVED, frozenset({"outputs-stopped"}), (BUSY_GPU,)),
    "GPUs with faults": Case(
        FAULTY_GPUS,
        frozenset({"gpu-lost", "gpu-error", "gpu-memory-error", "gpu-worn", "gpu-throttled", "gpu-shared"}),
        (BUSY_GPU,) * 6,
        {"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5"},
    ),
    "a rank that differs": Case(
        UNEVEN, frozenset({"odd-gpu", "odd-rank"}), ("util=95",) * 3, {"RANK_CODE": UNEVEN_RANK}
    ),
    "a rank that dies": Case(
        LOSING_A_RANK,
        frozenset({"dead-worker"}),
        variables={"RANK_CODE": WAITING_RANK},
        thresholds=_SLOWER,
        allowed=frozenset({"deadlock"}),
    ),
    "a jump in GPU memory": Case(
        SPIKING,
        frozenset({"memory-spike"}),
        (BUSY_GPU + " memory=10000000000",),
        samples=_SPIKE_SAMPLES,
    ),
    "memory that is used up": Case(
        FULL_MEMORY,
        frozenset({"oom-kill", "memory-near-limit"}),
        variables={"MEMORY": str(_MEMORY_BYTES)},
        place=memory_limit,
        thresholds=_SLOWER,
    ),
    "a job without processes": Case(TOOLS + "signal.pause()", frozenset({"no-processes"}), is_elsewhere=True),
    "a GPU that computes": Case(STEPPING, frozenset(), (BUSY_GPU,)),
}
# the critical ones; all others are no reason to wake anyone
CRITICAL = {
    *("gpu-hang", "collective-stuck", "idle-allocation", "gpu-lost", "gpu-error", "gpu-memory-error"),
    *("oom-kill", "memory-near-limit", "dead-worker"),
}


@dataclass
class Run:
    """A program of a case that runs, and the verdicts about it."""

    case: Case
    job: Watched
    stack: ExitStack
    events: list[Event] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether it has got its verdicts."""
        critical = {event.subject for event in self.events if event.is_critical}
        return self.case.wanted <= critical | ({event.subject for event in self.events} - CRITICAL)

    def look(self) -> None:
        """Look at it as a monitor does; let its fault begin when enough is known of it, end it when done."""
        self.events = self.job.look()
        steps, samples = self.job.seen
        if steps >= _STEPS and samples >= self.case.samples:
            (self.job.folder / "fault").touch()
        if self.case.wanted and self.is_done:
            self.stack.close()


@pytest.fixture(scope="module")
def runs(driver: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run | str]:
    """Run all programs until each has got its verdicts; return why those that could not run did not."""
    found: dict[str, Run | str] = {}
    with ExitStack() as stack:
        for name, case in CASES.items():
            own = stack.enter_context(ExitStack())
            try:
                found[name] = Run(case, start(case, driver, tmp_path_factory.mktemp("job"), own), own)
            except NoSuchPlace as error:
                found[name] = str(error)
        started = [run for run in found.values() if isinstance(run, Run)]

        def all_are_done() -> bool:
            for run in started:
                if not run.case.wanted or not run.is_done:
                    run.look()
            return all(run.is_done for run in started)

        with suppress(AssertionError):  # the test of each program says what it lacks
            eventually(all_are_done, _WITHIN_S, step_s=_ROUND_S)
    return found


def start(case: Case, driver: Path, folder: Path, stack: ExitStack) -> Watched:
    """Start a program in its place.

    Raises:
        NoSuchPlace: this machine cannot make that place.
    """
    gpus = folder / "gpus.txt" if case.gpus else None
    variables = dict(case.variables)
    if gpus:
        gpus.write_text("".join(f"{gpu}\n" for gpu in case.gpus))
        variables |= {"LD_LIBRARY_PATH": str(driver), "FAKE_NVML": str(gpus)}
    ended = subprocess.Popen([sys.executable, "-c", ""]) if case.is_elsewhere else None
    if ended:
        ended.wait()
    within = stack.enter_context(case.place())
    context = watched(
        folder, case.code, variables, gpus=gpus, within=within, watched_pid=ended.pid if ended else None
    )
    job = stack.enter_context(context)
    job.thresholds = case.thresholds
    if _NOISY in case.wanted:
        job.ignored = ()
    return job


@pytest.mark.parametrize("name", CASES)
def test_a_program_gets_its_verdicts_and_no_wrong_one(runs: dict[str, Run | str], name: str) -> None:
    run = runs[name]
    if isinstance(run, str):
        pytest.skip(run)
    wanted, right = run.case.wanted, run.case.wanted | run.case.allowed
    found = {event.subject: event for event in run.events}
    critical = {event.subject for event in run.events if event.is_critical}
    assert found.keys() >= wanted
    assert all(found[subject].evidence for subject in wanted)
    assert critical - run.case.allowed == wanted & CRITICAL
    assert [event.subject for event in run.events if not event.is_quiet and event.subject not in right] == []
