from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.corpus import Case, CorpusInvalid, parse_case, read_corpus


def entry(**changes: object) -> str:
    fields = {"id": "one", "source": "somewhere", "log": "", "label": "clean", "multi_rank": False}
    return json.dumps(fields | changes)


def written(folder: Path, text: str) -> Path:
    path = folder / "corpus.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_line_is_a_case_and_empty_lines_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, f"{entry()}\n\n{entry(id='two', label='segfault', multi_rank=True)}\n")
    first, second = read_corpus(path)
    assert (first.id, first.label, first.multi_rank) == ("one", "clean", False)
    assert (second.id, second.label, second.multi_rank) == ("two", "segfault", True)


def test_a_log_may_contain_any_line_separator(tmp_path: Path) -> None:
    log = "a\u2028b\x85c\x0bd\n"
    line = json.dumps(json.loads(entry(log=log)), ensure_ascii=False)
    assert [case.log for case in read_corpus(written(tmp_path, line))] == [log]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "expected dict, found list"),
        (entry(log=None), r"\$.log: expected str, found NoneType"),
        ('{"id": "one"}', "missing 4 required positional arguments: 'source'"),
        (entry(multi_rank="no"), r"\$.multi_rank: expected bool, found str"),
        (entry(label="gremlins"), "unknown label 'gremlins'"),
    ],
)
def test_an_invalid_line_is_refused_with_the_reason(line: str, fault: str) -> None:
    with pytest.raises(CorpusInvalid, match=fault):
        parse_case(line)


def test_an_error_names_the_number_of_the_line(tmp_path: Path) -> None:
    with pytest.raises(CorpusInvalid, match="line 3: not valid JSON"):
        read_corpus(written(tmp_path, f"{entry()}\n\nnonsense\n"))


def test_an_empty_or_unreadable_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusInvalid, match="has no cases"):
        read_corpus(written(tmp_path, "\n"))
    with pytest.raises(CorpusInvalid, match="cannot be read"):
        read_corpus(tmp_path / "missing.jsonl")
    with pytest.raises(CorpusInvalid, match="cannot be read"):
        read_corpus(tmp_path)
    latin = tmp_path / "latin.jsonl"
    latin.write_bytes(b"\xe9\n")
    with pytest.raises(CorpusInvalid, match="cannot be read"):
        read_corpus(latin)


@pytest.mark.parametrize(
    ("source", "thread", "group"),
    [
        (
            "https://github.com/some/repo.py : logs/err.txt (git blob 12)",
            "x",
            "https://github.com/some/repo.py",
        ),
        ("https://github.com/some/repo/issues/12", "x", "https://github.com/some/repo"),
        ("a public file, number 12 (notes)", "x", "x"),
        ("a public file, number 12 (notes)", "", "a public file"),
        ("a mailing list (2024)", "", "a mailing list"),
    ],
)
def test_cases_of_one_repository_else_of_one_thread_are_one_group(
    source: str, thread: str, group: str
) -> None:
    assert Case("one", source, "", "clean", multi_rank=False, thread=thread).group == group
