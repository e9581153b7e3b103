"""A Discord in foul weather: now and then it refuses, hangs, resets, or closes after it took a message."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from jobmon_core.domain.channels import Route
from tests.support import discord_answers as answers
from tests.support.discord_answers import Act, Scripted
from tests.support.fake_discord import FakeDiscord

_NO_SCHEMA = Path("/nonexistent")  # what is checked here is delivery, not the form
_SEPARATOR = " · "
_REPEAT = "possible repeat"
LATE = "taken late"
_LATEST_S = 8.0  # in the time of the campaign
_UNHEARD = (Act.HANG, Act.CLOSE_READ)
_DOUBTS = 2  # answers that one message loses at most: after a few more its next try is hours away


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message that appeared in a channel."""

    id: str
    route: Route
    marked: bool  # as a possible repeat
    answered: bool  # False where its sender never heard of it


@dataclass(frozen=True, slots=True)
class Foulness:
    """The share of the requests that meet each kind of trouble."""

    limited: float = 0.06
    server_error: float = 0.06
    unread: float = 0.02  # closed, and so reset, before the request is read
    swallowed: float = 0.02  # read, then closed without an answer; it never appears
    unanswered: float = 0.03  # likewise, and it does appear
    broken_off: float = 0.02  # closed in the middle of the answer
    hanging: float = 0.004  # no answer at all, and half of them appear
    late: float = 0.06  # taken only after seconds

    def choose(self, dice: Random) -> tuple[str, Scripted]:
        """Return what the next request meets, by name."""
        kinds = (
            ("429", self.limited, answers.rate_limited(dice.uniform(0.2, 3.0))),
            ("5xx", self.server_error, answers.server_error(dice.choice((500, 502, 503, 504)))),
            ("reset before it was read", self.unread, answers.close_unread()),
            ("closed without taking it", self.swallowed, answers.close_read()),
            ("closed after taking it", self.unanswered, answers.close_read(saves=True)),
            ("broken off answer", self.broken_off, answers.break_off()),
            ("hang", self.hanging, answers.hang(saves=dice.random() < 1 / 2)),
            (LATE, self.late, answers.ok()),
        )
        chance = dice.random()
        for name, share, answer in kinds:
            if chance < share:
                return name, answer
            chance -= share
        return "taken", answers.ok()


class FoulDiscord(FakeDiscord):
    """The fake Discord, in weather that a seed decides."""

    def __init__(self, seed: int, foulness: Foulness, speed: float = 1.0) -> None:
        """Be foul as ``foulness`` says, in a time that runs ``speed`` times as fast as in life."""
        super().__init__(_NO_SCHEMA)
        self._speed = speed
        self.met: Counter[str] = Counter()
        self._dice = Random(seed)  # noqa: S311 - a campaign can be repeated
        self._foulness = foulness
        self._arrivals: list[Arrival] = []
        self._doubts: Counter[str] = Counter()
        self._one_at_a_time = threading.Lock()

    @property
    def arrivals(self) -> list[Arrival]:
        """What appeared so far, in order."""
        with self._one_at_a_time:
            return list(self._arrivals)

    def next_answer(self) -> Scripted:
        """Throw the dice."""
        with self._one_at_a_time:
            name, answer = self._foulness.choose(self._dice)
            self.met[name] += 1
            late_s = self._dice.uniform(0.0, _LATEST_S) / self._speed if name == LATE else 0.0
        self.closing.wait(late_s)
        return answer

    def take(self, path: str, headers: dict[str, str], body: bytes, planned: Scripted) -> Scripted:
        """Note what appears."""
        footer = json.loads(body)["embeds"][0]["footer"]["text"].split(_SEPARATOR)
        with self._one_at_a_time:
            answer = super().take(path, headers, body, self._bearable(footer[1], planned))
            if answer.saves:
                repeat, answered = _REPEAT in footer[2:], answer.act not in _UNHEARD
                self._arrivals.append(Arrival(footer[1], self._saved[-1][0], repeat, answered))
            return answer

    def _bearable(self, message_id: str, planned: Scripted) -> Scripted:
        """Return what was planned, if the message has not lost too many answers already."""
        self._doubts[message_id] += planned.act in _UNHEARD
        return answers.ok() if self._doubts[message_id] > _DOUBTS else planned
