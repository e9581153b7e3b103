"""What holds for every file that jobmon reads: a valid value, or one error that says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from jobmon.views.console import Console
from jobmon.views.details import detail_lines
from jobmon.views.model import details_json, status_json
from jobmon.views.status import status_lines
from jobmon_core.app.jobs.find import Selection, select
from jobmon_core.app.jobs.overview import Overview
from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.digests import digest_message
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.errors import ConfigInvalid, StateUnreadable
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.many.autostart.command import (
    AutostartCommand,
    AutostartUnavailable,
    cron_lines,
    marker_for,
    our_lines,
    scrontab_lines,
    with_lines,
    without_lines,
)
from jobmon_core.domain.messages.job_ended import job_ended_messages
from jobmon_core.domain.messages.scheduler_outage import OutageNotice
from jobmon_core.domain.webhook import Mentions
from jobmon_core.host.autostart import Crontab
from jobmon_core.lifecycle.health import Health, JobStatus
from jobmon_core.notify.channels import CHANNEL_TYPES
from jobmon_core.notify.discord import payload
from jobmon_core.notify.test_message import worst_case_message
from jobmon_core.observe.job_config import read_job_config
from jobmon_core.observe.patterns.load import overlay, read_patterns
from jobmon_core.observe.patterns.match import Matcher
from jobmon_core.store.channels import ChannelFiles
from jobmon_core.store.config_file import read_config
from jobmon_core.store.jobs import JobStore, Unreadable
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.owner import OwnerRecord
from jobmon_core.store.shared_answers import SharedAnswer
from jobmon_core.system.json_codec import from_json, to_json
from tests.fuzz.choices import TOKEN, Choices, only_whole_secrets
from tests.fuzz.folder import written
from tests.support.discord_rules import faults
from tests.support.fake_runner import Answer, FakeRunner, said

_NOW_S = 1_800_000_000.0
_DAYS_S = 3 * 86_400.0
STATE_ID = "slurm-12-20260101T000000"
_LOG = LogLines((LogExcerpt("x", ("epoch 1", "", "Traceback", "boom: CUDA out of memory", "[rank1]: boom")),))


def state(data: bytes) -> None:
    """Any state file is a job that can be saved and shown, or is reported as unreadable."""
    path = written(f"{STATE_ID}.json", data)
    store = JobStore(path.parent)
    try:
        job = store.load(STATE_ID)
    except StateUnreadable as error:
        assert str(path) in str(error)  # noqa: PT017 - users see this text
        assert path in [file.path for file in store.all() if isinstance(file, Unreadable)]
        return
    saved = json.loads(json.dumps(to_json(job)))
    assert _reloaded(store, saved) == json.dumps(saved)
    _show(job)


def _reloaded(store: JobStore, saved: dict[str, object]) -> str:
    written(f"{STATE_ID}.json", json.dumps({"schema": 1, **saved}).encode("ascii"))
    return json.dumps(to_json(store.load(STATE_ID)))


def _show(job: WatchedJob) -> None:
    """Show a job in every way: one odd state file must not hide all others."""
    status = JobStatus(job, Health.DEAD)
    selected = select([status], Selection(all=True), _NOW_S)
    for console in (Console(), Console(80), Console(40)):
        screen = [
            *status_lines(selected, Overview([status], []), _NOW_S, console),
            *detail_lines(status, "", _NOW_S, console),
        ]
        assert all(line.isprintable() for line in screen)
    json.dumps([status_json(status, _NOW_S), details_json(status, _NOW_S)])
    if job.ended:
        for message in job_ended_messages(job, _NOW_S, per_task=len(job.name) % 2 == 0):
            assert faults(dict(payload.full(OutboxEntry(message), Mentions()))) == []
            assert faults(dict(payload.plain(OutboxEntry(message)))) == []


def records(data: bytes) -> None:
    """Any file that monitors write for each other is read, or counts as missing."""
    assert isinstance(SharedAnswer(written("a.reply", data)).read().text, str)
    assert isinstance(JsonFile(written("a.notice", data), OutageNotice).read(), object)
    owner = OwnerRecord(written("a.owner", data)).read()
    assert owner is None or owner[0].health(_NOW_S)


def config(data: bytes) -> None:
    """Any configuration is valid, or all its errors are reported at once without a webhook."""
    text, _, variable = data.decode("utf-8", "replace").partition("\x00")
    path = written("config.json", text.encode("utf-8", "replace") if "\ufffd" not in text else data)
    environment = {"JOBMON_SUCCESS_WEBHOOK": variable} if variable else {}
    try:
        parsed = read_config(path, environment, CHANNEL_TYPES, ("slurm", "local"))
    except ConfigInvalid as invalid:
        assert invalid.faults  # noqa: PT017 - they must not be empty
        assert len(invalid.faults) <= len(data) + 1  # noqa: PT017 - the same
        assert not (only_whole_secrets(data) and TOKEN in str(invalid))  # noqa: PT017 - the same
    else:
        assert isinstance(parsed, Config)
        assert parsed.policy.running_s >= 5
        assert TOKEN not in repr(parsed)


def job_config(data: bytes) -> None:
    """Any job configuration can be stored and shown, or its errors are reported without a webhook."""
    try:
        settings = read_job_config(written("jobmon.yaml", data)).settings
    except ConfigInvalid as invalid:
        assert invalid.faults  # noqa: PT017 - they must not be empty
        assert not (only_whole_secrets(data) and TOKEN in str(invalid))  # noqa: PT017 - the same
    else:
        job = WatchedJob(STATE_ID, 12, _NOW_S, settings=settings)
        assert from_json(WatchedJob, json.loads(json.dumps(to_json(job)))) == job
        _show(job)


def patterns(data: bytes) -> None:
    """Any pattern file has patterns that can be matched, and the errors of the others are reported."""
    path = written("patterns.json", data)
    file = read_patterns(path)
    assert file.faults or not file.skipped
    assert bool(file.note) <= bool(file.faults)
    assert not file.note or str(path) in file.note
    loaded = file.patterns
    merged = overlay(loaded, loaded)
    assert {pattern.id for pattern in merged} == {pattern.id for pattern in loaded}
    for match in Matcher(merged).find_matches(_LOG, limit=None):
        assert 0 <= match.position < len(_LOG)
    for pattern in loaded:
        matching = {
            match.pattern.id
            for match in Matcher([pattern]).find_matches(_lines(pattern.examples), limit=None)
        }
        assert matching == {pattern.id}, "a loaded pattern must match its examples"


def _lines(examples: tuple[str, ...]) -> LogLines:
    return LogLines((LogExcerpt("x", tuple(line for example in examples for line in example.split("\n"))),))


def crontab(data: bytes) -> None:
    """In any crontab our lines can be added and removed, and every other byte stays."""
    draw = Choices(data[:32])
    home = f"/home/{draw.line()}".replace("\ud83d", "")  # a surrogate that no file name decodes to
    command = AutostartCommand(("/usr/bin/jobmon",), {"JOBMON_HOME": home}, marker_for(home))
    try:
        lines = draw.pick((cron_lines, scrontab_lines))(command)
    except AutostartUnavailable:
        lines = ()
    text = data[32:].decode("utf-8", "replace").replace("\ufffd", "?")
    if draw.below(2):
        text = f"{text}\n# a note of my own # {command.marker}0\n0 1 * * * backup"
    added = with_lines(text, lines, command.marker)
    if not our_lines(text, command.marker):
        assert added == "".join(f"{line}\n" for line in lines) + text
        assert without_lines(added, command.marker) == text
    assert tuple(our_lines(added, command.marker)) == lines
    assert with_lines(added, lines, command.marker) == added
    assert _other_lines(added, command.marker) == _other_lines(text, command.marker)
    assert without_lines(added, command.marker) == without_lines(text, command.marker)
    _change_crontab(text, added)


def _other_lines(text: str, marker: str) -> list[bytes]:
    suffix, prefix = f" # {marker}", f"#SCRON --job-name={marker} "
    lines = (line for line in text.split("\n") if not (line.endswith(suffix) or line.startswith(prefix)))
    return [line.encode() for line in lines]


def _change_crontab(text: str, wanted: str) -> None:
    """Change a crontab through the crontab program; check the file that the program gets."""
    runner = _CrontabProgram(text)
    if wanted:
        changed = Crontab("crontab", runner).change(lambda _: wanted)
        assert changed is (wanted != text)
        assert runner.written == ([wanted.encode()] if changed else [])


class _CrontabProgram(FakeRunner):
    """The program ``crontab``, for a user whose crontab holds ``text``."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.on("crontab", answers=[said()]).on("crontab", "-l", answers=[said(text)])

    def capture(self, argv: Sequence[str], timeout_s: float) -> Answer:
        if argv[1] != "-l":
            with open(argv[1], "rb") as file:
                self.written.append(file.read())
        return super().capture(argv, timeout_s)


def send_queue(data: bytes) -> None:
    """Any send queue file of a channel delays a message by days at most."""
    message = worst_case_message("team", Route.ERROR, int(_NOW_S))
    entry = OutboxEntry(replace(message, digestible=True))
    folder = written("empty", b"").parent
    store = ChannelFiles(folder)
    store.request_turn("x", entry, _NOW_S, 5)
    (path,) = folder.glob("x,*.lane")
    written(path.name, data)
    retry_s = store.request_turn("x", replace(entry, offered_s=_NOW_S), _NOW_S, 5).again_s
    assert retry_s is None or retry_s < _NOW_S + _DAYS_S
    taken = store.take_offers("x", entry, _NOW_S, 5)
    if taken:
        assert faults(dict(payload.full(OutboxEntry(digest_message(message, taken)), Mentions()))) == []
    store.record_result("x", entry, Receipt(DeliveryOutcome.DELIVERED), _NOW_S, began_s=_NOW_S, digest_from=5)
