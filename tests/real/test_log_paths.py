"""The paths of logs on the real Slurm: each failure is explained by an error in exactly one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from tests.support.messages import only, read, title
from tests.support.user import User

# every filename pattern of slurmd 22.05 for batch jobs, and the resulting file name
_PATTERNS = {
    "job-%j": "job-{job}",
    "master-%A": "master-{job}",
    "task-%a": "task-4294967294",
    "user-%u": "user-{user}",
    "name-%x": "name-odd one",
    "step-%J": "step-{job}",
    "host-%N": "host-*",
    "node-%n": "node-0",
    "rank-%t": "rank-0",
    "part-%s": "part-batch",
    "percent-%%j": "percent-%j",
    "padded-%4j-%12j": "padded-{job:0>4}-{job:0>10}",
    "unknown-%q": "unknown-%q",
    "younger-%b-%r": "younger-%b-%r",  # only in later versions
    "two words/and %x": "two words/and odd one",
    "back\\%jslash": "back%jslash",
}


def _failing(token: str) -> str:
    return f"python3 -c \"raise RuntimeError('{token}')\""


def _only_log_with(user: User, token: str) -> Path:
    found = [path for path in user.work.rglob("*") if path.is_file() and token in path.read_text()]
    (path,) = (path for path in found if "RuntimeError: " in path.read_text())
    return path


def _explained_by(user: User, token: str) -> Path:
    """Return the only file with the error; the only message must quote the error and name the file."""
    text = read(only(user, Route.ERROR))
    assert f"RuntimeError: {token}" in text
    path = _only_log_with(user, token)
    assert f"Log: {path}" in text
    return path


def test_every_filename_pattern_leads_to_the_file_that_slurmd_wrote(user: User) -> None:
    (user.work / "two words").mkdir()
    jobs = {
        pattern: user.submit("-J", "odd one", "-o", pattern, "--wrap", _failing(f"token{number}x"))
        for number, pattern in enumerate(_PATTERNS)
    }
    for job_id in jobs.values():
        user.told(job_id)
    messages = {title(payload).split("(")[1].split(")")[0]: payload for payload in user.discord.received()}
    assert len(messages) == len(jobs) == len(user.discord.received(Route.ERROR))
    for number, (pattern, job_id) in enumerate(jobs.items()):
        name = _PATTERNS[pattern].format(job=job_id, user=user.job(job_id).user)
        (path,) = user.work.glob(name)
        text = read(messages[str(job_id)])
        assert (pattern, f"token{number}x") == (
            pattern,
            text.partition("RuntimeError: ")[2][: len(f"token{number}x")],
        )
        assert f"Log: {path}" in text


def test_each_task_of_an_array_has_its_own_log(user: User) -> None:
    body = "python3 -c \"raise RuntimeError('task $SLURM_ARRAY_TASK_ID')\""
    user.configure(messages={"array": "each"})
    script = user.script(body, "-o logs/%x-%A/%4a-%j.txt")
    (user.work / "logs/sweep-").mkdir(parents=True)
    job_id = user.submit("--hold", "-J", "sweep", "--array=7,8", script)
    (user.work / f"logs/sweep-{job_id}").mkdir()
    user.slurm("scontrol", "release", str(job_id))
    user.told(job_id)
    for index in (7, 8):
        (log,) = (user.work / f"logs/sweep-{job_id}").glob(f"000{index}-*.txt")
        (text,) = (read(each) for each in user.discord.received() if f"({job_id}_{index})" in title(each))
        assert f"RuntimeError: task {index}" in text
        assert f"Log: {log}" in text


def test_the_default_log_of_an_array_is_found(user: User) -> None:
    body = "python3 -c \"raise RuntimeError('task $SLURM_ARRAY_TASK_ID')\""
    job_id = user.submit("--array=3-3", user.script(body))
    user.told(job_id)
    text = read(only(user, Route.ERROR))
    assert "RuntimeError: task 3" in text
    assert f"Log: {user.work}/slurm-{job_id}_3.out" in text


@pytest.mark.parametrize(
    "place", ["default", "directive", "environment", "command line", "chdir", "chdir to 50%j", "stdin"]
)
def test_the_log_is_found_wherever_its_path_was_given(user: User, place: str) -> None:
    (user.work / "elsewhere").mkdir()
    directives = () if place == "default" else ("--output=by-directive-%j.txt",)
    script = user.script(_failing("found"), *directives)
    arguments: tuple[str, ...] = (script,)
    environment: dict[str, str] = {}
    stdin = ""
    match place:
        case "environment":
            environment = {"SBATCH_OUTPUT": "by-environment-%j.txt"}
        case "command line":
            arguments, environment = ("-o", "by-option-%j.txt", script), {"SBATCH_OUTPUT": "no.txt"}
        case "chdir":
            arguments = ("-D", str(user.work / "elsewhere"), script)
        case "chdir to 50%j":
            (user.work / "50%j").mkdir()
            arguments = ("-D", str(user.work / "50%j"), user.script(_failing("found")))
        case "stdin":
            arguments, stdin = (), (user.work / script).read_text()
    job_id = user.submit(*arguments, stdin=stdin, **environment)
    user.told(job_id)
    expected = {
        "default": f"slurm-{job_id}.out",
        "environment": f"by-environment-{job_id}.txt",
        "command line": f"by-option-{job_id}.txt",
        "chdir": f"elsewhere/by-directive-{job_id}.txt",
        "chdir to 50%j": f"50%j/slurm-{job_id}.out",
    }
    name = expected.get(place, f"by-directive-{job_id}.txt")
    assert _explained_by(user, "found") == user.work / name


def test_an_error_in_a_separate_stderr_file_is_found(user: User) -> None:
    job_id = user.submit("-o", "out.txt", "-e", "%j.err", "--wrap", f"echo fine; {_failing('apart')}")
    user.told(job_id)
    assert _explained_by(user, "apart") == user.work / f"{job_id}.err"


def test_an_error_printed_to_stdout_is_found_if_stderr_is_empty(user: User) -> None:
    user.told(user.submit("-o", "out.txt", "-e", "err.txt", "--wrap", f"{_failing('astray')} 2>&1"))
    assert _explained_by(user, "astray") == user.work / "out.txt"


def test_a_log_path_changed_while_the_job_is_pending_is_used(user: User) -> None:
    job_id = user.submit("--hold", "-o", "first.txt", "--wrap", _failing("moved"))
    user.watched_as(job_id, "PENDING")
    user.slurm("scontrol", "update", f"jobid={job_id}", f"StdOut={user.work}/second.txt")
    user.slurm("scontrol", "release", str(job_id))
    user.told(job_id)
    assert _explained_by(user, "moved") == user.work / "second.txt"


def test_a_log_that_a_requeue_truncated_shows_the_last_run(user: User) -> None:
    run = "python3 -c \"raise RuntimeError('run ${SLURM_RESTART_COUNT:-0}')\""
    body = f'{run}; [ -n "$SLURM_RESTART_COUNT" ] && exit 3; exit 77'
    job = user.told(user.submit(user.script(body)))
    assert job.tasks[""].restarts == 1
    text = read(only(user, Route.ERROR))
    assert "RuntimeError: run 1" in text
    assert "RuntimeError: run 0" not in text
