"""Values of a command line that a record does not keep."""

from __future__ import annotations

import pytest

from jobmon_core.domain.many.provenance.arguments import exported, without_hidden, without_values


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("--export=ALL,MY_PIN=hunter2,LR=1 a.sh", "--export=ALL,MY_PIN=[hidden],LR=[hidden] a.sh"),
        ("--export ALL,A='hunter,hunter2',B a.sh", "--export ALL,A=[hidden],B a.sh"),
        ("--export=A='hunter2,x a.sh", "--export=A=[hidden] a.sh"),
        ('--exp=A=x"1,hunter2",B=2 a.sh', "--exp=A=[hidden],B=[hidden] a.sh"),
        ("--export=NONE -J x a.sh", "--export=NONE -J x a.sh"),
        ("--comment=hunter2 a.sh", "--comment=[hidden] a.sh"),
        ("-t 5 --comment hunter2 a.sh", "-t 5 --comment [hidden] a.sh"),
        ("--export-file=env a.sh --export=A=1", "--export-file=env a.sh --export=A=1"),
    ],
)
def test_the_values_that_a_command_line_exports_and_its_comment_are_not_kept(words: str, kept: str) -> None:
    assert " ".join(without_values(words.split(" "))) == kept


def test_what_was_hidden_can_be_told_from_what_was_kept() -> None:
    words = ["--export", "ALL,A=1", "-t", "5", "--comment=x", "--export=B"]
    assert exported([*words, "a.sh"]) == {"A": "1"}
    kept = without_values(words)
    assert without_hidden(kept) == (["-t", "5", "--export=B"], {"export", "comment"})
