"""One item of the list that is checked before a submission."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

PASSED, WARNED, FAILED = 0, 1, 2  # exit codes of `jobmon check`


class Status(StrEnum):
    """The result of one check."""

    FAIL = "fail"  # the job cannot work as it is
    WARN = "warn"  # it may work, but something is probably wrong
    PASS = "pass"  # noqa: S105 - a word, no password
    NOT_APPLICABLE = "not applicable"  # it does not concern this job, or this host cannot know


class Item(NamedTuple):
    """One checked item."""

    status: Status
    text: str  # one sentence: what was found
    advice: str = ""  # what to do about it
    id: str = ""  # for programs; it stays the same for ever. Rules leave it to the list of all rules


def passed(text: str, advice: str = "") -> Item:
    """Return an item that is in order; ``advice`` is a hint."""
    return Item(Status.PASS, text, advice)


def warned(text: str, advice: str) -> Item:
    """Return an item that is probably wrong."""
    return Item(Status.WARN, text, advice)


def failed(text: str, advice: str) -> Item:
    """Return an item with which the job cannot work."""
    return Item(Status.FAIL, text, advice)


def not_applicable(why: str) -> Item:
    """Return an item that does not concern the job, or that this host cannot judge."""
    return Item(Status.NOT_APPLICABLE, why)


def exit_code(items: Iterable[Item]) -> int:
    """Return 2 if an item fails, else 1 if one warns, else 0."""
    found = {item.status for item in items}
    return FAILED if Status.FAIL in found else WARNED if Status.WARN in found else PASSED
