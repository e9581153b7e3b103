"""What a script sets and uses."""

from __future__ import annotations

from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.variables import set_names, unguarded_uses, values_of


def _values(text: str, **known: str | None) -> dict[str, str | None]:
    return values_of(parse_script(f"#!/bin/bash\n{text}\n"), known)


def test_values_follow_from_the_text() -> None:
    values = _values('A=1\nexport B="$A/x" C=${D:-d}\nE=${F:-f}/$B', F="given")
    assert values == {"A": "1", "B": "1/x", "C": "d", "E": "given/1/x", "F": "given"}


def test_what_only_the_job_knows_is_not_known() -> None:
    values = _values(
        "A=$(date)\nB=$JOB\nC=$A\nD=1\nD=2\nif x; then E=1; fi\nfor F in 1 2; do :; done", JOB=None
    )
    assert {name for name, value in values.items() if value is None} == {*"ABCDEF", "JOB"}


def test_an_unknown_variable_is_not_replaced_by_a_default() -> None:
    assert _values("A=${JOB:-none}", JOB=None)["A"] is None


def test_the_text_of_an_alternative_replaces_the_value() -> None:
    assert _values("A=${B:+--resume $B}", B="last.pt") == {"A": None, "B": "last.pt"}


def test_all_ways_to_set_a_variable() -> None:
    text = "A=1\nexport B=2\nread C D\nfor E in 1; do :; done\nprintf -v F x\nlet G=1\n((H = 1))\nmapfile I\n"
    text += "for ((J=0; J<3; J++)); do :; done\n: ${K:=k}\nL=1 cmd\nM=(1 2)\ndeclare N=1"
    assert set_names(parse_script(f"#!/bin/bash\n{text}\n")) == set("ABCDEFGHIJKLMN")


def test_uses_are_found_also_within_substitutions_but_not_in_single_quotes() -> None:
    script = parse_script('#!/bin/bash\na $A "$B" \'$C\' $(d $D)\ne ${E:-x} ${F?}\n[ -z "$G" ]\nh $G\n')
    assert [*unguarded_uses(script)] == [("A", 2), ("B", 2), ("D", 2)]
