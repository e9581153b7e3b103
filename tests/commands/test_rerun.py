"""``jobmon rerun`` and ``jobmon diff`` in a shell, with jobs of this machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import RunRecordFile
from jobmon_core.store.jobs import JobStore
from tests.support.processes import processes_of
from tests.support.shell import Shell, complaint
from tests.support.waiting import eventually

SCRIPT = "#!/bin/bash\n#SBATCH -o out-%j.txt\necho run $1\n"


@pytest.fixture
def user(shell: Shell) -> Shell:
    """A user with a script, without agents, whose monitors look often."""
    config = shell.home / "config.json"
    config.write_text(json.dumps({"poll": {"running_s": 5}, "agent": {"enabled": False}}), encoding="ascii")
    config.chmod(0o600)
    (shell.work / "job.sh").write_text(SCRIPT, encoding="ascii")
    return shell


def submit(shell: Shell, *arguments: str, stdin: str = "") -> str:
    """Submit a local job and wait until jobmon knows its end; return its id."""
    done = shell.jobmon("submit", "--backend", "local", *arguments, stdin=stdin)
    assert done.returncode == 0, done
    return when_ended(shell, done.stdout.split()[-1])


def when_ended(shell: Shell, job_id: str) -> str:
    eventually(lambda: not list(processes_of(shell.home)))
    return job_id


def output(shell: Shell, job_id: str) -> str:
    return (shell.work / f"out-{job_id}.txt").read_text(encoding="ascii")


def test_the_recorded_text_runs_again_even_if_the_file_was_changed_or_removed(user: Shell) -> None:
    first = submit(user, "job.sh", "one")
    done = user.jobmon("rerun", first)
    assert "stdin is not a terminal" in complaint(done)
    code, screen = user.talk(["rerun", first], ("[y/N] ", "n\n"))
    assert (code, "nothing was submitted" in screen) == (1, True)
    (user.work / "job.sh").write_text(SCRIPT + "echo edited\n", encoding="ascii")
    code, screen = user.talk(["rerun", first], ("[y/N] ", "y\n"))
    assert code == 0, screen
    assert "job.sh was changed since (1 line, below)" in " ".join(screen.split())
    assert "+echo edited" in screen
    assert "jobmon submit --backend local job.sh one" in screen
    second = when_ended(user, str(int(first) + 1))
    assert output(user, second) == "run one\n"
    (user.work / "job.sh").unlink()
    done = user.jobmon("rerun", second, "--yes", "--job-name=other")
    assert "job.sh is gone; the recorded text is submitted" in done.stderr
    third = when_ended(user, done.stdout.split()[-1])
    assert output(user, third) == "run one\n"
    jobs = {each: JobStore(user.state).find(JobRef.parse(each))[-1] for each in (first, second, third)}
    assert [jobs[each].name for each in (first, second, third)] == ["job.sh", "job.sh", "other"]
    records = Home(user.home).runs
    assert [path.suffix for path in records.iterdir()] == [".json"] * 3  # no copy of a script is left
    record = RunRecordFile(Home(user.home).run_file(jobs[third].id)).taken()
    assert record
    assert record.script
    assert (record.script.path, record.script.text) == (str(user.work / "job.sh"), SCRIPT)
    assert "only sbatch options" in complaint(user.jobmon("rerun", "--yes", first, "more.sh"))


def test_that_the_new_job_has_no_sentinel_is_said(user: Shell) -> None:
    first = submit(user, "--sentinel", "job.sh")
    done = user.jobmon("rerun", "--yes", first)
    assert done.returncode == 0, done
    note = "the job was submitted with --sentinel; the new one has no sentinel"
    assert note in " ".join(done.stderr.split())
    second = when_ended(user, done.stdout.split()[-1])
    done = user.jobmon("rerun", "--yes", second)
    assert (done.returncode, "--sentinel" in done.stderr) == (0, False)
    when_ended(user, second)


def test_a_rerun_of_a_job_that_may_still_run_is_shown_with_a_warning(user: Shell) -> None:
    (user.work / "job.sh").write_text(
        f"{SCRIPT}until [ -e go ]; do read -rt 0.1 <> <(:); done\n", encoding="ascii"
    )
    first = user.jobmon("submit", "--backend", "local", "job.sh").stdout.split()[-1]
    warning = f"job {first} is not known to have ended: both may run at the same time"
    _, screen = user.talk(["rerun", first], ("[y/N] ", "n\n"))
    assert warning in " ".join(screen.split())
    user.jobmon("cancel", first)  # it runs on, without jobmon
    _, screen = user.talk(["rerun", first], ("[y/N] ", "n\n"))
    assert warning in " ".join(screen.split())
    (user.work / "go").touch()
    assert user.jobmon("watch", "--backend", "local", first).returncode == 0
    when_ended(user, first)
    _, screen = user.talk(["rerun", first], ("[y/N] ", "n\n"))
    assert warning not in " ".join(screen.split())


def test_scripts_on_stdin_and_wrapped_commands_run_again(user: Shell) -> None:
    piped = submit(user, stdin="#!/bin/bash\n#SBATCH -o out-%j.txt\necho from a pipe\n")
    again = when_ended(user, user.jobmon("rerun", "--yes", piped).stdout.split()[-1])
    assert output(user, again) == "from a pipe\n"
    wrapped = submit(user, "-o", "out-%j.txt", "--wrap", "echo wrapped")
    again = when_ended(user, user.jobmon("rerun", wrapped, "--yes").stdout.split()[-1])
    assert output(user, again) == "wrapped\n"
    found = json.loads(user.jobmon("diff", again, wrapped, "--json").stdout)
    assert (found["differences"], found["is_last_good"], found["new_log_lines"]) == ([], False, [])


def test_what_cannot_be_submitted_again_says_why(user: Shell) -> None:
    (user.work / "job.sh").write_text(SCRIPT + "export DB_PASSWORD=hunter2hunter2\n", encoding="ascii")
    secret = submit(user, "job.sh")
    assert "hunter2" not in "".join(path.read_text() for path in Path(user.state).rglob("*.json"))
    done = user.jobmon("rerun", "--yes", secret)  # the file is as it was
    assert done.returncode == 0, done
    when_ended(user, secret)
    (user.work / "job.sh").write_text(SCRIPT, encoding="ascii")
    assert "was changed since job" in complaint(user.jobmon("rerun", "--yes", secret))
    (user.work / "job.sh").unlink()
    assert "job.sh is gone, and its text was not recorded" in complaint(user.jobmon("rerun", "--yes", secret))
    (user.work / "job.sh").write_text(SCRIPT, encoding="ascii")
    nowhere = submit(user, "job.sh")
    (state,) = JobStore(user.state).find(JobRef.parse(nowhere))
    file = RunRecordFile(Home(user.home).run_file(state.id))
    file.write(replace(file.read(), folder=""))  # it was removed before the submission
    assert "was not recorded; submit it with" in complaint(user.jobmon("rerun", "--yes", nowhere))
    hidden = submit(user, "job.sh", "--password", "hunter2hunter2")
    assert "command line of job" in complaint(user.jobmon("rerun", "--yes", hidden))
    user.jobmon("run", "--", "touch", "done")
    when_ended(user, "")
    assert "was a command of `jobmon run`" in complaint(user.jobmon("rerun", "--yes", "latest"))


def test_diff_without_an_earlier_success_says_so(user: Shell) -> None:
    only = submit(user, "job.sh")
    assert complaint(user.jobmon("diff", only)).startswith(
        f"no earlier job named 'job.sh' with the script {user.work}/job.sh has succeeded"
    )
    assert complaint(user.jobmon("diff", only, only)) == f"job {only} cannot be compared with itself"
    second = submit(user, "job.sh", "1")
    assert user.jobmon("diff", second).stdout.splitlines()[2:] == ["arguments    none -> 1"]
    third = submit(user, "job.sh", "1")
    assert user.jobmon("diff", third).stdout.splitlines()[2:] == ["Nothing that jobmon records differs."]


def test_values_that_a_command_line_exports_are_neither_kept_nor_shown(user: Shell) -> None:
    first = submit(user, "--export=ALL,MY_PIN=hunter2", "--comment=hunter2", "job.sh")
    second = submit(user, "--export=ALL,MY_PIN=hunter3", "job.sh")
    assert "hunter" not in "".join(path.read_text() for path in Home(user.home).runs.rglob("*.json"))
    diff = user.jobmon("diff", second, first).stdout
    assert "environment  MY_PIN" in diff
    assert "hunter" not in diff
    assert "give them again: `jobmon rerun" in complaint(user.jobmon("rerun", "--yes", first))
    done = user.jobmon("rerun", "--yes", first, "--export=ALL,MY_PIN=hunter4")
    assert done.returncode == 0, done
    assert "hunter" not in done.stderr
    assert "its --comment was not recorded" in " ".join(done.stderr.split())
    when_ended(user, "")
