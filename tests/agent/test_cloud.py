"""What an agent reads of a cloud's metadata service: real requests to a server on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from jobmon_core.agent import proc
from jobmon_core.agent.cloud import CloudNotices, cloud_of, signal_catching
from jobmon_core.domain.node.telemetry.agent import AgentOptions, agent_command
from jobmon_core.domain.node.telemetry.model import Notice
from jobmon_core.store.telemetry import TaskTelemetry
from tests.support.metadata_service import (
    AWS,
    AWS_ACTION,
    AWS_TOKEN,
    AZURE,
    AZURE_EVENTS,
    AZURE_NAME,
    GCP,
    GCP_MAINTENANCE,
    GCP_PREEMPTED,
    PREEMPT,
    SPOT,
    Handler,
    Service,
    wrapped,
)
from tests.support.waiting import PATIENCE_S, eventually

ENDS_S = 1_796_040_264.0  # 2026-11-30 12:04:24 UTC


def is_reading() -> bool:
    return any(thread.name.endswith("(_poll)") for thread in threading.enumerate())


class Node:
    """A node in a cloud, and the agent on it."""

    def __init__(
        self,
        cloud: str,
        answers: dict[str, Any],
        dmi: Path,
        *,
        timeout_s: float = PATIENCE_S,
        **options: object,
    ) -> None:
        self.cloud, self.answers, self.dmi, self.timeout_s = cloud, answers, dmi, timeout_s
        self.service = Service(lambda: self.answers)
        self.address = f"127.0.0.1:{self.service.server_port}"
        self.now_s = 1000.0
        self.notices = self.agent(**options)

    def agent(self, **options: object) -> CloudNotices:
        where = {"address": self.address, "dmi": str(self.dmi), "timeout_s": self.timeout_s}
        return CloudNotices(self.cloud, **where, **options)  # type: ignore[arg-type]  # the test names them

    def look(
        self, answers: dict[str, Any] | None = None, processes: Collection[tuple[int, int]] = ()
    ) -> Notice | None:
        """Return the notice after one more reading, of these answers if there are any."""
        if answers is not None:
            self.answers = answers
        self.now_s += 10
        self.notices.look(self.now_s, processes)
        eventually(lambda: not is_reading())
        self.notices.look(self.now_s, processes)
        return self.notices.notice


@pytest.fixture
def dmi(tmp_path: Path) -> Path:
    """The folder of DMI, which is hidden until a test fills it."""
    return tmp_path / "dmi"


def azure(*events: dict[str, Any], name: str = "FrontEnd_IN_0") -> dict[str, Any]:
    return {AZURE_EVENTS: {"DocumentIncarnation": 2, "Events": list(events)}, AZURE_NAME: name}


@pytest.mark.parametrize(
    ("cloud", "answers", "expected"),
    [
        ("aws", AWS | {AWS_ACTION: SPOT}, Notice("AWS", "terminate", ENDS_S)),
        ("aws", AWS | {AWS_ACTION: SPOT | {"action": "stop"}}, Notice("AWS", "stop", ENDS_S)),
        ("gcp", GCP | {GCP_PREEMPTED: "TRUE"}, Notice("GCP", "preempted")),
        (
            "gcp",
            GCP | {GCP_MAINTENANCE: "TERMINATE_ON_HOST_MAINTENANCE"},
            Notice("GCP", "TERMINATE_ON_HOST_MAINTENANCE"),
        ),
        ("azure", azure(PREEMPT), Notice("Azure", "Preempt", ENDS_S)),
        ("azure", azure(PREEMPT | {"EventStatus": "Started", "NotBefore": ""}), Notice("Azure", "Preempt")),
        ("azure", azure(PREEMPT | {"EventType": "Freeze"}, PREEMPT), Notice("Azure", "Preempt", ENDS_S)),
    ],
)
def test_a_notice_is_read_as_it_is_documented(
    cloud: str, answers: dict[str, Any], expected: Notice, dmi: Path
) -> None:
    node = Node(cloud, {"aws": AWS, "gcp": GCP, "azure": AZURE}[cloud], dmi)
    assert node.look() is None
    assert node.look(answers) == replace(expected, seen_s=node.now_s)
    assert node.notices.unavailable == ()
    methods = [request.partition(" ")[0] for request in node.service.requests]
    assert methods.count("PUT") == (cloud == "aws")  # for the token alone
    assert {*methods} <= {"GET", "PUT"}  # a POST to Azure would end the node


@pytest.mark.parametrize(
    ("cloud", "answers"),
    [
        ("gcp", GCP | {GCP_MAINTENANCE: "MIGRATE_ON_HOST_MAINTENANCE"}),
        ("azure", azure(PREEMPT | {"EventType": "Freeze"})),
        ("azure", azure(PREEMPT, name="Other_IN_7")),
    ],
)
def test_what_ends_no_node_or_another_one_is_no_notice(
    cloud: str, answers: dict[str, Any], dmi: Path
) -> None:
    node = Node(cloud, answers, dmi)
    assert node.look() is None
    assert node.notices.unavailable == ()


def _hang(_handler: Handler) -> None:
    time.sleep(60)  # the handler's thread; the server does not wait for it


def _half(handler: Handler) -> None:
    handler.reply(200, b'{"action": "terminate", "ti', length=200)


def _huge(handler: Handler) -> None:
    with contextlib.suppress(OSError):  # the client hangs up
        handler.reply(200, b'{"action": "terminate"' + b" " * 10**7)


def _redirect(handler: Handler) -> None:
    handler.reply(302, b"", Location=f"http://127.0.0.1:{handler.server.server_port}/elsewhere")


def _drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    with contextlib.suppress(OSError):
        for _ in range(30):
            handler.wfile.write(b" ")
            time.sleep(0.1)


BAD = [
    *(401, 403, 500, 503, _hang, _half, _huge, _redirect, _drip),
    *(
        "",
        "null",
        "[]",
        "TRUE",
        '{"action": 7}',
        '{"action": "terminate"}',
        '{"action":"terminate","time":"soon"}',
    ),
    *("[" * 60_000, '{"action": ["terminate"], "time": "x"}', '{"Events": [{"EventType": "Preempt"}]}'),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: str(getattr(bad, "__name__", bad))[:40])
def test_no_usable_answer_says_nothing_and_why_is_reported(bad: object, dmi: Path) -> None:
    """Neither that there is a notice, nor that there is none any more."""
    timeout_s = 3.0 if bad is _hang else PATIENCE_S
    node = Node("aws", AWS | {AWS_ACTION: bad}, dmi, timeout_s=timeout_s)
    assert node.look() is None
    assert node.notices.unavailable[0].startswith("cloud notices: ")
    known = node.look(AWS | {AWS_ACTION: SPOT})
    assert known is not None
    assert node.notices.unavailable == ()
    assert node.look(AWS | {AWS_ACTION: bad}) == known
    assert node.notices.unavailable
    assert not any("elsewhere" in request for request in node.service.requests)
    assert node.look(AWS) is None  # only the service itself withdraws it


@pytest.mark.parametrize(
    ("cloud", "answers"),
    [
        ("aws", {AWS_ACTION: SPOT}),  # no token
        ("aws", AWS | {AWS_TOKEN: "a\r\nHost: other"}),
        ("gcp", {GCP_PREEMPTED: "TRU", GCP_MAINTENANCE: "NONE"}),
        ("gcp", {GCP_PREEMPTED: "FALSE"}),  # not found is an answer of AWS alone
        ("azure", {AZURE_EVENTS: {"Events": [PREEMPT]}}),  # whose event it is is not known
        ("azure", azure(PREEMPT | {"NotBefore": "2026"})),
        ("azure", azure({"EventType": "Preempt"})),
    ],
)
def test_a_part_of_the_answers_says_nothing(cloud: str, answers: dict[str, Any], dmi: Path) -> None:
    node = Node(cloud, answers, dmi)
    assert node.look() is None
    assert node.notices.unavailable


def test_a_service_that_cannot_be_reached_says_nothing(dmi: Path) -> None:
    node = Node("gcp", GCP, dmi)
    node.service.shutdown()
    node.service.server_close()
    assert node.look() is None
    assert "could not reach the metadata service" in node.notices.unavailable[0]


def test_a_token_that_has_expired_is_replaced(dmi: Path) -> None:
    node = Node("aws", AWS | {AWS_ACTION: SPOT}, dmi)
    known = node.look()
    assert known
    node.service.token = "the next one"
    assert node.look() == known
    assert "401" in node.notices.unavailable[0]
    node.answers = AWS | {AWS_TOKEN: "the next one", AWS_ACTION: SPOT}
    assert node.look() == known
    assert node.notices.unavailable == ()


def test_a_proxy_in_the_environment_is_ignored(dmi: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = Service(dict)
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.server_port}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    node = Node("gcp", GCP | {GCP_PREEMPTED: "TRUE"}, dmi)
    assert node.look()
    assert proxy.requests == []


def test_the_time_stays_once_azure_no_longer_says_it(dmi: Path) -> None:
    node = Node("azure", azure(PREEMPT), dmi)
    known = node.look()
    assert node.look(azure(PREEMPT | {"EventStatus": "Started", "NotBefore": ""})) == known


AMAZON, GOOGLE = (
    {"sys_vendor": "Amazon EC2\n"},
    {"sys_vendor": "Google\n", "product_name": "Google Compute Engine\n"},
)
ASSET_TAG = {"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77\n"}
MICROSOFT = {"sys_vendor": "Microsoft Corporation\n"}


@pytest.mark.parametrize(
    ("files", "auto", "aws"),
    [
        (AMAZON, "aws", "aws"),
        ({"sys_vendor": "Xen\n", "bios_version": "4.11.amazon\n"}, "aws", "aws"),
        (GOOGLE, "gcp", ""),
        (GOOGLE | {"product_name": "Chromebook\n"}, "", ""),
        (MICROSOFT | ASSET_TAG, "azure", ""),
        (MICROSOFT, "", ""),  # Hyper-V elsewhere
        ({"sys_vendor": "Dell Inc.\n"}, "", ""),
        ({}, "", "aws"),  # hidden
    ],
)
def test_dmi_says_whose_service_is_asked(files: dict[str, str], auto: str, aws: str, dmi: Path) -> None:
    dmi.mkdir()
    for name, text in files.items():
        (dmi / name).write_text(text)
    assert (cloud_of("auto", str(dmi)), cloud_of("aws", str(dmi))) == (auto, aws)
    node = Node("aws", AWS | {AWS_ACTION: SPOT}, dmi)
    assert bool(node.look()) == bool(aws)
    assert len(node.service.requests) == (2 if aws else 0)


@contextlib.contextmanager
def running(*argv: str, stderr: IO[str] | None = None) -> Iterator[None]:
    """Run a program, and kill it at the end."""
    with subprocess.Popen(argv, stderr=stderr) as process:
        try:
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def program(code: str) -> Iterator[tuple[int, int]]:
    """Run a program until it says that it is ready; yield its key."""
    with subprocess.Popen([sys.executable, "-uc", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
            found = proc.read_stat(process.pid)
            assert found
            yield found.key
        finally:
            process.kill()


IDLE = "print('ready'); import time; time.sleep(600)"
SAVES = (
    "import pathlib, signal, sys\n"
    "def save(*_):\n    with open({path!r}, 'a') as file: file.write('saved ')\n"
    "signal.signal(signal.SIGUSR1, save)\n"
    "print('ready')\nwhile True: signal.pause()"
)


def test_a_signal_reaches_only_programs_that_catch_it_and_only_once(dmi: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    with program(SAVES.format(path=str(saved))) as saver, program(IDLE) as idle:
        keys = (saver, idle, (saver[0], saver[1] + 1))  # of the last, another process has the PID now
        node = Node("azure", azure(PREEMPT), dmi, signal_name="SIGUSR1")
        known = node.look(processes=keys)
        assert known
        assert (known.signal, known.signalled) == ("SIGUSR1", 1)
        eventually(lambda: saved.exists() and saved.read_text() == "saved ")
        node.look(processes=keys)
        node.notices = node.agent(signal_name="SIGUSR1", earlier=known)  # it was killed and started again
        assert node.look(processes=keys) == known
        os.kill(idle[0], 0)
        assert signal_catching(keys, "SIGTERM") == 0
        node.look(azure(PREEMPT | {"EventType": "Reboot"}), processes=keys)  # news
        eventually(lambda: saved.read_text() == "saved saved ")
        os.kill(idle[0], signal.SIGTERM)


def _can_have_a_network_of_its_own() -> bool:
    command = wrapped(Path(), "/bin/true")
    return (
        bool(shutil.which("unshare"))
        and subprocess.run(command, check=False, capture_output=True).returncode == 0
    )


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., tuple[str, ...]]:
    """Return the command line of an agent on a node where the service has its real address."""
    if not _can_have_a_network_of_its_own():
        pytest.skip("this machine gives no program a network of its own (unshare -n)")
    (tmp_path / "telemetry").mkdir()

    def of(*python: str, **options: object) -> tuple[str, ...]:
        found = AgentOptions(str(tmp_path / "telemetry"), node="n1", interval_s=0.5, **options)  # type: ignore[arg-type]  # as above
        return wrapped(tmp_path, sys.executable, *python, *agent_command(found))

    return of


def test_an_agent_reports_a_notice_from_the_real_address(
    command: Callable[..., tuple[str, ...]], tmp_path: Path
) -> None:
    saved, telemetry = tmp_path / "saved", TaskTelemetry(tmp_path / "telemetry")

    def answers(now: dict[str, Any]) -> None:
        new = tmp_path / "new.json"
        new.write_text(json.dumps(now))
        new.replace(tmp_path / "answers.json")

    def has_notice() -> bool:
        return bool((signs := telemetry.signs("n1")) and signs.has_notice)

    with program(SAVES.format(path=str(saved))) as (pid, _):
        agent = command(pids=(pid,), cloud="aws", on_notice="SIGUSR1")
        with running(*agent):
            eventually(lambda: any("cloud notices" in each for each in telemetry.report("n1").unavailable))
            answers(AWS)
            eventually(
                lambda: not any("cloud notices" in each for each in telemetry.report("n1").unavailable)
            )
            assert not has_notice()
            answers(AWS | {AWS_ACTION: SPOT})
            eventually(has_notice)
            notice = telemetry.report("n1").notice
            assert notice == Notice("AWS", "terminate", ENDS_S, notice.seen_s if notice else 0, "SIGUSR1", 1)
            eventually(lambda: saved.exists() and saved.read_text() == "saved ")
        started_s = telemetry.report("n1").started_s
        with running(*agent):  # the next one neither forgets it nor repeats the signal
            eventually(lambda: telemetry.report("n1").started_s > started_s and has_notice())
            answers(AWS)
            eventually(lambda: not has_notice())
            asked = {f"PUT {AWS_TOKEN}", f"GET {AWS_ACTION}"}
            eventually(lambda: {*(tmp_path / "requests.txt").read_text().split("\n")} == asked)
        assert saved.read_text() == "saved "


@pytest.mark.parametrize("options", [{}, {"cloud": "off"}, {"cloud": "auto"}])
def test_an_agent_that_is_off_or_in_no_cloud_asks_nothing(
    command: Callable[..., tuple[str, ...]], options: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "answers.json").write_text(json.dumps(AWS | {AWS_ACTION: SPOT}))
    errors = tmp_path / "imported.txt"
    with program(IDLE) as (pid, _), errors.open("w") as stderr:
        agent = command("-X", "importtime", pids=(pid,), **options)
        with running(*agent, stderr=stderr):
            eventually((tmp_path / "requests.txt").exists)  # the service answers
            eventually(lambda: TaskTelemetry(tmp_path / "telemetry").report("n1").latest.at_s > 0)
            first_s = TaskTelemetry(tmp_path / "telemetry").report("n1").latest.at_s
            eventually(lambda: TaskTelemetry(tmp_path / "telemetry").report("n1").latest.at_s > first_s + 5)
    assert TaskTelemetry(tmp_path / "telemetry").report("n1").notice is None
    assert (tmp_path / "requests.txt").read_text() == ""
    imported = {line.rpartition("|")[2].strip() for line in errors.read_text().splitlines()}
    assert "jobmon_core.agent.loop" in imported
    if options.get("cloud", "off") == "off":
        assert imported.isdisjoint(
            {"jobmon_core.agent.cloud", "jobmon_core.system.http", "http.client", "_socket"}
        )
