"""Load pattern files and report all their faults.

The regex of a pattern is one RE2 expression or a list of alternatives, each searched for in every line. The
order of the patterns matters, because a line counts for the first pattern that matches it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

from jobmon_core.domain.diagnosis.log_text import searched_text
from jobmon_core.domain.diagnosis.patterns import Pattern, Role, Severity
from jobmon_core.domain.errors import PatternsInvalid
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.patterns.re2_regex import compile_regex, to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA_VERSION = 1
FILE_NAME = "error_patterns.json"
_MAX_BYTES = 16 * 2**20  # the shipped file has half a megabyte

_TEXT_KEYS = ("id", "title", "cause", "advice")
_EXAMPLE_KEYS = ("examples", "counter_examples")
_CHOICES = {"severity": tuple(Severity), "role": tuple(Role)}
_REQUIRED_KEYS = frozenset((*_TEXT_KEYS, *_EXAMPLE_KEYS, *_CHOICES, "regex", "precedence"))
_OPTIONAL_KEY = "is_final"


def shipped_patterns_path() -> Path:
    """Return the pattern file of jobmon: in the installed package, else in the checkout."""
    package = Path(__file__).resolve().parents[2]
    packaged = package / "patterns" / FILE_NAME
    return packaged if packaged.is_file() else package.parent / "patterns" / FILE_NAME


def load_patterns(user_path: Path | None = None) -> tuple[Pattern, ...]:
    """Load the shipped patterns; the patterns in ``user_path``, if given, are added or replace them.

    Raises:
        PatternsInvalid: a file cannot be read or has faults; it lists all faults of that file.
    """
    # the tests check the examples of the shipped patterns; here this would take longer than a diagnosis
    shipped = read_patterns(shipped_patterns_path(), check_examples=False)
    return shipped if user_path is None else overlay(shipped, read_patterns(user_path))


def overlay(shipped: Iterable[Pattern], own: Iterable[Pattern]) -> tuple[Pattern, ...]:
    """Return the user's new patterns, then the shipped ones, each replaced by the user's with the same id."""
    additions = {pattern.id: pattern for pattern in own}
    merged = [additions.pop(pattern.id, pattern) for pattern in shipped]
    return (*additions.values(), *merged)


def read_patterns(path: Path, *, check_examples: bool = True) -> tuple[Pattern, ...]:
    """Read one pattern file. ``check_examples`` compiles each regex and tries it on the examples.

    Raises:
        PatternsInvalid: the file cannot be read or has faults; it lists all of them by index and key.
    """
    try:
        with regular_file(str(path)) as file:
            text = file.read_at(0, _MAX_BYTES).decode("utf-8")
    except Unreadable as error:
        raise PatternsInvalid(str(path), [f"the file {error}"]) from error
    except UnicodeDecodeError as error:
        raise PatternsInvalid(str(path), [f"cannot be read: {error}"]) from error
    return parse_patterns(text, str(path), check_examples=check_examples)


def parse_patterns(text: str, source: str, *, check_examples: bool = True) -> tuple[Pattern, ...]:
    """Read patterns from JSON, as ``read_patterns`` does; ``source`` is the file that errors name.

    Raises:
        PatternsInvalid: the text is not JSON or has faults; it lists all of them by index and key.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PatternsInvalid(source, [f"not valid JSON: {error}"]) from error
    entries, faults = _entries(document)
    for index, entry in entries.items():
        faults += [f"rules[{index}].{fault}" for fault in _entry_faults(entry, check_examples=check_examples)]
    faults += _duplicate_ids(entries)
    if faults:
        raise PatternsInvalid(source, faults)
    return tuple(_pattern(entry) for entry in entries.values())


def _entries(document: object) -> tuple[dict[int, dict[str, object]], list[str]]:
    """Return the entries of a document by index, and the faults of the document itself."""
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


def _entry_faults(entry: dict[str, object], *, check_examples: bool) -> list[str]:
    """Return every fault of one entry, as ``key: what is wrong``. The regex is checked last."""
    faults = [f"{key}: unknown key" for key in entry if key not in _REQUIRED_KEYS and key != _OPTIONAL_KEY]
    faults += [f"{key}: missing" for key in sorted(_REQUIRED_KEYS - entry.keys())]
    for key, value in entry.items():
        faults += _value_faults(key, value)
    return faults or (_regex_faults(entry) if check_examples else [])  # which needs valid types


def _value_faults(key: str, value: object) -> list[str]:
    """Return what is wrong with the value of a known key."""
    if key in _CHOICES:
        is_valid, expected = value in _CHOICES[key], f"one of {', '.join(_CHOICES[key])}, is {value!r}"
    elif key == "precedence":
        is_valid = isinstance(value, int) and not isinstance(value, bool)
        expected = f"an integer, is {value!r}"
    elif key == _OPTIONAL_KEY:
        is_valid, expected = isinstance(value, bool), f"true or false, is {value!r}"
    elif key in _EXAMPLE_KEYS or (key == "regex" and isinstance(value, list)):
        if isinstance(value, list) and value:
            return [fault for i, text in enumerate(value) for fault in _text_faults(f"{key}[{i}]", text)]
        is_valid, expected = False, "a non-empty list"
    else:
        return _text_faults(key, value) if key in _REQUIRED_KEYS else []
    return [] if is_valid else [f"{key}: must be {expected}"]


def _text_faults(key: str, value: object) -> list[str]:
    is_valid = isinstance(value, str) and bool(value.strip())
    return [] if is_valid else [f"{key}: must be a non-empty text"]


def _regex_faults(entry: dict[str, object]) -> list[str]:
    """Return the faults of each regex; without any, the examples that contradict it."""
    pattern, is_list = _pattern(entry), isinstance(entry["regex"], list)
    regexes, faults = [], []
    for index, text in enumerate(pattern.regex):
        key = f"regex[{index}]" if is_list else "regex"
        try:
            regex = compile_regex(text)
        except ValueError as error:
            faults.append(f"{key}: {error}")
            continue
        if regex.search(b"") is not None:
            faults.append(f"{key}: matches the empty line, and so every line")
        regexes.append(regex)

    def matches(line: str) -> bool:
        searched = to_bytes(searched_text(line))
        return any(regex.search(searched) for regex in regexes)

    if faults:
        return faults
    missed = [i for i, line in enumerate(pattern.examples) if not matches(line)]
    matched = [i for i, line in enumerate(pattern.counter_examples) if matches(line)]
    faults = [f"examples[{i}]: the regex does not match it" for i in missed]
    return faults + [f"counter_examples[{i}]: the regex matches it" for i in matched]


def _duplicate_ids(entries: dict[int, dict[str, object]]) -> list[str]:
    first: dict[str, int] = {}
    faults = []
    for index, entry in entries.items():
        name = entry.get("id")
        if isinstance(name, str) and first.setdefault(name, index) != index:
            faults.append(f"rules[{index}].id: {name!r} is also the id of rules[{first[name]}]")
    return faults


def _pattern(entry: dict[str, object]) -> Pattern:
    """Build the pattern of an entry without faults."""
    examples, counter_examples = (tuple(cast("list[str]", entry[key])) for key in _EXAMPLE_KEYS)
    regex = entry["regex"]
    return Pattern(
        id=str(entry["id"]),
        title=str(entry["title"]),
        severity=Severity(str(entry["severity"])),
        role=Role(str(entry["role"])),
        regex=tuple(regex) if isinstance(regex, list) else (str(regex),),
        cause=str(entry["cause"]),
        advice=str(entry["advice"]),
        precedence=cast("int", entry["precedence"]),
        examples=examples,
        counter_examples=counter_examples,
        is_final=entry.get(_OPTIONAL_KEY) is True,
    )
