from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.job_ids import IndexSet, compact
from jobmon_core.domain.slurm.sbatch_options import (
    OPTIONS,
    Treatment,
    directive_words,
    parse_time_limit_s,
    read_arguments,
)
from jobmon_core.scheduler.local.submit import (
    ignored_options,
    is_append_mode,
    parse_array_indices,
    read_options,
)


def _options(*arguments: str, script: str = "", **environment: str) -> dict[str, str]:
    return read_options(directive_words(f"#!/bin/sh\n{script}"), environment, read_arguments(arguments)[0])


def test_the_script_is_overruled_by_the_environment_and_that_by_the_command_line() -> None:
    script = "#SBATCH -J script -o script -e script\n"

    options = _options("-J", "typed", script=script, SBATCH_JOB_NAME="variable", SBATCH_OUTPUT="variable")

    assert options == {"job-name": "typed", "output": "variable", "error": "script"}


def test_every_variable_of_an_honoured_option_is_read() -> None:
    options = _options(
        SBATCH_ARRAY_INX="1-2",
        SBATCH_ERROR="e",
        SBATCH_EXPORT="NONE",
        SBATCH_INPUT="i",
        SBATCH_JOB_NAME="n",
        SBATCH_OPEN_MODE="append",
        SBATCH_OUTPUT="o",
        SBATCH_TIMELIMIT="1",
    )

    assert options == {
        "array": "1-2",
        "error": "e",
        "export": "NONE",
        "input": "i",
        "job-name": "n",
        "open-mode": "append",
        "output": "o",
        "time": "1",
    }


def test_an_empty_variable_is_ignored() -> None:
    assert _options(SBATCH_TIMELIMIT="", SBATCH_ARRAY_INX="", SBATCH_OPEN_MODE="") == {}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--job-name=a", "--output=b"],
        ["--job-name", "a", "--output", "b"],
        ["-Ja", "-ob"],
        ["-J", "a", "-o", "b"],
        ["--job=a", "--out=b"],
        ["-OsJa", "-vob"],
        ["-vJa", "-Oob"],
        ["-J", "x", "-o", "b", "-J", "a"],
    ],
)
def test_an_option_may_be_written_as_getopt_allows(arguments: list[str]) -> None:
    options = _options(*arguments)

    assert (options["job-name"], options["output"]) == ("a", "b")


def test_an_optional_argument_is_read_only_if_attached() -> None:
    options = _options("--exclusive", "--nice=5", "--exclus=user", "-J", "--nice=7", "job.sh", "--nice=9")
    assert (ignored_options(options), options["job-name"]) == (["--exclusive", "--nice"], "--nice=7")
    assert read_arguments(["--exclusive", "user", "--nice=9"])[1] == ["user", "--nice=9"]


def test_options_behind_the_script_are_the_scripts_own() -> None:
    given, script = read_arguments(["-J", "a", "train.sh", "-J", "b", "--", "-x"])

    assert script == ["train.sh", "-J", "b", "--", "-x"]
    assert given == [("job-name", "a")]


def test_two_dashes_end_the_options() -> None:
    assert read_arguments(["--", "-odd.sh"])[1] == ["-odd.sh"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--badopt"], "option --badopt not recognized"),
        (["-Z"], "option -Z not recognized"),
        (["-t"], "option -t requires argument"),
        (["--output"], "option --output requires argument"),
        (["--parsable=3"], "option --parsable must not have an argument"),
        (["--ou=1", "--ex=1"], "option --ex not a unique prefix"),
        (["--=1"], "option -- not a unique prefix"),
        (["-d", "afterany:1"], "option '--dependency=afterany:1' is not supported on a single machine"),
        (["--wait"], "option '--wait' is not supported on a single machine"),
        (["-H"], "option '--hold' is not supported on a single machine"),
    ],
)
def test_an_invalid_or_unsupported_option_is_rejected_by_name(arguments: list[str], words: str) -> None:
    with pytest.raises(SchedulerRejected) as refusal:
        _options(*arguments)

    assert str(refusal.value).startswith(words)


def test_a_variable_with_an_unsupported_option_is_rejected_too() -> None:
    with pytest.raises(SchedulerRejected, match="--signal"):
        _options(SBATCH_SIGNAL="USR1@60")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#SBATCH --badx", "option --badx not recognized"),
        ("#SBATCH foo.sh", "Invalid directive found in batch script: foo.sh"),
        ("#SBATCH hetjob", "Invalid directive found in batch script: hetjob"),
        ('#SBATCH -J "a', "option -J requires argument"),
        ("#SBATCH --dependency=singleton", "option '--dependency=singleton' is not supported"),
    ],
)
def test_an_invalid_directive_is_rejected(line: str, words: str) -> None:
    with pytest.raises(SchedulerRejected) as refusal:
        _options(script=f"{line}\n")

    assert str(refusal.value).startswith(words)


def test_directives_end_at_the_first_command_and_may_be_quoted() -> None:
    script = '# a note\n\n#SBATCH -J "a b" --mem 5\n##SBATCH -o no\n #SBATCH -o no\ntrue\n#SBATCH -J late\n'

    options = _options(script=script)

    assert options == {"job-name": "a b", "mem": "5"}


def test_quiet_and_wrap_count_on_the_command_line_only_parsable_everywhere() -> None:
    assert _options(script="#SBATCH --quiet\n#SBATCH --wrap=x\n") == {}
    assert _options(script="#SBATCH --parsable\n") == {"parsable": ""}
    assert _options("-Q") == {"quiet": ""}


@pytest.mark.parametrize(
    "arguments",
    [
        ["-p", "gpu", "-n", "4", "-N2", "-c8", "--gres=gpu:1", "--mem", "4G", "-A", "me", "-q", "big", "-G1"],
        ["--exclusive", "--exclusive=user", "--nice", "--mail-type=END", "--no-requeue", "-k", "-v", "-v"],
    ],
)
def test_resource_options_are_accepted_and_listed_as_ignored(arguments: list[str]) -> None:
    ignored = ignored_options(_options(*arguments, "job.sh"))

    assert ignored
    assert all(OPTIONS[name.removeprefix("--")].treatment is Treatment.IGNORED for name in ignored)
    assert len(set(ignored)) == len(ignored)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1", 60),
        ("0", None),
        ("0:0", None),
        ("0:02", 2),
        ("1:30", 90),
        ("1:99", 159),
        ("1:2:3", 3723),
        ("25:61:61", 93721),
        ("1-", 86400),
        ("1-2", 93600),
        ("1-2:3", 93780),
        ("1-2:3:4", 93784),
        ("INFINITE", None),
        ("infinite", None),
        ("UNLIMITED", None),
        ("-1", None),
    ],
)
def test_every_form_of_a_time_limit_is_read(text: str, seconds: int | None) -> None:
    assert parse_time_limit_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " 5", "5 ", "5x", "1:", ":1", "1.5", "-5", "+5", "0x5", "1:2:3:4", "1-2-3", "٣"]
)
def test_an_invalid_time_limit_is_rejected(text: str) -> None:
    with pytest.raises(SchedulerRejected, match="Invalid --time specification"):
        parse_time_limit_s(text)


@pytest.mark.parametrize(
    ("text", "indices"),
    [
        ("0", [0]),
        ("01", [1]),
        ("1-3%1", [1, 2, 3]),
        ("3,1,2", [1, 2, 3]),
        ("3,1,3", [1, 3]),
        ("0-2:5", [0]),
        ("1-9:4", [1, 5, 9]),
        ("[1-3]", [1, 2, 3]),
        ("1,", [1]),
        (" 1", [1]),
        ("", []),
    ],
)
def test_the_indices_of_an_array_are_read_as_by_slurm(text: str, indices: list[int]) -> None:
    assert parse_array_indices(text) == indices


@pytest.mark.parametrize(
    "text", ["5-1", "1-", "-3", "abc", "1-10:0", "4000001", "0-1000000", "1 ", "1-3%x", "1,,2", "1-2-3", "٣"]
)
def test_an_invalid_array_is_rejected(text: str) -> None:
    with pytest.raises(SchedulerRejected, match="Invalid job array specification"):
        parse_array_indices(text)


def test_a_mode_other_than_append_and_truncate_is_rejected() -> None:
    assert [is_append_mode(text) for text in ("", "a", "APPEND", "t", "truncate")] == [
        False,
        True,
        True,
        False,
        False,
    ]
    with pytest.raises(SchedulerRejected, match="Invalid --open-mode specification"):
        is_append_mode("x")


@given(st.sets(st.integers(0, 5000), min_size=1, max_size=50))
def test_an_array_that_is_written_is_the_array_that_runs(indices: set[int]) -> None:
    written = compact(parse_array_indices(",".join(map(str, indices))))

    assert list(IndexSet.parse(written)) == sorted(indices)


_WORD = st.one_of(
    st.text(st.characters(exclude_characters="\0"), max_size=8),  # no argument of a program contains it
    st.sampled_from(sorted(OPTIONS)).map("--{}".format),
    st.sampled_from("aADeiJoQtpnNcGHWhv:").map("-{}".format),
    st.sampled_from(["--", "-", "--wrap", "-t", "1-2:3", "-a", "1-9:2%3", "--=", "-o", "x"]),
)


@given(st.lists(_WORD, max_size=8), st.text(max_size=60), st.text(max_size=10), st.text(max_size=10))
def test_no_arguments_raise_anything_but_a_rejection(
    words: list[str], script: str, limit: str, array: str
) -> None:
    with contextlib.suppress(SchedulerRejected):
        _options(*words)
    with contextlib.suppress(SchedulerRejected):
        _options(script=f"#SBATCH {script}\n")
    for parse, text in ((parse_time_limit_s, limit), (parse_array_indices, array), (is_append_mode, array)):
        with contextlib.suppress(SchedulerRejected):
            parse(text)


@given(st.lists(_WORD, max_size=8), st.text(alphabet="abc.", min_size=1, max_size=5))
def test_arguments_from_the_script_on_are_never_options(words: list[str], script: str) -> None:
    assert read_arguments(["-J", "n", script, *words])[1] == [script, *words]
