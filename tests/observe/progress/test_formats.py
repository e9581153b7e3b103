"""The shipped progress formats: their examples and counter-examples are their tests."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from typing import Any

import pytest

from jobmon_core.domain.logs.progress.log.formats import GROUPS, Format, Reading
from jobmon_core.observe.patterns.re2_regex import compile_regex
from jobmon_core.observe.progress.load import FILE_NAME, FormatFile, shipped_formats
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.system.files import shipped_file
from jobmon_core.system.json_codec import DecodeError, from_json

DOCUMENT: dict[str, Any] = json.loads(shipped_file(FILE_NAME).read_bytes())
ENTRIES: list[dict[str, Any]] = DOCUMENT["formats"]
MATCHER = FormatMatcher.with_patterns({})
KEYS = {*(field.name for field in fields(Format)), "title", "examples", "counter_examples"}


def readings_of(name: str, text: str) -> list[Reading]:
    """Return what the format of this name reads in a text, after the choice between all formats."""
    return [reading for reading in MATCHER.readings([text.encode()]) if reading.format.id == name]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: str(entry["id"]))
def test_a_format_reads_its_examples_and_no_counter_example(entry: dict[str, Any]) -> None:
    assert {"title", "role", "examples", "counter_examples"} <= {*entry} <= KEYS
    assert {*re.findall(r"\(\?P?<(\w+)>", entry["regex"])} <= GROUPS
    assert compile_regex(entry["regex"]).search(b"") is None, "it matches an empty line"
    wrong: list[tuple[str, object]] = []
    for example in entry["examples"]:
        text, expected = example["text"], example["expected"]
        known: dict[str, Any] = {}
        for reading in readings_of(entry["id"], text):  # none if another format takes precedence
            known = reading._asdict() | dict(reading.metrics)
        values = {key: known.get(key) for key in expected}
        if values != pytest.approx(expected, abs=1e-9):
            wrong.append((text, values))
        if not any(literal in text.lower() for literal in entry["literals"]):
            wrong.append((text, "has no literal of its format"))
    assert wrong == []
    assert [text for text in entry["counter_examples"] if readings_of(entry["id"], text)] == []


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


@pytest.mark.parametrize("document", [None, [], {}, {**DOCUMENT, "labels": 3}, {**DOCUMENT, "formats": [3]}])
def test_another_document_is_refused(document: object) -> None:
    with pytest.raises(DecodeError):
        from_json(FormatFile, document)
