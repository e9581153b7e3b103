"""Load the rules that say which ends are restarted."""

from __future__ import annotations

from dataclasses import fields
from functools import cache, partial

from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.job.restart.model import Verdict
from jobmon_core.domain.job.restart.rules import Rule, When
from jobmon_core.observe.patterns.load import Entry, read_entries, text_faults, unknown_keys
from jobmon_core.system.files import shipped_file
from jobmon_core.system.json_codec import DecodeError, from_json

FILE_NAME = "restart_rules.json"
_ONLY_OF_RESTARTS = ("budget", "max", "grow")


@cache
def restart_rules() -> tuple[Rule, ...]:
    """Return the shipped rules; the last one is for every end."""
    path = shipped_file(FILE_NAME)
    rules, faults = parse_rules(path.read_text(encoding="utf-8"))
    if faults:
        raise Invalid(str(path), faults)
    return rules


def parse_rules(text: str) -> tuple[tuple[Rule, ...], list[str]]:
    """Return the rules of a JSON text, and its faults."""
    rules, found, _ = read_entries(text, _entry_faults, partial(from_json, Rule))
    faults = [*found]
    if not faults and (not rules or rules[-1].when != When()):
        faults.append("rules: the last one must be for every end, without `when`")
    return rules, faults


def _entry_faults(entry: Entry) -> list[str]:
    faults = unknown_keys(entry, _names(Rule))
    when = entry.get("when")
    faults += [f"when.{each}" for each in unknown_keys(when, _names(When))] if isinstance(when, dict) else []
    for key in ("id", "verdict", "why"):
        faults += text_faults(key, entry[key]) if key in entry else [f"{key}: missing"]
    if entry.get("verdict") == Verdict.RESTART:
        faults += [f"{key}: missing" for key in ("budget", "max") if not entry.get(key)]
    else:
        faults += [f"{key}: only for rules that restart" for key in _ONLY_OF_RESTARTS if key in entry]
    try:
        from_json(Rule, entry)
    except DecodeError as error:
        if error.place:  # else a key is missing
            faults.append(f"{error.place.removeprefix('.')}: {error.reason}")
    return faults


def _names(kind: type[Rule | When]) -> list[str]:
    return [field.name for field in fields(kind)]
