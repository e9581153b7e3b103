"""Pattern files: known failures as data, checked whole before they are used.

A file that the user writes overlays the shipped one: a rule with a known id replaces the shipped rule,
others are put first. The order matters, as the first rule that matches a line claims it.

The regex of a rule is one expression or a list of alternatives. It is searched for in every line by itself,
in the syntax of RE2.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jobmon_core.domain.diagnosis.log_text import without_label
from jobmon_core.domain.diagnosis.patterns import Pattern, Role, Severity
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.patterns.re2_regex import compile_regex, to_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SCHEMA_VERSION = 1
FILE_NAME = "error_patterns.json"
_AT_MOST = 16 * 1024 * 1024  # bytes; the shipped file has half a megabyte

_WORDS = ("id", "title", "cause", "advice")
_LISTS = ("examples", "counter_examples")
_CHOICES = {"severity": tuple(Severity), "role": tuple(Role)}
_KEYS = frozenset((*_WORDS, *_LISTS, *_CHOICES, "regex", "precedence"))
_MAY_BE_MISSING = "is_final"


def shipped_patterns_path() -> Path:
    """Return the file that comes with jobmon: inside the package where installed, else the checkout's."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "patterns" / FILE_NAME
    return packaged if packaged.is_file() else package.parent / "patterns" / FILE_NAME


def load_patterns(user_path: Path | None = None) -> tuple[Pattern, ...]:
    """Load the shipped rules, overlaid by those of the user's file.

    Raises:
        PatternsInvalid: a file cannot be read or has faults; all faults of it are named.
    """
    # the tests prove the shipped rules by their examples: that takes longer than to judge a log
    shipped = read_patterns(shipped_patterns_path(), prove=False)
    return shipped if user_path is None else overlay(shipped, read_patterns(user_path))


def overlay(shipped: Iterable[Pattern], own: Iterable[Pattern]) -> tuple[Pattern, ...]:
    """Replace shipped rules by the user's of the same id, in place; put the user's others first."""
    replaced = {rule.id: rule for rule in own}
    kept = [replaced.pop(rule.id, rule) for rule in shipped]
    return (*replaced.values(), *kept)


def read_patterns(path: Path, *, prove: bool = True) -> tuple[Pattern, ...]:
    """Read and check one pattern file; ``prove`` compiles the expressions and tries them on their examples.

    Raises:
        PatternsInvalid: naming every fault by index and key.
    """
    try:
        with regular_file(str(path)) as file:
            text = file.read_at(0, _AT_MOST).decode("utf-8")
    except (Unreadable, UnicodeDecodeError) as error:
        raise PatternsInvalid(
            str(path),
            [f"cannot be read: it {error}" if isinstance(error, Unreadable) else f"cannot be read: {error}"],
        ) from error
    return parse_patterns(text, str(path), prove=prove)


def parse_patterns(text: str, source: str, *, prove: bool = True) -> tuple[Pattern, ...]:
    """Read rules from JSON ``text``, as ``read_patterns`` does; ``source`` names it in the faults.

    Raises:
        PatternsInvalid: naming every fault by index and key.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PatternsInvalid(source, [f"is no JSON: {error}"]) from error
    entries, faults = _entries(document)
    for index, entry in entries.items():
        faults += [f"rules[{index}].{fault}" for fault in _faults(entry, prove=prove)]
    faults += _repeated_ids(entries)
    if faults:
        raise PatternsInvalid(source, faults)
    return tuple(_rule(entry) for entry in entries.values())


def _entries(document: object) -> tuple[dict[int, dict[str, object]], list[str]]:
    """Return the rules of a document by their index, and faults of what surrounds them."""
    if not isinstance(document, dict):
        return {}, ["must be an object with schema_version and rules"]
    faults = [f"{key}: unknown key" for key in document if key not in ("schema_version", "rules")]
    version = document.get("schema_version")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        faults.append(f"schema_version: must be {SCHEMA_VERSION}, is {version!r}")
    rules = document.get("rules")
    if not isinstance(rules, list):
        return {}, [*faults, "rules: must be a list"]
    entries = {index: entry for index, entry in enumerate(rules) if isinstance(entry, dict)}
    faults += [f"rules[{index}]: must be an object" for index in range(len(rules)) if index not in entries]
    return entries, faults


def _faults(entry: dict[str, object], *, prove: bool) -> list[str]:
    """Name every fault of one rule, as ``key: what is wrong``."""
    faults = [f"{key}: unknown key" for key in entry if key not in _KEYS and key != _MAY_BE_MISSING]
    faults += [f"{key}: missing" for key in sorted(_KEYS - entry.keys())]
    for key, check in _CHECKS.items():
        if key in entry:
            faults += check(key, entry[key])
    return faults or (_proof_faults(entry) if prove else [])


def _word_faults(key: str, value: object) -> list[str]:
    return [] if _is_words(value) else [f"{key}: must be a text that is not empty"]


def _choice_faults(key: str, value: object) -> list[str]:
    allowed = _CHOICES[key]
    return [] if value in allowed else [f"{key}: must be one of {', '.join(allowed)}, is {value!r}"]


def _number_faults(key: str, value: object) -> list[str]:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return [] if whole else [f"{key}: must be a whole number, is {value!r}"]


def _flag_faults(key: str, value: object) -> list[str]:
    return [] if isinstance(value, bool) else [f"{key}: must be true or false, is {value!r}"]


def _list_faults(key: str, value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        return [f"{key}: must be a list of at least one line"]
    return [fault for i, text in enumerate(value) for fault in _word_faults(f"{key}[{i}]", text)]


def _text_faults(key: str, value: object) -> list[str]:
    return _list_faults(key, value) if isinstance(value, list) else _word_faults(key, value)


_CHECKS: dict[str, Callable[[str, object], list[str]]] = {
    **dict.fromkeys(_WORDS, _word_faults),
    "regex": _text_faults,
    **dict.fromkeys(_CHOICES, _choice_faults),
    "precedence": _number_faults,
    _MAY_BE_MISSING: _flag_faults,
    **dict.fromkeys(_LISTS, _list_faults),
}


def _is_words(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _proof_faults(entry: dict[str, object]) -> list[str]:
    """Check a rule whose shape is right: compile its expressions and try them on its examples."""
    rule, several = _rule(entry), isinstance(entry["regex"], list)
    keys = [f"regex[{i}]" if several else "regex" for i in range(len(rule.regex))]
    refused = [fault for key, regex in zip(keys, rule.regex, strict=True) for fault in _refused(key, regex)]
    return refused or _example_faults(rule)


def _refused(key: str, regex: str) -> list[str]:
    try:
        matches_nothing = compile_regex(regex).search(b"") is not None
    except ValueError as error:
        return [f"{key}: {error}"]
    return [f"{key}: matches the empty line, and so every line"] if matches_nothing else []


def _example_faults(rule: Pattern) -> list[str]:
    regexes = [compile_regex(regex) for regex in rule.regex]

    def matches(text: str) -> bool:
        searched = to_bytes(without_label(text))
        return any(regex.search(searched) for regex in regexes)

    missed = [i for i, text in enumerate(rule.examples) if not matches(text)]
    caught = [i for i, text in enumerate(rule.counter_examples) if matches(text)]
    faults = [f"examples[{i}]: the regex does not match it" for i in missed]
    return faults + [f"counter_examples[{i}]: the regex matches it" for i in caught]


def _repeated_ids(entries: dict[int, dict[str, object]]) -> list[str]:
    first: dict[str, int] = {}
    faults = []
    for index, entry in entries.items():
        name = entry.get("id")
        if isinstance(name, str) and first.setdefault(name, index) != index:
            faults.append(f"rules[{index}].id: {name!r} is also the id of rules[{first[name]}]")
    return faults


def _rule(entry: dict[str, object]) -> Pattern:
    """Build the rule of an entry that was found without fault."""
    examples, counter_examples = (tuple(cast("list[str]", entry[key])) for key in _LISTS)
    return Pattern(
        id=str(entry["id"]),
        title=str(entry["title"]),
        severity=Severity(str(entry["severity"])),
        role=Role(str(entry["role"])),
        regex=_alternatives(entry["regex"]),
        cause=str(entry["cause"]),
        advice=str(entry["advice"]),
        precedence=cast("int", entry["precedence"]),
        examples=examples,
        counter_examples=counter_examples,
        is_final=entry.get(_MAY_BE_MISSING) is True,
    )


def _alternatives(regex: object) -> tuple[str, ...]:
    return tuple(regex) if isinstance(regex, list) else (str(regex),)
