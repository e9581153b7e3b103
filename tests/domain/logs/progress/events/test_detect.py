import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobmon_core.domain.logs.progress.estimate import estimate, limit_outlook
from jobmon_core.domain.logs.progress.events.detect import Observation, progress_events
from jobmon_core.domain.logs.progress.events.event import STALL_CANCELLED, Event, EventKind
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import History, KnownProblems, LimitOutlook, Progress, Sample
from jobmon_core.system.json_codec import from_json, to_json

TOTAL = 5000.0
NO_GROWTH = "the log has not grown either"


class Run:
    """A run of 5000 steps that is observed again and again."""

    def __init__(self, limit_s: float = 1e9) -> None:
        self.history, self.known, self.now_s = History(), KnownProblems(), 0.0
        self.progress, self.limit_s = Progress(0.0, TOTAL), limit_s
        self.has_finished_workers = False
        self.stall_is_failure_s: float | None = None

    def observe(self, idle_sign: str = "", quiet_s: float = 0.0) -> list[Event]:
        outlook = limit_outlook(estimate(self.history, TOTAL, self.now_s), 0.0, self.limit_s, self.now_s)
        seen = Observation(
            self.now_s,
            self.progress,
            self.history,
            outlook,
            idle_sign,
            quiet_s,
            stall_is_failure_s=self.stall_is_failure_s,
            has_finished_workers=self.has_finished_workers,
        )
        self.known, events = progress_events(self.known, seen)
        assert from_json(KnownProblems, json.loads(json.dumps(to_json(self.known)))) == self.known
        return list(events)

    def step(
        self, paces: Sequence[float], loss: float | None = None, grad_norm: float | None = None
    ) -> list[Event]:
        events = []
        every = max(1, len(paces) // 100)
        for index, pace in enumerate(paces):
            self.now_s += pace
            self.progress = replace(self.progress, current=self.progress.current + 1)
            sample = Sample(self.now_s, self.progress.current, loss, grad_norm)
            self.history = add_sample(self.history, sample)
            if index % every == 0:
                events += self.observe()
        return [event for event in events if event.kind is not EventKind.MILESTONE]

    def wait(self, seconds: float, idle_sign: str = NO_GROWTH) -> list[Event]:
        self.now_s += seconds
        return self.observe(idle_sign)


def texts(events: list[Event]) -> list[tuple[EventKind, str]]:
    return [(event.kind, event.text) for event in events]


def test_a_stall_is_reported_once_and_its_end_too() -> None:
    run = Run()
    assert run.step([1.0] * 1200) == []
    assert run.wait(240) == []
    stalled = run.wait(480)
    assert texts(stalled) == [
        (EventKind.STALLED, "no progress for 12m (step 1,200 of 5,000); the log has not grown either")
    ]
    assert stalled[0].since_s == stalled[0].at_s - 720
    assert run.wait(3600) == []
    assert texts(run.step([10.0])) == [
        (EventKind.RECOVERED, "moves again after 1h 12m without progress (step 1,201 of 5,000)")
    ]
    assert run.wait(3600) == []  # as long a pause has been seen before


def test_a_stall_becomes_a_failure_once_after_the_time_that_the_user_allows() -> None:
    run = Run()
    run.stall_is_failure_s = 1800.0
    run.step([1.0] * 1200)
    run.now_s += 720
    (stalled,) = run.observe(NO_GROWTH, 720.0)
    assert stalled.subject == ""
    run.now_s += 1000
    assert run.observe(NO_GROWTH, 1720.0) == []
    run.now_s += 100
    assert run.observe(NO_GROWTH, 90.0) == []  # it saves, or evaluates
    assert run.observe("", 1820.0) == []
    (failed,) = run.observe(NO_GROWTH, 1820.0)
    assert (failed.kind, failed.subject) == (EventKind.STALLED, STALL_CANCELLED)
    assert failed.text == "no progress for longer than the 30m that you allow (step 1,200 of 5,000)"
    assert run.observe(NO_GROWTH, 1820.0) == []
    assert [event.ended for event in run.step([10.0])] == [EventKind.STALLED]
    assert not run.known.stall_is_failure


def test_a_stall_is_no_failure_unless_the_user_says_so() -> None:
    run = Run()
    run.step([1.0] * 1200)
    run.now_s += 90_000
    assert [event.subject for event in run.observe(NO_GROWTH, 90_000.0)] == [""]
    assert run.observe(NO_GROWTH, 90_000.0) == []


def test_a_long_pause_while_the_log_grows_is_no_stall() -> None:
    run = Run()
    run.step([1.0] * 1200)
    assert run.wait(7200, idle_sign="") == []


def test_an_evaluation_up_to_three_times_as_long_as_the_longest_is_no_stall() -> None:
    run = Run()
    for _ in range(3):
        run.step([1.0] * 99)
        assert run.wait(300 - 1) == []
        assert run.step([1.0]) == []
    assert run.wait(890) == []
    assert [event.kind for event in run.wait(20)] == [EventKind.STALLED]


def test_a_finished_run_does_not_stall() -> None:
    run = Run()
    run.step([1.0] * int(TOTAL))
    assert run.wait(36_000) == []


def test_a_slowdown_is_reported_with_both_speeds_and_so_is_its_end() -> None:
    run = Run()
    assert run.step([1.4] * 2000) == []
    events = run.step([1.8] * 1200)
    assert [event.kind for event in events] == [EventKind.SLOW]
    assert re.fullmatch(
        r"2\d% slower than its best \(1\.[78]\d? s per step, best 1\.4 s per step\)", events[0].text
    )
    assert events[0].at_s < 1.25 * 1.4 * 2000
    events = run.step([1.4] * 1000)
    assert [event.kind for event in events] == [EventKind.RECOVERED]
    assert events[0].text.startswith("back to its usual speed (1.")


def test_a_sum_that_grows_more_slowly_after_a_worker_has_finished_is_no_slowdown() -> None:
    run = Run()
    run.step([1.0] * 2000)
    run.has_finished_workers = True
    assert run.step([1.5] * 1500) == []


def test_a_finished_part_is_not_awaited_any_more() -> None:
    run = Run()
    run.step([1.0] * 1200)
    run.progress = replace(run.progress, end_marker="Early stopping triggered.")
    assert run.wait(36_000) == []


def test_a_slowdown_that_lasts_less_than_a_tenth_of_the_run_is_not_reported() -> None:
    run = Run()
    assert run.step([1.0] * 2000) == []
    assert run.step([3.0] * 90) == []
    assert run.step([1.0] * 2000) == []


def test_a_jump_of_the_counter_is_no_speed_that_the_run_ever_had() -> None:
    run = Run()
    assert run.step([5.0] * 120) == []
    run.progress = replace(run.progress, current=run.progress.current + 1500)
    assert run.step([5.0] * 500) == []


def test_a_slowdown_of_ten_percent_is_not_reported() -> None:
    run = Run()
    assert run.step([1.4] * 2000) == []
    assert run.step([1.55] * 2000) == []


def test_evaluations_and_checkpoints_are_no_slowdown() -> None:
    run = Run()
    paces = [61.0 if step % 200 == 0 else 22.0 if step % 130 == 0 else 0.5 for step in range(1, int(TOTAL))]
    assert run.step(paces) == []


@pytest.mark.parametrize("epoch", [20, 100, 400])
def test_epochs_of_which_each_second_is_ten_times_slower_are_no_slowdown(epoch: int) -> None:
    run = Run()
    assert run.step([10.0 if (step // epoch) % 2 else 1.0 for step in range(int(TOTAL))]) == []


def test_a_slow_drift_is_no_slowdown_before_it_exceeds_a_fifth() -> None:
    run = Run()
    assert run.step([1.0 + 0.15 * step / TOTAL for step in range(int(TOTAL))]) == []


def test_the_time_limit_is_reported_when_even_the_shortest_estimate_is_too_long() -> None:
    run = Run(limit_s=6000)
    events = run.step([2.0] * 600)
    assert [event.kind for event in events] == [EventKind.TIME_LIMIT]
    assert events[0].text == (
        "will need about 2h 37m more, but the time limit ends it in 1h 30m; `--time=4:00:00` would be enough"
    )
    assert [event.kind for event in run.step([0.5] * 2000)] == [EventKind.RECOVERED]


def test_a_lack_of_time_is_not_reported_once_the_time_is_up() -> None:
    assert Run(limit_s=90).step([2.0] * 400) == []


def test_a_time_limit_that_seems_too_short_for_a_moment_is_not_reported() -> None:
    run = Run(limit_s=6000)
    assert run.step([2.0] * 260) == []
    assert run.known.late_since_s is not None
    assert run.step([1.0] * 4700) == []
    assert run.known.late_since_s is None


def test_a_lack_of_time_is_reported_although_it_is_too_close_to_say_now_and_then() -> None:
    run = Run()
    run.step([1.0] * 1000)
    too_late = LimitOutlook(fits=False, ends_s=5000.0, time_left_s=3000.0, sufficient_time="2:00:00")
    kinds = []
    for outlook in [too_late, replace(too_late, fits=None), None] * 3:
        run.now_s += 50.0
        seen = Observation(run.now_s, run.progress, run.history, outlook)
        run.known, events = progress_events(run.known, seen)
        kinds += [event.kind for event in events]
    assert kinds == [EventKind.TIME_LIMIT]


def test_a_loss_that_is_no_number_is_reported_once() -> None:
    run = Run()
    run.step([1.0] * 50, loss=2.0)
    assert texts(run.step([1.0] * 20, loss=math.nan)) == [
        (EventKind.DIVERGED, "the loss is nan (step 51 of 5,000)")
    ]
    assert texts(run.step([1.0] * 5, loss=2.0)) == [
        (EventKind.RECOVERED, "no longer diverges (step 73 of 5,000)")
    ]


def test_a_loss_far_above_its_past_is_reported_but_a_single_spike_is_not() -> None:
    run = Run()
    for step in range(200):
        assert run.step([1.0], loss=2.0 + 0.1 * (step % 5)) == []
    assert run.step([1.0], loss=40.0) == []
    assert run.step([1.0] * 5, loss=2.2) == []
    events = run.step([1.0] * 100, loss=8.0)
    assert [event.kind for event in events] == [EventKind.DIVERGED]
    assert events[0].text.startswith("the loss is far above its earlier values: 8, usually below 4.")
    assert [event.kind for event in run.step([1.0] * 5, loss=2.2)] == [EventKind.RECOVERED]


def test_skipped_steps_of_loss_scaling_are_no_divergence() -> None:
    run = Run()
    run.step([1.0] * 50, loss=2.0, grad_norm=1.0)
    assert run.step([1.0] * 2, loss=2.0, grad_norm=math.inf) == []
    run.step([1.0] * 50, loss=2.0, grad_norm=1.0)
    assert [event.text for event in run.step([1.0] * 9, loss=2.0, grad_norm=90.0)] == [
        "the gradient norm is far above its earlier values: 90, usually below 1.5 (step 104 of 5,000)"
    ]


def test_milestones_are_reported_once_and_those_before_the_first_look_are_not() -> None:
    run = Run()
    run.progress = replace(run.progress, current=1500.0)
    run.history = add_sample(run.history, Sample(0.0, 1500.0))
    assert run.observe() == []
    events = []
    for current in (2400.0, 2500.0, 2600.0, 4600.0, 5000.0):
        run.progress = replace(run.progress, current=current)
        run.history = add_sample(run.history, Sample(current, current))
        events += run.observe()
    assert [event.text for event in events] == [
        "50% done (step 2,500 of 5,000)",
        "92% done (step 4,600 of 5,000)",
    ]


def test_a_new_run_in_the_same_log_starts_with_a_clean_record() -> None:
    run = Run()
    run.step([1.0] * 1300)
    run.wait(7200)
    run.progress = replace(run.progress, current=0.0)
    assert texts(run.step([1.0])) == [(EventKind.RESTARTED, "started again (step 1 of 5,000)")]
    assert run.known.milestone == 0
    assert run.known.stalled_since_s is None


_NUMBER = st.floats(min_value=0, max_value=1e15)
_LOSS = st.none() | st.floats()


@example([Sample(0.0, 0.0), Sample(5e-324, 5e5), Sample(5e-324, 1e6)])  # all work done in no time
@given(st.lists(st.builds(Sample, at_s=_NUMBER, current=_NUMBER, loss=_LOSS, grad_norm=_LOSS), max_size=60))
def test_any_samples_are_judged_without_an_error(samples: list[Sample]) -> None:
    history, known = History(), KnownProblems()
    for sample in sorted(samples, key=lambda sample: (sample.at_s, sample.current)):
        history = add_sample(history, sample)
        outlook = limit_outlook(estimate(history, 1e6, sample.at_s), 0.0, 1e6, sample.at_s)
        seen = Observation(sample.at_s, Progress(sample.current, 1e6), history, outlook, NO_GROWTH)
        known, _ = progress_events(known, seen)


def test_a_percentage_is_a_position_without_a_total() -> None:
    run = Run()
    run.progress = Progress(24.0, 100.0, "%")
    run.step([1.0])
    run.progress = replace(run.progress, current=50.0)
    assert texts(run.observe()) == [(EventKind.MILESTONE, "50% done")]
    run.progress = replace(run.progress, current=2.0)
    assert texts(run.step([1.0])) == [(EventKind.RESTARTED, "started again (3%)")]


def test_a_speed_names_several_units() -> None:
    run = Run()
    run.progress = replace(run.progress, unit="batch")
    assert run.step([0.4] * 2000) == []
    events = run.step([0.6] * 1200)
    assert re.search(r"\([\d.]+ batches per s, best 2\.5 batches per s\)", events[0].text)
