"""A short campaign of faults, and how its figures are computed."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import faults
from benchmarks.fault_campaign.checks import DeliveryReport, check_delivery, check_history
from benchmarks.fault_campaign.flaky_discord import Arrival
from benchmarks.fault_campaign.frozen_hosts import in_flight
from benchmarks.fault_campaign.kill_points import FREEZE_STEPS, STEPS
from benchmarks.fault_campaign.member import CampaignContext
from benchmarks.fault_campaign.scenario import Event, Scenario, replayed_scenarios
from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.store.home import Home
from tests.support.job_records import ENTRY, JOB

EVENTS = (Event("1/a", 1, Route.ERROR), Event("1/b", 1, Route.ERROR), Event("2/a", 2, Route.ERROR))
A, B, OTHER = (Arrival(event.id, Route.ERROR, marked=False, answered=True) for event in EVENTS)
A_AGAIN = replace(A, marked=True)


def delivery(
    *arrivals: Arrival, interrupted: dict[str, int] | None = None, late: dict[str, int] | None = None
) -> DeliveryReport:
    return check_delivery(EVENTS, arrivals, interrupted or {}, late or {})


def test_no_message_is_lost_while_monitors_are_killed_and_discord_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = faults.main(["--events", "60", "--kills", "20", "--freezes", "0", "--seed", "1", "--json"])
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert (code, figures["broken"]) == (0, []), printed
    assert figures["events"] >= 60
    assert figures["kills"] >= 20
    assert figures["lost"] == figures["repeats without a mark"] == figures["out of order"] == 0


def test_no_message_is_lost_and_no_job_returns_while_hosts_freeze(capsys: pytest.CaptureFixture[str]) -> None:
    unshare = (shutil.which("unshare") or "/bin/false", "--uts", "/bin/true")
    if subprocess.run(unshare, capture_output=True, check=False).returncode:
        pytest.skip("a process with a host name of its own is not permitted here")
    arguments = "--events 25 --kills 3 --freezes 8 --real 1 --seed 1 --json"
    code = faults.main(arguments.split())
    printed = capsys.readouterr()
    figures = json.loads(printed.out)
    assert (code, figures["broken"]) == (0, []), printed
    assert figures["freezes"] >= 8
    assert figures["forgotten jobs that returned"] == figures["repeats without a mark"] == 0


def test_a_run_that_is_lost_doubled_or_wrong_in_the_history_breaks_a_bound() -> None:
    scenario = Scenario(7, (), (("COMPLETED", 0), ("CANCELLED by 1000", 0)))
    first = HistoryRecord(7, 1, 1.0, task="0", state="COMPLETED")
    second = first._replace(task="1", state="CANCELLED")
    assert list(check_history([first, second], [scenario])) == []
    for wrong in ([first], [first, second, second], [first, second._replace(state="FAILED")]):
        (line,) = check_history(wrong, [scenario])
        assert line.startswith("the run of 7_1 is in the history as ")
    (line,) = check_history([first, second, first._replace(job_id=8)], [scenario])
    assert "unexpected" in line


def test_scenarios_have_enough_events_and_are_the_same_for_the_same_seed() -> None:
    scenarios = list(replayed_scenarios(100, 7))
    events = [event.id for scenario in scenarios for event in scenario.events]
    assert 100 <= len(events) == len(set(events))
    assert scenarios == list(replayed_scenarios(100, 7))
    assert scenarios != list(replayed_scenarios(100, 8))


def test_a_monitor_can_be_killed_at_twelve_different_steps_and_freeze_at_five_more() -> None:
    assert len(STEPS) == len(set(STEPS)) == 12
    assert len(FREEZE_STEPS) == len(set(FREEZE_STEPS)) == 17


def test_messages_that_arrived_once_and_in_order_break_no_bound() -> None:
    report = delivery(A, OTHER, B)
    assert report.broken == ()
    assert (report.events, report.arrivals, report.repeats_after_kills) == (3, 3, 0)


def test_a_message_that_did_not_arrive_is_lost() -> None:
    assert delivery(A, B).lost == ("2/a",)


def test_a_message_without_an_event_or_on_the_wrong_channel_is_unexpected() -> None:
    no_event, wrong_channel = replace(A, id="9/x"), replace(OTHER, route=Route.SUCCESS)
    assert delivery(A, B, no_event, wrong_channel).unexpected == ("9/x", "2/a")


def test_a_kill_during_a_send_allows_one_marked_repeat() -> None:
    report = delivery(A, A_AGAIN, B, OTHER, interrupted={"1/a": 1})
    assert (report.broken, report.repeats_after_kills) == ((), 1)
    assert delivery(A, A_AGAIN, A_AGAIN, B, OTHER, interrupted={"1/a": 1}).unexplained == ("1/a",)
    assert delivery(A, A_AGAIN, B, OTHER, interrupted={"1/b": 1}).unexplained == ("1/a",)


def test_a_marked_repeat_after_a_lost_answer_is_counted_separately() -> None:
    report = delivery(replace(A, answered=False), A_AGAIN, B, OTHER)
    assert (report.broken, report.repeats_after_kills, report.repeats_after_lost_answers) == ((), 0, 1)


def test_a_kill_during_a_digest_allows_a_marked_repeat_of_each_of_its_messages() -> None:
    digest = [replace(arrival, digest_of="1/a") for arrival in (A, OTHER)]
    again = [A_AGAIN, replace(OTHER, marked=True)]
    report = delivery(*digest, *again, B, interrupted={"1/a": 1})
    assert report.broken == ()
    assert (report.digests, report.repeats_of_digests, report.repeats_after_kills) == (1, 2, 0)
    assert delivery(*digest, *again, B, interrupted={"1/b": 1}).unexplained == ("1/a", "2/a")
    assert delivery(*digest, A, B, interrupted={"1/a": 1}).unmarked == ("1/a",)


def test_a_late_digest_allows_a_marked_repeat_of_each_of_its_messages() -> None:
    digest = [replace(arrival, digest_of="1/a") for arrival in (A, OTHER)]
    again = replace(OTHER, marked=True)
    assert delivery(*digest, again, B, late={"1/a": 1}).broken == ()
    assert delivery(*digest, again, again, B, late={"1/a": 1}).unexplained == ("2/a",)
    assert delivery(*digest, again, B, late={"2/a": 1}).broken == (), "its own monitor came back late"
    assert delivery(A, A_AGAIN, B, OTHER, late={"1/a": 1}).unexplained == ("1/a",), "it was sent singly"


def test_a_repeat_without_a_mark_breaks_a_bound() -> None:
    assert delivery(A_AGAIN, A, B, OTHER, interrupted={"1/a": 1}).unmarked == ("1/a",)


def test_a_message_that_arrives_after_a_later_one_of_its_job_is_out_of_order() -> None:
    assert delivery(B, A, OTHER).out_of_order == ("1/a",)
    assert delivery(A, B, A_AGAIN, OTHER, interrupted={"1/a": 1}).out_of_order == ("1/a",)


def test_each_job_and_each_channel_has_its_own_order() -> None:
    assert delivery(OTHER, A, B).out_of_order == ()
    events = (EVENTS[0], replace(EVENTS[1], route=Route.SUCCESS))
    assert check_delivery(events, [replace(B, route=Route.SUCCESS), A], {}, {}).out_of_order == ()


def test_a_message_of_a_frozen_monitor_may_arrive_after_its_marked_repeat() -> None:
    arrivals = (A_AGAIN, B, A, OTHER)

    def report(*overtaken: str) -> DeliveryReport:
        return check_delivery(EVENTS, arrivals, {"1/a": 1}, {}, overtaken)

    assert report("1/a").broken == ()
    assert (report().unmarked, report().out_of_order) == (("1/a",), ("1/a",))
    twice = check_delivery(EVENTS, (*arrivals, A), {"1/a": 2}, {}, ("1/a",))
    assert twice.unmarked == ("1/a",)


def test_an_offered_message_is_in_flight_if_a_monitor_of_another_host_succeeds(tmp_path: Path) -> None:
    names = ("offered", "being sent", "waiting", "delivered")
    offered, sent, waiting, done = (replace(ENTRY, message=replace(ENTRY.message, id=name)) for name in names)
    outbox = (
        replace(offered, offered_s=1.0),
        replace(sent, attempt_since_s=1.0),
        waiting,
        replace(done, delivered_s=2.0),
    )
    ctx = CampaignContext(Home(tmp_path), {})
    ctx.home.state.mkdir(exist_ok=True)
    ctx.store.save(replace(JOB, outbox=outbox))
    assert in_flight(ctx, JOB.id, moves=True) == {"offered", "being sent"}
    assert in_flight(ctx, JOB.id, moves=False) == {"being sent"}


def test_a_broken_bound_fails_the_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        faults.main(["--events", "5", "--kills", "0", "--freezes", "0", "--real", "0", "--limit", "0"]) == 1
    )
    assert "NOT HELD: lost: 1000" in capsys.readouterr().err
