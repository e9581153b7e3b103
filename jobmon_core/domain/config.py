"""The configuration: checked whole, every fault named at once, then a frozen value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jobmon_core.domain.channels import Mentions, Route
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.heartbeat import HeartbeatUrl, mask_addresses
from jobmon_core.domain.tracking.new_job import DEFAULT_BACKEND
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.domain.webhook import Webhook, mask_webhooks

POLL_FLOOR_S = 5
_CEILING = 1e9  # of any number; what is above it, or no number at all (NaN), is a slip
ARRAY_MESSAGES = ("digest", "each")
WEBHOOK_VARIABLES = {Route.SUCCESS: "JOBMON_SUCCESS_WEBHOOK", Route.ERROR: "JOBMON_ERROR_WEBHOOK"}
_MENTION = re.compile(r"<@(&?)(\d{1,20})>")


@dataclass(frozen=True, slots=True)
class Config:
    """What the user configured. A missing webhook is None: messages then wait for one."""

    success_webhook: Webhook | None = None
    error_webhook: Webhook | None = None
    mentions: Mentions = Mentions()
    backend: str = DEFAULT_BACKEND
    policy: Policy = Policy()
    heartbeat: HeartbeatUrl | None = None
    monitors: int = 16  # how many may run on one host; a further job is handed to one of them

    def webhook(self, route: Route) -> Webhook | None:
        """Return the webhook of one of the two channels."""
        return self.success_webhook if route is Route.SUCCESS else self.error_webhook


class _Section:
    """One JSON object of the configuration; collects what is wrong with it instead of raising."""

    def __init__(self, value: object, path: str, faults: list[str]) -> None:
        self._path = path
        self._faults = faults
        self._left: dict[str, object] = {}
        if isinstance(value, dict):
            self._left = {str(key): item for key, item in value.items()}
        else:
            self.fault("", f"expected an object, found {_kind(value)}")

    def fault(self, key: str, what: str) -> None:
        where = ".".join(part for part in (self._path, key) if part)
        # what stands in the wrong place may be a webhook, or the heartbeat's address
        self._faults.append(mask_addresses(mask_webhooks(f"{where}: {what}" if where else what)))

    def section(self, key: str) -> _Section:
        path = f"{self._path}.{key}" if self._path else key
        return _Section(self._left.pop(key, {}), path, self._faults)

    def number(self, key: str, default: float, at_least: float) -> float:
        value = self._left.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(key, f"expected a number, found {_kind(value)}")
        elif value < at_least:
            self.fault(key, f"{value} is less than the floor of {at_least:g}")
        elif not value <= _CEILING:
            self.fault(key, f"{value} is no number to work with")
        else:
            return value
        return default

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        value = self._left.pop(key, allowed[0])
        if value in allowed:
            return str(value)
        self.fault(key, f"expected one of {', '.join(allowed)}, found {_shown(value)}")
        return allowed[0]

    def text(self, key: str) -> str:
        value = self._left.pop(key, "")
        if isinstance(value, str):
            return value
        self.fault(key, f"expected a text, found {_kind(value)}")
        return ""

    def texts(self, key: str) -> list[str]:
        value = self._left.pop(key, [])
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        self.fault(key, f"expected a list of texts, found {_kind(value)}")
        return []

    def close(self) -> None:
        for key in self._left:
            self.fault(key, "unknown key")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float) else _kind(value)


def parse_config(
    data: object,
    source: str,
    environment: Mapping[str, str],
    read_secret: Callable[[str], str],
    backends: Sequence[str],
) -> Config:
    """Check a configuration as read from JSON.

    Args:
        data: the parsed JSON; an empty object where there is no file.
        source: the file's path, for messages.
        environment: variables; a webhook may stand in one of ``WEBHOOK_VARIABLES``.
        read_secret: returns the content of a file that holds a webhook; raises OSError.
        backends: the names of the supported schedulers; the first is the default.

    Raises:
        ConfigInvalid: naming every fault, none of them showing a webhook.
    """
    faults: list[str] = []
    top = _Section(data, "", faults)
    discord = top.section("discord")
    webhooks = {route: _webhook(discord, route, environment, read_secret) for route in Route}
    mentions = _mentions(discord)
    policy = _policy(top)
    backend = top.choice("backend", backends)
    heartbeat = _heartbeat(top)
    monitors = _monitors(top)
    for section in (discord, top):
        section.close()
    if faults:
        raise ConfigInvalid(source, faults)
    return Config(
        webhooks[Route.SUCCESS], webhooks[Route.ERROR], mentions, backend, policy, heartbeat, monitors
    )


def _webhook(
    discord: _Section, route: Route, environment: Mapping[str, str], read_secret: Callable[[str], str]
) -> Webhook | None:
    """Find one webhook: the environment wins over a named file, that over the file itself."""
    key = f"{route.value}_webhook"
    text, path = discord.text(key).strip(), discord.text(f"{key}_file").strip()
    where = key
    variable = WEBHOOK_VARIABLES[route]
    if environment.get(variable, "").strip():
        where, text = f"{key} (from ${variable})", environment[variable].strip()
    elif path:
        where = f"{key}_file"
        try:
            text = read_secret(path).strip()
        except OSError as error:
            discord.fault(where, f"{path} can't be read: {error.strerror}")
            return None
    if not text:
        return None
    try:
        return Webhook.parse(text)
    except ValueError as error:
        discord.fault(where, str(error))
        return None


def _heartbeat(top: _Section) -> HeartbeatUrl | None:
    text = top.text("heartbeat_url").strip()
    try:
        return HeartbeatUrl.parse(text) if text else None
    except ValueError as error:
        top.fault("heartbeat_url", str(error))
        return None


def _monitors(top: _Section) -> int:
    section = top.section("monitors")
    at_most = section.number("at_most", Config().monitors, 1)
    if at_most != int(at_most):
        section.fault("at_most", f"expected a whole number, found {at_most}")
    section.close()
    return int(at_most)


def _mentions(discord: _Section) -> Mentions:
    users: list[str] = []
    roles: list[str] = []
    for text in discord.texts("mention_on_failure"):
        match = _MENTION.fullmatch(text.strip())
        if match is None:
            discord.fault("mention_on_failure", f"{text!r} is no mention; expected <@USER_ID> or <@&ROLE_ID>")
        else:
            (roles if match[1] else users).append(match[2])
    return Mentions(tuple(users), tuple(roles))


def _policy(top: _Section) -> Policy:
    default = Policy()
    poll, accounting, messages = top.section("poll"), top.section("accounting"), top.section("messages")
    policy = Policy(
        running_s=poll.number("running_s", default.running_s, POLL_FLOOR_S),
        pending_s=poll.number("pending_s", default.pending_s, POLL_FLOOR_S),
        warn_stale_s=poll.number("warn_stale_s", default.warn_stale_s, 0),
        accounting_grace_s=accounting.number("grace_s", default.accounting_grace_s, 0),
        deadline_s=accounting.number("deadline_s", default.deadline_s, 0),
        array_messages=messages.choice("array", ARRAY_MESSAGES),
    )
    for section in (poll, accounting, messages):
        section.close()
    return policy
