"""What holds of every file that jobmon reads: a sound value, or the one error that says what is wrong."""

from __future__ import annotations

import json

from jobmon.views.model import as_json, details_json
from jobmon.views.terminal import details, status_table
from jobmon_core.domain.autostart.command import AutostartCommand, AutostartUnavailable, marker_for
from jobmon_core.domain.autostart.crontab_text import (
    cron_lines,
    our_lines,
    scrontab_lines,
    with_lines,
    without_lines,
)
from jobmon_core.domain.channels import Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.errors import ConfigInvalid, PatternsInvalid, StateUnreadable
from jobmon_core.domain.messages.job_ended import final
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.host.crontab import Crontab, Said
from jobmon_core.lifecycle.health import Health, JobStatus
from jobmon_core.notify.channels import parsers
from jobmon_core.notify.discord import payload
from jobmon_core.notify.discord.settings import Mentions
from jobmon_core.notify.test_message import worst_case_message
from jobmon_core.observe.patterns.load import overlay, read_patterns
from jobmon_core.observe.patterns.match import Matcher
from jobmon_core.store.config_file import read_config
from jobmon_core.store.jobs import JobStore, Unreadable
from jobmon_core.store.outage_notice import OutageNoticeFile
from jobmon_core.store.owner import OwnerRecord
from jobmon_core.store.send_queues import SendQueues
from jobmon_core.store.shared_answers import SharedAnswer
from jobmon_core.system.json_codec import to_json
from tests.fuzz.folder import written
from tests.fuzz.tape import TOKEN, Tape, only_whole_secrets
from tests.support.discord_rules import faults

_NOW_S = 1_800_000_000.0
_DAYS_S = 3 * 86_400.0
STATE_ID = "slurm-12-20260101T000000"
_LOG = LogLines((LogExcerpt("x", ("epoch 1", "", "Traceback", "boom: CUDA out of memory", "[rank1]: boom")),))


def state(data: bytes) -> None:
    """Any bytes where a state file was are a job, which can be kept and shown; or they are reported."""
    path = written(f"{STATE_ID}.json", data)
    store = JobStore(path.parent)
    try:
        job = store.load(STATE_ID)
    except StateUnreadable as error:
        assert str(path) in str(error)  # noqa: PT017 - the words are shown to the user
        assert path in [file.path for file in store.all() if isinstance(file, Unreadable)]
        return
    again = json.loads(json.dumps(to_json(job)))
    assert _same(store, again) == json.dumps(again)
    _shown(job)


def _same(store: JobStore, again: dict[str, object]) -> str:
    written(f"{STATE_ID}.json", json.dumps({"schema": 1, **again}).encode("ascii"))
    return json.dumps(to_json(store.load(STATE_ID)))


def _shown(job: WatchedJob) -> None:
    """Draw a job in every way there is: one odd state file must not hide all others."""
    snapshot = JobStatus(job, Health.DEAD)
    table = status_table([snapshot], _NOW_S)
    assert "\x1b" not in table
    assert "\x1b" not in details(snapshot, "", _NOW_S)
    json.dumps([as_json(snapshot), details_json(snapshot)])
    if job.ended:
        for message in final(job, _NOW_S, each=len(job.name) % 2 == 0):
            assert faults(dict(payload.full(OutboxEntry(message), Mentions()))) == []
            assert faults(dict(payload.plain(OutboxEntry(message)))) == []


def records(data: bytes) -> None:
    """Any bytes where monitors leave word for each other are read, or are as if nothing was there."""
    assert isinstance(SharedAnswer(written("a.reply", data)).read().text, str)
    assert isinstance(OutageNoticeFile(written("a.notice", data)).read(), object)
    found = OwnerRecord(written("a.owner", data)).read()
    assert found is None or found[0].liveness(_NOW_S, 900.0)


def config(data: bytes) -> None:
    """Any bytes are a configuration, or all that is wrong with it is said at once; no webhook is shown."""
    text, _, variable = data.decode("utf-8", "replace").partition("\x00")
    path = written("config.json", text.encode("utf-8", "replace") if "\ufffd" not in text else data)
    environment = {"JOBMON_SUCCESS_WEBHOOK": variable} if variable else {}
    try:
        found = read_config(path, environment, parsers())
    except ConfigInvalid as invalid:
        assert invalid.faults  # noqa: PT017 - all that is wrong is in them
        assert len(invalid.faults) <= len(data) + 1  # noqa: PT017 - as above
        assert not (only_whole_secrets(data) and TOKEN in str(invalid))  # noqa: PT017 - as above
    else:
        assert isinstance(found, Config)
        assert found.policy.running_s >= 5
        assert TOKEN not in repr(found)


def patterns(data: bytes) -> None:
    """Any bytes are rules that can be matched, or their faults are named."""
    path = written("patterns.json", data)
    try:
        rules = read_patterns(path)
    except PatternsInvalid as invalid:
        assert invalid.faults  # noqa: PT017 - all that is wrong is in them
        assert str(path) in str(invalid)  # noqa: PT017 - as above
        return
    everything = overlay(rules, rules)
    assert {rule.id for rule in everything} == {rule.id for rule in rules}
    for finding in Matcher(everything).every_match(_LOG):
        assert 0 <= finding.position < len(_LOG)
    for rule in rules:
        hit = {finding.pattern.id for finding in Matcher([rule]).every_match(_lines(rule.examples))}
        assert hit == {rule.id}, "its examples were tried before it was taken"


def _lines(examples: tuple[str, ...]) -> LogLines:
    return LogLines((LogExcerpt("x", tuple(each for example in examples for each in example.split("\n"))),))


def crontab(data: bytes) -> None:
    """Whatever a user's crontab holds, our lines come and go and every other byte stays."""
    tape = Tape(data[:32])
    home = f"/home/{tape.line()}".replace("\ud83d", "")  # which no name of a file decodes to
    errand = AutostartCommand(("/usr/bin/jobmon",), {"JOBMON_HOME": home}, marker_for(home))
    try:
        lines = tape.pick((cron_lines, scrontab_lines))(errand)
    except AutostartUnavailable:
        lines = ()
    text = data[32:].decode("utf-8", "replace").replace("\ufffd", "?")
    if tape.below(2):
        text = f"{text}\n# a note of my own # {errand.marker}0\n0 1 * * * backup"
    added = with_lines(text, lines, errand.marker)
    if not our_lines(text, errand.marker):
        assert added == "".join(f"{line}\n" for line in lines) + text
        assert without_lines(added, errand.marker) == text
    assert tuple(our_lines(added, errand.marker)) == lines
    assert with_lines(added, lines, errand.marker) == added
    assert _foreign(added, errand.marker) == _foreign(text, errand.marker)
    assert without_lines(added, errand.marker) == without_lines(text, errand.marker)
    _handed_over(text, added)


def _foreign(text: str, mark: str) -> list[bytes]:
    ending, beginning = f" # {mark}", f"#SCRON --job-name={mark} "
    kept = (line for line in text.split("\n") if not (line.endswith(ending) or line.startswith(beginning)))
    return [line.encode() for line in kept]


def _handed_over(text: str, wanted: str) -> None:
    """Change a crontab through the program that keeps it, and look at what that was given."""
    given: list[bytes] = []

    def ask(argv: object) -> Said:
        words = [str(word) for word in argv] if isinstance(argv, tuple) else []
        if words[1:] == ["-l"]:
            return Said(well=True, stdout=text)
        with open(words[1], "rb") as file:
            given.append(file.read())
        return Said(well=True)

    if wanted:
        changed = Crontab("crontab", ask).change(lambda _: wanted)
        assert changed is (wanted != text)
        assert given == ([wanted.encode()] if changed else [])


def lanes(data: bytes) -> None:
    """Any bytes where the lane of a channel was kept let a message go, at once or within days."""
    message = worst_case_message("team", Route.ERROR, int(_NOW_S))
    folder = written("lane", b"").parent
    store = SendQueues(folder)
    store.request_turn("x", message, _NOW_S)
    (path,) = folder.glob("x,*.lane")
    written(path.name, data)
    again_s = store.request_turn("x", message, _NOW_S)
    assert again_s is None or _NOW_S < again_s < _NOW_S + _DAYS_S
