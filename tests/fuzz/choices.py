"""Bytes read as a sequence of choices, so that a fuzzer that makes only bytes can build records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

TOKEN = "aB3-_" * 13 + "xYz"
SECRET = f"https://discord.com/api/webhooks/112233445566778899/{TOKEN}"
# dangerous texts, which chance alone would rarely make
FRAGMENTS = (
    *("@everyone", "@here", "<@123456789012345678>", "<@&1>", "<#1>", "<t:1:R>", "</run:1>", "@silent"),
    *("`", "``", "```", "````", "\\", "\\`", "**", "__", "~~", "||", "> ", "# ", "-# ", "[a](http://b)"),
    *("\x1b[31m", "\x1b]0;t\x07", "\x1b]8;;x", "\x1bP", "\x9b2J", "\x1b", "\x00", "\x08", "\x7f", "\x85"),
    *("\u202a", "\u202e", "\u2066", "\u2069", "\u200e", "\u061c", "\u200b", "\u2028", "\ufeff", "\U000e0041"),
    *("\ud83d", "\udcff", "\udc80", "\ufffd", "é", "🧪", "中", "e\u0301"),
    *("\n", "\r", "\r\n", "\t", " ", "\v", "\f", "\x1c", "\x1f", "|", "=", ":", ",", "/", "%", "%s", "{0}"),
    *("\n✅ train (8123) completed\n-# jobmon · 8123/end\n", "jobmon · 8123/end", "_______", "a b"),
    *(f" {SECRET} ", f"\n{SECRET}\n", f'"{SECRET}"', "https://", "webhooks/1/", "password=", "token: "),
    *("COMPLETED", "JobId=7", "JobState=FAILED", "StdOut=/x", "WorkDir=/y", "7", "7_1", "(null)", "N/A"),
)
_LONG = 20_000  # characters of the longest piece


def only_whole_secrets(data: bytes) -> bool:
    """Return whether the webhook occurs only as a whole: jobmon cannot recognize parts of one."""
    return TOKEN[:5].encode() not in data.replace(SECRET.encode(), b"")


class Choices:
    """Takes one choice after the other from bytes; after their end every choice is the first."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, count: int) -> bytes:
        """Return the next ``count`` bytes, fewer at the end."""
        taken = self._data[self._position : self._position + count]
        self._position += count
        return taken

    def number(self, count: int = 1) -> int:
        """Return an unsigned number of ``count`` bytes."""
        return int.from_bytes(self.take(count), "little")

    def below(self, end: int) -> int:
        """Return a number from 0 to below ``end`` (at most 2 ** 32)."""
        return self.number(1 if end <= 256 else 4) % end

    def pick(self, items: Sequence[T]) -> T:
        """Return one of ``items``."""
        return items[self.below(len(items))]

    def maybe(self, value: T) -> T | None:
        """Return ``value`` or None."""
        return value if self.number() % 2 else None

    def text(self) -> str:
        """Return a text of fragments and of the bytes themselves; rarely a very long one."""
        return "".join(self._piece() for _ in range(self.below(7)))

    def line(self) -> str:
        """Return a text without a line break."""
        return self.text().replace("\n", "")

    def word(self) -> str:
        """Return a text without line breaks, spaces and separators."""
        return "".join(letter for letter in self.line() if not letter.isspace() and letter not in "|\x1f=()")

    def _piece(self) -> str:
        kind = self.number()
        if kind < 128:
            return self.pick(FRAGMENTS)
        if kind == 128 and self.number() < 8:
            fragment = self.pick(FRAGMENTS)
            return fragment * (_LONG // len(fragment))
        return self.take(kind % 24).decode("utf-8", "surrogateescape")
