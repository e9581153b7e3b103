"""Load pattern files, and other files of rules: the valid entries, and all faults.

The regex of a pattern is one RE2 expression or several. A line counts for the first pattern that matches it.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.humanize import count
from jobmon_core.domain.logs.diagnosis.log_lines import searched_text
from jobmon_core.domain.logs.diagnosis.patterns import SEVERITIES, Pattern, Role
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.patterns.re2_regex import compile_regex, to_bytes
from jobmon_core.system.files import shipped_file
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path


SCHEMA_VERSION = 1
_DOCUMENT_KEYS = ("schema_version", "rules")

Built = TypeVar("Built")
Entry = dict[str, object]


def read_entries(
    text: str, faults_of: Callable[[Entry], list[str]], build: Callable[[Entry], Built]
) -> tuple[tuple[Built, ...], tuple[str, ...], int]:
    """Return what the rules of a JSON text build, all faults of it, and the number of rules with faults.

    ``faults_of`` returns every fault of a rule, as ``key: what is wrong``; ``build`` gets those without.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        return (), (f"not valid JSON: {error}",), 0
    if not isinstance(document, dict):
        return (), ("must be an object with schema_version and rules",), 0
    faults = unknown_keys(document, _DOCUMENT_KEYS)
    version, rules = document.get("schema_version"), document.get("rules")
    has_version = version == SCHEMA_VERSION and not isinstance(version, bool)
    faults += [] if has_version else [f"schema_version: must be {SCHEMA_VERSION}, not {version!r}"]
    faults += [] if isinstance(rules, list) else ["rules: must be a list"]
    built: list[Built] = []
    first: dict[str, int] = {}  # the index of the first entry with an id
    for index, entry in enumerate(rules if isinstance(rules, list) else []):
        where = f"rules[{index}]"
        if not isinstance(entry, dict):
            faults.append(f"{where}: must be an object")
            continue
        entry_faults = faults_of(entry)
        name = entry.get("id")
        if isinstance(name, str) and first.setdefault(name, index) != index:
            entry_faults.append(f"id: {name!r} is also the id of rules[{first[name]}]")
        faults += [f"{where}.{fault}" for fault in entry_faults]
        if not entry_faults:
            built.append(build(entry))
    if not has_version or not isinstance(rules, list):
        return (), tuple(faults), 0
    return tuple(built), tuple(faults), len(rules) - len(built)


def unknown_keys(entry: Entry, known: Collection[str]) -> list[str]:
    """Return a fault for each key that is not known."""
    return [_unknown_key(key, known) for key in entry if key not in known]


def _unknown_key(key: str, known: Collection[str]) -> str:
    from difflib import get_close_matches  # only for this message

    similar = get_close_matches(key, known, n=1)
    return f"{key}: unknown key" + (f"; did you mean {similar[0]!r}?" if similar else "")


def text_faults(key: str, value: object) -> list[str]:
    """Return a fault unless the value is a text that is not empty."""
    is_valid = isinstance(value, str) and bool(value.strip())
    return [] if is_valid else [f"{key}: must be a non-empty text"]


FILE_NAME = "error_patterns.json"
_ROOT = 0
_MAX_BYTES = 16 * 2**20  # the shipped file has half a megabyte

_TEXT_KEYS = ("id", "title", "cause", "advice")
_EXAMPLE_KEYS = ("examples", "counter_examples")
_CHOICES = {"severity": SEVERITIES, "role": tuple(Role)}
_REQUIRED_KEYS = frozenset((*_TEXT_KEYS, *_EXAMPLE_KEYS, *_CHOICES, "regex", "precedence"))
_OPTIONAL_KEY = "is_final"
_KEYS = _REQUIRED_KEYS | {_OPTIONAL_KEY}


@dataclass(frozen=True, slots=True)
class PatternFile:
    """The content of one pattern file."""

    source: str  # its path; empty for a user without a file
    patterns: tuple[Pattern, ...] = ()  # those without faults
    faults: tuple[str, ...] = ()  # each begins with where it is, if known
    skipped: int = 0  # patterns with faults

    @property
    def note(self) -> str:
        """What of the file is not used, and why."""
        if self.skipped:
            skipped = f"skipped {count(self.skipped, 'pattern')} of {self.source} because of faults"
            return f"{skipped}; `jobmon patterns check` lists them"
        if self.faults and not self.patterns:
            return (
                f"{self.source} has faults, so only the shipped patterns are used: {'; '.join(self.faults)}"
            )
        return ""


def load_patterns(own: Iterable[Pattern] = ()) -> tuple[Pattern, ...]:
    """Load the shipped patterns; the user's ``own`` come first, or replace those with the same id.

    Raises:
        Invalid: the shipped file has faults, apart from a regex that does not compile.
    """
    # the examples are left to the tests: to compile and try all takes longer than a diagnosis
    shipped = read_patterns(shipped_file(FILE_NAME), check_examples=False, of_anyone=True)
    if shipped.faults:
        raise Invalid(shipped.source, list(shipped.faults))
    return overlay(shipped.patterns, own)


def overlay(shipped: Iterable[Pattern], own: Iterable[Pattern]) -> tuple[Pattern, ...]:
    """Return the user's patterns with new ids, then the shipped ones or the user's in their place."""
    own_by_id = {pattern.id: pattern for pattern in own}
    merged = [own_by_id.pop(pattern.id, pattern) for pattern in shipped]
    return (*own_by_id.values(), *merged)


def read_patterns(path: Path, *, check_examples: bool = True, of_anyone: bool = False) -> PatternFile:
    """Read one pattern file. ``check_examples`` compiles each regex and tries it on the examples.

    A file of another user than this one and root is faulty, unless ``of_anyone``: it can hide failures.
    """
    try:
        with regular_file(str(path)) as file:
            owner = os.fstat(file.descriptor).st_uid
            if owner not in (os.geteuid(), _ROOT) and not of_anyone:
                return PatternFile(
                    str(path), faults=(f"the file belongs to user {user_name(owner)}, not to you",)
                )
            text = file.read_at(0, _MAX_BYTES).decode("utf-8")
    except Unreadable as error:
        return PatternFile(str(path), faults=(f"the file {error}",))
    except UnicodeDecodeError as error:
        fault = f"the file is not UTF-8: {error.reason} at byte {error.start}"
        return PatternFile(str(path), faults=(fault,))
    return parse_patterns(text, str(path), check_examples=check_examples)


def parse_patterns(text: str, source: str, *, check_examples: bool = True) -> PatternFile:
    """Read patterns from JSON; ``source`` is the path of the file."""
    faults_of = partial(_entry_faults, check_examples=check_examples)
    return PatternFile(source, *read_entries(text, faults_of, _pattern))


def _entry_faults(entry: dict[str, object], *, check_examples: bool) -> list[str]:
    faults = unknown_keys(entry, _KEYS)
    faults += [f"{key}: missing" for key in sorted(_REQUIRED_KEYS - entry.keys())]
    for key, value in entry.items():
        faults += _value_faults(key, value)
    return faults + (_regex_faults(entry) if check_examples else [])


def _value_faults(key: str, value: object) -> list[str]:
    if key in _EXAMPLE_KEYS or (key == "regex" and isinstance(value, list)):
        return _list_faults(key, value)
    if key in _CHOICES:
        is_valid, expected = value in _CHOICES[key], f"one of {', '.join(_CHOICES[key])}"
    elif key == "precedence":
        is_valid, expected = isinstance(value, int) and not isinstance(value, bool), "an integer"
    elif key == _OPTIONAL_KEY:
        is_valid, expected = isinstance(value, bool), "true or false"
    else:
        return text_faults(key, value) if key in _REQUIRED_KEYS else []
    return [] if is_valid else [f"{key}: must be {expected}, not {value!r}"]


def _list_faults(key: str, value: object) -> list[str]:
    may_be_empty = key == "counter_examples"
    if isinstance(value, list) and (value or may_be_empty):
        return [fault for i, text in enumerate(value) for fault in text_faults(f"{key}[{i}]", text)]
    return [f"{key}: must be {'a list' if may_be_empty else 'a non-empty list'}"]


def _regex_faults(entry: dict[str, object]) -> list[str]:
    value = entry.get("regex")
    texts = value if isinstance(value, list) else [value]
    regexes, faults = [], []
    for index, text in enumerate(texts):
        if text_faults("regex", text):
            continue  # reported with the other values
        key = f"regex[{index}]" if isinstance(value, list) else "regex"
        try:
            regex = compile_regex(text)
        except ValueError as error:
            faults.append(f"{key}: {error}")
            continue
        if regex.search(b"") is not None:
            faults.append(f"{key}: matches an empty line; it must require some text")
        else:
            regexes.append(regex)

    def matches(line: str) -> bool:
        searched = to_bytes(searched_text(line))
        return any(regex.search(searched) for regex in regexes)

    if len(regexes) == len(texts):  # otherwise, a regex with a fault may be the one for the example
        missed = [i for i, line in _texts(entry, "examples") if not matches(line)]
        faults += [f"examples[{i}]: the regex does not match it" for i in missed]
    matched = [i for i, line in _texts(entry, "counter_examples") if matches(line)]
    return faults + [f"counter_examples[{i}]: the regex matches it" for i in matched]


def _texts(entry: dict[str, object], key: str) -> list[tuple[int, str]]:
    values = entry.get(key)
    items = enumerate(values) if isinstance(values, list) else ()
    return [(index, text) for index, text in items if not text_faults(key, text)]


def _pattern(entry: dict[str, object]) -> Pattern:
    examples, counter_examples = (tuple(cast("list[str]", entry[key])) for key in _EXAMPLE_KEYS)
    regex = entry["regex"]
    return Pattern(
        id=str(entry["id"]),
        title=str(entry["title"]),
        role=Role(str(entry["role"])),
        regex=tuple(regex) if isinstance(regex, list) else (str(regex),),
        cause=str(entry["cause"]),
        advice=str(entry["advice"]),
        precedence=cast("int", entry["precedence"]),
        examples=examples,
        counter_examples=counter_examples,
        is_final=entry.get(_OPTIONAL_KEY) is True,
        is_warning=entry["severity"] == "warning",
    )
