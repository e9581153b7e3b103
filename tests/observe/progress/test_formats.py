"""The shipped progress formats: their examples and counter-examples are their tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jobmon_core.domain.progress.log.formats import Reading
from jobmon_core.observe.patterns.re2_regex import compile_regex
from jobmon_core.observe.progress.load import document_faults, formats_path, shipped_formats
from jobmon_core.observe.progress.match import FormatMatcher

DOCUMENT: dict[str, Any] = json.loads(formats_path().read_text(encoding="utf-8"))
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


def test_the_file_has_no_faults() -> None:
    assert document_faults(DOCUMENT) == []
    assert len(shipped_formats().formats) == len(ENTRIES)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"role": "mian"}, "formats[0].role: must be one of main,"),
        ({"regexp": "x"}, "formats[0].regexp: unknown key"),
        ({"regex": "(?P<step>x)"}, "formats[0].regex: unknown group 'step'"),
        ({"regex": 3}, "formats[0].regex: must be a text"),
        ({"id": "tqdm"}, "id: 'tqdm' is used twice"),
    ],
)
def test_a_fault_is_named(change: dict[str, Any], fault: str) -> None:
    entries = [{**ENTRIES[0], **change}, *ENTRIES[1:]]
    (found,) = document_faults({**DOCUMENT, "formats": entries})
    assert fault in found


@pytest.mark.parametrize("document", [None, [], {}, {"schema_version": 2}, {**DOCUMENT, "formats": [3]}])
def test_another_document_is_refused(document: object) -> None:
    assert document_faults(document)
