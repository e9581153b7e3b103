"""The configuration: all of it is checked and every fault reported at once; then it is a frozen value."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.channels import Route
from jobmon_core.domain.config_section import SecretSources, Section
from jobmon_core.domain.delivery.alert_settings import AlertSettings, parse_alerts
from jobmon_core.domain.delivery.routing import ChannelType, ConfiguredChannel, RouteRule, parse_routes
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.heartbeat import HeartbeatUrl
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.node.telemetry.agent import CLOUDS, AgentSettings
from jobmon_core.domain.webhook import is_loopback, split_address

if TYPE_CHECKING:  # submit reads the configuration, and its user waits
    from jobmon_core.domain.delivery.outbox import Message
    from jobmon_core.domain.job.history.prices import Budget, Prices

MIN_POLL_S = 5
_MIN_REPORT_S, _MAX_REPORT_S = 2, 60  # between two reports of an agent
ARRAY_MESSAGES = ("digest", "each")
PROGRESS_MESSAGES = ("warnings", "none")
CARD_MESSAGES = ("on", "off")
ATTACHED = ("bundle", "none")
ALSO = ("started", "launched", "checkpoint", "progress")
PROGRAM = "program"  # the type of channels that run a program of the user
_CHANNEL_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")


class KubernetesPlace(NamedTuple):
    """The context of kubectl and the namespace of jobs on Kubernetes; empty: those that kubectl uses."""

    context: str = ""
    namespace: str = ""


class Config(NamedTuple):
    """What the user configured."""

    channels: tuple[ConfiguredChannel, ...] = ()
    backend: str = DEFAULT_BACKEND
    policy: Policy = Policy()
    heartbeat: HeartbeatUrl | None = None
    monitors: int = 16  # maximum number of monitors on one host; further jobs go to running ones
    agent: AgentSettings = AgentSettings()
    digest_from: int = 5  # once this many single jobs ended within a minute, ends share messages; 0: never
    alerts: AlertSettings = AlertSettings()
    routes: tuple[RouteRule, ...] = ()  # the first that matches a message names its channels
    programs: tuple[ConfiguredChannel, ...] = ()  # of the key ``on_event``: they get every message

    attach: bool = True  # whether a message about a failure attaches its diagnostics bundle
    prices: Prices | None = None  # None: nothing is said about cost
    budgets: tuple[Budget, ...] = ()
    kubernetes: KubernetesPlace = KubernetesPlace()
    servers: tuple[tuple[str, str], ...] = ()  # of trackers that may be asked, with their addresses

    def channel(self, name: str) -> ConfiguredChannel | None:
        """Return the channel of a name, if it is configured."""
        known = (*self.channels, *self.programs)
        return next((channel for channel in known if channel.name == name), None)

    def channels_for(self, route: Route) -> tuple[ConfiguredChannel, ...]:
        """Return the channels that get the messages of a route; of several with the same destination, one."""
        return _one_per_destination(channel for channel in self.channels if route in channel.routes)

    @property
    def routes_without_channel(self) -> tuple[Route, ...]:
        """The routes whose messages no channel gets."""
        return tuple(route for route in Route if not self.channels_for(route))

    def channels_of(self, message: Message, groups: Collection[str] = ()) -> tuple[ConfiguredChannel, ...]:
        """Return the channels that get a message about a job in these groups, without the programs."""
        for rule in self.routes:
            if rule.matches(message, groups):
                return _one_per_destination(
                    channel for name in rule.channels if (channel := self.channel(name)) is not None
                )
        return self.channels_for(message.route)


def _one_per_destination(channels: Iterable[ConfiguredChannel]) -> tuple[ConfiguredChannel, ...]:
    by_destination: dict[str, ConfiguredChannel] = {}
    for channel in channels:
        by_destination.setdefault(channel.channel.fingerprint, channel)
    return tuple(by_destination.values())


def parse_config(
    data: object,
    source: str,
    channel_types: Mapping[str, ChannelType],
    secrets: SecretSources,
    backends: Sequence[str],
) -> Config:
    """Check a configuration as read from the JSON file ``source``; the first of ``backends`` is the default.

    ConfigInvalid lists every fault and shows no secret.
    """
    faults: list[str] = []
    top = Section(data, "", faults, secrets)
    messages = top.section("messages")
    heartbeat = top.parsed("heartbeat_url", HeartbeatUrl.parse)
    programs = _programs(top, channel_types)
    policy = _policy(top, messages)._replace(has_programs=bool(programs))
    if heartbeat:  # its service expects regular calls, and each call requires a new answer of the scheduler
        policy = policy._replace(reported_s=policy.running_s)
    channels = _all_channels(top, channel_types)
    config = Config(
        channels=channels,
        policy=policy,
        backend=top.choice("backend", tuple(backends), backends[0]),
        heartbeat=heartbeat,
        monitors=_monitors(top),
        agent=_agent(top),
        digest_from=messages.whole_number("digest_from", Config().digest_from, 0),
        attach=messages.choice("attach", ATTACHED, ATTACHED[0]) == ATTACHED[0],
        alerts=parse_alerts(messages),
        programs=programs,
        routes=parse_routes(top.objects("routes"), [channel.name for channel in channels]),
    )
    config = _with_prices(config, top)
    _check_hosts(top)
    cluster = top.section("kubernetes")
    place = KubernetesPlace(cluster.text("context"), cluster.text("namespace"))
    config = config._replace(kubernetes=place, servers=_servers(top))
    cluster.close()
    messages.close()
    top.close()
    if faults:
        raise ConfigInvalid(source, faults)
    return config


def _all_channels(top: Section, types: Mapping[str, ChannelType]) -> tuple[ConfiguredChannel, ...]:
    """Read all channels; two with the same name are a fault."""
    channels = (*_own_sections(top, types), *_named_channels(top, types), *_alert_channels(top, types))
    names = [channel.name for channel in channels]
    for name in sorted({name for name in names if names.count(name) > 1}):
        top.fault("channels", f"{name} is also a channel of alerts.{name}; rename one or leave one out")
    return channels


def _alert_channels(top: Section, types: Mapping[str, ChannelType]) -> list[ConfiguredChannel]:
    """Read the section ``alerts``: one channel of each type, named like its type, e.g. ``alerts.email``."""
    channels: list[ConfiguredChannel] = []
    alerts = top.section("alerts")
    for kind in [kind for kind in types if alerts.has(kind)]:
        section = alerts.section(kind)
        if not section.switch("enabled", True):
            section.ignore(*section.names())
            continue
        routes = _routes(section)
        channel = types[kind].parse(section)
        section.close()
        if channel:
            channels.append(types[kind].configured(kind, kind, routes, channel))
    alerts.close()
    return channels


def _own_sections(top: Section, types: Mapping[str, ChannelType]) -> list[ConfiguredChannel]:
    channels: list[ConfiguredChannel] = []
    for kind, channel_type in types.items():
        if channel_type.own_section:
            section = top.section(kind)
            channels += channel_type.own_section(section)
            section.close()
    return channels


def _named_channels(top: Section, types: Mapping[str, ChannelType]) -> list[ConfiguredChannel]:
    channels: list[ConfiguredChannel] = []
    for name, section in top.section("channels").sections():
        if not _CHANNEL_NAME.fullmatch(name):
            section.fault("", "a channel name has 1 to 40 letters, digits, - or _")
        elif name in tuple(Route):
            section.fault("", "this name is reserved; choose another")
        kind = section.choice("type", tuple(types))
        if not kind:
            continue  # without the type, the other keys mean nothing
        routes = _routes(section)
        channel = types[kind].parse(section)
        section.close()
        if channel:
            channels.append(types[kind].configured(name, kind, routes, channel))
    return channels


def _programs(top: Section, types: Mapping[str, ChannelType]) -> tuple[ConfiguredChannel, ...]:
    """Return a channel for each command line of ``on_event``."""
    programs: list[ConfiguredChannel] = []
    for number, command in enumerate(top.texts("on_event"), 1):
        section = top.part({"command": command}, f"on_event[{number - 1}]")
        program = types[PROGRAM].parse(section) if PROGRAM in types else None
        if program:
            name = f"on_event_{number}"
            programs.append(types[PROGRAM].configured(name, PROGRAM, tuple(Route), program))
    return tuple(programs)


def _routes(section: Section) -> tuple[Route, ...]:
    names = section.texts("messages", tuple(Route))
    for name in names:
        if name not in tuple(Route):
            section.fault("messages", f"expected {' or '.join(Route)}, found {name!r}")
    return tuple(route for route in Route if route in names)


def _check_hosts(top: Section) -> None:
    """Check the sections ``hosts`` and ``profiles``, which only those read who use such machines."""
    if top.has("hosts"):
        from jobmon_core.domain.node.hosts.settings import parse_hosts

        parse_hosts(top.section("hosts"))
    if top.has("profiles"):
        from jobmon_core.domain.node.hosts.profiles import parse_profiles

        parse_profiles(top.section("profiles"))


def _servers(top: Section) -> tuple[tuple[str, str], ...]:
    """Return the servers of the section ``trackers``; https, since they get keys."""
    section = top.section("trackers")
    found = {name: section.parsed(name, _server) for name in ("wandb", "mlflow")}
    section.close()
    return tuple((name, server) for name, server in found.items() if server)


def _server(text: str) -> str:
    parts = split_address(text, "not the address of a server")
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise ValueError("only https:// keeps a key secret (http works for localhost only)")
    return text.rstrip("/")


def _with_prices(config: Config, top: Section) -> Config:
    if not top.has("prices") and not top.has("budgets"):
        return config
    # few users have prices
    from jobmon_core.domain.job.history.prices import parse_budgets, parse_prices

    prices, budgets = None, parse_budgets(top)
    if top.has("prices"):
        prices = parse_prices(top.section("prices"))
    elif budgets:
        top.fault("budgets", "without prices, nothing has a cost; set prices too")
    return config._replace(prices=prices, budgets=budgets)


def _monitors(top: Section) -> int:
    section = top.section("monitors")
    at_most = section.whole_number("at_most", Config().monitors, 1)
    section.close()
    return at_most


def _agent(top: Section) -> AgentSettings:
    section, default = top.section("agent"), AgentSettings()
    agent = AgentSettings(
        enabled=section.switch("enabled", default.enabled),
        interval_s=section.number("interval_s", default.interval_s, _MIN_REPORT_S, _MAX_REPORT_S),
        at_most=section.whole_number("at_most", default.at_most, 1),
        ssh=section.switch("ssh", default.ssh),
        cloud=section.choice("cloud", CLOUDS, default.cloud),
    )
    section.close()
    return agent


def _policy(top: Section, messages: Section) -> Policy:
    default = Policy()
    poll, accounting, progress = map(top.section, ("poll", "accounting", "progress"))
    floor_s = poll.number("floor_s", default.floor_s, 0)
    policy = Policy(
        running_s=max(floor_s, poll.number("running_s", default.running_s, MIN_POLL_S)),
        pending_s=max(floor_s, poll.number("pending_s", default.pending_s, MIN_POLL_S)),
        floor_s=floor_s,
        warn_stale_s=poll.number("warn_stale_s", default.warn_stale_s, 0),
        accounting_grace_s=accounting.number("grace_s", default.accounting_grace_s, 0),
        deadline_s=accounting.number("deadline_s", default.deadline_s, 0),
        array_messages=messages.choice("array", ARRAY_MESSAGES, default.array_messages),
        progress_messages=messages.choice("progress", PROGRESS_MESSAGES, "warnings") == "warnings",
        also=messages.choices("also", ALSO),
        cards=messages.choice("card", CARD_MESSAGES, "on") == "on",
        doubtful_success=messages.choice("doubtful_success", tuple(Route), default.doubtful_success),
        progress_every_s=progress.every_s() or 0.0,
    )
    for section in (poll, accounting, progress):
        section.close()
    return policy
