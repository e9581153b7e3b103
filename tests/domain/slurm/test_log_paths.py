from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.log_paths import PathContext, expand, literal, templates_from_record

BATCH = PathContext(job_id=15, user="root", job_name="jn", node="vm", restart=2)
TASK = PathContext(job_id=71, array_job_id=67, array_task=13, user="root", job_name="jn", node="vm")


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("/o/%j", "/o/15"),
        ("%A", "15"),
        ("%a", "4294967294"),
        ("%u-%x", "root-jn"),
        ("%J", "15"),
        ("%N", "vm"),
        ("%n%t", "00"),
        ("%s", "batch"),
        ("%%", "%"),
        ("%%j", "%j"),
        ("%4j", "0015"),
        ("%12j", "0000000015"),
        ("%08A", "00000015"),
        ("%9999999999999999999j", "0000000015"),
        ("%5x", "jn"),
        (r"a\%j", "a%j"),
        ("%j\\", "%j"),
        (r"\\x%x", "x%x"),
        ("%q", "%q"),
        ("", ""),
    ],
)
def test_a_pattern_expands_to_the_file_that_slurm_creates(template: str, path: str) -> None:
    assert expand(template, BATCH) == path
    assert expand(template, replace(BATCH, version=(22, 5))) == path


@pytest.mark.parametrize(
    ("template", "old", "new"),
    [
        ("%3q", "3q", "%3q"),
        ("%08q", "8q", "%08q"),
        ("%12q", "2q", "%12q"),
        ("%5%j", "515", "%5%j"),
        ("100%", "100%", "100"),
        ("%r-%b", "%r-4", "2-4"),
        ("%S", "%S", "s0X"),
    ],
)
def test_what_is_not_a_letter_expands_as_the_version_does(template: str, old: str, new: str) -> None:
    context = replace(BATCH, sluid="s0X")
    assert expand(template, replace(context, version=(25, 5))) == old
    assert expand(template, replace(context, version=(25, 11))) == new


@given(st.text(alphabet="%0123456789jJaAxuNbrqtSs/.-é\n"))
def test_a_literal_path_expands_to_itself(path: str) -> None:
    assert expand(literal(path), BATCH) == path
    assert expand(literal(path), replace(BATCH, version=(22, 5))) == path


@pytest.mark.parametrize(
    ("template", "path"),
    [("slurm-%A_%a.out", "slurm-67_13.out"), ("%j", "71"), ("%3a", "013"), ("%b", "3")],
)
def test_an_array_task_has_its_masters_id_its_own_id_and_its_index(template: str, path: str) -> None:
    assert expand(template, TASK) == path


def test_letters_younger_than_the_clusters_slurm_stay_as_they_are() -> None:
    old = PathContext(job_id=1, array_job_id=1, array_task=13, restart=1, version=(22, 5))
    new = PathContext(job_id=1, array_job_id=1, array_task=13, restart=1, version=(25, 11))
    assert expand("%b-%r-%a", old) == "%b-%r-13"
    assert expand("%b-%r-%a", new) == "3-1-13"


@given(st.text(alphabet="%\\0123456789jJaAxuNbrqt/.-é\n") | st.text())
def test_no_template_makes_expansion_raise(template: str) -> None:
    for context in (BATCH, TASK):
        expand(template, context)


def test_a_record_with_both_paths_is_taken_as_it_is() -> None:
    found = templates_from_record("/w/o-%j", "/w/e-%j", "/w", is_array=False)
    assert (found.stdout, found.stderr) == ("/w/o-%j", "/w/e-%j")


@pytest.mark.parametrize("absent", ["", "(null)"])
def test_stderr_joins_stdout_where_none_was_given(absent: str) -> None:
    assert templates_from_record("/w/out", absent, "/w", is_array=False).stderr == "/w/out"


def test_without_any_path_the_default_name_lies_in_the_work_folder() -> None:
    assert templates_from_record("(null)", "(null)", "/w/", is_array=False).stdout == "/w/slurm-%j.out"
    assert templates_from_record("", "", "/w", is_array=True).stderr == "/w/slurm-%A_%a.out"


def test_relative_paths_count_from_the_work_folder_and_are_kept_textually() -> None:
    assert templates_from_record("../logs/%x", "", "/w/run", is_array=False).stdout == "/w/run/../logs/%x"


def test_none_is_the_place_that_keeps_nothing() -> None:
    assert templates_from_record("none", "", "/w", is_array=False).stdout == "/dev/null"


def test_the_wrong_default_that_squeue_shows_for_arrays_until_23_11_is_corrected() -> None:
    shown = "/w/slurm-69.out"
    assert templates_from_record(shown, "", "/w", is_array=True, job_id=69).stdout == "/w/slurm-%A_%a.out"
    assert templates_from_record(shown, "", "/w", is_array=True, job_id=70).stdout == shown
    assert templates_from_record(shown, "", "/w", is_array=False, job_id=69).stdout == shown


def test_a_folder_with_a_per_cent_is_taken_as_it_is_for_the_default_name_only() -> None:
    for shown in ("", "/50%j/slurm-69.out", "slurm-%j.out"):
        found = templates_from_record(shown, "", "/50%j", is_array=False, job_id=69)
        assert expand(found.stdout, PathContext(job_id=69)) == "/50%j/slurm-69.out"
    found = templates_from_record("log.txt", "", "/50%j", is_array=False, job_id=69)
    assert expand(found.stdout, PathContext(job_id=69)) == "/5069/log.txt"


def test_scontrols_record_of_a_whole_array_becomes_a_pattern_again() -> None:
    shown = "/w/slurm-57_4294967294.out"
    assert templates_from_record(shown, "", "/w", is_array=True).stdout == "/w/slurm-57_%a.out"
