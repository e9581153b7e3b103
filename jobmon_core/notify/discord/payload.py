"""Turns a message into the JSON of Discord's "execute webhook", within every limit whatever the text.

Limits count code points, as Discord's staff documented. There is one claim that Discord counts UTF-16
units, and some clients saw slightly different counts, so jobmon stays about 2 % below each limit.
Source: Discord's API reference, "Embed Limits" and "Execute Webhook".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.delivery.card import CardTone
from jobmon_core.domain.delivery.outbox import Field
from jobmon_core.domain.webhook import Mentions
from jobmon_core.notify.clean_text import clean, cut_middle, is_visible, one_line
from jobmon_core.notify.plain_text import delay, fit, timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.delivery.card import Card
    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry

EMPTY = "—"  # stands for an invisible value, which Discord may refuse
_FENCE = "```"
_FENCE_COST = 2 * len(_FENCE) + 2
# Only what Discord reads as markup is escaped, because notifications and copied text show the backslashes. An
# underscore within a word, as in ``my_file.py``, a lone ``~`` or ``|``, and ``<`` before a number stay as is.
_MARKUP = re.compile(
    r"[*`]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    r"|~(?=~)|(?<=~)~|\|(?=\|)|(?<=\|)\|"
    r"|\\(?![A-Za-z0-9\s])"
    r"|<(?![\s\d=-])|(?<=<)[@#:/]"
    r"|(?<=\])\("  # of a link; its brackets alone are harmless
    r"|:(?=//)"  # of a URL, which would become a link with a preview
    r"|^[^\S\n]*(?:[>#]|[+-](?=[\s#])|\d+\.(?=\s))",  # quote, heading, list
    re.MULTILINE,
)
_CALLS = re.compile("@(?=everyone|here)", re.IGNORECASE)
_CODE_SPAN = re.compile("(?<!`)(`[^`\n]+`)(?!`)")
_ADJACENT = re.compile("(?<=`)(?=`)")

_MAX_CONTENT = 1960  # Discord allows 2000
_MAX_LEAD = 200  # the first line, which notifications and lock screens show
_MAX_TITLE = 250  # Discord allows 256
_MAX_DESCRIPTION = 4000  # Discord allows 4096
_MAX_FIELDS = 25
_MAX_FIELD_NAME = 250  # Discord allows 256
_MAX_FIELD_VALUE = 1000  # Discord allows 1024
_MAX_TOTAL = (
    5880  # Discord allows 6000 for title, description, names, values and footer together, without content
)
_MAX_RESULT_NAME = 100
_MAX_MENTIONS = 100  # of each kind
USERNAME = "jobmon"
_CARD_FOOTER = "jobmon · updated"
_DATE_AND_TIME, _TIME_OF_DAY = "f", "t"  # styles of Discord's timestamps
_SYMBOL_AND_COLOUR: dict[Tone | CardTone, tuple[str, int]] = {
    Tone.SUCCESS: ("✅", 0x2ECC71),
    Tone.FAILURE: ("❌", 0xE74C3C),
    Tone.CANCELLED: ("⏹️", 0x95A5A6),
    Tone.ATTENTION: ("⚠️", 0xF39C12),
    Tone.RESOLVED: ("🔵", 0x3498DB),
    CardTone.PENDING: ("🕒", 0x5C6470),
    CardTone.RUNNING: ("🟣", 0x7C6CF2),
}
_BLANK_LINE = "\n\n"
_MAX_FIELDS_SIZE = 2400  # code points of all fields, so that room is left for the evidence
_FIELD_LIMITS = (_MAX_FIELD_VALUE, 400, 150, 45)  # with the last, 25 fields fit; no formatted time is longer
_PLAIN_FIELD_LIMIT = 100
_MAX_INLINE = 40  # a longer value gets the full width
_MAX_TIMESTAMP_S = 8_640_000_000_000  # the largest that <t:...> accepts


class _TextLimits(NamedTuple):
    """The maximum number of code points of each text."""

    summary: int
    cause: int
    also_seen: int
    advice: int
    log_path: int


_FULL_LIMITS = _TextLimits(1000, 700, 200, 600, 400)
_PLAIN_LIMITS = _TextLimits(300, 300, 100, 300, 300)


def full(entry: OutboxEntry, mentions: Mentions) -> dict[str, Any]:
    """Return the full form: the lead (of a failure, with the configured mentions) and one embed."""
    lead = _lead(entry.message)
    content, allowed = _with_mentions(lead, mentions if entry.message.tone is Tone.FAILURE else Mentions())
    return {"username": USERNAME, "content": content, "embeds": [_embed(entry)], "allowed_mentions": allowed}


def plain(entry: OutboxEntry) -> dict[str, Any]:
    """Return the minimal form, without what may have been refused: the embed, mentions and log lines."""
    message = entry.message
    lines = [_lead(message), *_explanation(entry, _PLAIN_LIMITS), *_next_steps(message, _PLAIN_LIMITS)]
    if entry.maybe_delivered:
        lines.append("(possible repeat)")
    room = _MAX_CONTENT - sum(len(line) + 1 for line in lines)
    for item in message.fields:
        field = _field(item, _PLAIN_FIELD_LIMIT)
        line = f"{field['name']}: {field['value']}"
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return {"username": USERNAME, "content": "\n".join(lines), "allowed_mentions": {"parse": []}}


def card_payload(card: Card, at_s: float) -> dict[str, Any]:
    """Return a card of ``at_s`` (Unix seconds): one embed, without the text that notifications show."""
    symbol, colour = _SYMBOL_AND_COLOUR[card.tone]
    title = f"{symbol} {_one_line(card.title, _MAX_TITLE - len(symbol) - 1)}"
    embed = {
        "title": title,
        "color": colour,
        "description": prose(card.text, _FULL_LIMITS.summary),
        "fields": _fields(card.fields, _TIME_OF_DAY),
        "footer": {"text": _CARD_FOOTER},
        **timestamp(int(at_s)),
    }
    embed = {key: value for key, value in embed.items() if value or key == "color"}
    return {"embeds": [embed], "allowed_mentions": {"parse": []}}


def _embed(entry: OutboxEntry) -> dict[str, object]:
    """Return the embed; its description gets the room that the other parts leave."""
    message = entry.message
    repeat = ""
    if entry.maybe_delivered:
        repeat = " · possible repeat"
    footer = f"jobmon · {cut_middle(one_line(message.id), 100) or EMPTY}{repeat}"
    title, fields = prose(one_line(message.headline), _MAX_TITLE), _fields(message.fields)
    room = _MAX_TOTAL - len(title) - len(footer) - _size(fields)
    embed = {
        "title": title,
        "color": _SYMBOL_AND_COLOUR[message.tone][1],
        "description": _description(entry, min(room, _MAX_DESCRIPTION)),
        "fields": fields,
        "footer": {"text": footer},
        **timestamp(message.created_s),
    }
    return {key: value for key, value in embed.items() if value or key == "color"}


def _lead(message: Message) -> str:
    symbol, _ = _SYMBOL_AND_COLOUR[message.tone]
    return f"{symbol} {_one_line(message.title, _MAX_LEAD - len(symbol) - 1)}"


def _description(entry: OutboxEntry, room: int) -> str:
    """Return the explanation, its evidence, the results and the next steps.

    The evidence gets the room that explanation and next steps leave, and the results what is left then.
    """
    explanation = _explanation(entry, _FULL_LIMITS)
    next_steps = _next_steps(entry.message, _FULL_LIMITS)
    used = sum(len(part) + len(_BLANK_LINE) for part in (*explanation, *next_steps))
    evidence = code_block("\n".join(entry.message.evidence), room - used)
    results = _results(entry.message, room - used - len(evidence) - len(_BLANK_LINE))
    return _BLANK_LINE.join(part for part in (*explanation, evidence, *results, *next_steps) if part)


def _results(message: Message, room: int) -> list[str]:
    """Return the results, each with the name of its file; what does not fit is shortened or left out."""
    shown: list[str] = []
    for quote in message.results:
        name = f"**Result** {code_span(quote.name, _MAX_RESULT_NAME)}\n"
        block = code_block(quote.text, room - len(name) - len(_BLANK_LINE))
        if block:
            shown.append(name + block)
            room -= len(shown[-1]) + len(_BLANK_LINE)
    return shown


def _explanation(entry: OutboxEntry, text_limits: _TextLimits) -> list[str]:
    message = entry.message
    return _labelled(
        ("**Delayed:** ", delay(entry)),
        ("", prose(message.summary, text_limits.summary)),
        ("**Cause:** ", prose(message.cause, text_limits.cause)),
    )


def _next_steps(message: Message, text_limits: _TextLimits) -> list[str]:
    return _labelled(
        ("**Also seen:** ", prose(message.also_seen, text_limits.also_seen)),
        ("**What to do:** ", prose_with_code(message.advice, text_limits.advice)),
        ("**Log:** ", code_span(message.log_path, text_limits.log_path)),
    )


def _labelled(*texts: tuple[str, str]) -> list[str]:
    return [label + text for label, text in texts if text]


def _fields(items: tuple[Field, ...], time_style: str = _DATE_AND_TIME) -> list[dict[str, Any]]:
    if len(items) > _MAX_FIELDS:
        more = Field("And more", f"{len(items) - _MAX_FIELDS + 1} fields: see jobmon show")
        items = (*items[: _MAX_FIELDS - 1], more)
    fields: list[dict[str, Any]] = []
    for limit in _FIELD_LIMITS:
        fields = [_field(item, limit, time_style) for item in items]
        if _size(fields) <= _MAX_FIELDS_SIZE:
            break
    return fields


def _field(item: Field, limit: int, time_style: str = _DATE_AND_TIME) -> dict[str, Any]:
    is_time = item.at_s is not None and abs(item.at_s) <= _MAX_TIMESTAMP_S
    time = ""
    if is_time:
        time = f"<t:{item.at_s}:{time_style}> (<t:{item.at_s}:R>)"
    value = time or prose(item.value or str(item.at_s or ""), limit) or EMPTY
    return {
        "name": _one_line(item.name, min(limit, _MAX_FIELD_NAME)),
        "value": value,
        "inline": is_time or len(value) <= _MAX_INLINE,
    }


def _one_line(text: str, limit: int) -> str:
    return prose(one_line(text), limit) or EMPTY


def _size(fields: list[dict[str, Any]]) -> int:
    return sum(len(field["name"]) + len(field["value"]) for field in fields)


def _with_mentions(text: str, mentions: Mentions) -> tuple[str, dict[str, list[str]]]:
    """Return the text with mentions of the configured users and roles, and the permission to notify them.

    ``parse`` is always empty, so that no other text of the message can notify anyone.
    """
    allowed = {"parse": list[str]()}
    for kind, prefix, ids in (("roles", "@&", mentions.roles), ("users", "@", mentions.users)):
        for number in list(dict.fromkeys(ids))[:_MAX_MENTIONS]:
            longer = f"{text} <{prefix}{number}>"
            if len(longer) <= _MAX_CONTENT:
                text = longer
                allowed.setdefault(kind, []).append(number)
    return text, allowed


def escape(text: str) -> str:
    """Return ``text`` so that Discord shows it literally: no markup, no mention, no timestamp."""
    return _CALLS.sub("@\u200b", _MARKUP.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", text))


def prose(text: str, limit: int) -> str:
    """Return ``text`` cleaned and escaped, in at most ``limit`` code points; empty if nothing is visible."""
    cleaned = clean(text).strip()
    if is_visible(cleaned):
        return _fit(cleaned, limit, escape)
    return ""


def prose_with_code(text: str, limit: int) -> str:
    """Do as `prose`, with what stands between backticks as inline code."""
    cleaned = clean(text).strip()
    if is_visible(cleaned):
        return _fit(cleaned, limit, _escape_around_code)
    return ""


def _escape_around_code(text: str) -> str:
    parts = _CODE_SPAN.split(text)
    return "".join(part if number % 2 else escape(part) for number, part in enumerate(parts))


def code_block(text: str, limit: int) -> str:
    """Return ``text`` as a code block of at most ``limit`` code points; empty if nothing is to be shown."""
    cleaned = clean(text).strip("\n")
    if not is_visible(cleaned) or limit <= _FENCE_COST:
        return ""
    return f"{_FENCE}\n{_fit(cleaned, limit - _FENCE_COST, _without_fences)}\n{_FENCE}"


def code_span(text: str, limit: int) -> str:
    """Return ``text`` as inline code; as prose if it has a backtick, which inline code cannot show."""
    cleaned = one_line(text)
    if "`" in cleaned or not is_visible(cleaned):
        return prose(text, limit)
    return f"`{cut_middle(cleaned, limit - 2)}`"


def _without_fences(text: str) -> str:
    """Separate adjacent backticks, which cannot be escaped inside a code block."""
    return _ADJACENT.sub("\u200b", text)


def _fit(text: str, limit: int, escape_text: Callable[[str], str]) -> str:
    return escape_text(fit(text, limit, lambda part: len(escape_text(part))))
