"""``jobmon submit``, ``chain`` and restarts with ``qsub`` as a real program."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon.cli import main
from jobmon_core.domain.before.pending.model import PendingFacts
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed
from jobmon_core.scheduler.base import CutOffSubmission, Submitted, Untraceable
from jobmon_core.scheduler.pbs.job_control import PbsJobControl
from jobmon_core.scheduler.pbs.options import (
    as_sbatch,
    read,
    read_words,
    with_options,
)
from jobmon_core.scheduler.pbs.pending import ask_pending
from jobmon_core.scheduler.pbs.submit import PbsSubmitter, token_of
from jobmon_core.system.runner import Runner
from jobmon_core.system.users import user_name
from tests.support.fake_pbs import FakePbs, PbsRunner, ended_job, pbs_job

SCRIPT = "#!/bin/bash\n#PBS -N train -l walltime=01:00:00\n#PBS -v DATA=/data,MODE\necho hi\n#PBS -N late\n"


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "train.pbs"
    path.write_text(SCRIPT)
    return str(path)


def test_stdout_exit_code_and_arguments_are_those_of_qsub(
    pbs: FakePbs, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs: list[Submitted] = []
    arguments = ("-l", "select=1:ncpus=4", "-v", "A=1", script, "--lr", "0.1")
    submission = PbsSubmitter(Runner()).submit(arguments, jobs.append)
    assert (submission.exit_code, submission.job) == (0, Submitted(JobRef(1)))
    assert jobs == [Submitted(JobRef(1))]
    assert capfd.readouterr().out == "1.pbs1\n"
    assert pbs.calls() == [["qsub", *arguments]]


def test_a_refused_submission_has_the_exit_code_of_qsub(
    pbs: FakePbs, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    pbs.fail("down")
    submission = PbsSubmitter(Runner()).submit((script,), lambda _job: None)
    assert (submission.exit_code, submission.job) == (1, None)
    assert "cannot connect to server" in capfd.readouterr().err


def test_an_array_and_another_server_are_recognised(pbs: FakePbs, script: str) -> None:  # noqa: ARG001
    submit = PbsSubmitter(Runner()).submit
    assert submit(("-J", "1-3", script), lambda _job: None).job == Submitted(JobRef(1))
    assert submit(("-q", "gpu@other", script), lambda _job: None).job == Submitted(JobRef(2), "other")


def test_options_end_at_the_script() -> None:
    words = read_words(["-lselect=2", "-hN", "name", "-koed", "run.sh", "-N", "other"])
    assert words.options == (("l", "select=2"), ("h", ""), ("N", "name"), ("k", "oed"))
    assert words.operands == ("run.sh", "-N", "other")
    assert read_words(["-N", "x", "--", "/bin/true"]).operands == ("--", "/bin/true")
    with pytest.raises(SchedulerRejected, match="option -Q not recognized"):
        read_words(["-Q"])
    with pytest.raises(SchedulerRejected, match="option -N requires argument"):
        read_words(["-N"])


def test_directives_count_until_the_first_command(script: str) -> None:
    words = read([script])
    assert (words.name, words.script) == ("train", script)
    assert "log arrives at the end" in words.warnings[0]
    assert read(["-k", "oed", "-J", "1-9%2", script])[3:] == ("train", "1-9", "", ())


def test_more_options_stand_before_the_script_and_behind_the_users() -> None:
    assert with_options(["-r", "y", "x.sh", "a"], ["-r", "n"]) == ["-r", "y", "-r", "n", "x.sh", "a"]


def test_the_users_variables_stay_beside_the_token(script: str) -> None:
    assert with_options(["-v", "A=1,B", script], (), ["T=2"]) == ["-v", "A=1,B", "-v", "A=1,B,T=2", script]
    # those of the script: an option of the command line replaces them
    assert with_options([script], (), ["T=2"]) == ["-v", "DATA=/data,MODE,T=2", script]


def test_a_cut_off_submission_is_found_by_its_token(pbs: FakePbs) -> None:
    cut_off = CutOffSubmission(77, "login1", 0.0, "/", ())
    control = PbsJobControl(PbsRunner(pbs))
    token = {"JOBMON_TOKEN": token_of("login1", 77)}
    own = pbs_job(user=user_name(), Variable_List=token)
    pbs.put({"1.pbs1": pbs_job(user=user_name()), "2.pbs1": own})
    assert control.find_submission(cut_off, (), 0.0) == JobRef(2)
    # not to find it proves nothing: a job that has ended may be forgotten
    assert isinstance(control.find_submission(cut_off, {JobRef(2)}, 0.0), Untraceable)


def test_jobs_arrays_and_subjobs_are_cancelled_and_ended_ones_are_no_error(pbs: FakePbs) -> None:
    pbs.put({"1.pbs1": pbs_job(), "2[].pbs1": pbs_job("B"), "3[4].pbs1": pbs_job(), "5.pbs1": ended_job(0)})
    assert PbsJobControl(Runner()).cancel([JobRef(1), JobRef(2), JobRef(3, 4), JobRef(5), JobRef(9)]) == ""
    assert {job_id for job_id, job in pbs.jobs().items() if job.get("substate") == 91} == {
        *("1.pbs1", "2[].pbs1", "3[4].pbs1")
    }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("JOBMON_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


@pytest.mark.usefixtures("home")
def test_a_chain_depends_by_pbs_itself(pbs: FakePbs, script: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["chain", "--backend", "pbs", f"-J 1-2 {script}", script]) == 0
    assert capfd.readouterr().out == "1[].pbs1\n2.pbs1\n"
    first, second = (call for call in pbs.calls() if call[0] == "qsub")
    assert first == ["qsub", "-J", "1-2", script]
    assert second == ["qsub", "-W", "depend=afterok:1[]", script]


@pytest.mark.usefixtures("home")
def test_a_stage_may_not_have_a_dependency_of_its_own(
    pbs: FakePbs, script: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["chain", "--backend", "pbs", script, f"-W depend=afterok:7 {script}"]) != 0
    assert "the chain sets its dependency" in capfd.readouterr().err
    assert pbs.calls() == []


@pytest.mark.usefixtures("home")
def test_with_restarts_pbs_never_runs_the_job_again_and_gets_its_variables(pbs: FakePbs, script: str) -> None:
    assert main(["submit", "--backend", "pbs", "--restart", script]) == 0
    (job,) = pbs.jobs().values()
    assert job["Rerunable"] == "False"
    assert "-v DATA=/data,MODE,JOBMON_LINEAGE,JOBMON_ATTEMPT" in job["Submit_arguments"]


@pytest.mark.usefixtures("home")
def test_an_array_has_no_restarts(pbs: FakePbs, script: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["submit", "--backend", "pbs", "--restart", "-J", "1-3", script]) != 0
    assert "an array is not restarted" in capfd.readouterr().err
    assert pbs.jobs() == {}


def test_a_job_that_is_not_there_is_not_listed(pbs: FakePbs) -> None:
    from jobmon_core.scheduler.pbs.client import PbsScheduler

    assert isinstance(PbsScheduler(PbsRunner(pbs)).records(JobRef(5)), NotListed)


def test_a_check_reads_the_directives_of_pbs(script: str) -> None:
    asked = ["-l", "select=2:ncpus=4:mem=8gb:ngpus=1", "-o", "login1:/logs/out", script, "--lr", "1"]
    assert as_sbatch(asked) == [
        *("--job-name=train", "--output=/logs/out", "--error=train.e%j", "--time=01:00:00", "--nodes=2"),
        *("--cpus-per-task=4", "--mem=8G", "--gres=gpu:1", script, "--lr", "1"),
    ]
    assert as_sbatch(["-N", "x", "--", "/bin/true", "a b"])[-1] == "--wrap=/bin/true 'a b'"


@pytest.mark.usefixtures("home")
def test_a_check_without_qsub_says_that_pbs_cannot_be_asked(
    script: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert main(["check", "--backend", "pbs", script]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "PBS did not say whether it accepts the job: qsub is not on the PATH here" in said


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"job_state": "H", "Hold_Types": "u"}, "it is held by its owner (`qrls` releases it)"),
        (
            {"job_state": "H", "Hold_Types": "s", "depend": "afterok:2.pbs1@pbs1"},
            "it waits for another job (afterok:2.pbs1@pbs1)",
        ),
        ({"job_state": "W"}, "its start time (`-a`) has not come"),
        (
            {"job_state": "Q", "comment": "Not Running: Not enough free nodes"},
            "Not Running: Not enough free nodes",
        ),
    ],
)
def test_why_names_holds_dependencies_and_the_comment(
    pbs: FakePbs, fields: dict[str, object], reason: str
) -> None:
    pbs.put({"4.pbs1": {**pbs_job("Q"), **fields}})
    facts = ask_pending(PbsRunner(pbs), JobRef(4), "")
    assert isinstance(facts, PendingFacts)
    assert facts.job.reason == reason


@pytest.mark.usefixtures("pbs")
def test_why_of_a_job_that_pbs_does_not_know_is_no_answer(pbs: FakePbs) -> None:
    assert isinstance(ask_pending(PbsRunner(pbs), JobRef(4), ""), NotListed)
