"""A fake Discord that fails at random: it refuses, hangs, resets, or closes after it accepted a message."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random

from jobmon_core.domain.channels import Route
from tests.support import discord_answers as answers
from tests.support.discord_answers import Behaviour, Scripted
from tests.support.discord_form import read_body
from tests.support.fake_discord import FakeDiscord

_NO_SCHEMA = Path("/nonexistent")  # the campaign checks delivery, not the form of messages
_FOOTER_SEPARATOR = " · "
_DIGEST = "+"  # in the id of a digest, after the id of the message whose monitor sends it
_JOB = re.compile(r"\((\d+_\d+)\)")  # in each line of a digest
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
    digest_of: str = ""  # the message whose monitor sent it in a digest; empty if it came alone


def _outcome(random: Random) -> tuple[str, Scripted]:
    """Choose what happens to the next request; return the name of that outcome and the answer."""
    outcomes = (  # with the share of requests that meet each one
        ("429", 0.06, answers.rate_limited(random.uniform(0.2, 3.0))),
        ("5xx", 0.06, answers.server_error(random.choice((500, 502, 503, 504)))),
        ("reset before it was read", 0.02, answers.close_unread()),
        ("closed without accepting it", 0.02, answers.close_read()),
        ("closed after accepting it", 0.03, answers.close_read(saves=True)),
        ("broken off answer", 0.02, answers.break_off()),  # closed in the middle of it
        ("hang", 0.004, answers.hang(saves=random.random() < 1 / 2)),  # half of these messages appear
        (_LATE, 0.06, answers.ok()),
        ("accepted", 0.726, answers.ok()),
    )
    ((name, _, answer),) = random.choices(outcomes, [share for _, share, _ in outcomes])
    return name, answer


class FlakyDiscord(FakeDiscord):
    """The fake Discord, with failures that a seed determines."""

    def __init__(self, seed: int, speed: float) -> None:
        """Fail as ``seed`` determines; ``speed`` is that of the campaign's clock."""
        super().__init__(_NO_SCHEMA)
        self.outcomes: Counter[str] = Counter()  # number of requests, by outcome
        self._speed = speed
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
            name, answer = _outcome(self._random)
            self.outcomes[name] += 1
            delay_s = self._random.uniform(0.0, _MAX_DELAY_S) / self._speed if name == _LATE else 0.0
        self.closing.wait(delay_s)
        return answer

    def take(self, path: str, headers: dict[str, str], body: bytes, planned: Scripted) -> Scripted:
        """Answer a request, and record the messages that appear: one, or those of a digest."""
        embed = json.loads(read_body(headers, body).json_text)["embeds"][0]
        footer = embed["footer"]["text"].split(_FOOTER_SEPARATOR)
        sender, is_digest, _ = footer[1].partition(_DIGEST)
        ids = [f"{job}/end" for job in _JOB.findall(embed["description"])] if is_digest else [sender]
        with self._lock:
            answer = super().take(path, headers, body, self._limited(ids, planned))
            if answer.saves:
                marked, answered = _REPEAT_MARK in footer[2:], answer.behaviour not in _UNANSWERED
                route, digest_of = self._saved[-1][0], sender if is_digest else ""
                self._arrivals += [Arrival(id_, route, marked, answered, digest_of) for id_ in ids]
            return answer

    def _limited(self, ids: list[str], planned: Scripted) -> Scripted:
        """Return the planned answer, or a plain success once a message has lost too many answers."""
        if planned.behaviour in _UNANSWERED:
            self._unanswered.update(ids)
        return answers.ok() if max(self._unanswered[id_] for id_ in ids) > _MAX_UNANSWERED else planned
