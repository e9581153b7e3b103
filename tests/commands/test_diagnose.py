"""What `jobmon diagnose` answers, on a machine without Slurm."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.patterns import LABELS
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.jobs import JobStore
from tests.support.job_records import RUNNING, job_of
from tests.support.shell import Shell, complaint

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
KEYS = ["cause", "label", "title", "headline", "confidence", "advice", "evidence", "symptoms", "fingerprint"]
ALL_KEYS = [*KEYS, "explanation", "note", "job_id", "live", "changes", "known_failure"]


def log(shell: Shell, name: str, text: str) -> str:
    (shell.work / name).write_text(text)
    return name


def found(shell: Shell, *arguments: str, stdin: str = "") -> dict[str, Any]:
    """Return the JSON of a diagnosis that must succeed."""
    done = shell.jobmon("diagnose", "--json", *arguments, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, ""), done
    answer: dict[str, Any] = json.loads(done.stdout)
    assert list(answer) == ALL_KEYS
    assert answer["label"] is None or answer["label"] in LABELS
    return answer


def test_a_log_is_explained_with_its_proof_and_advice_and_no_terminal_codes(shell: Shell) -> None:
    done = shell.jobmon("diagnose", log(shell, "train.err", f"step 1\n{OOM}"))
    assert (done.returncode, done.stderr) == (0, "")
    first, _, *rest = done.stdout.splitlines()
    assert first == "CUDA out of memory (tried 2.00 GiB)"
    assert rest[:4] == ["", "Proof:", "  train.err", f"    2: {OOM.rstrip()}"]
    assert "What to do:" in rest
    assert "\x1b" not in done.stdout


def test_the_json_of_a_failure_names_its_cause_and_line(shell: Shell) -> None:
    answer = found(shell, log(shell, "train.err", f"step 1\n{OOM}"))
    assert (answer["cause"], answer["label"], answer["job_id"]) == ("cuda_oom", "cuda_oom", None)
    assert answer["evidence"] == [{"file": "train.err", "line": 2, "text": OOM.rstrip()}]
    assert 0 < answer["confidence"] <= 1
    assert answer["fingerprint"]


def test_a_healthy_log_is_clean(shell: Shell) -> None:
    name = log(shell, "ok.log", "epoch 1 loss 0.5\nsaved model.pt\n")
    answer = found(shell, name)
    assert (answer["cause"], answer["label"], answer["evidence"]) == (None, "clean", [])
    assert shell.jobmon("diagnose", name).stdout.startswith("No failure found\n")


def test_where_nothing_is_certain_no_label_is_claimed_and_the_last_lines_are_shown(shell: Shell) -> None:
    name = log(shell, "odd.log", "step 1\nand then\n")
    answer = found(shell, name, "--exit-code", "3")
    assert (answer["cause"], answer["label"], answer["confidence"]) == (None, None, 0)
    shown = shell.jobmon("diagnose", name, "--exit-code", "3").stdout
    assert shown.startswith("Cause unknown\n")
    assert "Last lines:\n  odd.log\n    1: step 1\n    2: and then\n" in shown


def test_what_the_user_says_of_the_end_is_evidence(shell: Shell) -> None:
    name = log(shell, "ok.log", "epoch 1\n")
    assert found(shell, name, "--state", "TIMEOUT")["label"] == "slurm_timeout"
    assert found(shell, name, "--state", f"CANCELLED by {os.getuid()}")["label"] == "slurm_cancelled"
    assert found(shell, name, "--exit-code", "0:125")["label"] == "host_oom_kill"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("x", "--state", "bogus"), "'bogus' is not a Slurm job state; final states are COMPLETED, FAILED"),
        (("x", "--exit-code", "1:x"), "'1:x' is not an exit code; expected N or N:SIGNAL"),
        (("ok.log", "12_3"), "12_3 is a job and ok.log is a file; run the command once for each"),
        (("12_3", "-"), "12_3 is a job and - is standard input; run the command once for each"),
        (("12_3", "trian"), "'trian' is neither a job that jobmon watched nor a file"),
        ((), "`jobmon diagnose --help`"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(
    shell: Shell, arguments: tuple[str, ...], words: str
) -> None:
    log(shell, "ok.log", "fine\n")
    done = shell.jobmon("diagnose", *arguments)
    assert done.returncode == 2
    assert words in complaint(done)


def test_a_file_that_can_not_be_read_is_named(shell: Shell) -> None:
    done = shell.jobmon("diagnose", "nowhere.log")
    assert done.returncode == 1
    assert complaint(done) == "nowhere.log does not exist"
    for command in ("diagnose", "progress"):
        neither = complaint(shell.jobmon(command, "nosuch"))
        assert neither.startswith("'nosuch' is neither a watched job nor a file; ")
    assert complaint(shell.jobmon("diagnose", ".")) == ". is a folder"


def test_one_file_that_can_not_be_read_keeps_no_other_from_being_read(shell: Shell) -> None:
    done = shell.jobmon("diagnose", log(shell, "train.err", OOM), "nowhere.log")
    assert done.returncode == 1
    assert done.stdout.startswith("CUDA out of memory (tried 2.00 GiB)\n")
    assert done.stderr == "jobmon: nowhere.log does not exist\n"


@pytest.mark.parametrize("name", ["a b.log", "100%s %j.log", "12 13", "ü\u202e.log", "'\"$HOME`.log", "7"])
def test_a_file_may_have_any_name(shell: Shell, name: str) -> None:
    assert found(shell, log(shell, name, OOM))["evidence"][0]["file"] == name
    assert "\u202e" not in shell.jobmon("diagnose", name).stdout


def test_a_name_with_a_leading_dash_stands_behind_two(shell: Shell) -> None:
    assert found(shell, "--", log(shell, "--state", OOM))["cause"] == "cuda_oom"


def test_a_name_of_bytes_that_are_no_text_is_read(shell: Shell) -> None:
    (shell.work / os.fsdecode(b"\xff.log")).write_text(OOM)
    done = shell.line("jobmon diagnose *.log")
    assert done.stdout.startswith("CUDA out of memory (tried 2.00 GiB)\n"), done


def test_standard_input_is_read(shell: Shell) -> None:
    assert found(shell, "-", stdin=f"step 1\n{OOM}")["evidence"][0]["line"] == 2
    assert "Note: nothing to read: <stdin> is empty" in shell.jobmon("diagnose", "-").stdout


def test_a_log_of_hostile_bytes_harms_no_terminal(shell: Shell) -> None:
    hostile = b"\x1b[2J\x1b]0;title\x07\xff\xfe\x00a\xe2\x80\xaeb\x9b31m\r"
    (shell.work / "evil.log").write_bytes(hostile + b"RuntimeError: CUDA out of memory. \xe2\x80\xaex\n")
    done = shell.jobmon("diagnose", "evil.log", "--exit-code", "1")
    assert done.returncode == 0
    assert done.stdout.replace("\n", "").isprintable()
    assert json.loads(shell.jobmon("diagnose", "evil.log", "--json").stdout)["cause"] == "cuda_oom"


def test_neither_a_home_nor_a_configuration_is_needed_for_a_file(shell: Shell) -> None:
    name = log(shell, "train.err", OOM)
    (shell.home / "config.json").write_text("{")
    (shell.home / "config.json").chmod(0o600)
    assert found(shell, name)["cause"] == "cuda_oom"
    for home in ("/proc/home", "/dev/null/home", str(shell.work / "none")):
        done = shell.jobmon("diagnose", name, JOBMON_HOME=home)
        assert (done.returncode, done.stderr) == (0, "")
    assert not (shell.work / "none").exists()


def test_the_users_own_patterns_are_used(shell: Shell) -> None:
    rule = {
        "id": "config_error.physics", "title": "Diverged", "severity": "error", "role": "root",
        "regex": "PHYSICS DIVERGED", "cause": "It diverged.", "advice": "Halve the step.",
        "precedence": 60, "examples": ["PHYSICS DIVERGED at 3"], "counter_examples": ["physics fine"],
    }  # fmt: skip
    own = {"schema_version": 1, "rules": [rule]}
    (shell.home / "patterns.json").write_text(json.dumps(own))
    assert found(shell, log(shell, "sim.log", "PHYSICS DIVERGED at 7\n"))["cause"] == "config_error.physics"


def test_a_watched_array_is_explained_by_its_worst_task(shell: Shell) -> None:
    end = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=1, started_s=1, ended_s=2)
    good = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE, exit_code=0)
    logs = LogPaths(str(shell.work / "%A_%a.log"), "", "Slurm")
    tasks = {"1": Task("1", end=good), "2": Task("2", end=end)}
    JobStore(shell.state).save(
        WatchedJob("slurm-12-x", 12, 100.0, name="sweep", array_indices="1-2", logs=logs, tasks=tasks)
    )
    log(shell, "12_2.log", OOM)
    for words in ("12", "12_2"):
        assert found(shell, words)["job_id"] == "12_2"
    shown = shell.jobmon("diagnose", "12").stdout.splitlines()
    assert shown[:2] == [
        "CUDA out of memory (tried 2.00 GiB)",
        "Job 12_2 sweep: FAILED, exit code 1; 1 of 2 tasks failed",
    ]
    assert found(shell, "12_1")["label"] == "clean"


def test_without_slurm_a_job_that_is_not_known_names_the_way_out(shell: Shell) -> None:
    done = shell.jobmon("diagnose", "4711")
    assert done.returncode == 69
    words = complaint(done)
    assert words.startswith("job 4711 cannot be looked up now: scontrol: not found on PATH")
    assert words.endswith("`jobmon diagnose FILE` explains a log file without a scheduler")


def test_of_a_running_job_it_says_whether_it_is_healthy(shell: Shell) -> None:
    JobStore(shell.state).save(job_of(RUNNING, job_id=9))
    assert "\n\nJob 9 train, RUNNING" in shell.jobmon("diagnose", "9").stdout
    found = json.loads(shell.jobmon("diagnose", "9", "--json").stdout)
    assert (found["health"]["job_id"], found["health"]["healthy"]) == ("9", None)
