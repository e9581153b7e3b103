"""Jobs that fail in many ways on the real Slurm, and the Discord message about each."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from private_slurm import Cluster

from jobmon_core.domain.channels import Route
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.slurm.states import Outcome
from tests.support.fake_discord import FakeDiscord, Payload
from tests.support.messages import facts, read, title
from tests.support.user import User
from tests.support.waiting import eventually

# one worker submits all jobs at once; each test then waits for its job
pytestmark = pytest.mark.xdist_group("diagnoses")

_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_"))
}
_PROGRAMS = Path(__file__).with_name("programs")
_AT_ONCE = 4  # submissions, each in its own process
_MAIN_LOG = "slurm-{job}.out"
_CODE = "▌ │ "  # precedes log lines in a message shown as text
_NO_CORES = "ulimit -c 0"
# calls the function behind assert(3), so that no C compiler is needed
_ASSERT = 'import ctypes\nctypes.CDLL(None).__assert_fail(b"n > 7", b"check.c", 2, b"main")\n'
_SMALL_DISK = "small"


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to fail, and the expected content of the message."""

    script: str
    title: str  # part of the headline
    label: str | None  # label of the diagnosis in the state file
    proof: tuple[str, ...]  # parts of the log lines that the message must quote
    advice: str  # part of "What to do"
    files: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    log: str = _MAIN_LOG  # the file with the evidence
    exit_code: str | None = "1"  # None: not predictable, e.g. at the time limit
    explanation: str = ""  # part of "Cause", besides the title


@dataclass(frozen=True, slots=True)
class Report:
    """The message about a job, its text, and the diagnosis in the state file."""

    job_id: int
    payload: Payload
    text: str
    diagnosis: Diagnosis
    log: Path

    @property
    def shown(self) -> list[str]:
        """The log lines that the message quotes."""
        return [line.removeprefix(_CODE) for line in self.text.splitlines() if line.startswith(_CODE)]

    def line(self, begin: str) -> str:
        """Return the only line of the message with this beginning, without the beginning."""
        (line,) = (line for line in self.text.splitlines() if line.startswith(f"▌ {begin}"))
        return line.removeprefix(f"▌ {begin}")


def _program(name: str, *options: str) -> str:
    return f"python3 {' '.join((*options, str(_PROGRAMS / name)))}"


_KINDS = {
    "import": Kind(
        "python3 train_import.py",
        files={"train_import.py": "import torchvision_that_nobody_installed as tv\n"},
        title="Python module",
        label="import_error",
        proof=(
            "ModuleNotFoundError: No module named 'torchvision_that_nobody_installed'",
            "train_import.py",
            "import torchvision_that_nobody_installed as tv",
        ),
        advice="which python",
    ),
    "file": Kind(
        "python3 train_file.py",
        files={"train_file.py": 'shards = open("/data/none/train.csv").read()\n'},
        title="file is missing",
        label="file_not_found",
        proof=("FileNotFoundError: [Errno 2] No such file or directory: '/data/none/train.csv'",),
        advice="path",
    ),
    "settings": Kind(
        "python3 train_settings.py",
        files={
            "train_settings.py": 'import json\nsettings = json.load(open("settings.json"))\n',
            "settings.json": '{"lr": 0.1,}\n',
        },
        title="Invalid JSON",
        label="python_exception_other",
        proof=("json.decoder.JSONDecodeError: ", "settings = json.load"),
        advice="json.tool",
    ),
    "chain": Kind(
        _program("chain_in_function.py"),
        title="file is missing",
        label="file_not_found",
        proof=(
            "FileNotFoundError: [Errno 2] No such file or directory: '/data/none/tokenizer.json'",
            "chain_in_function.py",
            'Path("/data/none/tokenizer.json").read_text',
        ),
        advice="path",
    ),
    "chain-at-top": Kind(
        _program("chain_at_top.py"),
        title="file is missing",
        label="file_not_found",
        proof=("FileNotFoundError: [Errno 2] No such file or directory: '/data/none/tokenizer.json'",),
        advice="path",
    ),
    "port": Kind(
        _program("two_servers.py"),
        title="port is already in use",
        label="port_in_use",
        proof=("OSError: [Errno 98] Address already in use", "second = socket.create_server"),
        advice="MASTER_PORT",
    ),
    "refused": Kind(
        _program("no_server.py"),
        title="nothing listens",
        label="network_error",
        proof=("ConnectionRefusedError: [Errno 111] Connection refused",),
        advice="port",
    ),
    "memory": Kind(
        "ulimit -v 2000000\npython3 grow.py",
        files={"grow.py": "table = bytearray(1 << 40)\n"},
        title="memory (RAM)",
        label="python_memory_error",
        proof=("MemoryError", "table = bytearray(1 << 40)"),
        advice="memory",
    ),
    "segfault": Kind(
        f"{_NO_CORES}\npython3 -c 'import ctypes; ctypes.string_at(0)'",
        title="Segmentation fault",
        label="segfault",
        proof=("Segmentation fault",),
        advice="PYTHONFAULTHANDLER=1",
        exit_code="139 (128 + 11: killed by SIGSEGV)",
    ),
    "segfault-traced": Kind(
        f"{_NO_CORES}\n{_program('point.py', '-X faulthandler')}",
        title="Segmentation fault",
        label="segfault",
        proof=("Fatal Python error: Segmentation fault", "point.py"),
        advice="",
        exit_code="139 (128 + 11: killed by SIGSEGV)",
    ),
    "assertion": Kind(
        f"{_NO_CORES}\npython3 assert.py",
        files={"assert.py": _ASSERT},
        title="check in the program failed",
        label="assertion_error",
        proof=("python3: check.c:2: main: Assertion `n > 7' failed.",),
        advice="condition",
        exit_code="134 (128 + 6: killed by SIGABRT)",
    ),
    "abort": Kind(
        f"{_NO_CORES}\npython3 -c 'import os; os.abort()'",
        title="SIGABRT",
        label="segfault",
        proof=("Aborted",),
        advice="lines",
        exit_code="134 (128 + 6: killed by SIGABRT)",
    ),
    "killed": Kind(
        "echo loading\n(kill -9 $BASHPID)",
        title="Killed (SIGKILL)",
        label="host_oom_kill",
        proof=("Killed",),
        advice="memory",
        exit_code="137 (128 + 9: killed by SIGKILL)",
    ),
    "command": Kind(
        "no_such_trainer --epochs 3",
        title="command",
        label="module_env",
        proof=("no_such_trainer: command not found",),
        advice="module",
        exit_code="127 (command not found)",
    ),
    "permission": Kind(
        "./not_executable.sh",
        files={"not_executable.sh": "#!/bin/bash\necho never\n"},
        title="is not executable",
        label="permission_denied",
        proof=("./not_executable.sh: Permission denied",),
        advice="chmod +x",
        exit_code="126 (found, but could not be executed)",
    ),
    "disk": Kind(
        "python3 save.py",
        files={
            "save.py": 'with open("small/checkpoint.pt", "wb") as file:\n    file.write(bytes(4 << 20))\n'
        },
        title="No space left",
        label="disk_full",
        proof=("OSError: [Errno 28] No space left on device",),
        advice="df -h",
    ),
    "oom": Kind(
        "python3 take.py",
        files={"take.py": "table = bytearray(200 << 20)\nprint(len(table))\n"},
        options=("--mem=40M",),
        title="Out of memory (RAM)",
        label="host_oom_kill",
        proof=("Detected 1 oom-kill event(s)",),
        advice="--mem",
        exit_code=None,
        explanation="requested",
    ),
    "cascade": Kind(
        _program("start_ranks.py"),
        title="value",
        label="python_exception_other",
        proof=(
            "[rank2]: ValueError: sample 1537 of shard-00041.tar has 0 frames, expected 16",
            "ranks.py",
            'raise ValueError("sample 1537',
        ),
        advice="value",
    ),
    "ranks": Kind(
        f"srun -n 3 -K -o slurm-%j_%t.err {_program('step.py')}",
        options=("-n", "3"),
        title="key is missing",
        label="python_exception_other",
        proof=("KeyError: 'warmup_steps'", "step.py", 'print(limits["warmup_steps"])'),
        advice="keys",
        log="slurm-{job}_1.err",
        exit_code=None,
    ),
    "stdout-only": Kind(
        "echo 'INFO: 3 epochs' >&2\npython3 train_apart.py 2>&1",
        files={"train_apart.py": "from math import no_such_function\n"},
        options=("-o", "apart-%j.out", "-e", "apart-%j.err"),
        title="Python module",
        label="import_error",
        proof=("ImportError: cannot import name 'no_such_function' from 'math'",),
        advice="version",
        log="apart-{job}.out",
    ),
    "no-error": Kind(
        "seq -f 'epoch %g' 20\nexit 3",
        title="failed",
        label=None,
        proof=("epoch 13", "epoch 20"),
        advice="Read the log from its end upwards.",
        exit_code="3",
        explanation="exit code 3",
    ),
    "limit": Kind(
        "echo epoch 1\nsleep 900",
        options=("-t", "5"),
        title="Time limit reached",
        label="slurm_timeout",
        proof=("DUE TO TIME LIMIT",),
        advice="--time",
        exit_code=None,
        explanation=r"The limit was [1-5]m\.",  # Slurm shortens it to what the job has run
    ),
    "hung": Kind(
        _program("loader.py"),
        options=("-t", "5"),
        title="value",
        label="python_exception_other",
        proof=("ValueError: shard 7 is empty", 'raise ValueError("shard 7 is empty")', "loader.py"),
        advice="value",
        exit_code=None,
        explanation="The job then hung until its time limit.",
    ),
}
# the output after which a job is brought to its time limit
_UNTIL_LIMIT = {"limit": "epoch 1", "hung": "ValueError: shard 7 is empty"}


class FailedJobs:
    """One submitted job of each kind."""

    def __init__(self, user: User, impossible: Mapping[str, str]) -> None:
        """Submit the jobs. ``impossible`` maps kinds that cannot fail on this machine to the reason."""
        self.user = user
        self._impossible = impossible
        kinds = {name: kind for name, kind in _KINDS.items() if name not in impossible}
        for kind in kinds.values():
            for name, text in kind.files.items():
                (user.work / name).write_text(text, encoding="utf-8")
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            self.ids = dict(zip(kinds, pool.map(self._submit, kinds, kinds.values()), strict=True))
        for name, printed in _UNTIL_LIMIT.items():
            self._bring_to_its_limit(name, printed)

    def _submit(self, name: str, kind: Kind) -> int:
        script = self.user.script(kind.script, name=f"{name}.sh")
        return self.user.submit("-J", name, *kind.options, script)

    def _bring_to_its_limit(self, name: str, printed: str) -> None:
        job_id = self.ids[name]
        log = self.user.work / _MAIN_LOG.format(job=job_id)
        eventually(lambda: log.exists() and printed in log.read_text(encoding="utf-8"))
        self.user.at_its_limit(job_id)

    def ends(self) -> list[Payload]:
        """Return the messages about jobs that have ended.

        On a busy machine Slurm takes so long to end the job that hangs that its error is reported before.
        """
        received = self.user.discord.received(Route.ERROR)
        return [payload for payload in received if "The job is still running" not in read(payload)]

    def report(self, name: str) -> Report:
        """Wait until a job has been reported, and return the report."""
        if name in self._impossible:
            pytest.skip(self._impossible[name])
        job_id = self.ids[name]
        job = self.user.told(job_id)
        assert job.outcome is Outcome.FAILURE
        (payload,) = (each for each in self.ends() if f"({job_id})" in title(each))
        diagnosis = job.tasks[""].diagnosis
        assert diagnosis is not None
        log = self.user.work / _KINDS[name].log.format(job=job_id)
        return Report(job_id, payload, read(payload), diagnosis, log)


@pytest.fixture(scope="module")
def failed_jobs(slurm: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FailedJobs]:
    """Submitted jobs of every kind that can fail on this machine."""
    with FakeDiscord() as discord:
        user = User(tmp_path_factory.mktemp("jobs"), discord, {**_ENVIRONMENT, **slurm.env})
        try:
            yield FailedJobs(user, _impossible(user, slurm))
        finally:
            user.leave()
            user.run("umount", "-l", _SMALL_DISK)
        assert not discord.violations


def _impossible(user: User, slurm: Cluster) -> dict[str, str]:
    """Prepare the requirements of some kinds; return the kinds that cannot fail here, with the reason."""
    impossible = {}
    if not slurm.has_cgroup_memory:
        impossible["oom"] = "OUT_OF_MEMORY needs writable cgroup v1 controllers"
    (user.work / _SMALL_DISK).mkdir()
    if user.run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", _SMALL_DISK).returncode:
        impossible["disk"] = "only root can mount a disk"
    return impossible


@pytest.mark.parametrize("name", _KINDS)
def test_the_message_has_the_cause_of_a_failure_and_its_evidence(failed_jobs: FailedJobs, name: str) -> None:
    kind, report = _KINDS[name], failed_jobs.report(name)
    assert report.diagnosis.label == kind.label
    headline = f"❌ {name} ({report.job_id}) failed"
    assert title(report.payload) == (f"{headline}: {report.diagnosis.headline}" if kind.label else headline)
    cause = report.line("Cause: ")
    assert kind.title in (title(report.payload) if not report.diagnosis.what_failed else cause)
    assert report.diagnosis.explanation in cause
    assert re.search(kind.explanation, cause)
    printed = report.log.read_text(encoding="utf-8").splitlines()
    assert report.shown
    assert [line for line in report.shown if line not in printed] == []
    assert [part for part in kind.proof if not any(part in line for line in report.shown)] == []


@pytest.mark.parametrize("name", _KINDS)
def test_the_message_has_advice_and_the_path_of_the_log(failed_jobs: FailedJobs, name: str) -> None:
    kind, report = _KINDS[name], failed_jobs.report(name)
    assert kind.advice in report.line("What to do: ")
    assert "JOBID" not in report.text
    assert report.line("Log: ") == str(report.log)
    assert kind.exit_code in (None, facts(report.payload).get("Exit code"))


def test_each_job_gets_one_message_on_the_error_channel(failed_jobs: FailedJobs) -> None:
    jobs = [failed_jobs.report(name).job_id for name in failed_jobs.ids]
    reported = [title(payload).split("(")[1].split(")")[0] for payload in failed_jobs.ends()]
    assert sorted(reported) == sorted(str(job_id) for job_id in jobs)
    assert failed_jobs.user.discord.received(Route.SUCCESS) == []


def test_a_cascade_is_explained_by_the_rank_that_failed_first(failed_jobs: FailedJobs) -> None:
    report = failed_jobs.report("cascade")
    log = report.log.read_text(encoding="utf-8")
    assert log.count("[rank0]: ConnectionResetError") == log.count("Root Cause (first observed failure)") == 1
    assert {line.partition(":")[0] for line in report.shown} == {"[rank2]"}
    assert "nccl_timeout" in report.diagnosis.symptoms


def test_the_error_of_a_rank_is_found_in_its_own_log(failed_jobs: FailedJobs) -> None:
    report = failed_jobs.report("ranks")
    main = (failed_jobs.user.work / _MAIN_LOG.format(job=report.job_id)).read_text(encoding="utf-8")
    assert "task 1: Exited with exit code 1" in main
    assert "KeyError" not in main
    assert {line.file for line in report.diagnosis.evidence} == {str(report.log)}


@pytest.mark.parametrize("name", ["import", "ranks", "limit", "no-error"])
def test_diagnose_and_the_message_agree(failed_jobs: FailedJobs, name: str) -> None:
    report = failed_jobs.report(name)
    done = failed_jobs.user.jobmon("diagnose", str(report.job_id))
    assert (done.returncode, done.stderr) == (0, ""), done
    assert done.stdout.startswith(f"{report.diagnosis.headline}\n")
    assert [line for line in report.shown if line not in done.stdout] == []
    answer = json.loads(failed_jobs.user.jobmon("diagnose", "--json", str(report.job_id)).stdout)
    assert (answer["cause"], answer["label"]) == (report.diagnosis.cause, report.diagnosis.label)
    assert answer["explanation"] == report.diagnosis.explanation
    assert [line["text"] for line in answer["evidence"]] == report.shown
