"""The variables and words that an attempt gets, and how it gets through sbatch."""

from __future__ import annotations

import pytest

from jobmon_core.domain.job.restart.next_submission import export_option, resume_words, variables_of
from jobmon_core.domain.job.restart.settings import AttemptPlace

FIRST = variables_of(AttemptPlace("1f2e"))


def test_the_first_attempt_gets_no_checkpoint() -> None:
    assert FIRST == {"JOBMON_LINEAGE": "1f2e", "JOBMON_ATTEMPT": "0"}


def test_a_further_attempt_learns_where_to_resume_and_why() -> None:
    told = variables_of(AttemptPlace("1f2e", 2, "/c/a,b=c", 0), "oom")
    assert told["JOBMON_RESUME_FROM"] == "/c/a,b=c"
    assert (told["JOBMON_RESUME_STEP"], told["JOBMON_RESTART_REASON"]) == ("0", "oom")


@pytest.mark.parametrize(
    ("given", "option"),
    [
        ("", ()),
        ("ALL", ()),
        ("all,A=1", ()),
        ("A,B", ("--export=A,B,JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
        ("A='x,y'", ("--export=A='x,y',JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
        ("NONE", ("--export=JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
        ("nil", ("--export=JOBMON_LINEAGE,JOBMON_ATTEMPT",)),
    ],
)
def test_the_variables_are_exported_whatever_the_user_exports(given: str, option: tuple[str, ...]) -> None:
    assert export_option(given, FIRST) == option


@pytest.mark.parametrize("path", ["/c/step 1", "/c/a\nb", "/c/$(touch x)", "-rf", "/c/'\"`;&|*?{path}"])
def test_a_path_is_one_word_whatever_it_contains(path: str) -> None:
    assert resume_words("--resume {path} --from={path}", path) == ("--resume", path, f"--from={path}")


def test_without_a_checkpoint_there_are_no_words() -> None:
    assert resume_words("--resume {path}", "") == ()


def test_a_quotation_that_does_not_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="quotation"):
        resume_words("--resume '{path}", "/c")
