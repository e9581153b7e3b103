from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.artifacts.verification.shards import shard_sets

OF_8 = [f"part-{number:05}-of-00008.npz" for number in range(8)]


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
