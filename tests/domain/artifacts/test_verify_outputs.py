from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
from jobmon_core.domain.artifacts.model import FileCheck, FileVerdict, ListedFile
from jobmon_core.domain.artifacts.verify_outputs import Found, judge_outputs, shard_sets
from jobmon_core.domain.logs.diagnosis.model import DAMAGED_OUTPUTS, MISSING_OUTPUTS

OF_8 = [f"part-{number:05}-of-00008.npz" for number in range(8)]


def files(*names: str) -> tuple[ListedFile, ...]:
    return tuple(ListedFile(name, 1024, 100.0) for name in names)


def shards(*numbers: int) -> tuple[ListedFile, ...]:
    return files(*(f"part-{number}-of-8.npz" for number in numbers))


def checked(name: str, verdict: FileVerdict, form: str = "zip", why: str = "lacks its end") -> FileCheck:
    return FileCheck(f"/out/{name}", form, verdict, why)


def test_all_shards_are_there() -> None:
    judged = judge_outputs(Found("/out", shards(*range(8))))
    assert (judged.is_verified, judged.what_failed, judged.summary) == (True, "", "8 of 8 shards, 8.0 KiB")


def test_missing_shards_are_named() -> None:
    judged = judge_outputs(Found("/out", shards(0, 1, 2, 5, 6)))
    assert (judged.is_verified, judged.cause, judged.what_failed) == (
        False,
        MISSING_OUTPUTS,
        "3 of 8 shards are missing",
    )
    assert judged.explanation == ("The run left 5 of 8 files of part-*-of-8.npz in /out; missing: 3, 4, 7.")
    assert judged.summary == "5 of 8 shards, 5.0 KiB"


@pytest.mark.parametrize(("expected", "fact"), [(None, ""), (1, ""), (8, "7 of 8 shards are missing")])
def test_a_lone_shard_is_that_of_one_job_per_shard_unless_more_are_expected(
    expected: int | None, fact: str
) -> None:
    found = Found("/out", shards(3), checks=(checked("part-3-of-8.npz", FileVerdict.VALID),))
    judged = judge_outputs(replace(found, expected=expected))
    assert (judged.what_failed, judged.is_verified) == (fact, not fact)
    assert judge_outputs(replace(found, checks=())).is_verified is False


def test_a_shard_from_before_the_run_does_not_count() -> None:
    judged = judge_outputs(Found("/out", shards(*range(7)), stale=shards(7)))
    assert judged.what_failed == "1 of 8 shards is older than this run"
    judged = judge_outputs(Found("/out", shards(*range(6)), stale=shards(7)))
    assert judged.what_failed == "2 of 8 shards are missing"
    assert "1 of these are left from before the run" in judged.explanation


def test_shards_from_before_the_run_are_not_among_those_that_it_left() -> None:
    judged = judge_outputs(Found("/out", shards(2, 3), stale=shards(5)))  # from 0 or from 1?
    assert judged.explanation.endswith(
        "left 2 of 8 files of part-*-of-8.npz in /out; 1 other file of this pattern from before the run."
    )
    judged = judge_outputs(Found("/out", shards(*range(7)), stale=shards(8)))
    assert judged.explanation.endswith("; missing: 7.")  # 8 is none of 8 shards that count from 0


@pytest.mark.parametrize(
    ("written", "fact"),
    [(8, ""), (9, ""), (7, "1 of 8 outputs is missing"), (0, "8 of 8 outputs are missing")],
)
def test_outputs_are_counted_against_what_the_user_expects(written: int, fact: str) -> None:
    names = [f"{'abcdefghi'[number]}.csv" for number in range(written)]
    judged = judge_outputs(Found("/out", files(*names), expected=8))
    assert (judged.what_failed, judged.is_verified) == (fact, not fact)


def test_a_folder_with_more_files_than_are_listed_is_not_counted() -> None:
    found = Found("/out", shards(0, 1), is_partial=True, expected=8)
    assert judge_outputs(found).what_failed == ""
    assert not judge_outputs(found).is_verified


def test_a_run_that_wrote_nothing_is_doubtful() -> None:
    judged = judge_outputs(Found("/out", stale=files("a.csv"), wrote_nothing=True))
    assert (judged.what_failed, judged.summary) == ("it wrote no output", "none from this run")


def test_a_missing_and_an_old_result_are_named() -> None:
    found = Found(missing_results=("metrics.csv",), stale_results=("a.json", "b.json"))
    assert judge_outputs(found).what_failed == (
        "its result metrics.csv is missing and 2 of its results are older than this run (a.json, b.json)"
    )


@pytest.mark.parametrize(
    ("check", "fact"),
    [
        (checked("a.npz", FileVerdict.TRUNCATED), "a.npz is truncated"),
        (checked("a.json", FileVerdict.CORRUPT, "json"), "a.json is damaged"),
        (checked("a.csv", FileVerdict.EMPTY, "csv"), "a.csv is empty"),
        (checked("a.csv", FileVerdict.CORRUPT, "csv", "has 1 columns in line 3, elsewhere 2"), ""),
        (checked("_SUCCESS", FileVerdict.EMPTY, ""), ""),  # a mark
        (checked("a.txt", FileVerdict.UNKNOWN, ""), ""),
        (checked("a.npz", FileVerdict.UNREADABLE, ""), ""),
        (checked("a.npz.tmp", FileVerdict.TRUNCATED), ""),
    ],
)
def test_what_is_certainly_damaged_casts_doubt(check: FileCheck, fact: str) -> None:
    judged = judge_outputs(Found("/out", files("a.npz"), checks=(check,)))
    assert (judged.what_failed, judged.cause) == (fact, DAMAGED_OUTPUTS if fact else "")
    assert not judged.is_verified


def test_an_empty_part_casts_doubt_whatever_its_name() -> None:
    checks = tuple(checked(f"part-{n}-of-2", FileVerdict.EMPTY, "", "is empty") for n in (0, 1))
    judged = judge_outputs(Found("/out", files("part-0-of-2", "part-1-of-2"), checks=checks))
    assert judged.what_failed == "2 outputs are damaged"
    assert judged.explanation == "part-0-of-2 is empty; part-1-of-2 is empty."


@pytest.mark.parametrize(
    ("check", "fact"),
    [
        (checked("a.safetensors", FileVerdict.TRUNCATED, "safetensors"), "a.safetensors is truncated"),
        (checked("a.csv", FileVerdict.TRUNCATED, "csv"), ""),
        (checked("a.npz", FileVerdict.CORRUPT), ""),
        (checked("a.npz", FileVerdict.EMPTY), ""),
    ],
)
def test_in_a_folder_that_only_the_log_names_hard_evidence_alone_casts_doubt(
    check: FileCheck, fact: str
) -> None:
    found = Found("/out", shards(0, 1), checks=(check,), wrote_nothing=True)
    judged = judge_outputs(replace(found, is_named=False))
    assert judged.what_failed == fact
    assert not judged.is_verified


def test_valid_files_verify_the_outputs_and_unknown_ones_do_not() -> None:
    found = Found("/out", files("a.npz"), checks=(checked("a.npz", FileVerdict.VALID),))
    assert judge_outputs(found).is_verified
    assert judge_outputs(found).summary == "1 file, 1.0 KiB, 1 valid"
    unknown = replace(found, checks=(checked("a.dat", FileVerdict.UNKNOWN, ""),))
    assert not judge_outputs(unknown).is_verified
    assert judge_outputs(Found()).summary == ""


@pytest.mark.parametrize(
    ("is_complete", "why", "fact", "is_verified"),
    [
        (True, "", "", True),
        (None, "no format shows it", "", False),
        (False, "lacks optimizer.pt", "its newest checkpoint checkpoint-9 is incomplete", False),
        (
            False,
            "is smaller than usual: 1 KiB, in the others 2 KiB",
            "",
            False,
        ),  # e.g. saved without optimizer
    ],
)
def test_an_incomplete_newest_checkpoint_casts_doubt(
    is_complete: bool | None,  # noqa: FBT001 - a parameter of the test
    why: str,
    fact: str,
    is_verified: bool,  # noqa: FBT001 - as above
) -> None:
    found = Found("/out", checkpoint=Checkpoint("out/checkpoint-9", "hf", 9, is_complete, why))
    judged = judge_outputs(found)
    assert (judged.what_failed, judged.is_verified) == (fact, is_verified)
    assert judged.summary.startswith("newest checkpoint checkpoint-9 (")


@pytest.mark.parametrize(
    ("names", "expected", "workers", "sets"),
    [
        (OF_8, None, None, [("part-*-of-00008.npz", 8, ())]),
        (OF_8[:3] + OF_8[5:7], None, None, [("part-*-of-00008.npz", 8, (3, 4, 7))]),
        # Hugging Face counts from 1
        (
            [f"model-{n:05}-of-00004.safetensors" for n in (1, 2, 4)],
            None,
            None,
            [("model-*-of-00004.safetensors", 4, (3,))],
        ),
        # neither the first nor the last is there, so the numbers may begin at 0 or at 1
        (["x_2_of_4.pt", "x_3_of_4.pt"], None, None, [("x_*_of_4.pt", 4, ())]),
        (["worker_0.jsonl", "worker_2.jsonl"], None, 3, [("worker_*.jsonl", 3, (1,))]),
        ([f"processed_chunk_{n}.json" for n in range(4)], None, 8, []),  # "proc" is no word of that name
        ([f"workers/part-{n}.json" for n in range(4)], None, 8, []),  # nor does the folder count
        ([f"x_proc{n}.json" for n in range(3)], None, 4, [("x_proc*.json", 4, (3,))]),
        (["metrics_rank0.json"], None, 8, []),  # often only rank 0 writes
        (["metrics_rank0.json"], 8, None, [("metrics_rank*.json", 8, (1, 2, 3, 4, 5, 6, 7))]),
        (["rank1/out.csv"], None, 4, []),  # a folder is not a part
        (["shard-0.tar", "shard-1.tar"], 4, None, [("shard-*.tar", 4, (2, 3))]),
        (["part-0", "part-1"], None, 4, []),  # the parts of a data set are not those of workers
        (["shard-0.tar", "part-0.csv"], 4, None, []),  # 4 of which?
        (["worker_7.log"], None, 4, []),  # the numbers are no workers' numbers
        (
            ["epoch-3-of-10.pt", "step_1_of_2.bin"],
            None,
            None,
            [],
        ),  # points in time, of which the last ones stay
        (
            ["2026-01-02-of-99.csv", "9of3.csv", "a.csv", "", "1of1.csv"],
            None,
            None,
            [("2026-01-*-of-99.csv", 99, ())],
        ),
    ],
)
def test_sets_of_shards_are_found_by_their_names(
    names: list[str], expected: int | None, workers: int | None, sets: list[tuple[str, int, tuple[int, ...]]]
) -> None:
    found = shard_sets(names, expected, workers)
    assert [(each.pattern, each.total, each.missing_numbers) for each in found] == sets


def test_each_folder_has_its_own_set() -> None:
    found = shard_sets(["a/x-1-of-2.pt", "b/x-1-of-2.pt", "b/x-2-of-2.pt"])
    assert [(each.pattern, each.missing) for each in found] == [("a/x-*-of-2.pt", 1), ("b/x-*-of-2.pt", 0)]


@given(st.lists(st.text(max_size=30) | st.from_regex(r"(part|rank)[-_]?\d+(-of-\d+)?", fullmatch=True)))
def test_no_names_raise(names: list[str]) -> None:
    for each in shard_sets(names, 3, 2):
        assert 0 <= each.missing <= each.total
