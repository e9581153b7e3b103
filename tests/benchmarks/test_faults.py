"""The campaign of faults in its short form, and how its figures are reckoned."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from benchmarks import faults
from benchmarks.fault_campaign.checks import Reckoning, reckon
from benchmarks.fault_campaign.flaky_discord import Arrival
from benchmarks.fault_campaign.kill_points import STEPS
from benchmarks.fault_campaign.scenario import Event, stories
from jobmon_core.domain.channels import Route

EVENTS = (Event("1/a", 1, Route.ERROR), Event("1/b", 1, Route.ERROR), Event("2/a", 2, Route.ERROR))
A, B, OTHER = (Arrival(event.id, Route.ERROR, marked=False, answered=True) for event in EVENTS)
A_AGAIN = replace(A, marked=True)


def of(*arrivals: Arrival, cut_off: dict[str, int] | None = None) -> Reckoning:
    return reckon(EVENTS, arrivals, cut_off or {})


def test_no_message_is_lost_while_monitors_are_killed_and_discord_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = faults.main(["--events", "60", "--kills", "20", "--seed", "1", "--json"])
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert (code, figures["broken"]) == (0, []), printed
    assert figures["events"] >= 60
    assert figures["kills"] >= 20
    assert figures["lost"] == figures["repeats without a mark"] == figures["out of order"] == 0


def test_stories_tell_what_was_asked_for_and_the_same_again_for_the_same_seed() -> None:
    told = list(stories(100, 7))
    events = [event.id for story in told for event in story.events]
    assert 100 <= len(events) == len(set(events))
    assert told == list(stories(100, 7))
    assert told != list(stories(100, 8))


def test_a_monitor_can_die_at_each_step_of_following_a_job() -> None:
    assert len(STEPS) == len(set(STEPS)) == 10


def test_what_arrived_once_and_in_order_is_as_it_should_be() -> None:
    found = of(A, OTHER, B)
    assert found.broken == ()
    assert (found.events, found.arrivals, found.repeats_after_kills) == (3, 3, 0)


def test_what_did_not_arrive_is_lost() -> None:
    assert of(A, B).lost == ("2/a",)


def test_what_nobody_was_to_be_told_is_named() -> None:
    stray, astray = replace(A, id="9/x"), replace(OTHER, route=Route.SUCCESS)
    assert of(A, B, stray, astray).unknown == ("9/x", "2/a")


def test_a_marked_repeat_after_a_kill_in_its_send_is_allowed_once() -> None:
    found = of(A, A_AGAIN, B, OTHER, cut_off={"1/a": 1})
    assert (found.broken, found.repeats_after_kills) == ((), 1)
    assert of(A, A_AGAIN, A_AGAIN, B, OTHER, cut_off={"1/a": 1}).unexplained == ("1/a",)
    assert of(A, A_AGAIN, B, OTHER, cut_off={"1/b": 1}).unexplained == ("1/a",)


def test_a_marked_repeat_after_a_lost_answer_is_counted_by_itself() -> None:
    found = of(replace(A, answered=False), A_AGAIN, B, OTHER)
    assert (found.broken, found.repeats_after_kills, found.repeats_after_lost_answers) == ((), 0, 1)


def test_a_repeat_without_a_mark_breaks_a_bound() -> None:
    assert of(A_AGAIN, A, B, OTHER, cut_off={"1/a": 1}).unmarked == ("1/a",)


def test_a_message_that_another_of_its_job_overtook_is_out_of_order() -> None:
    assert of(B, A, OTHER).out_of_order == ("1/a",)
    assert of(A, B, A_AGAIN, OTHER, cut_off={"1/a": 1}).out_of_order == ("1/a",)


def test_other_jobs_and_other_channels_have_an_order_of_their_own() -> None:
    assert of(OTHER, A, B).out_of_order == ()
    events = (EVENTS[0], replace(EVENTS[1], route=Route.SUCCESS))
    assert reckon(events, [replace(B, route=Route.SUCCESS), A], {}).out_of_order == ()


def test_a_bound_that_does_not_hold_fails_the_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    assert faults.main(["--events", "5", "--kills", "0", "--real", "0", "--limit", "0"]) == 1
    assert "NOT HELD: lost: 1000" in capsys.readouterr().err
