"""Discord's documented rules for the body of "execute webhook", in places stricter than its schema.

Each fault is (path, code, message); the path is like Discord's: ``embeds.0.fields.3.value``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from jsonschema import Draft202012Validator, FormatChecker

SCHEMA_FILE = Path(__file__).parents[3] / "shared" / "data" / "discord-webhook-openapi.json"
POST_SCHEMA, EDIT_SCHEMA = "IncomingWebhookRequestPartial", "IncomingWebhookUpdateRequestPartial"
TOTAL = 6000
_KEYS = {
    "content", "username", "avatar_url", "tts", "embeds", "allowed_mentions", "components",
    "attachments", "flags", "thread_name", "applied_tags", "poll",
}  # fmt: skip
_NOT_IN_EDITS = {"username", "avatar_url", "tts", "thread_name", "applied_tags"}
_EMBED_KEYS = {
    "title", "type", "description", "url", "timestamp", "color", "footer", "image", "thumbnail",
    "author", "fields",
}  # fmt: skip
_MENTION_KEYS = {"parse", "users", "roles"}
_FIELD_KEYS = {"name", "value", "inline"}


class Fault(NamedTuple):
    """One broken rule."""

    path: str
    code: str
    message: str


def faults(payload: object) -> list[Fault]:
    """Return every rule of Discord that a payload breaks."""
    if not isinstance(payload, dict):
        return [Fault("", "50109", "The request body contains invalid JSON.")]
    return [
        *_keys(payload, _KEYS, ""),
        *_text(payload, "content", 2000),
        *_text(payload, "username", 80),
        *_encodable(payload),
        *_not_empty(payload),
        *_name(payload),
        *_mentions(payload),
        *_embeds(payload),
    ]


def faults_of_edit(payload: object) -> list[Fault]:
    """Return every rule of Discord that the body of an edit breaks; it cannot change who posted."""
    fixed = _keys(payload, _KEYS - _NOT_IN_EDITS, "") if isinstance(payload, dict) else ()
    return [*fixed, *faults(payload)]


@cache
def validator(schema_file: Path, schema: str) -> Draft202012Validator:
    """Return Discord's own schema of a body, which rejects unknown keys."""
    document = json.loads(schema_file.read_text(encoding="utf-8"))
    for each in document["components"]["schemas"].values():
        if each.get("type") == "object" and "properties" in each:
            each.setdefault("additionalProperties", False)
    root = {
        "$ref": f"#/components/schemas/{schema}",
        "components": document["components"],
    }
    return Draft202012Validator(root, format_checker=FormatChecker())


def schema_faults(payload: object, schema_file: Path, schema: str = POST_SCHEMA) -> list[Fault]:
    """Return every violation of Discord's own schema in a payload."""
    errors = validator(schema_file, schema).iter_errors(payload)
    return [Fault(".".join(map(str, error.absolute_path)), "SCHEMA", error.message) for error in errors]


def total(embeds: list[dict[str, object]]) -> int:
    """Return the number of characters that Discord counts over all embeds of a message."""
    return sum(_counted(embed) for embed in embeds)


def _counted(embed: dict[str, object]) -> int:
    footer, author, fields = embed.get("footer"), embed.get("author"), embed.get("fields")
    texts = [embed.get("title"), embed.get("description")]
    texts.append(footer.get("text") if isinstance(footer, dict) else None)
    texts.append(author.get("name") if isinstance(author, dict) else None)
    for field in fields if isinstance(fields, list) else []:
        texts += [field.get("name"), field.get("value")] if isinstance(field, dict) else []
    return sum(len(text.strip()) for text in texts if isinstance(text, str))


def _keys(holder: dict[str, object], known: set[str], path: str) -> Iterator[Fault]:
    for key in sorted(holder.keys() - known):
        yield Fault(f"{path}{key}", "UNKNOWN_KEY", "Discord ignores this key.")


def _text(
    holder: dict[str, object], key: str, limit: int, path: str = "", *, required: bool = False
) -> Iterator[Fault]:
    value = holder.get(key)
    if value is None:
        if required:
            yield Fault(path + key, "BASE_TYPE_REQUIRED", "This field is required")
    elif not isinstance(value, str):
        yield Fault(path + key, "BASE_TYPE_STRING", "Could not interpret value as string.")
    elif len(value) > limit:
        yield Fault(path + key, "BASE_TYPE_MAX_LENGTH", f"Must be {limit} or fewer in length.")
    elif not value.strip():
        yield Fault(path + key, "BASE_TYPE_REQUIRED", "This field is required")


def _encodable(payload: dict[str, object]) -> Iterator[Fault]:
    try:
        json.dumps(payload, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        yield Fault("", "50109", "The request body holds half of a surrogate pair.")


def _not_empty(payload: dict[str, object]) -> Iterator[Fault]:
    if not any(payload.get(key) for key in ("content", "embeds", "components", "poll")):
        yield Fault("", "50006", "Cannot send an empty message")


def _name(payload: dict[str, object]) -> Iterator[Fault]:
    name = str(payload.get("username", "")).lower()
    for forbidden in ("clyde", "discord"):
        if forbidden in name:
            yield Fault("username", "USERNAME_INVALID_CONTAINS", f'Username cannot contain "{forbidden}"')


def _mentions(payload: dict[str, object]) -> Iterator[Fault]:
    mentions = payload.get("allowed_mentions")
    if not isinstance(mentions, dict) or not isinstance(mentions.get("parse"), list):
        yield Fault(
            "allowed_mentions",
            "BASE_TYPE_REQUIRED",
            "Required, with parse: by default Discord notifies everyone mentioned.",
        )
        return
    yield from _keys(mentions, _MENTION_KEYS, "allowed_mentions.")
    for kind in ("users", "roles"):
        ids = mentions.get(kind, [])
        if not isinstance(ids, list) or len(ids) > 100 or not all(isinstance(each, str) for each in ids):
            yield Fault(
                f"allowed_mentions.{kind}", "BASE_TYPE_BAD_LENGTH", "Must be between 0 and 100 in length."
            )
        if ids and kind in mentions["parse"]:
            yield Fault(
                f"allowed_mentions.{kind}", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "Mutually exclusive."
            )


def _embeds(payload: dict[str, object]) -> Iterator[Fault]:
    embeds = payload.get("embeds", [])
    if not isinstance(embeds, list) or not all(isinstance(embed, dict) for embed in embeds):
        yield Fault("embeds", "LIST_TYPE_CONVERT", "Only lists of objects are accepted.")
        return
    if len(embeds) > 10:
        yield Fault("embeds", "BASE_TYPE_BAD_LENGTH", "Must be 10 or fewer in length.")
    if total(embeds) > TOTAL:
        yield Fault("embeds", "MAX_EMBED_SIZE_EXCEEDED", f"Embed size exceeds maximum size of {TOTAL}")
    for number, embed in enumerate(embeds):
        yield from _embed(embed, f"embeds.{number}.")


def _embed(embed: dict[str, object], path: str) -> Iterator[Fault]:
    yield from _keys(embed, _EMBED_KEYS, path)
    if not _counted(embed):
        yield Fault(
            path.rstrip("."), "LIST_ITEM_VALUE_REQUIRED", "List item values of ModelType are required"
        )
    yield from _text(embed, "title", 256, path)
    yield from _text(embed, "description", 4096, path)
    yield from _colour(embed, path)
    yield from _timestamp(embed, path)
    yield from _fields(embed, path)
    footer = embed.get("footer")
    if isinstance(footer, dict):
        yield from _text(footer, "text", 2048, f"{path}footer.", required=True)


def _colour(embed: dict[str, object], path: str) -> Iterator[Fault]:
    colour = embed.get("color", 0)
    if not isinstance(colour, int) or not 0 <= colour <= 0xFFFFFF:
        yield Fault(f"{path}color", "NUMBER_TYPE_MAX", "int value should be less than or equal to 16777215.")


def _timestamp(embed: dict[str, object], path: str) -> Iterator[Fault]:
    timestamp = embed.get("timestamp")
    if timestamp is None:
        return
    try:
        has_offset = datetime.fromisoformat(str(timestamp)).tzinfo is not None
    except ValueError:
        has_offset = False
    if not has_offset:
        yield Fault(
            f"{path}timestamp", "DATE_TIME_TYPE_PARSE", f"Could not parse {timestamp}. Should be ISO8601."
        )


def _fields(embed: dict[str, object], path: str) -> Iterator[Fault]:
    fields = embed.get("fields", [])
    if not isinstance(fields, list) or len(fields) > 25:
        yield Fault(f"{path}fields", "BASE_TYPE_BAD_LENGTH", "Must be 25 or fewer in length.")
        return
    for number, field in enumerate(fields):
        yield from _keys(field, _FIELD_KEYS, f"{path}fields.{number}.")
        yield from _text(field, "name", 256, f"{path}fields.{number}.", required=True)
        yield from _text(field, "value", 1024, f"{path}fields.{number}.", required=True)
