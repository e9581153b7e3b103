from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.sbatch_options import (
    OPTIONS,
    UnknownOption,
    misplaced_options,
    read_with_unknown,
    reads_stdin,
    script_directives,
    script_of,
    spelled_out,
)

# as sbatch 22.05 and the plugin pyxis print their options
_HELP = """\
  -A, --account=name          charge job to specified account
  -k, --no-kill               do not kill job on node failure
      --nice[=value]          decrease scheduling priority by value

Options provided by plugins:
      --container-image=[USER@][REGISTRY#]IMAGE[:TAG]|PATH
                              [pyxis] the image to use
      --container-writable    [pyxis] make the container filesystem writable
      --container-remap[=who] [pyxis] remap users
"""


def _script(*lines: str) -> str:
    return "\n".join(("#!/bin/bash", *lines, "echo run", "#SBATCH -o late.out"))


@pytest.mark.parametrize(
    "option", ["--container-image=nvcr.io#nvidia/pytorch", "--ntasks-per-node=4", "--tasks-per-node=4"]
)
def test_the_script_is_found_behind_an_option_of_a_site_or_of_a_newer_sbatch(option: str) -> None:
    words = [option, "--out=a.log", "train.sh", "-p", "big", "--output-dir=x"]
    assert script_of(words) == "train.sh"
    assert misplaced_options(words) == ("train.sh", ["-p"])


@pytest.mark.parametrize(
    ("line", "script", "options"),
    [
        ("-n1 : -n2 het.sh a : b", "het.sh", {"ntasks": "1"}),
        ("--gres=gpu:1 -J a : -n2 -d afterok:5 : -c2 het.sh", "het.sh",
         {"gres": "gpu:1", "job-name": "a", "ntasks": "2", "dependency": "afterok:5", "cpus-per-task": "2"}),
        ("-J : het.sh : x", "het.sh", {"job-name": ":"}),
        ("-n1 : -n2 --wrap true", "", {"ntasks": "1", "wrap": "true"}),
    ],
)  # fmt: skip
def test_the_components_of_a_het_job_stand_between_colons_and_the_first_one_decides(
    line: str, script: str, options: dict[str, str]
) -> None:
    words = line.split()
    assert script_of(words) == script
    assert dict(read_with_unknown(words)[0]) == options


def test_a_het_job_on_stdin_is_one() -> None:
    assert reads_stdin(["-n1", ":", "-n2"])


@pytest.mark.parametrize("option", ["--stepmgr", "--spread-segments", "--requeue=expedite", "--requeue"])
def test_the_options_of_new_versions_are_known(option: str) -> None:
    assert script_of([option, "run.sh", "-p", "big"]) == "run.sh"


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("-n1 --container-writable run.sh --lr 1", "-n1 --container-writable= run.sh --lr 1"),
        ("--container-image a.sqsh run.sh", "--container-image=a.sqsh run.sh"),
        ("--container-im a.sqsh --container-rem run.sh",
         "--container-image=a.sqsh --container-remap= run.sh"),
        ("--container-image", "--container-image"),
        ("--container- a run.sh", "--container- a run.sh"),
        ("--new run.sh", "--new run.sh"),
        ("-p", "-p"),
    ],
)  # fmt: skip
def test_sbatchs_own_help_tells_which_options_take_a_value(words: str, spelled: str) -> None:
    assert spelled_out(words.split(), _HELP) == spelled.split()


def test_an_option_that_only_sbatch_may_know_is_named() -> None:
    with pytest.raises(UnknownOption, match="option --new not recognized") as caught:
        read_with_unknown(["-n1", "--new", "run.sh"])
    assert caught.value.name == "new"


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
    assert OPTIONS["parsable"].argument == ""
    assert OPTIONS["exclusive"].argument == "?"
    assert OPTIONS["gres"].argument == "="
