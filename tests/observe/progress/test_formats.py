"""The shipped progress formats: their examples and counter-examples are their tests."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

import pytest

from jobmon_core.domain.progress.log.formats import GROUPS, Format, Reading
from jobmon_core.observe.patterns.re2_regex import compile_regex
from jobmon_core.observe.progress.load import FILE_NAME, FormatFile, shipped_formats
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.system.files import shipped_file
from jobmon_core.system.json_codec import DecodeError, from_json

DOCUMENT: dict[str, Any] = json.loads(shipped_file(FILE_NAME).read_bytes())
ENTRIES: list[dict[str, Any]] = DOCUMENT["formats"]
MATCHER = FormatMatcher.with_patterns({})
EXAMPLES = [
    pytest.param(entry["id"], example, id=f"{entry['id']}-{number}")
    for entry in ENTRIES
    for number, example in enumerate(entry["examples"])
]


def readings_of(name: str, text: str) -> list[Reading]:
    """Return what the format of this name reads in a text, after the choice between all formats."""
    return [reading for reading in MATCHER.readings([text.encode()]) if reading.format.id == name]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_gives_the_expected_values(name: str, example: dict[str, Any]) -> None:
    found = readings_of(name, example["text"])
    assert found, f"{name} does not match, or another format takes precedence"
    known = found[-1]._asdict() | dict(found[-1].metrics)
    values = {key: known.get(key) for key in example["expected"]}
    assert values == pytest.approx(example["expected"], abs=1e-9)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["id"]))
def test_no_counter_example_is_read(entry: dict[str, Any]) -> None:
    for text in entry["counter_examples"]:
        assert readings_of(entry["id"], text) == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["id"]))
def test_every_example_contains_a_literal_of_its_format(entry: dict[str, Any]) -> None:
    for example in entry["examples"]:
        assert any(literal in example["text"].lower() for literal in entry["literals"])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["id"]))
def test_no_expression_matches_an_empty_line(entry: dict[str, Any]) -> None:
    assert compile_regex(entry["regex"]).search(b"") is None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["id"]))
def test_an_entry_has_only_known_keys_and_groups(entry: dict[str, Any]) -> None:
    assert {*entry} <= {*(field.name for field in fields(Format)), "examples", "counter_examples"}
    assert {"role", "examples", "counter_examples"} <= {*entry}
    assert {*re.findall(r"\(\?P?<(\w+)>", entry["regex"])} <= GROUPS


def test_the_ids_of_the_shipped_formats_differ() -> None:
    ids = [each.id for each in shipped_formats().formats]
    assert ids == [entry["id"] for entry in ENTRIES]
    assert len({*ids}) == len(ids)


@pytest.mark.parametrize(
    ("change", "place"),
    [({"role": "mian"}, ".formats[0].role"), ({"regex": 3}, ".formats[0].regex")],
)
def test_a_fault_is_named(change: dict[str, Any], place: str) -> None:
    entries = [{**ENTRIES[0], **change}, *ENTRIES[1:]]
    with pytest.raises(DecodeError) as error:
        from_json(FormatFile, {**DOCUMENT, "formats": entries})
    assert error.value.place == place


@pytest.mark.parametrize("document", [None, [], {}, {**DOCUMENT, "labels": {}}, {**DOCUMENT, "formats": [3]}])
def test_another_document_is_refused(document: object) -> None:
    with pytest.raises(DecodeError):
        from_json(FormatFile, document)
