"""Cards of jobs, by the code that a monitor runs in a child process, against a fake Discord."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.card import CardPhase, JobCard
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Sample
from jobmon_core.monitor.card import updated_card
from jobmon_core.notify.channels import CHANNEL_TYPES
from jobmon_core.store.channels import ChannelFiles
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import progress_file
from jobmon_core.store.json_file import JsonFile
from tests.support import discord_answers as answers
from tests.support.clock import FakeClock
from tests.support.discord_answers import Scripted
from tests.support.fake_discord import FakeDiscord
from tests.support.job_records import NOW_S, PENDING, job_of, succeeded
from tests.support.live_jobs import progress_of, running_task
from tests.support.mailbox_channel import MAILBOX

RUNNING = job_of(running_task())
TYPES = {**CHANNEL_TYPES, "mailbox": MAILBOX}


@dataclass(frozen=True, slots=True)
class Cards:
    """A home with a configuration, and a clock that the test advances."""

    ctx: Context
    clock: FakeClock

    def configure(self, config: dict[str, object]) -> None:
        self.ctx.home.config.write_text(json.dumps(config), "utf-8")
        self.ctx.home.config.chmod(0o600)

    def update(self, job: WatchedJob, later_s: float = 10.0) -> WatchedJob:
        """Return the job after one more look at its card."""
        self.clock.now_s += later_s
        return replace(job, card=updated_card(self.ctx, job))

    @property
    def fingerprint(self) -> str:
        return self.ctx.configuration().channels_for(Route.SUCCESS)[0].channel.fingerprint


@pytest.fixture
def discord() -> Iterator[FakeDiscord]:
    with FakeDiscord() as fake:
        yield fake


@pytest.fixture
def cards(tmp_path: Path, discord: FakeDiscord) -> Cards:
    clock = FakeClock(NOW_S)
    made = Cards(Context(Home(tmp_path), {}, clock=clock, channel_types=lambda: TYPES), clock)
    made.configure({"discord": {"success_webhook": discord.success_url, "error_webhook": discord.error_url}})
    return made


def titles(discord: FakeDiscord) -> list[str]:
    return [payload["embeds"][0]["title"] for payload in discord.shown()]


def test_a_job_has_one_card_from_pending_to_its_end(cards: Cards, discord: FakeDiscord) -> None:
    job = cards.update(job_of(PENDING))
    assert titles(discord) == ["🕒 train (12) is pending"]
    job = cards.update(replace(job, tasks=RUNNING.tasks))
    assert titles(discord) == ["🟣 train (12) is running"]
    job = cards.update(replace(job, tasks=job_of(succeeded()).tasks, concluded_s=NOW_S))
    assert titles(discord) == ["✅ train (12) completed in 1m"]
    assert job.card.closed
    assert job.finished
    assert (len(discord.received()), len(discord.edits)) == (1, 2)
    assert discord.violations == []


def test_the_card_is_in_the_success_channel_and_no_secret_is_in_the_state(
    cards: Cards, discord: FakeDiscord
) -> None:
    job = cards.update(RUNNING)
    assert discord.received(Route.ERROR) == []
    assert discord.success_url.rpartition("/")[2] not in str(job.card)


def test_progress_and_gpus_are_shown(cards: Cards, discord: FakeDiscord) -> None:
    progress_file(cards.ctx.home.progress_file(RUNNING.id)).write(
        JobProgress(tasks={"": progress_of(500, 1000)})
    )
    folder = cards.ctx.home.telemetry_folder(RUNNING.id, "") / "gpu1"
    folder.mkdir(parents=True)
    sample = Sample(NOW_S + 10, 5.0, gpus=(Gpu(0, utilization_percent=93.0),))
    JsonFile(folder / "latest.json", AgentReport).write(AgentReport(sample, interval_s=5.0))
    cards.update(RUNNING)
    (embed,) = discord.shown()[0]["embeds"]
    assert embed["description"] == "██████████░░░░░░░░░░ 50.0%\n500/1,000 steps"
    shown = {field["name"]: field["value"] for field in embed["fields"]}
    assert (shown["Loss"], shown["GPU"]) == ("0.35", "93%")


def test_equal_content_is_not_sent_again(cards: Cards, discord: FakeDiscord) -> None:
    job = cards.update(RUNNING)
    again = cards.update(job, 600)
    assert len(discord.attempts) == 1
    assert again.card.next_s > job.card.next_s


def test_a_card_waits_while_a_message_does(cards: Cards, discord: FakeDiscord) -> None:
    queues = ChannelFiles(cards.ctx.channel_files.folder)
    message = OutboxEntry(Message("m", Route.SUCCESS, Tone.SUCCESS, "done", created_s=int(NOW_S)))
    queues.request_turn(cards.fingerprint, message, NOW_S)
    job = cards.update(RUNNING)
    assert discord.attempts == []
    assert (job.card.message_id, job.card.next_s) == ("", cards.clock.now() + 10)


def test_after_a_rate_limit_no_card_of_the_channel_is_sent_before_its_end(
    cards: Cards, discord: FakeDiscord
) -> None:
    job = cards.update(RUNNING)
    discord.script(answers.rate_limited(120.0))
    ended = cards.update(replace(job, tasks=job_of(succeeded()).tasks, concluded_s=NOW_S))
    assert ended.card.next_s == cards.clock.now() + 121  # the header rounds up
    other = cards.update(replace(RUNNING, id="other"))
    assert len(discord.attempts) == 2
    assert other.card.next_s == ended.card.next_s


@pytest.mark.parametrize("answer", [answers.unknown_message(), answers.unknown_webhook()])
def test_a_card_that_the_user_deleted_is_not_posted_again(
    cards: Cards, discord: FakeDiscord, answer: Scripted
) -> None:
    job = cards.update(RUNNING)
    discord.script(answer)
    job = cards.update(replace(job, stale_since_s=NOW_S))
    assert job.card.closed
    assert job.card.problem
    assert cards.ctx.channel_files.why_dead(cards.fingerprint) == ""  # messages find out by themselves


def test_a_card_that_may_have_been_posted_is_not_posted_again(cards: Cards, discord: FakeDiscord) -> None:
    discord.script(answers.close_read(saves=True))
    job = cards.update(RUNNING)
    assert job.card.closed
    assert len(discord.received()) == 1


def test_an_edit_without_an_answer_is_repeated(cards: Cards, discord: FakeDiscord) -> None:
    job = cards.update(RUNNING)
    discord.script(answers.close_read())
    job = cards.update(replace(job, stale_since_s=NOW_S))
    assert not job.card.closed
    job = cards.update(job, 60)
    assert len(discord.edits) == 1


def test_an_unreachable_discord_delays_the_card(cards: Cards, discord: FakeDiscord) -> None:
    discord.script(answers.server_error(502))
    job = cards.update(RUNNING)
    assert job.card == JobCard(phase=CardPhase.RUNNING, next_s=cards.clock.now() + 60)
    assert cards.update(job, 60).card.message_id


def test_a_card_stays_in_the_channel_that_has_it(cards: Cards, discord: FakeDiscord) -> None:
    job = cards.update(RUNNING)
    cards.configure({"discord": {"success_webhook": discord.error_url}})
    job = cards.update(replace(job, stale_since_s=NOW_S))
    assert job.card.closed
    assert len(discord.attempts) == 1


def test_a_channel_whose_messages_cannot_be_edited_gets_no_card(cards: Cards, tmp_path: Path) -> None:
    box = tmp_path / "box"
    box.mkdir()
    cards.configure({"channels": {"box": {"type": "mailbox", "folder": str(box), "messages": ["success"]}}})
    assert cards.update(RUNNING).card.closed
    assert list(box.iterdir()) == []


def test_an_invalid_configuration_delays_the_card(cards: Cards) -> None:
    cards.configure({"nonsense": 1})
    assert cards.update(RUNNING).card == JobCard(phase=CardPhase.RUNNING, next_s=cards.clock.now() + 60)


def test_the_eleventh_running_job_gets_no_card(cards: Cards, discord: FakeDiscord) -> None:
    jobs = [cards.update(replace(RUNNING, id=f"job-{number}")) for number in range(11)]
    assert [job.card.closed for job in jobs] == [False] * 10 + [True]
    assert jobs[-1].card.problem == "other jobs have all the cards"
    assert len(discord.received()) == 10
