from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.local.submit import read_script
from tests.scheduler.local.harness import LocalHarness
from tests.support.processes import in_a_copy

_NO_SCRIPT = (
    "jobmon: local: This does not look like a batch script.  The first\n"
    "jobmon: local: line must start with #! followed by the path to an interpreter.\n"
    "jobmon: local: For instance: #!/bin/sh\n"
)
_DOS = (
    "jobmon: local: Batch script contains DOS line breaks (\\r\\n)\n"
    "jobmon: local: instead of expected UNIX line breaks (\\n).\n"
)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "jobmon: local: Batch script is empty!\n"),
        (b" \n", _NO_SCRIPT),
        (b"echo\r\n", _NO_SCRIPT),
        (b"\n#!/bin/sh\n", _NO_SCRIPT),
        (b"#!/bin/sh\r\necho\r\n", _DOS),
    ],
)
def test_an_invalid_script_is_rejected_with_sbatchs_error_and_leaves_no_files(
    local: LocalHarness, capfd: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    (local.work / "job.sh").write_bytes(content)

    submission = local.submit("job.sh")

    assert (submission.exit_code, submission.job) == (1, None)
    assert capfd.readouterr() == ("", words)
    assert list(local.root.iterdir()) == []


def test_a_missing_script_a_dash_and_a_directory_give_sbatchs_errors(
    local: LocalHarness, capfd: pytest.CaptureFixture[str]
) -> None:
    directory = local.work / "directory"
    directory.mkdir()
    for name in ("nope.sh", "-", f"{directory}/missing", str(directory)):
        assert local.submit(name).exit_code == 1

    assert capfd.readouterr().err.splitlines() == [
        "jobmon: local: Unable to open file nope.sh",
        "jobmon: local: Unable to open file -",
        f"jobmon: local: Unable to open file {directory}/missing",
        f"jobmon: local: Unable to open file {directory}",
    ]


def test_an_unreadable_script_gives_sbatchs_error(
    local: LocalHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = local.work / "hidden"
    hidden.mkdir(0)
    script = Path(local.script("#!/bin/sh\n"))
    script.chmod(0)
    monkeypatch.setenv("PATH", f"{hidden}:/bin")

    def refuses() -> None:
        for name in (str(script), str(hidden / "job.sh"), "x" * 5000):
            with pytest.raises(SchedulerRejected, match=f"Unable to open file {name}"):
                read_script([name], None)

    in_a_copy(refuses, as_nobody=True)


def test_an_option_that_is_unknown_is_refused_by_name_and_leaves_nothing(
    local: LocalHarness, capfd: pytest.CaptureFixture[str]
) -> None:
    assert local.submit("--frobnicate", "--wrap", "true").exit_code == 1

    assert capfd.readouterr() == ("", "jobmon: local: option --frobnicate not recognized\n")
    assert list(local.root.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["-t", "abc"], "Invalid --time specification"),
        (["-a", "5-1"], "Invalid job array specification"),
        (["--open-mode", "x"], "Invalid --open-mode specification"),
        (["a.sh"], "Script arguments not permitted with --wrap option"),
    ],
)
def test_an_invalid_value_is_rejected_and_leaves_nothing(
    local: LocalHarness, capfd: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    assert local.submit("--wrap", "true", *arguments).exit_code == 1

    assert capfd.readouterr() == ("", f"jobmon: local: {error}\n")
    assert list(local.root.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [([], "Submitted batch job 1\n"), (["--parsable"], "1\n"), (["-Q"], ""), (["-Q", "--parsable"], "")],
)
def test_stdout_is_what_sbatch_would_print(
    local: LocalHarness, capfd: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    seen: list[Submitted] = []

    submission = local.scheduler.submit([*arguments, "--wrap", "true"], seen.append)

    assert capfd.readouterr() == (said, "")
    assert submission.job == Submitted(JobRef(1))
    assert seen == [submission.job]


def test_ignored_options_are_listed_once_on_stderr(
    local: LocalHarness, capfd: pytest.CaptureFixture[str]
) -> None:
    assert local.submit("-p", "gpu", "--gres=gpu:1", "-p", "big", "--wrap", "true").exit_code == 0

    assert capfd.readouterr().err == ("jobmon: local: ignored on a single machine: --partition --gres\n")
    assert local.submit("-Q", "-p", "gpu", "--wrap", "true").exit_code == 0
    assert capfd.readouterr() == ("", "")


def test_a_failure_to_watch_the_job_does_not_hide_its_id(
    local: LocalHarness, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_job: Submitted) -> None:
        raise OSError("no room for a monitor")

    with pytest.raises(OSError, match="no room"):
        local.scheduler.submit(["--wrap", "true"], fail)

    assert capfd.readouterr().out == "Submitted batch job 1\n"
    assert local.ends(1)[0].state is JobState.COMPLETED


def test_a_script_may_come_on_standard_input(local: LocalHarness) -> None:
    done = local.run("-o", "log", stdin=b"#!/bin/sh\n#SBATCH -e err\necho $#\necho e >&2\n")

    assert done.stdout == b"Submitted batch job 1\n"
    (record,) = local.ends(1)
    assert (record.name, record.command) == ("sbatch", "")
    assert local.says("log", "0\n")
    assert local.says("err", "e\n")


def test_a_script_is_looked_for_here_then_on_the_search_path(
    local: LocalHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    (local.work / "bin").mkdir()
    for place in ("bin/both.sh", "both.sh", "bin/only.sh"):
        local.script(f"#!/bin/sh\necho {place}\n", place)
    monkeypatch.setenv("PATH", f"{local.work}/bin:{os.environ['PATH']}")

    local.finish("both.sh")
    record = local.finish("only.sh")

    assert local.says("slurm-1.out", "both.sh")
    assert not local.says("slurm-1.out", "bin")
    assert local.says("slurm-2.out", "bin/only.sh")
    assert (record.name, record.command) == ("only.sh", f"{local.work}/bin/only.sh")


def test_the_script_is_kept_as_it_was_when_submitted(local: LocalHarness) -> None:
    text = "#!/bin/sh\n# grüße\nwhile [ ! -e go ]; do sleep 0.05; done\nexit 6\n"
    job_id = local.start(local.script(text))
    local.script("#!/bin/sh\nexit 0\n")
    (local.work / "go").touch()

    assert local.ends(job_id)[0].exit_code == 6
    assert local.scheduler.script_of(job_id) == text
    assert local.scheduler.script_of(99) == ""


def test_a_wrapped_command_is_the_script_that_sbatch_would_make(local: LocalHarness) -> None:
    record = local.finish("--wrap", "exit 2")

    assert record.name == "wrap"
    assert local.scheduler.script_of(1) == (
        "#!/bin/sh\n# This script was created by sbatch --wrap.\n\nexit 2\n\n"
    )
