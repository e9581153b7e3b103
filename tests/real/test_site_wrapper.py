"""A site's own sbatch in front of Slurm's: it prints words of its own, and has an option of its own."""

from __future__ import annotations

import shutil

import pytest

from jobmon_core.domain.slurm.states import Outcome
from tests.support.user import User

_WRAPPER = """\
#!/bin/bash
own=()
while [ $# -gt 0 ]; do
  case $1 in
    --help) REAL --help; echo "      --hours=number          the hours of which project"; exit;;
    --hours) shift 2;;
    *) own+=("$1"); shift;;
  esac
done
printf "$BANNER"
out=$(REAL "${own[@]}") || exit
echo "$out$WORDS"
"""


@pytest.fixture
def site(user: User) -> User:
    """A user whose sbatch is a script of the site, which prints $BANNER before and $WORDS behind the id."""
    folder, real = user.work / "bin", shutil.which("sbatch", path=user.environment["PATH"])
    folder.mkdir()
    (folder / "sbatch").write_text(_WRAPPER.replace("REAL", str(real)))
    (folder / "sbatch").chmod(0o755)
    user.environment["PATH"] = f"{folder}:{user.environment['PATH']}"
    user.script("exit 3")
    return user


@pytest.mark.parametrize(
    ("banner", "words"),
    [("", " estimates 2 SUs from allocation abc"), ("Remaining hours:\n4711\n", "."), ("\033[1m", "\033[0m")],
)
def test_the_job_is_watched_whatever_else_is_printed(site: User, banner: str, words: str) -> None:
    done = site.jobmon("submit", "job.sh", BANNER=banner, WORDS=words)
    job_id = done.stderr.partition("watching job ")[2].partition(";")[0]
    assert f"Submitted batch job {job_id}{words}\n" in done.stdout
    assert site.told(job_id).outcome is Outcome.FAILURE


def test_an_option_of_the_site_is_understood_and_passed_on(site: User) -> None:
    words = ("--hours", "physics", "-n1", ":", "-n2", "job.sh")
    check = site.jobmon("check", "--all", *words)
    assert check.returncode < 2, check
    assert "job.sh can be read" in check.stdout
    first = site.submit(*words)
    assert site.told(first).outcome is Outcome.FAILURE
    again = site.jobmon("rerun", str(first), "--yes", "-J", "again")
    job_id = again.stderr.partition("watching job ")[2].partition(";")[0]
    assert "command  sbatch --hours physics -n1 -J again : -n2 -J again job.sh" in again.stderr
    rows = site.slurm("squeue", "-h", "-t", "all", "-j", job_id, "-o", "%j %C").splitlines()
    assert sorted(rows) == ["again 1", "again 2"]
    done = site.jobmon("chain", "--hours physics job.sh", "-n1 : -n2 job.sh")
    assert done.returncode == 0, done


def test_an_option_that_only_sbatch_understands_is_not_called_wrong(site: User) -> None:
    wrapper = site.work / "bin" / "sbatch"
    wrapper.write_text(wrapper.read_text().replace("      --hours=number   ", "a secret"))
    check = site.jobmon("check", "--all", "--hours", "physics", "job.sh")
    assert check.returncode == 1, check
    assert "jobmon does not know --hours, nor does `sbatch --help`" in check.stdout
    assert "sbatch accepts the job" in check.stdout
    checked = site.jobmon("submit", "--checked", "--hours", "physics", "job.sh")
    assert (checked.returncode, "watching job" in checked.stderr) == (0, True)
    assert site.jobmon("check", "--no-such", "job.sh").returncode == 2
