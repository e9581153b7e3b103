"""The variables of a shell script: what it sets and uses, and the values that its text shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from jobmon_core.domain.before.batch_script.model import BatchScript, Command, Part, PartKind, Word
from jobmon_core.domain.before.batch_script.parse import ASSIGNMENT, without_prefix
from jobmon_core.domain.before.batch_script.tokens import parts_of

_DECLARING = ("export", "declare", "local", "readonly", "typeset")
_READING = ("read", "mapfile", "readarray", "getopts")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_USED_IN_TEXT = re.compile(r"\$\{?([A-Za-z_]\w*)(:?[-=+?])?")
_ARITHMETIC = re.compile(r"\(\((.{1,500}?)\)\)")
_COMPUTED = re.compile(r"([A-Za-z_]\w*)\s*(?:[-+*/%]?=(?!=)|\+\+|--)")
_TESTS = ("[", "[[", "test")


def assignments_of(command: Command) -> Iterator[tuple[str, Word | None]]:
    """What a command sets for later ones; None: the value is not in the text."""
    if not command.words:
        yield from command.assignments
        return
    first, *rest = command.words
    if first.raw in _DECLARING:
        for word in rest:
            if found := ASSIGNMENT.fullmatch(word.raw):
                value = without_prefix(word.parts, len(word.raw) - len(found[2]))
                yield found[1], Word(value, found[2])
    else:
        yield from ((name, None) for name in _computed_names(first.raw, [word.raw for word in rest]))


def _computed_names(command: str, words: list[str]) -> list[str]:
    """Filled with what only the job will know."""
    if command in _READING:
        return [word for word in words if _IDENTIFIER.fullmatch(word)]
    if command in ("for", "select"):
        return [word for word in words[:1] if _IDENTIFIER.fullmatch(word)]
    if command == "let":
        return [found[0] for word in words if (found := _IDENTIFIER.match(word))]
    if command == "printf" and words[:1] == ["-v"]:
        return words[1:2]
    return []


def values_of(script: BatchScript, known: Mapping[str, str | None]) -> dict[str, str | None]:
    """The values as far as the text shows them; None: only the job will know.

    ``known`` are those that the script starts with. A variable that is set to different values, or in a
    loop, a branch, a group or a function, is not known.
    """
    values = dict(known)
    assigned: set[str] = set()
    for command in script.commands:
        for name, word in assignments_of(command):
            value = None if word is None or command.within else word.value(values)
            is_same = name not in assigned or values.get(name) == value
            values[name] = value if is_same else None
            assigned.add(name)
    return values


def exported(script: BatchScript, values: Mapping[str, str | None]) -> dict[str, str | None]:
    """What the script exports or declares, with values."""
    names = {
        word.raw.partition("=")[0]
        for command in script.commands
        if command.name in ("export", "declare", "typeset")
        for word in command.words[1:]
    }
    return {name: values.get(name) for name in names if _IDENTIFIER.fullmatch(name)}


def set_names(script: BatchScript) -> set[str]:
    """What some command sets."""
    names = {name for command in script.commands for name, _ in assignments_of(command)}
    prefixed = {name for command in script.commands for name, _ in command.assignments}
    # ${NAME:=value} and ${NAME:?} are set afterwards
    guarded = {name for name, guard in _USED_IN_TEXT.findall(script.text) if guard.endswith(("=", "?"))}
    # by arithmetic: ((i++)), for ((i = 0; ...))
    computed = {name for text in _ARITHMETIC.findall(script.text) for name in _COMPUTED.findall(text)}
    return names | prefixed | guarded | computed


def unguarded_uses(script: BatchScript) -> Iterator[tuple[str, int]]:
    """Each variable that is used without a provision for its being unset, with the line.

    Here-strings and most command substitutions are looked into.
    """
    tested = set(_tested(script))
    for command in script.commands:
        for word in command.every_word():
            for part in _variables_in(word):
                if part.default is None and part.text not in tested:
                    yield part.text, command.line


def _tested(script: BatchScript) -> Iterator[str]:
    for command in script.commands:
        if command.name in _TESTS:
            yield from (part.text for word in command.words for part in word.uses())
            yield from (word.raw for word in command.words[1:] if _IDENTIFIER.fullmatch(word.raw))


def _variables_in(word: Word, depth: int = 0) -> Iterator[Part]:
    yield from word.uses()
    if depth < 2:  # noqa: PLR2004 - substitutions within substitutions are rare
        for part in word.parts:
            if part.kind is PartKind.OTHER and not part.text.startswith("${") and "'" not in part.text:
                yield from _variables_in(Word(parts_of(part.text)), depth + 1)
