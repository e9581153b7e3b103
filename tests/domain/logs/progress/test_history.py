import itertools
import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.progress.estimate import estimate
from jobmon_core.domain.logs.progress.events.detect import compare_paces
from jobmon_core.domain.logs.progress.history import MAX_SAMPLES, add_sample, is_sound
from jobmon_core.domain.logs.progress.model import Estimate, History, Sample
from jobmon_core.system.json_codec import from_json, to_json

_ANY = st.floats(allow_nan=True, allow_infinity=True)
_SAMPLES = st.lists(st.builds(Sample, at_s=_ANY, current=_ANY), max_size=30)


def history_of(*points: tuple[float, float]) -> History:
    history = History()
    for at_s, current in points:
        history = add_sample(history, Sample(at_s, current))
    return history


RISING = history_of(*((30.0 * step, float(step)) for step in range(40)))


def test_a_repeated_value_is_a_pause_not_progress() -> None:
    history = history_of((0, 0), (10, 1), (20, 1), (30, 1), (40, 2))
    assert [sample.at_s for sample in history.samples] == [0, 10, 40]
    assert history.longest_pause_s == 30


def test_a_value_far_below_the_last_starts_a_new_history() -> None:
    history = history_of((0, 0), (10, 50), (90, 100), (95, 3), (99, 4))
    assert history == History(95, (Sample(95, 3), Sample(99, 4)), 4, 4)


def test_a_small_step_back_is_ignored() -> None:
    history = history_of((0, 0), (10, 100), (20, 95), (30, 101))
    assert [sample.current for sample in history.samples] == [0, 100, 101]


def test_a_long_run_keeps_its_start_its_pauses_and_its_newest_samples() -> None:
    points = [(step + 60.0 * (step // 2000), float(step)) for step in range(20_000)]
    history = history_of(*points)
    kept = {sample.current for sample in history.samples}
    assert len(history.samples) <= MAX_SAMPLES
    assert 0 in kept
    assert {float(step) for step in range(19_970, 20_000)} <= kept
    assert {float(edge) for pause in range(2000, 20_000, 2000) for edge in (pause - 1, pause)} <= kept
    gaps = [b.current - a.current for a, b in zip(history.samples, history.samples[1:], strict=False)]
    assert max(gaps) < 600  # evenly spread between the pauses
    assert (history.longest_pause_s, round(history.median_pause_s)) == (61, 1)


def test_the_median_pause_is_found_without_keeping_all_pauses() -> None:
    pauses = [2, 30, 3, 2, 3, 60, 2, 2, 3, 3] * 50
    at_s, points = 0.0, [(0.0, 0.0)]
    for step, pause_s in enumerate(pauses, 1):
        at_s += pause_s
        points.append((at_s, step))
    assert 2 <= history_of(*points).median_pause_s <= 3.3


@given(_SAMPLES)
def test_any_samples_give_a_rising_history_that_survives_json(samples: list[Sample]) -> None:
    history = History()
    for sample in samples:
        history = add_sample(history, sample)
    kept = history.samples
    assert all(math.isfinite(sample.at_s) and math.isfinite(sample.current) for sample in kept)
    assert all(a.current < b.current and a.at_s <= b.at_s for a, b in itertools.pairwise(kept))
    assert from_json(History, json.loads(json.dumps(to_json(history)))) == history


@pytest.mark.parametrize(
    "damaged",
    [
        replace(RISING, samples=RISING.samples[::-1]),
        replace(RISING, samples=RISING.samples * 2),
        replace(RISING, samples=(*RISING.samples, Sample(math.nan, 40.0))),
        replace(RISING, samples=(*RISING.samples, Sample(5000.0, math.inf))),
        replace(RISING, longest_pause_s=math.nan),
    ],
)
def test_a_damaged_history_gives_no_estimate_and_breaks_nothing(damaged: History) -> None:
    assert is_sound(RISING)
    assert not is_sound(damaged)
    assert estimate(damaged, 100.0, 5000.0) == Estimate()
    assert compare_paces(damaged, 100.0) is None
