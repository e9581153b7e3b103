"""The outbox with routes, mutes, reminders and other channels: what arrives where, on a clock of the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Level, Receipt, Route, Tone
from jobmon_core.domain.config import Config
from jobmon_core.domain.decide import Deliver, decide, wake_s
from jobmon_core.domain.delivery.alert_settings import AlertSettings, QuietHours
from jobmon_core.domain.delivery.outbox import Change, Message, OutboxEntry, with_replacements
from jobmon_core.domain.delivery.plan import Mute, MutesAndAcks
from jobmon_core.domain.delivery.reminders import MAX_REMINDERS
from jobmon_core.domain.delivery.routing import ConfiguredChannel, RouteRule
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.monitor.outbox import Outbox
from jobmon_core.store.channels import AlertFiles, ChannelFiles
from tests.support.clock import FakeClock
from tests.support.helper import AtHome
from tests.support.mailbox_channel import Mailbox

BOTH = tuple(Route)
CHANNELS = tuple(
    ConfiguredChannel(name, "mailbox", BOTH, Mailbox(name)) for name in ("team", "phone", "pager")
)
TEAM, PHONE, PAGER = CHANNELS
END = Message("12/end", Route.ERROR, Tone.FAILURE, "train (12) failed", outcome=Outcome.FAILURE)
STALL = Message("12/progress-stalled-5", Route.ERROR, Tone.ATTENTION, "train (12): no progress")
_LOST = Receipt(DeliveryOutcome.TRY_AGAIN, "no route to host", for_all=True)
_GONE = Receipt(DeliveryOutcome.CHANNEL_DEAD, "404 Unknown Webhook")
_FINE = Receipt(DeliveryOutcome.DELIVERED)
_HOUR_S = 3600.0


class Home:
    """The outbox of one job, what arrived in each channel, and the time."""

    def __init__(self, folder: Path, config: Config) -> None:
        for name in ("marks", "alerts"):
            (folder / name).mkdir()
        self.config = config
        self.clock = FakeClock()
        self.files = AlertFiles(folder / "alerts")
        self.answers: dict[str, Receipt] = {}  # by channel
        self.job = WatchedJob("slurm-12-x", 12, 0.0, concluded_s=1.0)
        self.arrived: list[tuple[str, str]] = []
        self.groups: tuple[str, ...] = ()
        self.outbox = Outbox(
            lambda: self.config,
            self._send,
            AtHome(),
            self.clock,
            ChannelFiles(folder / "marks"),
            self.files,
            "slurm-12-x",
            lambda _message: self.groups,
        )

    def _send(self, channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        receipt = self.answers.get(channel.name, _FINE)
        if receipt is _FINE:
            self.arrived.append((channel.name, entry.message.title))
        return receipt

    @property
    def entries(self) -> tuple[OutboxEntry, ...]:
        return self.job.outbox

    def queue(self, *messages: Message) -> None:
        stamped = (replace(message, created_s=int(self.clock.now())) for message in messages)
        outbox = (*self.job.outbox, *(OutboxEntry(message) for message in stamped))
        self.job = replace(self.job, outbox=outbox)

    def run(self, hours: float = 0.0) -> None:
        """Do what is due, for so many hours."""
        end_s = self.clock.now() + hours * _HOUR_S
        while True:
            job, actions = decide(self.job, Policy(), self.clock.now())
            for action in actions:
                if isinstance(action, Deliver):
                    self._deliver((action.message_id, action.channel))
            due_s = wake_s(self.job, Policy(), end_s + 1, self.clock.now())
            if self.job is job and due_s > end_s:
                break
            self.clock.now_s = max(self.clock.now_s, due_s) if self.job is job else self.clock.now_s
        self.clock.now_s = end_s

    def _deliver(self, key: tuple[str, str]) -> None:
        entry = next(each for each in self.job.outbox if each.key == key)
        after = self.outbox.deliver(entry, lambda _attempt: None)
        self.job = replace(self.job, outbox=with_replacements(self.job.outbox, key, after))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, Config((TEAM,)))


def test_an_outage_of_72_hours_loses_nothing_and_keeps_the_order(home: Home) -> None:
    home.answers["team"] = _LOST
    titles = []
    for hour in range(72):
        title = f"message {hour}"
        titles.append(title)
        home.queue(replace(STALL, id=f"12/progress-stalled-{hour}", title=title))
        home.run(1)
    assert not home.arrived
    del home.answers["team"]
    home.run(1)
    assert home.arrived == [("team", title) for title in titles]
    assert not any(entry.is_undelivered or entry.maybe_delivered for entry in home.entries)


@pytest.mark.parametrize(
    ("message", "groups", "where"),
    [
        (END, (), ["pager", "phone"]),  # the first rule that matches decides
        (replace(END, tone=Tone.CANCELLED, outcome=Outcome.CANCELLED), (), ["team"]),
        (replace(END, tone=Tone.SUCCESS, outcome=Outcome.SUCCESS), (), ["phone"]),
        (replace(END, tone=Tone.ATTENTION, outcome=Outcome.SUCCESS), (), ["pager"]),  # doubtful
        (STALL, ("sweep7", "other"), ["phone"]),
        (STALL, ("other",), ["team"]),  # no rule matches: as the channels' own lists say
        (replace(STALL, stated_level=Level.CRITICAL), (), ["pager", "phone"]),
    ],
)
def test_the_first_route_that_matches_names_the_channels(
    home: Home, message: Message, groups: tuple[str, ...], where: list[str]
) -> None:
    team = TEAM
    quiet = (PHONE._replace(routes=()), PAGER._replace(routes=()))
    home.config = Config(
        (team, *quiet),
        routes=(
            RouteRule(("pager", "phone"), levels=(Level.CRITICAL,)),
            RouteRule(("phone",), groups=("sweep*",)),
            RouteRule(("phone",), outcomes=("success",)),
            RouteRule(("pager",), outcomes=("doubtful",)),
        ),
    )
    home.groups = groups
    home.queue(message)
    home.run()
    assert sorted(channel for channel, _ in home.arrived) == where


def test_what_one_channel_refuses_another_one_tells_once(home: Home) -> None:
    home.config = Config((TEAM, PHONE._replace(routes=()), PAGER._replace(routes=())))
    home.answers = {"team": _GONE, "phone": _GONE}
    home.queue(END)
    home.run(1)
    refused, taken_over = home.entries
    assert refused.told_on == "phone"
    assert taken_over.instead_of == "team"
    assert taken_over.given_up  # and no third channel is tried: there is no loop
    home.queue(replace(STALL, id="12/later"))
    home.run(1)
    assert home.arrived == [("pager", STALL.title)]
    note = home.entries[-1].message.fields[0]
    assert (note.name, note.value) == ("Instead of", "channel team: 404 Unknown Webhook")


def test_a_log_file_and_a_screen_take_the_place_of_no_channel(home: Home) -> None:
    log, screen = PHONE._replace(notifies=False), PAGER._replace(notifies=False, routes=())
    late = ConfiguredChannel("late", "mailbox", (), Mailbox("late"))
    home.config = Config((TEAM, log, screen, late))
    home.answers = {"team": _GONE}
    home.queue(END)
    home.run(1)
    assert home.arrived == [("phone", END.title), ("late", END.title)]


def test_no_channel_takes_over_while_another_one_gets_the_message_anyway(home: Home) -> None:
    home.config = Config((TEAM, PHONE, PAGER._replace(routes=())))
    home.answers = {"team": _GONE}
    home.queue(END)
    home.run(1)
    assert home.arrived == [("phone", END.title)]
    assert len(home.entries) == 2


def test_a_channel_that_was_renamed_gets_what_waited_for_its_old_name(home: Home) -> None:
    home.answers["team"] = _LOST
    home.queue(END)
    home.run(1)
    home.config = Config((PHONE._replace(routes=()), PAGER))
    home.run(1)
    assert home.arrived == [("pager", END.title)]


def test_two_channels_that_refuse_a_message_are_replaced_by_one_message(home: Home) -> None:
    home.config = Config((TEAM, PHONE, PAGER._replace(routes=())))
    home.answers = {"team": _GONE, "phone": _GONE}
    home.queue(END)
    home.run(1)
    assert home.arrived == [("pager", END.title)]


def test_a_mute_counts_and_tells_at_its_end_and_holds_what_is_critical(home: Home) -> None:
    end_s = home.clock.now() + 2 * _HOUR_S
    home.files.change_user(lambda _user: MutesAndAcks({"job:slurm-12-x": Mute(home.clock.now(), end_s)}))
    home.queue(*(replace(STALL, id=f"12/a-{n}", title=f"stall {n}") for n in range(3)), END)
    home.run(1.9)
    assert not home.arrived
    home.run(0.2)
    assert home.arrived == [
        ("team", "3 messages were held back (muted): stall 0, and 2 more"),
        ("team", END.title),
    ]
    assert not any(entry.is_undelivered for entry in home.entries)


def test_a_mute_that_ends_early_releases_messages_within_minutes(home: Home) -> None:
    home.files.change_user(lambda _user: MutesAndAcks({"all": Mute(0, home.clock.now() + 9 * _HOUR_S)}))
    home.queue(STALL)
    home.run(1)
    home.files.change_user(lambda _user: MutesAndAcks())
    home.run(0.1)
    assert home.arrived == [("team", STALL.title)]


def test_a_held_message_does_not_delay_a_critical_one_of_the_same_job(home: Home) -> None:
    quiet_all_day = AlertSettings(quiet=QuietHours(0, 24 * 60 - 1))
    home.config = Config((TEAM,), alerts=quiet_all_day)
    home.queue(STALL, END)
    home.run(1 / 60)
    assert home.arrived[0] == ("team", END.title)


def test_a_critical_message_is_repeated_less_and_less_often_until_it_is_acknowledged(home: Home) -> None:
    home.config = Config((TEAM,), alerts=AlertSettings(reminder_s=600.0))
    home.queue(END, replace(STALL, id="12/x"))
    home.run(1)
    titles = [title for _, title in home.arrived]
    assert titles == [END.title, STALL.title, *[f"Not acknowledged: {END.title}"] * 2]  # after 10 and 30 min
    home.files.change_user(lambda _user: MutesAndAcks(acks={"slurm-12-x": home.clock.now()}))
    home.run(100)
    assert len(home.arrived) == 4
    assert not any(entry.is_open or entry.is_undelivered for entry in home.entries)
    home.queue(replace(END, id="12/end-2"))  # what happens later is not acknowledged
    home.run(100)
    assert len(home.arrived) == 5 + MAX_REMINDERS


def test_nothing_is_repeated_by_default(home: Home) -> None:
    home.queue(END)
    home.run(100)
    assert home.arrived == [("team", END.title)]
    assert not list(home.files.folder.iterdir())


def test_programs_get_everything_at_once_whatever_is_muted_or_limited(home: Home) -> None:
    hook = ConfiguredChannel("on_event_1", "program", BOTH, Mailbox("hook"))
    home.config = Config((TEAM,), programs=(hook,), alerts=AlertSettings(per_hour=1))
    home.files.change_user(lambda _user: MutesAndAcks({"all": Mute(0, home.clock.now() + _HOUR_S)}))
    change = Message("12/state-1", Route.SUCCESS, Tone.RESOLVED, "a", changes=(Change("12", "", "RUNNING"),))
    home.queue(change, replace(STALL, id="12/x"), replace(STALL, id="12/y"))
    home.run(0.01)
    assert home.arrived == [("on_event_1", "a"), *[("on_event_1", STALL.title)] * 2]
    assert not any(entry.message.changes for entry in home.entries)  # they are forgotten


def test_a_program_that_fails_is_reported_on_no_other_channel_and_not_run_again(home: Home) -> None:
    hook = ConfiguredChannel("on_event_1", "program", BOTH, Mailbox("hook"))
    home.config = Config((TEAM,), programs=(hook,))
    home.answers = {"on_event_1": Receipt(DeliveryOutcome.GIVE_UP, "exit code 3")}
    home.queue(STALL)
    home.run(1)
    assert home.arrived == [("team", STALL.title)]
    assert [(entry.channel, entry.given_up) for entry in home.entries] == [
        ("team", ""),
        ("on_event_1", "exit code 3"),
    ]


def test_a_change_of_state_that_no_program_wants_any_more_is_dropped(home: Home) -> None:
    change = Message("12/state-1", Route.SUCCESS, Tone.RESOLVED, "a", changes=(Change("12", "", "RUNNING"),))
    home.queue(change)
    home.run(0.1)
    assert not home.entries
    assert not home.arrived
