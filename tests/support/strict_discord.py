"""A fake Discord with a fake clock: down for a while, then strict about its rate limits."""

from __future__ import annotations

import json
from collections import defaultdict

from jobmon_core.system.clock import Clock
from jobmon_core.system.http import HttpRequest, HttpResponse, NotSent, SendResult
from tests.support.fake_discord import Payload

LIMITS = ((5, 2.0), (30, 60.0))  # messages, seconds: of one webhook


class StrictDiscord:
    """Accepts messages by webhook, in the place of `http.send`."""

    def __init__(self, clock: Clock, up_from_s: float) -> None:
        self.clock = clock
        self.up_from_s = up_from_s
        self.taken: dict[str, list[tuple[float, Payload]]] = defaultdict(list)
        self.asked: dict[str, int] = defaultdict(int)
        self.limited = 0
        self.impatient = 0  # requests that came before the end of the wait of a 429
        self._wait_until_s: dict[str, float] = defaultdict(float)

    def __call__(self, _method: str, outgoing: HttpRequest, timeout_s: float) -> SendResult:
        assert timeout_s > 0
        now_s, url = self.clock.now(), outgoing.url
        self.asked[url] += 1
        if now_s < self.up_from_s:
            return NotSent("could not reach discord.com: Connection refused")
        self.impatient += now_s < self._wait_until_s[url]
        wait_s = max(self._wait_s(url, *limit) for limit in LIMITS)
        if wait_s > 0:
            self.limited += 1
            self._wait_until_s[url] = now_s + wait_s
            return HttpResponse(429, {"via": "1.1 google"}, json.dumps({"retry_after": wait_s}).encode())
        self.taken[url].append((now_s, json.loads(outgoing.body)))
        return HttpResponse(200, {}, b"{}")

    def _wait_s(self, url: str, at_most: int, within_s: float) -> float:
        recent = [at_s for at_s, _ in self.taken[url] if self.clock.now() - at_s < within_s]
        return recent[-at_most] + within_s - self.clock.now() if len(recent) >= at_most else 0.0
