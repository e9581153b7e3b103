"""From a message to the JSON that Discord takes, within every limit whatever its texts hold. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.delivery.outbox import Field, Tone
from jobmon_core.domain.humanize import duration
from jobmon_core.notify.discord import limits
from jobmon_core.notify.discord.markdown import EMPTY, code_block, code_span, cut_middle, one_line, prose
from jobmon_core.notify.discord.settings import Mentions

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry

USERNAME = "jobmon"
_MARKS = {
    Tone.SUCCESS: "✅",
    Tone.FAILURE: "❌",
    Tone.CANCELLED: "⏹",
    Tone.ATTENTION: "⚠",
    Tone.RESOLVED: "🔵",
}
_COLOURS = {
    Tone.SUCCESS: 0x2ECC71,
    Tone.FAILURE: 0xE74C3C,
    Tone.CANCELLED: 0x95A5A6,
    Tone.ATTENTION: 0xF39C12,
    Tone.RESOLVED: 0x3498DB,
}
_BLANK_LINE = "\n\n"
_ALL_FIELDS = 2400  # code points for the facts together, so that evidence keeps its room
_CAPS = (limits.FIELD_VALUE, 400, 150, 45)  # 25 fields of the last are within _ALL_FIELDS; a time fits it
_PLAIN_CAP = 100
_INLINE = 40  # a longer value gets the whole width
_LATE_S = 3600  # what is older than that when it is sent says so: the reader thinks it is of now
_LAST_TIME_S = 8_640_000_000_000  # what a <t:...> can show
_LAST_YEAR_END_S = 253_402_300_800  # what ISO 8601 can write with four digits of the year


class _Room(NamedTuple):
    """How many code points each part of the text may take."""

    summary: int
    cause: int
    advice: int
    log_path: int


_FULL = _Room(500, 600, 600, 400)
_PLAIN = _Room(300, 300, 300, 300)


def full(entry: OutboxEntry, mentions: Mentions) -> limits.Payload:
    """Return the whole message: one embed, and the mention that a failure was configured to wake."""
    mention, allowed = _mentions(mentions if entry.message.tone is Tone.FAILURE else Mentions())
    payload = limits.Payload(username=USERNAME, embeds=[_embed(entry)], allowed_mentions=allowed)
    if mention:
        payload["content"] = mention
    return payload


def plain(entry: OutboxEntry) -> limits.Payload:
    """Return the least that tells what happened, for when the full form was refused.

    No embed, no mention and nothing of the log: whatever was refused in them is not in here.
    """
    message = entry.message
    lines = [_title(message), *_told(entry, _PLAIN), *_to_do(message, _PLAIN)]
    if entry.maybe_delivered:
        lines.append("(possible repeat)")
    room = limits.CONTENT - sum(len(line) + 1 for line in lines)
    for fact in message.fields:
        field = _field(fact, _PLAIN_CAP)
        line = f"{field['name']}: {field['value']}"
        room -= len(line) + 1
        if room < 0:
            break
        lines.append(line)
    return limits.Payload(username=USERNAME, content="\n".join(lines), allowed_mentions={"parse": []})


def _embed(entry: OutboxEntry) -> limits.Embed:
    """Build the embed; its description takes the room that the rest leaves."""
    message = entry.message
    repeat = " · possible repeat" if entry.maybe_delivered else ""
    footer = f"jobmon · {cut_middle(one_line(message.id), 100) or EMPTY}{repeat}"
    embed = limits.Embed(title=_title(message), color=_COLOURS[message.tone], footer={"text": footer})
    fields = _fields(message.fields)
    if fields:
        embed["fields"] = fields
    if 0 < message.created_s < _LAST_YEAR_END_S:
        embed["timestamp"] = datetime.fromtimestamp(message.created_s, tz=UTC).isoformat()
    room = limits.TOTAL - len(embed["title"]) - len(footer) - _size(fields)
    description = _description(entry, min(room, limits.DESCRIPTION))
    if description:
        embed["description"] = description
    return embed


def _title(message: Message) -> str:
    """Return the title with the mark of its tone, for those who cannot tell the colours apart."""
    mark = _MARKS[message.tone]
    return f"{mark} {_one_line(message.title, limits.TITLE - len(mark) - 1)}"


def _description(entry: OutboxEntry, room: int) -> str:
    """Tell the cause, its proof and what to do; the proof takes what room there is."""
    message = entry.message
    told, to_do = _told(entry, _FULL), _to_do(message, _FULL)
    others = sum(len(part) + len(_BLANK_LINE) for part in (*told, *to_do))
    proof = code_block("\n".join(message.evidence), room - others)
    return _BLANK_LINE.join(part for part in (*told, proof, *to_do) if part)


def _told(entry: OutboxEntry, room: _Room) -> list[str]:
    """Return what happened and why, as far as it is known."""
    message = entry.message
    return _labelled(
        ("**Told late:** ", _lateness(entry)),
        ("", prose(message.summary, room.summary)),
        ("**Cause:** ", prose(message.cause, room.cause)),
    )


def _lateness(entry: OutboxEntry) -> str:
    """Say how old a message is at this attempt, where Discord or the monitor was away for long."""
    made_s, sent_s = entry.message.created_s, entry.attempt_since_s
    if sent_s is None or made_s <= 0 or sent_s - made_s < _LATE_S:
        return ""
    return f"this news is {duration(sent_s - made_s)} old."


def _to_do(message: Message, room: _Room) -> list[str]:
    """Return what to do, and where to read on."""
    return _labelled(
        ("**What to do:** ", prose(message.advice, room.advice)),
        ("**Log:** ", code_span(message.log_path, room.log_path)),
    )


def _labelled(*texts: tuple[str, str]) -> list[str]:
    """Join each text that there is with its label."""
    return [label + text for label, text in texts if text]


def _fields(facts: tuple[Field, ...]) -> list[limits.EmbedField]:
    """Return the facts as fields, at the widest cap on each that lets all of them fit."""
    if len(facts) > limits.FIELDS:
        more = Field("And more", f"{len(facts) - limits.FIELDS + 1} facts: see jobmon status")
        facts = (*facts[: limits.FIELDS - 1], more)
    fields: list[limits.EmbedField] = []
    for cap in _CAPS:
        fields = [_field(fact, cap) for fact in facts]
        if _size(fields) <= _ALL_FIELDS:
            break
    return fields


def _field(fact: Field, cap: int) -> limits.EmbedField:
    """Return one fact, its name and its value each of at most ``cap`` code points."""
    is_time = fact.at_s is not None and abs(fact.at_s) <= _LAST_TIME_S
    shown = f"<t:{fact.at_s}:f> (<t:{fact.at_s}:R>)" if is_time else ""
    value = shown or prose(fact.value or str(fact.at_s or ""), cap) or EMPTY
    return {
        "name": _one_line(fact.name, min(cap, limits.FIELD_NAME)),
        "value": value,
        "inline": is_time or len(value) <= _INLINE,
    }


def _one_line(text: str, limit: int) -> str:
    """Return ``text`` escaped and on one line; a dash where nothing is to be seen."""
    return prose(one_line(text), limit) or EMPTY


def _size(fields: list[limits.EmbedField]) -> int:
    """Return what the fields add to the embed's total."""
    return sum(len(field["name"]) + len(field["value"]) for field in fields)


def _mentions(mentions: Mentions) -> tuple[str, limits.AllowedMentions]:
    """Return the text that mentions whom a failure is to wake, and the leave to do so.

    Nobody else may be woken, whatever the texts hold: ``parse`` is empty, always.
    """
    users, roles = (list(dict.fromkeys(ids))[: limits.MENTIONS] for ids in (mentions.users, mentions.roles))
    woken, text = {"users": list[str](), "roles": list[str]()}, ""
    for kind, mark, ids in (("roles", "@&", roles), ("users", "@", users)):
        for each in ids:
            longer = f"{text} <{mark}{each}>".strip()
            if len(longer) <= limits.CONTENT:
                text = longer
                woken[kind].append(each)
    allowed = limits.AllowedMentions(parse=[])
    if woken["users"]:
        allowed["users"] = woken["users"]
    if woken["roles"]:
        allowed["roles"] = woken["roles"]
    return text, allowed
