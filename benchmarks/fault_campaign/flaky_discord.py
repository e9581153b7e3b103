"""A fake Discord that fails at random: it refuses, hangs, resets, or closes after it accepted a message."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from jobmon_core.domain.channels import Route
from tests.support import discord_answers as answers
from tests.support.discord_answers import Behaviour, Scripted
from tests.support.fake_discord import FakeDiscord

_NO_SCHEMA = Path("/nonexistent")  # the campaign checks delivery, not the form of messages
_FOOTER_SEPARATOR = " · "
_REPEAT_MARK = "possible repeat"
_LATE = "accepted late"
_MAX_DELAY_S = 8.0  # by the campaign's clock
_UNANSWERED = (Behaviour.HANG, Behaviour.CLOSE_READ)
_MAX_UNANSWERED = 2  # for one message, because jobmon waits for hours after a few more


@dataclass(frozen=True, slots=True)
class Arrival:
    """One message that appeared in a channel."""

    id: str
    route: Route
    marked: bool  # as a possible repeat
    answered: bool  # whether the sender got an answer


@dataclass(frozen=True, slots=True)
class FailureRates:
    """The share of requests that meet each failure, from 0 to 1."""

    rate_limited: float = 0.06
    server_error: float = 0.06
    closed_unread: float = 0.02  # reset before the request is read
    dropped: float = 0.02  # read, then closed without an answer; the message does not appear
    unanswered: float = 0.03  # the same, but the message appears
    broken_off: float = 0.02  # closed in the middle of the answer
    hanging: float = 0.004  # no answer at all; half of these messages appear
    late: float = 0.06  # accepted only after seconds

    def choose(self, random: Random) -> tuple[str, Scripted]:
        """Choose what happens to the next request; return the name of that outcome and the answer."""
        failures = (
            ("429", self.rate_limited, answers.rate_limited(random.uniform(0.2, 3.0))),
            ("5xx", self.server_error, answers.server_error(random.choice((500, 502, 503, 504)))),
            ("reset before it was read", self.closed_unread, answers.close_unread()),
            ("closed without accepting it", self.dropped, answers.close_read()),
            ("closed after accepting it", self.unanswered, answers.close_read(saves=True)),
            ("broken off answer", self.broken_off, answers.break_off()),
            ("hang", self.hanging, answers.hang(saves=random.random() < 1 / 2)),
            (_LATE, self.late, answers.ok()),
        )
        chance = random.random()
        for name, rate, answer in failures:
            if chance < rate:
                return name, answer
            chance -= rate
        return "accepted", answers.ok()


class FlakyDiscord(FakeDiscord):
    """The fake Discord, with failures that a seed determines."""

    def __init__(self, seed: int, rates: FailureRates, speed: float = 1.0) -> None:
        """Fail at these rates; ``speed`` is that of the campaign's clock."""
        super().__init__(_NO_SCHEMA)
        self.outcomes: Counter[str] = Counter()  # number of requests, by outcome
        self._rates, self._speed = rates, speed
        self._random = Random(seed)  # noqa: S311 - campaigns must be repeatable
        self._arrivals: list[Arrival] = []
        self._unanswered: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def arrivals(self) -> list[Arrival]:
        """All messages that have appeared, in order."""
        with self._lock:
            return list(self._arrivals)

    def next_answer(self) -> Scripted:
        """Choose the answer to the next request."""
        with self._lock:
            name, answer = self._rates.choose(self._random)
            self.outcomes[name] += 1
            delay_s = self._random.uniform(0.0, _MAX_DELAY_S) / self._speed if name == _LATE else 0.0
        self.closing.wait(delay_s)
        return answer

    def take(self, path: str, headers: dict[str, str], body: bytes, planned: Scripted) -> Scripted:
        """Answer a request, and record the message if it appears."""
        footer = json.loads(body)["embeds"][0]["footer"]["text"].split(_FOOTER_SEPARATOR)
        with self._lock:
            answer = super().take(path, headers, body, self._limited(footer[1], planned))
            if answer.saves:
                marked, answered = _REPEAT_MARK in footer[2:], answer.behaviour not in _UNANSWERED
                self._arrivals.append(Arrival(footer[1], self._saved[-1][0], marked, answered))
            return answer

    def _limited(self, message_id: str, planned: Scripted) -> Scripted:
        """Return the planned answer, or a plain success once the message has lost too many answers."""
        self._unanswered[message_id] += planned.behaviour in _UNANSWERED
        return answers.ok() if self._unanswered[message_id] > _MAX_UNANSWERED else planned
