"""Record what a real Slurm answers: `dev/with-slurm python3 tests/recordings/record.py`.

Writes one JSON file for each answer to tests/recordings/slurm-VERSION/. Nothing in there is typed by hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from jobmon_core.scheduler.slurm import commands, values
from jobmon_core.system.runner import Ran, Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.scheduler.slurm.values import Version

HERE = Path(__file__).parent
WORK = Path("/tmp/jobmon-recording")  # a fixed path, so that two recordings differ little
AWKWARD_LOG = "a b=c Switches=1@x %% StdOut=.log"
PERCENT_FOLDER = WORK / "50%j"
AWKWARD_NAME = "we|ird \"q\" 's' %j =x=y \\ ü\nJobState=FAKE JobId=3 UserId=me(7) "
# of these, scontrol prints keys after the log's path
OPTIONS = ("--gres-flags=enforce-binding", "--kill-on-invalid-dep=yes", "--spread-job", "--cpu-freq=high")
MANY_LINES = (
    "cat <<END\nJobId=3 JobName=x\n   UserId=me(7) GroupId=me(7)\n   WorkDir=/x\n   StdOut=/evil\nEND"
)
STEPS = "srun -n2 sleep 3; srun -n1 sh -c 'exit 5'; exit 0"
PATIENCE_S = 60.0
_NO_STUBS_SINCE = (25, 11)  # a minute of trying finds none

programs = Runner()


def run(*argv: str) -> Ran:
    answer = programs.capture(argv, PATIENCE_S)
    assert isinstance(answer, Ran), answer.error_text
    return answer


class Recorder:
    """Where the answers of one version go."""

    def __init__(self, version: Version) -> None:
        self.accounting_fields = commands.accounting_fields_of(version)
        self._folder = folder = HERE / f"slurm-{version[0]}.{version[1]:02}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)

    def answer(self, name: str, argv: Sequence[str]) -> None:
        ran = run(*argv)
        told = {"argv": [*argv], "exit_code": ran.exit_code, "stdout": ran.stdout, "stderr": ran.stderr}
        self.write(name, told)

    def write(self, name: str, told: object) -> None:
        text = json.dumps(told, indent=1, ensure_ascii=True) + "\n"
        (self._folder / f"{name}.json").write_text(text)
        print(f"recorded {name}")


def submit(*arguments: str) -> int:
    ran = run("sbatch", "--parsable", "-D", str(WORK), *arguments)  # the last -D counts
    assert ran.exit_code == 0, ran.error_text
    return int(ran.stdout)


def states(job_id: int) -> set[str]:
    ran = run("squeue", "--local", "-h", "-a", "-t", "all", "-j", str(job_id), "-o", "%T")
    return set(ran.stdout.split())


def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"this never came true: {what}"
        time.sleep(0.2)


def becomes(job_id: int, *words: str) -> None:
    until(lambda: states(job_id) == set(words), f"job {job_id} is {words}, not {states(job_id)}")


def begin() -> dict[str, int]:
    """Submit jobs, one for each thing that an answer may hold."""
    long = ("--wrap", "sleep 600")
    later = ("--begin", "now+1hour")
    return {
        "running": submit("-J", AWKWARD_NAME, "--mem=64M", *long),
        "held": submit("-H", "-t", "2", "--mem=1G", "-N2", "--wrap", "true"),
        "array": submit("-a", "1-6%2", "-o", "%A.%3a", "--wrap", "sleep 600"),
        "waiting_array": submit("-a", "1-300:3,500%20", *later, *long),
        "array_default": submit("-a", "7-8", *later, *long),
        "requeued": submit("-o", "o %x-%j %%", *long),
        "het": submit("-n1", ":", "-n1", *long),
        "options": submit("-o", AWKWARD_LOG, *OPTIONS, *later, *long),
        "percent_folder": submit("-D", str(PERCENT_FOLDER), *later, *long),
        "many_lines": submit(*later, "--wrap", MANY_LINES),
    }


def go_on(jobs: dict[str, int]) -> None:
    """Bring the jobs to where they are to be recorded; what has ended is forgotten some seconds later."""
    becomes(jobs["het"], "RUNNING")
    becomes(jobs["requeued"], "RUNNING")
    becomes(jobs["array"], "RUNNING", "PENDING")
    run("scontrol", "requeue", str(jobs["requeued"]))
    jobs["steps"] = submit("--wrap", STEPS, "-n2", "--comment", "a StdOut=/evil UserId=me(7) GroupId=me(7) b")
    becomes(jobs["steps"], "COMPLETED")
    jobs["leftover"] = submit("-a", "1-3%1", "--wrap", "sleep 600")
    becomes(jobs["leftover"], "RUNNING", "PENDING")
    run("scancel", str(jobs["leftover"]))
    jobs["killed"] = submit("--wrap", "kill -9 $$")
    jobs["exit_137"] = submit("--wrap", "exit 137")
    jobs["sluid_array"] = submit("-a", "1-2", "-o", "%A-%a-%S.log", "--wrap", "true")
    jobs["cancelled_array"] = submit("-a", "1-4", "--begin", "now+1hour", "--wrap", "true")
    run("scancel", str(jobs["cancelled_array"]))
    jobs["dependency_kill"] = submit(
        "-d", f"afterok:{jobs['killed']}", "--kill-on-invalid-dep=yes", "--wrap", "true"
    )
    becomes(jobs["exit_137"], "FAILED")
    becomes(jobs["sluid_array"], "COMPLETED")
    becomes(jobs["dependency_kill"], "CANCELLED")
    becomes(jobs["leftover"], "CANCELLED")
    becomes(jobs["requeued"], "PENDING")


def record_jobs(recorder: Recorder, jobs: dict[str, int]) -> None:
    ids = [*jobs.values()]

    def is_accounted() -> bool:
        text = run(*commands.accounting([jobs["exit_137"], jobs["killed"]], ["JobID", "State"], "")).stdout
        return text.count("FAILED") >= len(("job", "batch step")) * 2 - 1

    recorder.write("jobs", jobs)
    recorder.answer("queue", commands.queue(str(os.getuid()), ""))
    recorder.answer("sessions", commands.sessions(str(os.getuid()), ""))
    for name, job_id in jobs.items():
        recorder.answer(f"record-{name}", commands.record(job_id, ""))
        recorder.answer(f"templates-{name}", commands.templates(job_id, ""))
    recorder.answer("script", commands.script(jobs["running"], ""))
    until(is_accounted, "accounting knows the last jobs")
    recorder.answer("accounting", commands.accounting(ids, recorder.accounting_fields, ""))


def record_stub(recorder: Recorder) -> None:
    """Accounting hears of an end at once and of a start some seconds later: ask in between.

    25.11 prints no such row.
    """

    def is_stub() -> bool:
        jobs["stub"] = submit("-a", "1-3", "--wrap", "exit $SLURM_ARRAY_TASK_ID")
        becomes(jobs["stub"], "FAILED")
        recorder.answer("accounting-stub", ask := commands.accounting([jobs["stub"]], fields, ""))
        return "allocation" in run(*ask).stdout

    fields = recorder.accounting_fields
    jobs: dict[str, int] = {}
    until(is_stub, "an array ended before accounting knew of its start")
    recorder.write("jobs-stub", jobs)


def record_sbatch(recorder: Recorder, cluster: str) -> None:
    job = ("-H", "-o", "/dev/null", "--wrap", "true")
    recorder.answer("sbatch", ["sbatch", *job])
    recorder.answer("sbatch-parsable", ["sbatch", "--parsable", *job])
    recorder.answer("sbatch-cluster", ["sbatch", "-M", cluster, *job])
    recorder.answer("sbatch-cluster-parsable", ["sbatch", "-M", cluster, "--parsable", *job])
    recorder.answer("sbatch-quiet", ["sbatch", "-Q", *job])
    recorder.answer("sbatch-test-only", ["sbatch", "--test-only", "--wrap", "true"])
    recorder.answer("sbatch-version", ["sbatch", "--version"])
    recorder.answer("sbatch-bad-option", ["sbatch", "--badopt"])
    recorder.answer("sbatch-bad-partition", ["sbatch", "-p", "nowhere", "--wrap", "true"])


def record_refusals(recorder: Recorder) -> None:
    fields = recorder.accounting_fields
    recorder.answer("queue-invalid-user", commands.queue("no-such-user", ""))
    recorder.answer("queue-invalid-cluster", commands.queue("root", "nowhere"))
    recorder.answer("record-unknown", commands.record(4_000_000, ""))
    recorder.answer("templates-unknown", commands.templates(4_000_000, ""))
    recorder.answer("script-unknown", commands.script(4_000_000, ""))
    recorder.answer("accounting-unknown", commands.accounting([4_000_000], fields, ""))
    recorder.answer("accounting-invalid-field", commands.accounting([1], (*fields, "Futurity"), ""))
    recorder.answer("accounting-fields", ["sacct", "--helpformat"])
    recorder.answer("accounting-version", ["sacct", "--version"])
    recorder.answer("configuration", commands.configuration())


@contextmanager
def changed(pattern: str, replacement: str) -> Iterator[None]:
    """Talk to a Slurm whose configuration differs in some lines."""
    conf = Path(os.environ["SLURM_CONF"])
    copy = conf.with_name("changed.conf")
    copy.write_text(re.sub(pattern, replacement, conf.read_text(), flags=re.MULTILINE))
    os.environ["SLURM_CONF"] = str(copy)
    try:
        yield
    finally:
        os.environ["SLURM_CONF"] = str(conf)
        copy.unlink()


def record_outages(recorder: Recorder) -> None:
    accounting = commands.accounting([1], recorder.accounting_fields, "")
    with changed("^SlurmctldPort=.*", "SlurmctldPort=1"):
        recorder.answer("queue-no-slurmctld", commands.queue("root", ""))
        recorder.answer("record-no-slurmctld", commands.record(1, ""))
        recorder.answer("sbatch-no-slurmctld", ["sbatch", "--wrap", "true"])
    with changed("^AccountingStoragePort=.*", "AccountingStoragePort=1"):
        recorder.answer("accounting-no-slurmdbd", accounting)
    with changed("^AccountingStorage.*", ""):
        recorder.answer("accounting-disabled", accounting)


def main() -> None:
    assert "SLURM_CONF" in os.environ, "run me as: dev/with-slurm python3 tests/recordings/record.py"
    version = values.version(run("sbatch", "--version").stdout)
    assert version
    recorder = Recorder(version)
    PERCENT_FOLDER.mkdir(parents=True, exist_ok=True)
    cluster = re.findall(r"^ClusterName *= *(\S+)", run(*commands.configuration()).stdout, re.MULTILINE)[0]
    if version < _NO_STUBS_SINCE:
        record_stub(recorder)
    jobs = begin()
    go_on(jobs)
    record_jobs(recorder, jobs)
    run("scancel", "-u", str(os.getuid()))
    record_sbatch(recorder, cluster)
    record_refusals(recorder)
    record_outages(recorder)
    shutil.rmtree(WORK)


if __name__ == "__main__":
    main()
