"""Rows of tables: which lines name columns, and what the lines below them say."""

from __future__ import annotations

import pytest

from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader
from jobmon_core.observe.progress.tables import is_header, row_of

MATCHER = FormatMatcher.with_patterns({})


@pytest.mark.parametrize(
    ("header", "row", "expected"),
    [
        ("epoch,acc,loss,val_loss", "3,0.85,0.38,0.51", {"epoch": "3", "loss": "0.38"}),
        ("step\tloss", "600\t5.329103", {"n": "600", "loss": "5.329103"}),
        ('#"Step"\t"Time (ps)"\t"Time Remaining"', "1000\t22.0\t2:48:02", {"n": "1000", "eta": "2:48:02"}),
        ('#"Step"\t"Time (ps)"\t"Time Remaining"', "1000\t22.0\t--", {"n": "1000"}),
        ("epoch     train_loss  valid_loss  time", "0         0.71      0.5    00:12", {"epoch": "0"}),
        (
            "      Iter       Train Loss   Remaining Time",
            "         7      0.9    1.05m",
            {"n": "7", "eta": "1.05m"},
        ),
        ("| Iter | loss | mode |", "| 20 | 0.3 | warm |", {"n": "20", "loss": "0.3"}),
        ('#"Progress (%)"\t"Step"\t"Speed"', "6.5%\t3250\t41.4", {"percent": "6.5"}),
        ("#Timestep/Total-steps dt time_s", "2000/9000 4.00e-03 1.2", {"n": "2000", "total": "9000"}),
        ("state\tJoint\tclock.rate", "2000\t-14.1\t7.5E-5\t0.51 hours/million states", {"n": "2000"}),
        ("   Sample   posterior   prior", "   2000   -76.2   -5.3 1m12s/Msamples", {"n": "2000"}),
        (
            "epoch         loss          step",
            "5.3364485981  0.0412        300.0000000",
            {"epoch": "5.3364485981", "n": "300"},
        ),
    ],
)
def test_a_row_has_the_values_of_its_columns(header: str, row: str, expected: dict[str, str]) -> None:
    assert is_header(header)
    found = row_of(header, row)
    assert found is not None
    assert found.items() >= expected.items()


@pytest.mark.parametrize(
    "text",
    [
        "the next step is hard",
        "step by step",
        "step",
        "step 3 loss",
        "at this step, we win",
        "epoch,1,2",
        "a,b,c",
        "epoch" + ",x" * 400,
    ],
)
def test_other_lines_name_no_columns(text: str) -> None:
    assert not is_header(text)


@pytest.mark.parametrize(
    "row", ["3,0.5", "3,0.5,saved,now", "best,0.5,0.3,0.2", "|---|---|---|---|", ",,,", ""]
)
def test_other_lines_are_no_rows(row: str) -> None:
    assert row_of("epoch,acc,loss,val_loss", row) is None


def test_a_table_goes_on_over_blocks_of_a_log() -> None:
    log = "step\tloss\n" + "".join(f"{n}\t{100 / (n + 1):.6f}\n" for n in range(10_000))
    assert len(log) > 100_000
    reader = ProgressReader(MATCHER)
    reader.feed(log.encode())
    later = ProgressReader(MATCHER, reader.state, reader.offset)
    later.feed(log.encode()[reader.offset :] + b"10000\t0.25\n")
    progress = later.progress
    assert progress is not None
    assert (progress.current, progress.unit, progress.loss) == (10_000, "step", 0.25)


def test_a_table_yields_to_a_bar() -> None:
    reader = ProgressReader(MATCHER)
    reader.feed(b"step,loss\n1,0.5\n2,0.4\nstep 20/900 loss\n3,0.3\nstep 30/900 loss\n4,0.2\n")
    progress = reader.progress
    assert progress is not None
    assert (progress.current, progress.total) == (30, 900)
