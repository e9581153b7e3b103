from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.scheduler.slurm import values

DAY_S = 86_400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2:00", 120),
        ("1:02:03", 3_723),
        ("1-00:00:00", DAY_S),
        ("00:00.014", 0.014),
        ("02:03:04", 7_384),
        ("3-04:05:06", 3 * DAY_S + 14_706),
    ],
)
def test_durations_are_read_as_slurm_writes_them(text: str, seconds: float) -> None:
    assert values.duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["UNLIMITED", "365-00:00:00", "NOT_SET", "Partition_Limit", "INVALID", ""])
def test_no_limit_is_none(text: str) -> None:
    assert values.limit_s(text) is None


def test_limits_of_sacct_are_minutes() -> None:
    assert values.limit_of_minutes_s("2") == 120
    assert values.limit_of_minutes_s("525600") is None, "365 days are what slurmctld gives where no limit is"
    assert values.limit_of_minutes_s("UNLIMITED") is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("800M", 800 << 20), ("1.50G", 1_610_612_736), ("98472K", 98_472 << 10), ("0", 0), ("12", 12)],
)
def test_sizes_count_in_powers_of_1024(text: str, size: int) -> None:
    assert values.size_bytes(text) == size


@pytest.mark.parametrize("text", ["Unknown", "None", "N/A", "NONE", "(null)", "", "0", "-5", "²", "1" * 19])
def test_an_invalid_time_is_none(text: str) -> None:
    assert values.unix_time(text) is None


def test_an_exit_pair_is_a_code_and_perhaps_a_signal() -> None:
    assert values.exit_pair("137:0") == (137, None)
    assert values.exit_pair("0:15") == (0, 15)
    assert values.exit_pair("") == (None, None)


def test_trackable_resources_are_keyed_by_name() -> None:
    assert values.tres("cpu=4,gres/gpu=2,mem=800M,junk") == {"cpu": "4", "gres/gpu": "2", "mem": "800M"}


@given(st.text() | st.from_regex(r"[\d:.\-KMGTPE,=]{0,40}"))
def test_no_text_makes_a_parser_raise(text: str) -> None:
    for read in (
        values.number,
        values.unix_time,
        values.duration_s,
        values.limit_s,
        values.limit_of_minutes_s,
        values.size_bytes,
        values.tres,
        values.exit_pair,
    ):
        read(text)
