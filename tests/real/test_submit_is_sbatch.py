"""`jobmon submit ARGS` behaves as `sbatch ARGS`: same output, exit code and job; the job is also watched."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from private_slurm import Cluster

from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from tests.support.files import contents
from tests.support.user import User
from tests.support.waiting import PATIENCE_S, eventually
from tests.support.warm_jobmon import run_jobmon

_SCRIPT = '#!/bin/bash\nprintf "<%s>" "$@"\n'
_FILES = {
    "job.sh": _SCRIPT,
    "train.sbatch": f"{_SCRIPT}exit 3\n",
    "directives.sh": "#!/bin/bash\n#SBATCH --output=out-%j.txt -t 5 --comment='a b'\ntrue\n",
    "het.sh": "#!/bin/bash\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n1\ntrue\n",
    "waits.sh": "#!/bin/bash\n#SBATCH --wait\nexit 6\n",
    "no-shebang.sh": "true\n",
    "dos.sh": "#!/bin/bash\r\ntrue\r\n",
    "empty.sh": "",
}
# the fields of a job that two equal submissions share
_COMPARED = (
    *("JobName", "UserId", "Account", "QOS", "Requeue", "Dependency", "TimeLimit", "Partition", "Command"),
    *("CPUs/Task", "MinMemoryCPU", "Features", "OverSubscribe", "WorkDir", "StdErr", "StdIn", "StdOut"),
    *("TresPerNode", "Comment", "ArrayTaskThrottle", "MailUser", "Power", "Licenses", "Reservation"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """One way to call sbatch; ``CLUSTER`` stands for the cluster's name."""

    arguments: tuple[str, ...]
    stdin: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    def on(self, cluster: str) -> Form:
        """Return this form with the name of the cluster filled in."""
        return Form(
            tuple(text.replace("CLUSTER", cluster) for text in self.arguments),
            self.stdin,
            {name: value.replace("CLUSTER", cluster) for name, value in self.environment.items()},
        )


_ACCEPTED = {
    "a script": Form(("job.sh",)),
    "arguments of the script that look like options": Form(
        ("train.sbatch", "--epochs", "3", "--backend", "nccl", "-h")
    ),
    "options": Form(("--gres=gpu:2", "-p", "main", "-t", "02:00:00", "job.sh")),
    "abbreviated options": Form(("--part=main", "--job-n=short", "job.sh")),
    "directives in the script": Form(("directives.sh",)),
    "wrap": Form(("--wrap", "echo 'a  b'", "-J", 'odd name % | "é"')),
    "a script on stdin": Form(("-J", "piped"), _SCRIPT),
    "a script on stdin and nothing else": Form((), _SCRIPT),
    "an array": Form(("--array=1-3%2", "job.sh")),
    "a heterogeneous job": Form(("-n1", ":", "-n1", "job.sh", ":", "x")),
    "a heterogeneous job by its script": Form(("het.sh",)),
    "a cluster": Form(("-M", "CLUSTER", "job.sh")),
    "a cluster by $SLURM_CLUSTERS": Form(("job.sh",), environment={"SLURM_CLUSTERS": "CLUSTER"}),
    "a cluster by $SBATCH_CLUSTERS": Form(("job.sh",), environment={"SBATCH_CLUSTERS": "CLUSTER"}),
    "parsable": Form(("--parsable", "job.sh")),
    "a cluster and parsable": Form(("-M", "CLUSTER", "--parsable", "job.sh")),
    "sbatch's variables": Form(
        ("job.sh",),
        environment={
            "SBATCH_OUTPUT": "from-env.out",
            "SBATCH_JOB_NAME": "from env",
            "SBATCH_TIMELIMIT": "7",
            "SBATCH_PARTITION": "main",
            "SBATCH_REQUEUE": "1",
        },
    ),
    "wait for a success": Form(("--wait", "job.sh")),
    "wait for a failure": Form(("--wait", "train.sbatch")),
    "wait, as a directive": Form(("waits.sh",)),
    "no export, no requeue, mail": Form(("--export=NONE", "--no-requeue", "--mail-type=END", "job.sh")),
}
_REFUSED = {
    "an unknown option": Form(("--no-such-option", "job.sh")),
    "an option without its value": Form(("-p",)),
    "an unknown partition": Form(("-p", "nowhere", "job.sh")),
    "a missing script": Form(("missing.sh",)),
    "a script without a shebang": Form(("no-shebang.sh",)),
    "a script with DOS line breaks": Form(("dos.sh",)),
    "an empty script": Form(("empty.sh",)),
    "an empty script on stdin": Form(()),
    "a bad time": Form(("-t", "tomorrow", "job.sh")),
    "a bad array": Form(("--array=x-y", "job.sh")),
    "a bad dependency": Form(("--dependency=afterwards:1", "job.sh")),
    "more than a node has": Form(("--gres=gpu:99", "job.sh")),
    "an unknown cluster": Form(("-M", "nowhere", "job.sh")),
    "quiet, and refused": Form(("-Q", "-p", "nowhere", "job.sh")),
    "wait, and refused": Form(("--wait", "-p", "nowhere", "job.sh")),
    "the error of one component": Form(("-n1", ":", "-p", "nowhere", "job.sh")),
}
_NOT_SUBMITTING = {
    "test-only": Form(("--test-only", "job.sh")),
    "version": Form(("--version",)),
    "V": Form(("-V",)),
    "usage": Form(("--usage",)),
    "help after an option": Form(("-p", "main", "--help")),
}
_QUIET = {
    "quiet": Form(("-Q", "job.sh")),
    "quiet and parsable": Form(("--quiet", "--parsable", "job.sh")),
    "quiet, an array": Form(("-Q", "--array=1-2", "job.sh")),
    "quiet, a cluster": Form(("-Q", "-M", "CLUSTER", "job.sh")),
    "quiet, wait for a failure": Form(("-Q", "--wait", "train.sbatch")),
}


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a command with job ids and times replaced, without jobmon's own lines."""

    exit_code: int
    stdout: str
    stderr: str


@pytest.fixture
def user_with_scripts(user: User) -> User:
    """A user with the scripts that the forms use."""
    for name, content in _FILES.items():
        (user.work / name).write_bytes(content.encode())
    return user


def _sbatch(user: User, form: Form) -> tuple[Output, list[int]]:
    return _output(user.run("sbatch", *form.arguments, stdin=form.stdin, **form.environment))


def _jobmon(user: User, form: Form) -> tuple[Output, list[int]]:
    # in a new session like a terminal's: jobmon searches by session for a job whose id was not printed
    arguments, environment = ("submit", *form.arguments), {**user.environment, **form.environment}
    return _output(run_jobmon(arguments, user.work, environment, form.stdin, PATIENCE_S, new_session=True))


def _output(done: subprocess.CompletedProcess[str]) -> tuple[Output, list[int]]:
    """Return the output, and the ids of the submitted jobs."""
    stderr = "".join(line for line in done.stderr.splitlines(True) if not line.startswith("jobmon: "))
    ids = re.findall(r"^(?:Submitted batch job )?(\d+)\b", done.stdout, re.MULTILINE)
    return Output(done.returncode, _normalized(done.stdout), _normalized(stderr)), [int(each) for each in ids]


def _normalized(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+", "TIME", text)
    text = re.sub(r"\bon nodes \S+", "on nodes NODES", text)  # --test-only; jobs of other tests come and go
    return re.sub(r"\b\d{4,}\b", "N", text)


def _record(user: User, job_id: int) -> dict[str, str]:
    """Return the fields of a job in which two equal submissions must agree."""
    first = user.slurm("scontrol", "-o", "show", "job", str(job_id)).splitlines()[0]
    first = first.replace("TimeLimit=365-00:00:00", "TimeLimit=UNLIMITED")  # as shown before the start
    pairs = re.findall(r"(?:^| )([A-Z][A-Za-z/]+)=(.*?)(?= [A-Z][A-Za-z/:]+=|$)", first)
    return {key: re.sub(r"\d+", "N", value) for key, value in pairs if key in _COMPARED}


def _started(user: User, *argv: str) -> subprocess.Popen[bytes]:
    """Start a command in the background with its stdout in a file."""
    with (user.work / "stdout").open("wb") as stdout:
        return subprocess.Popen(argv, cwd=user.work, env=user.environment, stdout=stdout)


def _announced(user: User) -> int:
    """Wait until the command of `_started` has printed a job id and there is a state file; return the id."""
    stdout = user.work / "stdout"
    eventually(lambda: stdout.read_text().endswith("\n") and len(_states(user)) > 1)
    return int(stdout.read_text().split()[-1])


def _states(user: User) -> list[str]:
    return [path.name for path in contents(user.home) if path.suffix in (".json", ".owner", ".log")]


@pytest.mark.parametrize("form", _ACCEPTED.values(), ids=_ACCEPTED)
def test_an_accepted_submission_gives_the_same_job_and_output_and_is_watched(
    user_with_scripts: User, slurm: Cluster, form: Form
) -> None:
    form = form.on(slurm.name)
    by_sbatch, (bare_id,) = _sbatch(user_with_scripts, form)
    by_jobmon, (job_id,) = _jobmon(user_with_scripts, form)
    assert by_jobmon == by_sbatch
    assert _record(user_with_scripts, job_id) == _record(user_with_scripts, bare_id)
    assert user_with_scripts.snapshot(job_id).health in (Health.ALIVE, Health.DONE)
    assert user_with_scripts.job(job_id).job_id == job_id


@pytest.mark.parametrize("form", _REFUSED.values(), ids=_REFUSED)
def test_a_rejected_submission_gives_the_same_error_and_leaves_no_files(
    user_with_scripts: User, slurm: Cluster, form: Form
) -> None:
    form = form.on(slurm.name)
    by_sbatch, _ = _sbatch(user_with_scripts, form)
    by_jobmon, _ = _jobmon(user_with_scripts, form)
    assert by_sbatch.exit_code != 0
    assert by_jobmon == by_sbatch
    assert _states(user_with_scripts) == ["config.json"]


@pytest.mark.parametrize("form", _NOT_SUBMITTING.values(), ids=_NOT_SUBMITTING)
def test_a_command_that_submits_no_job_leaves_no_files(
    user_with_scripts: User, slurm: Cluster, form: Form
) -> None:
    form = form.on(slurm.name)
    by_sbatch, _ = _sbatch(user_with_scripts, form)
    by_jobmon, _ = _jobmon(user_with_scripts, form)
    assert by_sbatch.exit_code == 0
    assert by_jobmon == by_sbatch
    assert _states(user_with_scripts) == ["config.json"]


@pytest.mark.parametrize("form", _QUIET.values(), ids=_QUIET)
def test_a_job_whose_id_sbatch_does_not_print_is_found_and_watched(
    user_with_scripts: User, slurm: Cluster, form: Form
) -> None:
    form = form.on(slurm.name)
    by_sbatch, _ = _sbatch(user_with_scripts, form)
    by_jobmon, _ = _jobmon(user_with_scripts, form)
    assert by_jobmon == by_sbatch
    assert by_sbatch.stdout == ""
    (status,) = json.loads(user_with_scripts.jobmon("status", "--json").stdout)
    job_id = status["job_id"]
    ours = user_with_scripts.slurm("squeue", "-h", "-t", "all", "-a", "-j", job_id, "-O", "WorkDir:200")
    assert ours.split()[0] == str(user_with_scripts.work)
    # jobmon's job is the newer one
    theirs = user_with_scripts.slurm(
        "squeue", "-h", "-t", "all", "-a", "-u", str(os.getuid()), "-O", "ArrayJobId:20,WorkDir:200"
    )
    assert int(job_id) == max(
        int(line.split()[0]) for line in theirs.splitlines() if str(user_with_scripts.work) in line
    )
    assert status["monitor"] in ("alive", "done")


def test_jobs_submitted_quietly_at_the_same_time_are_all_found(user_with_scripts: User) -> None:
    line = f"for i in 1 2 3 4; do {sys.executable} -m jobmon submit -Q job.sh & done; wait"
    assert user_with_scripts.run("setsid", "--wait", "bash", "-c", line).returncode == 0
    watched = json.loads(user_with_scripts.jobmon("status", "--json").stdout)
    theirs = user_with_scripts.slurm(
        "squeue", "-h", "-t", "all", "-u", str(os.getuid()), "-O", "ArrayJobId:20,WorkDir:200"
    )
    submitted = {row.split()[0] for row in theirs.splitlines() if str(user_with_scripts.work) in row}
    assert {each["job_id"] for each in watched} == submitted
    assert [each["monitor"] in ("alive", "done") for each in watched] == [True] * 4


def test_a_job_on_a_named_cluster_is_watched_there_until_its_end(
    user_with_scripts: User, slurm: Cluster
) -> None:
    job = user_with_scripts.told(user_with_scripts.submit("-M", slurm.name, "-J", "far", "job.sh"))
    assert (job.name, job.cluster, job.outcome) == ("far", slurm.name, Outcome.SUCCESS)


def test_the_arguments_of_the_script_are_passed_unchanged(user_with_scripts: User) -> None:
    arguments = ("--epochs", "3", "-h", "", "a  b", "*", "$HOME", "--backend", "local", "é")
    user_with_scripts.submit("--wait", "--output=out", "job.sh", *arguments)
    assert (user_with_scripts.work / "out").read_text(encoding="utf-8") == "".join(
        f"<{argument}>" for argument in arguments
    )


def test_the_monitor_runs_while_sbatch_still_waits(user_with_scripts: User) -> None:
    user_with_scripts.script("until [ -e go ]; do sleep 0.5; done; exit 5", name="long.sh")
    argv = (sys.executable, "-m", "jobmon", "submit", "--wait", "long.sh")
    with _started(user_with_scripts, *argv) as waiting:
        job_id = _announced(user_with_scripts)
        eventually(lambda: user_with_scripts.snapshot(job_id).health is Health.ALIVE)
        assert waiting.poll() is None
        (user_with_scripts.work / "go").touch()
        assert waiting.wait() == 5
    assert user_with_scripts.told(job_id).outcome is Outcome.FAILURE


def test_the_job_has_the_umask_and_the_environment_of_its_user(user_with_scripts: User) -> None:
    script = user_with_scripts.script(
        "umask; env | grep -v -e ^SLURM -e ^TMPDIR -e ^_= | sort", name="env.sh"
    )
    # on one node, because HOSTNAME is its name
    variables = {"MY_OWN": "a b", "JOBMON_ERROR_WEBHOOK_FILE": "kept"}
    outputs = []
    for command in ("sbatch", f"{sys.executable} -m jobmon submit"):
        line = f"umask 027; {command} --wait --output=out --nodelist=n1 {script}"
        assert user_with_scripts.run("sh", "-c", line, **variables).returncode == 0
        outputs.append((user_with_scripts.work / "out").read_text(encoding="utf-8"))
    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("0027\n")
    assert "MY_OWN=a b\n" in outputs[0]


def test_a_webhook_in_the_environment_is_not_passed_to_the_job(user_with_scripts: User) -> None:
    user_with_scripts.script("env", name="env.sh")
    url = user_with_scripts.discord.error_url
    user_with_scripts.submit("--wait", "--output=out", "env.sh", JOBMON_ERROR_WEBHOOK=url)
    assert "WEBHOOK" not in (user_with_scripts.work / "out").read_text(encoding="utf-8")


def test_only_the_variables_named_in_export_are_exported(user_with_scripts: User) -> None:
    user_with_scripts.script('echo "$ONE-$TWO"', name="env.sh")
    user_with_scripts.submit("--wait", "--output=out", "--export=ONE=1", "env.sh", TWO="2")
    assert (user_with_scripts.work / "out").read_text(encoding="utf-8") == "1-\n"


@pytest.mark.parametrize("redirection", ["| head -0", ">&-", "2>&-", "<&-", "<&- >&- 2>&-", ">/dev/full"])
def test_a_job_is_watched_although_the_output_cannot_be_written(
    user_with_scripts: User, redirection: str
) -> None:
    line = f"set -o pipefail; {sys.executable} -m jobmon submit job.sh {redirection}"
    assert user_with_scripts.run("bash", "-c", line).returncode == 0
    (status,) = json.loads(user_with_scripts.jobmon("status", "--json").stdout)
    assert status["monitor"] in ("alive", "done")


def test_a_quiet_job_is_found_although_the_output_cannot_be_written(user_with_scripts: User) -> None:
    line = f"{sys.executable} -m jobmon submit -Q job.sh 2>&1 | head -0; exit ${{PIPESTATUS[0]}}"
    assert user_with_scripts.run("setsid", "--wait", "bash", "-c", line).returncode == 0
    (status,) = json.loads(user_with_scripts.jobmon("status", "--json").stdout)
    assert status["monitor"] in ("alive", "done")


def test_the_script_can_be_an_inherited_file_descriptor(user_with_scripts: User) -> None:
    line = f"{sys.executable} -m jobmon submit <(printf '#!/bin/bash\\ntrue\\n')"
    done = user_with_scripts.run("bash", "-c", line)
    assert re.fullmatch(r"Submitted batch job \d+\n", done.stdout), done


def test_a_signal_ends_sbatch_and_sets_the_exit_code(user_with_scripts: User) -> None:
    argv = (sys.executable, "-m", "jobmon", "submit", "--wait", "--wrap", "sleep 600")
    with _started(user_with_scripts, *argv) as waiting:
        job_id = _announced(user_with_scripts)
        eventually(lambda: user_with_scripts.snapshot(job_id).health is Health.ALIVE)
        os.kill(waiting.pid, 15)
        assert waiting.wait() == 143
    assert user_with_scripts.snapshot(job_id).health is Health.ALIVE
