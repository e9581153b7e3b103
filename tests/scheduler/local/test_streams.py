from __future__ import annotations

import pytest

from jobmon_core.domain.slurm.states import JobState
from tests.scheduler.local.harness import LocalHarness


def test_output_goes_where_the_patterns_say_and_missing_folders_are_made(local: LocalHarness) -> None:
    local.finish("-J", "n", "-o", "a/%x-%j/%%.out", "-e", "b/%4A.err", "--wrap", "echo out; echo err >&2")

    assert (local.work / "a/n-1/%.out").read_text(encoding="utf-8") == "out\n"
    assert (local.work / "b/0001.err").read_text(encoding="utf-8") == "err\n"


def test_stderr_joins_stdout_in_order_by_default(local: LocalHarness) -> None:
    local.finish("--wrap", "echo 1; echo 2 >&2; echo 3")

    assert (local.work / "slurm-1.out").read_text(encoding="utf-8") == "1\n2\n3\n"


@pytest.mark.parametrize(("mode", "text"), [("append", "old\nnew\n"), ("truncate", "new\n")])
def test_the_open_mode_is_honoured(local: LocalHarness, mode: str, text: str) -> None:
    (local.work / "log").write_text("old\n", encoding="utf-8")

    local.finish("-o", "log", "--open-mode", mode, "--wrap", "echo new")

    assert (local.work / "log").read_text(encoding="utf-8") == text


def test_output_that_cannot_be_opened_is_a_launch_failure_as_in_slurm(local: LocalHarness) -> None:
    (local.work / "taken").mkdir()

    record = local.finish("-o", "taken", "--wrap", "touch ran")

    assert (record.state, record.exit_code, record.signal) == (JobState.FAILED, 0, 53)
    assert record.reason == f"JobLaunchFailure: could not open {local.work}/taken: Is a directory"
    assert not (local.work / "ran").exists()


def test_stdin_is_the_given_file_or_empty(local: LocalHarness) -> None:
    (local.work / "in").write_text("fed\n", encoding="utf-8")

    local.finish("--wrap", "cat; echo end")
    local.finish("-i", "in", "--wrap", "cat")

    assert (local.work / "slurm-1.out").read_text(encoding="utf-8") == "end\n"
    assert (local.work / "slurm-2.out").read_text(encoding="utf-8") == "fed\n"


def test_a_job_inherits_no_descriptor_but_its_three(local: LocalHarness) -> None:
    local.finish("--wrap", "exec ls /proc/self/fd")

    assert local.says("slurm-1.out", "0\n1\n2\n3\n")  # 3 is the folder that ls reads
    assert not local.says("slurm-1.out", "4\n")
