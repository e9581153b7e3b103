"""The commands of a shell script."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.batch_script.model import Command
from jobmon_core.domain.before.batch_script.parse import parse_script


def _commands(text: str) -> list[Command]:
    return list(parse_script(f"#!/bin/bash\n{text}").commands)


def _words(text: str) -> list[list[str]]:
    return [[word.raw for word in command.words] for command in _commands(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b; c && d || e", [["a", "b"], ["c"], ["d"], ["e"]]),
        ("a \\\n  --b c", [["a", "--b", "c"]]),
        ("a 'b c' \"d $e\" f\\ g", [["a", "'b c'", '"d $e"', "f\\ g"]]),
        ("a $(b; c) `d` ${e:-f g}", [["a", "$(b; c)", "`d`", "${e:-f g}"]]),
        ("a # b\n# c\nd#e", [["a"], ["d#e"]]),
        ("cat <<EOF > f\n#SBATCH x\nb $c\nEOF\nd", [["cat"], ["d"]]),
        ("cat <<-'EOF'\n\tb\n\tEOF\nd", [["cat"], ["d"]]),
        ("[[ $a =~ (b|c) && -n $d ]] && e", [["[[", "$a", "=~", "(b|c)", "&&", "-n", "$d", "]]"], ["e"]]),
        ("if [[ -z $a ]]; then b; else c; fi", [["[[", "-z", "$a", "]]"], ["b"], ["c"]]),
        ("((i++)); for ((i=0; i<3; i++)); do a; done", [["((i++))"], ["for", "((i=0; i<3; i++))"], ["a"]]),
        ("case $a in\n b|c) d ;;\n *) e ;;\nesac\nf", [["case", "$a", "in"], ["d"], ["e"], ["f"]]),
        ("f() { a; }\nfunction g { b; }\nc", [["a"], ["b"], ["c"]]),
        ("a=(b 'c d') e", [["e"]]),
        ("names+=($!)\na", [[], ["a"]]),
        ("diff <(a b) <(c)", [["diff", "<(a b)", "<(c)"]]),
        ("( cd a && b ) &\nc", [["cd", "a"], ["b"], ["c"]]),
    ],
)
def test_the_words_of_each_command(text: str, words: list[list[str]]) -> None:
    assert _words(text) == words


def test_each_command_knows_its_line_and_what_is_around_it() -> None:
    text = "a\nif b; then\n  c\nfi\nfor x in 1 2; do\n  d &\ndone\nf() {\n  e\n}\n"
    found = {command.name: command for command in _commands(text)}
    assert {name: command.line for name, command in found.items()} == {
        "a": 2,
        "b": 3,
        "c": 4,
        "for": 6,
        "d": 7,
        "e": 10,
    }
    assert found["b"].is_condition
    assert found["c"].within == ("branch",)
    assert found["d"].in_loop
    assert found["d"].in_background
    assert found["e"].in_function
    assert not found["a"].within


def test_operators_before_and_after() -> None:
    first, second, third = _commands("a && b | c")
    assert (first.operator_after, second.operator_before, second.operator_after, third.operator_before) == (
        "&&",
        "&&",
        "|",
        "|",
    )


def test_redirections_are_no_words() -> None:
    (command,) = _commands("A=1 python x.py > out/log.txt 2>&1 < in.txt")
    assert [name for name, _ in command.assignments] == ["A"]
    assert [(operator, target.raw) for operator, target in command.redirections] == [
        (">", "out/log.txt"),
        (">&", "1"),
        ("<", "in.txt"),
    ]


def test_a_script_for_another_program_has_no_commands_but_comments() -> None:
    script = parse_script("#!/usr/bin/env python3\n#SBATCH -t 5\nimport os\n")
    assert (script.language, script.commands) == ("python3", ())
    assert (2, "#SBATCH -t 5") in script.comments


@pytest.mark.parametrize(
    "text", ["'", '"$(', "${", "`", "a <<", "((", "case", "f() {", "[[ a", "}", "done", "\\"]
)
def test_what_is_unfinished_is_read_as_far_as_it_goes(text: str) -> None:
    _commands(text)
    _commands(f"a; {text}")
