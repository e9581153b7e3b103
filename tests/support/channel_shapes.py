"""The bodies that services document, as JSON schemas, and limits that a schema cannot state."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

_TEXT = {"type": "string", "minLength": 1}
_SLACK_TEXT = {
    "type": "object",
    "required": ["type", "text"],
    "properties": {
        "type": {"enum": ["plain_text", "mrkdwn"]},
        "text": {"type": "string", "minLength": 1, "maxLength": 3000},
        "emoji": {"type": "boolean"},
    },
    "additionalProperties": False,
}
_SLACK_SECTION = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"const": "section"},
        "text": _SLACK_TEXT,
        "fields": {
            "type": "array",
            "minItems": 1,
            "maxItems": 10,
            "items": {
                **_SLACK_TEXT,
                "properties": {"type": {}, "emoji": {}, "text": {"maxLength": 2000, "minLength": 1}},
            },
        },
    },
    "anyOf": [{"required": ["text"]}, {"required": ["fields"]}],
    "additionalProperties": False,
}
_RUN = {
    "type": "object",
    "required": ["type", "text"],
    "properties": {
        "type": {"const": "TextRun"},
        "text": _TEXT,
        "size": {"enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]},
        "weight": {"enum": ["Default", "Lighter", "Bolder"]},
        "color": {"enum": ["Default", "Dark", "Light", "Accent", "Good", "Warning", "Attention"]},
        "fontType": {"enum": ["Default", "Monospace"]},
    },
    "additionalProperties": False,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "slack": {
        "required": ["text"],
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 4000},
            "attachments": {
                "type": "array",
                "maxItems": 20,
                "items": {
                    "properties": {
                        "color": {"pattern": "^#[0-9a-f]{6}$"},
                        "blocks": {"type": "array", "maxItems": 50, "items": _SLACK_SECTION},
                    },
                    "additionalProperties": False,
                },
            },
        },
        "additionalProperties": False,
    },
    "teams": {
        "required": ["type", "attachments"],
        "properties": {
            "type": {"const": "message"},
            "attachments": {
                "type": "array",
                "minItems": 1,
                "maxItems": 1,
                "items": {
                    "required": ["contentType", "content"],
                    "properties": {
                        "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                        "content": {
                            "required": ["type", "version", "body"],
                            "properties": {
                                "type": {"const": "AdaptiveCard"},
                                "version": {"const": "1.4"},
                                "body": {
                                    "type": "array",
                                    "items": {
                                        "required": ["type", "inlines"],
                                        "properties": {
                                            "type": {"const": "RichTextBlock"},
                                            "inlines": {"type": "array", "minItems": 1, "items": _RUN},
                                            "spacing": {"enum": ["None", "Small", "Default"]},
                                        },
                                        "additionalProperties": False,
                                    },
                                },
                            },
                        },
                    },
                },
            },
        },
        "additionalProperties": False,
    },
    "telegram": {
        "required": ["chat_id", "text"],
        "properties": {
            "chat_id": {"type": "string", "pattern": "^(-?[0-9]+|@.+)$"},
            "text": _TEXT,
            "entities": {
                "type": "array",
                "items": {
                    "required": ["type", "offset", "length"],
                    "properties": {
                        "type": {"enum": ["bold", "pre"]},
                        "offset": {"type": "integer", "minimum": 0},
                        "length": {"type": "integer", "minimum": 1},
                    },
                    "additionalProperties": False,
                },
            },
            "link_preview_options": {"const": {"is_disabled": True}},
            "disable_notification": {"type": "boolean"},
        },
        "additionalProperties": False,
    },
    "ntfy": {
        "required": ["topic", "message"],
        "properties": {
            "topic": {"type": "string", "pattern": "^[-_A-Za-z0-9]{1,64}$"},
            "title": _TEXT,
            "message": _TEXT,
            "priority": {"type": "integer", "minimum": 1, "maximum": 5},
            "tags": {"type": "array", "items": _TEXT},
        },
        "additionalProperties": False,
    },
    "pagerduty": {
        "required": ["routing_key", "event_action", "dedup_key"],
        "properties": {
            "routing_key": {"type": "string", "minLength": 32, "maxLength": 32},
            "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
            "dedup_key": {"type": "string", "minLength": 1, "maxLength": 255},
            "client": _TEXT,
            "payload": {
                "required": ["summary", "source", "severity"],
                "properties": {
                    "summary": {"type": "string", "minLength": 1, "maxLength": 1024},
                    "source": _TEXT,
                    "severity": {"enum": ["critical", "error", "warning", "info"]},
                    "timestamp": {"type": "string", "format": "date-time"},
                    "component": _TEXT,
                    "custom_details": {"type": "object"},
                },
                "additionalProperties": False,
            },
        },
        "if": {"properties": {"event_action": {"const": "trigger"}}},
        "then": {"required": ["payload"]},
        "additionalProperties": False,
    },
    "matrix": {
        "required": ["msgtype", "body", "m.mentions"],
        "properties": {
            "msgtype": {"enum": ["m.text", "m.notice"]},
            "body": _TEXT,
            "format": {"const": "org.matrix.custom.html"},
            "formatted_body": _TEXT,
            "m.mentions": {"const": {}},
        },
        "dependentRequired": {"format": ["formatted_body"], "formatted_body": ["format"]},
        "additionalProperties": False,
    },
}
MAX_BODY_BYTES = {
    "slack": 40_000,
    "teams": 28_000,
    "telegram": 28_000,
    "ntfy": 8192,
    "pagerduty": 512_000,
    "matrix": 65_000,
    "webhook": 1_000_000,
    "apprise": 28_000,
}


def faults(kind: str, payload: dict[str, Any]) -> list[str]:
    """Return what the service would refuse; an empty list for a service without a documented form."""
    found = [error.message for error in Draft202012Validator(SCHEMAS.get(kind, {})).iter_errors(payload)]
    if kind == "telegram" and len(payload["text"].encode("utf-16-le")) // 2 > 4096:
        found.append("text is too long")
    if kind == "telegram":
        units = len(payload["text"].encode("utf-16-le")) // 2
        ends = [entity["offset"] + entity["length"] for entity in payload.get("entities", [])]
        found += ["an entity ends after the text"] if any(end > units for end in ends) else []
    if kind == "ntfy" and len(payload["message"].encode()) > 4096:
        found.append("message is too long")
    return found
