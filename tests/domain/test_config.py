from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import Level, Route
from jobmon_core.domain.config import Config, parse_config
from jobmon_core.domain.config_section import SecretSources
from jobmon_core.domain.delivery.alert_settings import AlertSettings, QuietHours
from jobmon_core.domain.delivery.routing import OUTCOMES, RouteRule
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.node.telemetry.agent import AgentSettings
from jobmon_core.domain.webhook import Mentions
from jobmon_core.notify.channels import CHANNEL_TYPES
from tests.support.webhooks import webhook_of

BACKENDS = ("slurm", "local")
TOKEN = "tOkEn-that-nobody-may-see_0123456789"
URL = f"https://discord.com/api/webhooks/123456789012345678/{TOKEN}"
OTHER = URL.replace("12345", "98765")
EXAMPLE = Path(__file__).parents[2] / "config.json.example"


def no_file(path: str) -> str:
    raise FileNotFoundError(2, "No such file or directory", path)


def parsed(data: object, **environment: str) -> Config:
    return parse_config(data, "config.json", CHANNEL_TYPES, SecretSources(environment, no_file), BACKENDS)


def faults(data: object, **environment: str) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        parsed(data, **environment)
    return list(caught.value.faults)


def test_no_configuration_is_a_configuration() -> None:
    assert parsed({}) == Config()


def test_the_example_is_valid_and_holds_the_defaults() -> None:
    example = parsed(json.loads(EXAMPLE.read_text(encoding="utf-8")))
    assert example.policy == Policy()
    assert example.backend == "slurm"
    assert [channel.name for channel in example.channels] == ["success", "error"]
    assert [getattr(channel.channel, "mentions", None) for channel in example.channels] == [Mentions()] * 2
    assert example.monitors == Config().monitors
    assert example.agent == AgentSettings()
    assert example.digest_from == Config().digest_from
    assert (example.alerts, example.routes, example.programs) == (AlertSettings(), (), ())


def test_every_fault_is_reported_at_once_with_its_place() -> None:
    data = {
        "discord": {
            "success_webhook": 5,
            "error_webhook": "http://example.org/x",
            "mention_on_failure": ["@me"],
        },
        "poll": {"running_s": 1, "pending_s": "often", "eagerly": True},
        "accounting": [],
        "messages": {"array": "none"},
        "backend": "pbs",
        "typo": {},
    }
    places = [fault.split(":", 1)[0] for fault in faults(data)]
    assert sorted(places) == [
        "accounting",
        "backend",
        "discord.error_webhook",
        "discord.mention_on_failure",
        "discord.success_webhook",
        "messages.array",
        "poll.eagerly",
        "poll.pending_s",
        "poll.running_s",
        "typo",
    ]


@pytest.mark.parametrize("data", [None, [], "x", 3, True])
def test_a_configuration_that_is_not_an_object_is_refused(data: object) -> None:
    assert len(faults(data)) == 1


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("poll", "running_s", 4.9),
        ("poll", "pending_s", 0),
        ("poll", "pending_s", -(10**400)),
        ("accounting", "grace_s", -1),
        ("accounting", "deadline_s", -0.1),
        ("monitors", "at_most", 0),
    ],
)
def test_a_number_below_its_minimum_is_refused(section: str, key: str, value: float) -> None:
    (fault,) = faults({section: {key: value}})
    assert fault.startswith(f"{section}.{key}: ")
    assert "must be at least" in fault


def test_the_diagnostics_bundle_is_attached_unless_that_is_turned_off() -> None:
    assert parsed({}).attach
    assert not parsed({"messages": {"attach": "none"}}).attach
    assert faults({"messages": {"attach": False}}) == [
        "messages.attach: expected one of bundle, none, found False"
    ]


def test_cards_are_on_or_off() -> None:
    assert not parsed({"messages": {"card": "off"}}).policy.cards
    assert faults({"messages": {"card": True}}) == ["messages.card: expected one of on, off, found True"]


def test_the_number_of_monitors_is_a_whole_number() -> None:
    assert faults({"monitors": {"at_most": 2.5}}) == ["monitors.at_most: expected a whole number, found 2.5"]
    assert parsed({"monitors": {"at_most": 3}}).monitors == 3


@pytest.mark.parametrize("value", [-1, 2.5, "5", True, None])
def test_a_digest_starts_at_a_whole_number_of_jobs(value: object) -> None:
    (fault,) = faults({"messages": {"digest_from": value}})
    assert fault.startswith("messages.digest_from: ")
    assert parsed({"messages": {"digest_from": 0}}).digest_from == 0
    assert parsed({"messages": {"digest_from": 12.0}}).digest_from == 12


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400])
def test_a_number_above_the_maximum_is_refused(value: float) -> None:
    (fault,) = faults({"poll": {"running_s": value}})
    assert "must be at most 1e9" in fault


@pytest.mark.parametrize("value", [None, "30", True, [30], {}])
def test_a_value_that_is_not_a_number_is_refused(value: object) -> None:
    (fault,) = faults({"poll": {"running_s": value}})
    assert "expected a number" in fault


def test_the_minimum_itself_is_allowed() -> None:
    policy = parsed(
        {"poll": {"running_s": 5, "pending_s": 5}, "accounting": {"grace_s": 0, "deadline_s": 0}}
    ).policy
    assert (policy.running_s, policy.pending_s, policy.accounting_grace_s, policy.deadline_s) == (5, 5, 0, 0)


def test_each_channel_has_its_own_webhook() -> None:
    config = parsed({"discord": {"error_webhook": URL}})
    assert webhook_of(config, "success") is None
    assert TOKEN in getattr(webhook_of(config, "error"), "url", "")


def test_a_webhook_may_stand_in_a_file_of_its_own() -> None:
    asked = []

    def read(path: str) -> str:
        asked.append(path)
        return f"  {URL}\n"

    data = {"discord": {"error_webhook_file": "secret"}}
    config = parse_config(data, "config.json", CHANNEL_TYPES, SecretSources({}, read), BACKENDS)
    assert asked == ["secret"]
    assert TOKEN in getattr(webhook_of(config, "error"), "url", "")


def test_the_environment_wins_over_a_file_even_one_that_cannot_be_read() -> None:
    data = {"discord": {"error_webhook": "nonsense", "error_webhook_file": "missing"}}
    config = parsed(data, JOBMON_ERROR_WEBHOOK=URL)
    assert TOKEN in getattr(webhook_of(config, "error"), "url", "")


def test_a_file_that_cannot_be_read_is_a_fault() -> None:
    (fault,) = faults({"discord": {"error_webhook_file": "missing"}})
    assert fault == "discord.error_webhook_file: cannot read missing: No such file or directory"


def test_a_faulty_variable_is_named() -> None:
    (fault,) = faults({}, JOBMON_SUCCESS_WEBHOOK="nonsense")
    assert "JOBMON_SUCCESS_WEBHOOK" in fault
    assert "nonsense" not in fault


def test_mentions_are_users_and_roles() -> None:
    (channel,) = parsed(
        {"discord": {"error_webhook": URL, "mention_on_failure": ["<@12>", " <@&34> "]}}
    ).channels
    assert getattr(channel.channel, "mentions", None) == Mentions(("12",), ("34",))


@pytest.mark.parametrize("mention", ["@everyone", "<@!12>", "12", "<@12> <@13>", "<#12>"])
def test_any_other_mention_is_refused(mention: str) -> None:
    (fault,) = faults({"discord": {"mention_on_failure": [mention]}})
    assert fault.startswith("discord.mention_on_failure: ")


PLACES = [
    {"discord": {"error_webhook": f"{URL}/slack"}},
    {"discord": {"error_webhook_file": URL}},
    {"discord": {"mention_on_failure": [URL]}},
    {"discord": {URL: "error_webhook"}},
    {"discord": URL},
    {"backend": URL},
    {"messages": {"array": URL}},
    {"poll": {"running_s": URL}},
    {URL: 1},
]

HEARTBEAT = f"https://hc.example.org/{TOKEN}"


@pytest.mark.parametrize("data", PLACES)
def test_a_webhook_in_the_wrong_place_is_in_no_fault(data: object) -> None:
    assert TOKEN not in str(faults(data))


def test_the_heartbeat_has_an_address_and_an_empty_one_is_none() -> None:
    assert parsed({"heartbeat_url": " "}).heartbeat is None
    config = parsed({"heartbeat_url": f" {HEARTBEAT} "})
    assert getattr(config.heartbeat, "url", "") == HEARTBEAT
    assert TOKEN not in repr(config)


def test_no_interval_is_shorter_than_the_floor_that_a_site_asks_for() -> None:
    policy = parsed({"poll": {"floor_s": 90, "running_s": 20, "pending_s": 120}}).policy
    assert (policy.running_s, policy.pending_s, policy.floor_s) == (90, 120, 90)
    assert policy.of_group(60, "none").running_s == 90


def test_with_a_heartbeat_agents_do_not_make_queries_rarer() -> None:
    assert parsed({"poll": {"running_s": 20}}).policy.reported_s == 300.0
    assert parsed({"poll": {"running_s": 20}, "heartbeat_url": HEARTBEAT}).policy.reported_s == 20.0


def test_agents_are_configured() -> None:
    section = {"enabled": False, "interval_s": 10, "at_most": 2, "ssh": True, "cloud": "gcp"}
    assert parsed({"agent": section}).agent == AgentSettings(
        enabled=False, interval_s=10, at_most=2, ssh=True, cloud="gcp"
    )


@pytest.mark.parametrize(
    ("section", "place"),
    [
        ({"enabled": "no"}, "agent.enabled: expected true or false, found a string"),
        ({"ssh": 1}, "agent.ssh: expected true or false, found a number"),
        ({"interval_s": 1}, "agent.interval_s: must be at least 2, found 1"),
        ({"interval_s": 61}, "agent.interval_s: must be at most 60, found 61"),
        ({"at_most": 0}, "agent.at_most: must be at least 1, found 0"),
        ({"cloud": "ibm"}, "agent.cloud: expected one of off, auto, aws, gcp, azure, found 'ibm'"),
        ({"at_mots": 3}, "agent.at_mots: unknown key; did you mean at_most?"),
    ],
)
def test_a_wrong_setting_of_agents_is_refused(section: dict[str, object], place: str) -> None:
    assert faults({"agent": section}) == [place]


@pytest.mark.parametrize(
    "data",
    [
        {"heartbeat_url": [HEARTBEAT]},
        {"heartbeat_url": f"x{HEARTBEAT}"},
        {"backend": HEARTBEAT},
        {"discord": {"error_webhook": HEARTBEAT, "error_webhook_file": HEARTBEAT}},
        {HEARTBEAT: 1},
    ],
)
def test_a_heartbeat_in_the_wrong_place_is_in_no_fault(data: object) -> None:
    assert TOKEN not in str(faults(data))


Json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = ["discord", "poll", "accounting", "messages", "backend"]
INNER = ["success_webhook", "error_webhook_file", "mention_on_failure", "running_s", "array", "digest_from"]


@given(st.dictionaries(st.sampled_from(KEYS), Json | st.dictionaries(st.sampled_from(INNER), Json)))
def test_any_json_is_either_valid_or_has_faults(data: dict[str, object]) -> None:
    try:
        parsed(data)
    except ConfigInvalid as error:
        assert error.faults  # noqa: PT017 - both ends are fine, a third is not


def test_a_named_channel_gets_both_routes_unless_it_lists_them() -> None:
    config = parsed(
        {
            "discord": {"error_webhook": URL},
            "channels": {
                "team": {"type": "discord", "webhook": OTHER, "mention_on_failure": ["<@12>"]},
                "wins": {"type": "discord", "webhook": f"{OTHER}2", "messages": ["success"]},
            },
        }
    )
    assert [channel.name for channel in config.channels_for(Route.ERROR)] == ["error", "team"]
    assert [channel.name for channel in config.channels_for(Route.SUCCESS)] == ["team", "wins"]
    assert TOKEN not in repr(config)


def test_every_fault_of_named_channels_is_reported_with_all_others() -> None:
    found = faults(
        {
            "channels": {
                "a": {"type": "pigeon", "webhook": URL},
                "b": {"type": "discord", "webhook": f"{URL}/slack", "messages": ["all"], "typo": 1},
                "c": {"webhook": URL},
                "error": {"type": "discord", "webhook": URL},
                "no name": {"type": "discord", "webhook_file": "missing"},
                "d": URL,
                "e": {"type": "discord"},
            },
            "backend": "pbs",
        }
    )
    assert [fault.partition(": ")[0] for fault in found] == [
        "channels.a.type",
        "channels.b.messages",
        "channels.b.webhook",
        "channels.b.typo",
        "channels.c.type",
        "channels.error",
        "channels.no name",
        "channels.no name.webhook_file",
        "channels.d",
        "channels.e.webhook",
        "backend",
    ]
    assert found[0] == f"channels.a.type: expected one of {', '.join(CHANNEL_TYPES)}, found 'pigeon'"
    assert found[1] == "channels.b.messages: expected success or error, found 'all'"
    assert TOKEN not in str(found)


SEED_ALERTS: dict[str, dict[str, object]] = {
    "email": {
        "enabled": True,
        "address": "user@example.com",
        "smtp_server": "smtp.gmail.com",
        "smtp_port": 587,
    },
    "slack": {"enabled": True, "webhook": "https://hooks.slack.com/services/T0/B0/xxxxxxxx"},
    "terminal": {"enabled": True, "refresh_rate": 1},
}


def test_the_section_alerts_has_a_channel_of_each_type_that_is_enabled() -> None:
    config = parsed({"alerts": SEED_ALERTS})
    assert [(channel.name, channel.kind, channel.routes) for channel in config.channels] == [
        (kind, kind, tuple(Route)) for kind in ("slack", "email", "terminal")
    ]
    off = {kind: {**keys, "enabled": False} for kind, keys in SEED_ALERTS.items()}
    assert parsed({"alerts": off}).channels == ()
    assert parsed({"alerts": {"slack": {"enabled": False}}}).channels == ()


def test_faults_of_alerts_are_reported_and_two_channels_cannot_have_one_name() -> None:
    email = {"type": "email", "address": "me@example.org"}
    data = {
        "alerts": {"email": {"address": "nobody"}, "slak": {}, "terminal": {"enabled": "yes"}},
        "channels": {"email": email},
    }
    assert [fault.partition(": ")[0] for fault in faults(data)] == [
        "alerts.email.address",
        "alerts.terminal.enabled",
        "alerts.slak",
    ]
    both = faults({"alerts": {"email": {"address": "me@example.org"}}, "channels": {"email": email}})
    assert both == ["channels: email is also a channel of alerts.email; rename one or leave one out"]


def test_limits_quiet_hours_and_reminders_are_off_unless_they_are_configured() -> None:
    assert parsed({}).alerts == AlertSettings()
    messages = {
        "throttle_s": 600,
        "per_hour": 20,
        "quiet_hours": "22:00-07:00",
        "quiet_critical": "hold",
        "reminder_s": 900,
    }
    assert parsed({"messages": messages}).alerts == AlertSettings(
        600, 20, QuietHours(22 * 60, 7 * 60), hold_critical=True, reminder_s=900
    )
    assert faults({"messages": {"quiet_hours": "at night", "reminder_s": 5, "per_hour": 1.5}}) == [
        "messages.reminder_s: must be 0 or at least 60, found 5",
        "messages.per_hour: expected a whole number, found 1.5",
        "messages.quiet_hours: expected two times of day like 22:00-07:00, found 'at night'",
    ]


def test_a_route_names_levels_outcomes_groups_and_channels_that_exist() -> None:
    channels = {"team": {"type": "discord", "webhook": URL, "messages": []}}
    route = {"level": ["critical"], "outcome": ["doubtful"], "group": ["sweep*"], "channels": ["team"]}
    config = parsed({"channels": channels, "routes": [route, {"channels": ["team"]}]})
    assert config.routes == (
        RouteRule(("team",), (Level.CRITICAL,), ("doubtful",), ("sweep*",)),
        RouteRule(("team",)),
    )
    assert faults(
        {
            "channels": channels,
            "routes": [
                {"channels": []},
                {"channels": ["taem"]},
                {"level": ["urgent"], "outcome": ["lost"], "channels": ["team"], "to": 1},
                7,
            ],
        }
    ) == [
        "routes[3]: expected an object, found a number",
        "routes[0].channels: name at least one channel",
        "routes[1].channels: no channel is named 'taem'; configured: team",
        "routes[2].level: expected one or more of critical, warning, info, progress, found 'urgent'",
        f"routes[2].outcome: expected one or more of {', '.join(OUTCOMES)}, found 'lost'",
        "routes[2].to: unknown key",
    ]


def test_each_command_of_on_event_is_a_program_that_gets_every_change() -> None:
    config = parsed({"on_event": ["/usr/bin/logger 'a job'", "/opt/hook"]})
    assert [channel.name for channel in config.programs] == ["on_event_1", "on_event_2"]
    assert config.channel("on_event_2") == config.programs[1]
    assert not config.channels_for(Route.ERROR)  # they are no substitute for a webhook
    assert config.policy.has_programs
    assert not parsed({}).policy.has_programs
    assert faults({"on_event": ["hook", ""]}) == [
        "on_event[0].command: expected the absolute path of a program, then its arguments",
        "on_event[1].command: missing",
    ]
    channels = {"pager": {"type": "program", "command": "/opt/page", "messages": ["error"]}}
    assert [each.name for each in parsed({"channels": channels}).channels_for(Route.ERROR)] == ["pager"]


def test_messages_about_starts_checkpoints_and_progress_are_off_unless_they_are_named() -> None:
    assert parsed({}).policy.also == ()
    assert parsed({"messages": {"also": ["started", "progress"]}}).policy.also == ("started", "progress")
    assert faults({"messages": {"also": ["strated"]}}) == [
        "messages.also: expected one or more of started, launched, checkpoint, progress, found 'strated'"
    ]


@pytest.mark.parametrize(("every", "seconds"), [("2h", 7200.0), (900, 900.0), ("1.5h", 5400.0), (0, 0.0)])
def test_the_period_of_progress_messages_is_read(every: object, seconds: float) -> None:
    assert parsed({"progress": {"every": every}}).policy.progress_every_s == seconds


@pytest.mark.parametrize("every", ["5m", 30, "soon", True, [2], "60d", -1])
def test_a_wrong_period_of_progress_messages_is_a_fault(every: object) -> None:
    [fault] = faults({"progress": {"every": every}})
    assert fault.startswith("progress.every: ")


def test_servers_of_trackers_are_asked_by_https() -> None:
    named = {"wandb": "https://api.wandb.ai/", "mlflow": "http://localhost:5000"}
    assert parsed({"trackers": named}).servers == (
        ("wandb", "https://api.wandb.ai"),
        ("mlflow", "http://localhost:5000"),
    )
    assert parsed({"trackers": {"wandb": ""}}).servers == ()


@pytest.mark.parametrize(
    "server", ["http://169.254.169.254", "http://wandb.example", "file:///etc", "https://me:secret@w.example"]
)
def test_no_key_goes_to_an_address_without_tls(server: str) -> None:
    (fault,) = faults({"trackers": {"mlflow": server}})
    assert fault.startswith("trackers.mlflow: ")
    assert "secret@" not in fault
