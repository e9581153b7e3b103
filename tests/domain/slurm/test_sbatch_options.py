from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.sbatch_options import (
    OPTIONS,
    Argument,
    array_expression,
    misplaced_options,
    reads_stdin,
    script_directives,
    script_of,
)


def _script(*lines: str) -> str:
    return "\n".join(("#!/bin/bash", *lines, "echo run", "#SBATCH -o late.out"))


@pytest.mark.parametrize(
    ("arguments", "environment", "expression"),
    [
        (["--array=1-4", "job.sh"], {"SBATCH_ARRAY_INX": "5"}, "1-4"),
        (["-a1-4%2", "job.sh"], {}, "1-4%2"),
        (["-a", "1", "--array", "2", "--wrap", "true"], {}, "2"),
        (["-n1", "job.sh", "--array=9"], {"SBATCH_ARRAY_INX": "5"}, "5"),
        (["job.sh"], {}, "7-8"),
        (["--wrap", "true"], {}, ""),
        ([], {}, ""),
        (["--unheard-of", "job.sh"], {}, ""),
        (["--container-image=a.sqsh", "job.sh"], {}, "7-8"),
        (["--tasks-per-node", "4", "--batch=gpu", "-a1-2", "job.sh"], {}, "1-2"),
        (["--array=1-2", "-!", "job.sh"], {}, ""),
    ],
)
def test_the_array_is_that_of_the_command_line_else_of_the_environment_else_of_the_script(
    arguments: list[str], environment: dict[str, str], expression: str
) -> None:
    scripts = {"job.sh": _script("#SBATCH -a 7-8")}
    assert array_expression(arguments, environment, lambda path: scripts[path]) == expression


@pytest.mark.parametrize(
    "option", ["--container-image=nvcr.io#nvidia/pytorch", "--ntasks-per-node=4", "--tasks-per-node=4"]
)
def test_the_script_is_found_behind_an_option_of_a_site_or_of_a_newer_sbatch(option: str) -> None:
    words = [option, "--out=a.log", "train.sh", "-p", "big", "--output-dir=x"]
    assert script_of(words) == "train.sh"
    assert misplaced_options(words) == ("train.sh", ["-p"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", True),
        ("--gres=gpu:1 -c 4", True),
        ("-J job.sh", True),
        ("--test-only --", True),
        ("-c 4 job.sh", False),
        ("-- job.sh", False),
        ("--wrap true", False),
        ("--wra=true -c 4", False),
        ("-c 4 --help", False),
        ("-V", False),
        ("--unheard-of", False),
    ],
)
def test_sbatch_reads_stdin_if_neither_a_script_nor_a_command_is_given(
    arguments: str, *, expected: bool
) -> None:
    assert reads_stdin(arguments.split()) is expected


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("#SBATCH -o a.out", "a.out"),
        ("#SBATCH -oa.out", "a.out"),
        ("#SBATCH --output=a.out", "a.out"),
        ("#SBATCH --output a.out", "a.out"),
        ("#SBATCH --outp=a.out", "a.out"),
        ("#SBATCH\t--output=a.out", "a.out"),
        ("#SBATCH -N 1 -o a.out --mem=1G", "a.out"),
        ("#SBATCH -Ho a.out", "a.out"),
        ("#SBATCH --container-image=x.sqsh --outp=a.out", "a.out"),
        ('#SBATCH -o "my logs/a.out"', "my logs/a.out"),
        ("#SBATCH -o 'my logs/a.out'", "my logs/a.out"),
        (r"#SBATCH --output=a\ b.out", "a"),
        ("#SBATCH -o a#b.out", "a"),
        ('#SBATCH -o "a#b.out"', "a#b.out"),
        ("#SBATCH -o a.out # where it goes", "a.out"),
        ("#SBATCH -o $HOME/x.out", "$HOME/x.out"),
        ("#SLURM -o a.out", "a.out"),
        ("#SBATCH -p gpu -o a.out", "a.out"),
        (" #SBATCH -o a.out", None),
        ("##SBATCH -o a.out", None),
        ("#sbatch -o a.out", None),
        ('#SBATCH -o "a.out', None),
        ("#SBATCH --o=a.out", None),
        ("#SBATCH -o", None),
        ("#SBATCH # -o a.out", None),
    ],
)
def test_a_directive_is_read_as_sbatch_reads_it(line: str, output: str | None) -> None:
    assert script_directives(_script(line)).get("output") == output


def test_all_fields_are_read_over_comments_and_blank_lines_and_the_last_one_wins() -> None:
    script = _script(
        "#SBATCH -J name -o first.out",
        "",
        "# a comment",
        "   ",
        "#SBATCH --error=%x.err -D /w --array=1-4%2 -t 1:00 --comment='a b' --open-mode=append",
        "#SBATCH --output=last.out",
    )
    assert script_directives(script) == {
        "job-name": "name", "output": "last.out", "error": "%x.err", "chdir": "/w", "array": "1-4%2",
        "time": "1:00", "comment": "a b", "open-mode": "append",
    }  # fmt: skip


def test_parsing_stops_at_the_first_command_even_in_a_python_script() -> None:
    assert script_directives('#!/usr/bin/env python\n"""doc"""\n#SBATCH -o a.out\n') == {}


def test_of_a_het_job_the_first_component_counts() -> None:
    script = _script("#SBATCH -o a.out", "#SBATCH hetjob", "#SBATCH -o b.out")
    assert script_directives(script) == {"output": "a.out"}


def test_an_exact_option_wins_over_longer_ones_and_an_ambiguous_abbreviation_is_ignored() -> None:
    assert script_directives(_script("#SBATCH --time=5")) == {"time": "5"}
    assert script_directives(_script("#SBATCH --time-min=5")) == {"time-min": "5"}
    assert script_directives(_script("#SBATCH --ti=5")) == {}


@given(st.text(alphabet="#SBATCHoe-= \t\"'\\\nxjJ%") | st.text())
def test_no_script_makes_parsing_raise(text: str) -> None:
    script_directives(text)
    script_directives("#SBATCH " + text)


def test_no_option_is_entered_twice_and_flags_take_no_value() -> None:
    letters = [option.letter for option in OPTIONS.values() if option.letter]
    assert len(letters) == len(set(letters))
    assert OPTIONS["parsable"].argument is Argument.NONE
    assert OPTIONS["exclusive"].argument is Argument.OPTIONAL
    assert OPTIONS["gres"].argument is Argument.REQUIRED
