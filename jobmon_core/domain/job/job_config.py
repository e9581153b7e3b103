"""Check a job configuration, such as ``jobmon.yaml``: every fault is reported at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from typing import NamedTuple

from jobmon_core.domain.artifacts.tracker_places import FILE_URL
from jobmon_core.domain.config_section import SecretSources, Section
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.job.job_settings import (
    MAX_GROUPS,
    Done,
    ErrorPattern,
    JobSettings,
    RestartMode,
    TrackSettings,
)
from jobmon_core.domain.job.restart.config import DISTINCT_KEYS, read_restart
from jobmon_core.domain.logs.progress.log.formats import (
    MAX_METRICS,
    UNITS,
    group_names,
    is_measured,
    metrics_of,
)
from jobmon_core.domain.logs.tracker import Tracker
from jobmon_core.domain.node.telemetry.agent import NOTICE_SIGNALS
from jobmon_core.domain.node.triage.state import Thresholds

_MAX_ITEMS = 1e15  # a unit of work may be one token
_MAX_PERCENT = 99
_SEVERITIES = ("critical", "error", "warning")  # the first two mean the same
_ON_STALL = "on_stall"
# alerts are accepted and not read: they may hold a webhook, so they belong in config.json
_ALERTS = {
    "email": ("enabled", "address", "smtp_server", "smtp_port"),
    "slack": ("enabled", "webhook"),
    "terminal": ("enabled", "refresh_rate"),
}
_MEANT = {  # for "did you mean": a key in the wrong section, or the name of an option -> its dotted key
    **{key: f"job.{key}" for key in ("num_workers", "gpu_ids", "total_items")},
    **{key: f"paths.{key}" for key in ("output_dir", "log_dir", "checkpoint_dir")},
    "output_pattern": "patterns.output",
    "log_pattern": "patterns.logs",
    "checkpoint_pattern": "patterns.checkpoints",
    **{
        key: f"monitoring.{key}"
        for key in (
            *("check_interval", "launch_timeout", "stall_timeout", "slowdown_percent", "stacks"),
            *("min_growth_rate", "on_notice"),
        )
    },
    **{each.name: f"thresholds.{each.name}" for each in fields(Thresholds)},
    **{key: f"restart.{key}" for key in DISTINCT_KEYS},
}


class JobConfig(NamedTuple):
    """A valid job configuration."""

    settings: JobSettings
    unused: tuple[str, ...] = ()  # the dotted paths of keys that only config.json uses
    unknown: tuple[str, ...] = ()  # progress patterns whose names stand for no count and no measured value
    without_restarts: str = ""  # why the file turns no restarts on, although it says so

    @property
    def note(self) -> str:
        """What of it is not used, or not as one may expect."""
        notes = [f"not used here, but in config.json: {', '.join(self.unused)}"] if self.unused else []
        if self.unknown:
            notes.append(
                f"progress_patterns: {', '.join(self.unknown)}: shown as a metric; "
                f"the name of a count contains one of {', '.join(UNITS)}"
            )
        if self.without_restarts:
            notes.append(f"restart.mode is ignored: {self.without_restarts}")
        if notes:
            return f"{self.settings.source}: {'; '.join(notes)}"
        return ""

    def restarts_turned_off(self, why: str) -> JobConfig:
        """Return it without restarts, if it turns them on; its other words about them stay."""
        restart = self.settings.restart
        if restart is None or restart.mode is RestartMode.OFF:
            return self
        settings = replace(self.settings, restart=replace(restart, mode=RestartMode.OFF))
        return self._replace(settings=settings, without_restarts=why)


def parse_job_config(
    data: object,
    source: str,
    absolute: Callable[[str], str],
    compile_regex: Callable[[str], re.Pattern[bytes]],
) -> JobConfig:
    """Check a job configuration; ConfigInvalid lists every fault and shows no secret.

    ``absolute`` makes the path of a folder absolute; ``compile_regex`` raises ValueError.
    """
    faults: list[str] = []
    parser = _Parser(Section(data, "", faults, SecretSources({}, _no_file)), absolute, compile_regex)
    settings = parser.settings(source)
    if faults:
        raise ConfigInvalid(source, faults)
    return JobConfig(settings, tuple(parser.unused), tuple(parser.unknown))


def _no_file(path: str) -> str:
    raise FileNotFoundError(path)


class _Parser:
    def __init__(
        self, top: Section, absolute: Callable[[str], str], compile_regex: Callable[[str], re.Pattern[bytes]]
    ) -> None:
        self._top = top
        self._absolute = absolute
        self._compile = compile_regex
        self.unused: list[str] = []
        self.unknown: list[str] = []

    def settings(self, source: str) -> JobSettings:
        top = self._top
        job, paths, patterns, monitoring = map(top.section, ("job", "paths", "patterns", "monitoring"))
        expected, progress = top.section("expected"), top.section("progress")
        settings = JobSettings(
            source=source,
            name=_text(job, "name"),
            num_workers=job.whole_number("num_workers", 1, 1) if job.has("num_workers") else None,
            gpu_ids=_gpu_ids(job),
            total_items=_total_items(job),
            output_dir=self._folder(paths, "output_dir"),
            log_dir=self._folder(paths, "log_dir"),
            checkpoint_dir=self._folder(paths, "checkpoint_dir"),
            output_pattern=_text(patterns, "output"),
            log_pattern=_text(patterns, "logs"),
            checkpoint_pattern=_text(patterns, "checkpoints"),
            results=self._results(),
            expected_outputs=expected.whole_number("outputs", 1, 1) if expected.has("outputs") else None,
            min_growth_bytes=monitoring.number_or_none("min_growth_rate", 0.0),
            progress_patterns=self._progress_patterns(),
            error_patterns=self._error_patterns(),
            check_interval_s=monitoring.number_or_none("check_interval", 1.0),
            launch_timeout_s=monitoring.number_or_none("launch_timeout", 1.0),
            progress_every_s=progress.every_s(),
            stall_timeout_s=monitoring.number_or_none("stall_timeout", 1.0),
            slowdown_percent=monitoring.number_or_none("slowdown_percent", 1.0, _MAX_PERCENT),
            stacks_on_stall=monitoring.choice("stacks", ("never", _ON_STALL), "never") == _ON_STALL,
            on_notice=monitoring.choice("on_notice", NOTICE_SIGNALS) if monitoring.has("on_notice") else "",
            thresholds=_thresholds(top.section("thresholds")),
            done=self._done(),
            track=self._track(),
            restart=read_restart(top.section("restart")) if top.has("restart") else None,
        )
        for section in (job, paths, patterns, monitoring, expected, progress):
            section.close(_MEANT)
        self._check_alerts()
        top.close(_MEANT)
        return settings

    def _done(self) -> Done | None:
        if not self._top.has("done"):
            return None
        section = self._top.section("done")
        regex = section.verbatim("log")
        self._regex(section, "log", regex)
        done = Done(self._folder(section, "marker"), regex, self._folder(section, "artifact"))
        section.close()
        if done == Done():
            self._top.fault("done", "expected marker (a file), log (a regex) or artifact (a file, or a glob)")
        return done

    def _track(self) -> TrackSettings | None:
        if not self._top.has("track"):
            return None
        section, places = self._top.section("track"), {}
        for tracker in Tracker:
            path = FILE_URL.sub("", _text(section, tracker))
            if "://" in path:
                section.fault(
                    tracker, "expected a file or a folder; a server is named by `trackers` in config.json"
                )
            elif path:
                places[str(tracker)] = self._absolute(path)
        found = TrackSettings(places, tuple(section.texts("metrics")), _text(section, "loss"))
        section.close()
        if found == TrackSettings():
            names = ", ".join(Tracker)
            self._top.fault("track", f"expected the folder or file of a tracker ({names}), metrics or loss")
        return found

    def _folder(self, section: Section, key: str) -> str:
        path = _text(section, key)
        if path:
            return self._absolute(path)
        return ""

    def _results(self) -> tuple[str, ...]:
        paths = self._top.texts("results")
        if not all(path.strip() and path.isprintable() for path in paths):
            self._top.fault(
                "results", "expected the names of files, or globs, e.g. [metrics.csv, eval/*.json]"
            )
        return tuple(self._absolute(path.strip()) for path in paths)

    def _progress_patterns(self) -> dict[str, str]:
        section = self._top.section("progress_patterns")
        regexes = {}
        for name in section.names():
            regexes[name] = text = section.verbatim(name, required=True)
            regex = self._regex(section, name, text)
            if regex and not regex.groups:
                section.fault(name, r"the regex needs a group around the number, e.g. step (\d+)/(\d+)")
            elif regex:
                self._check_groups(section, name, group_names(regex))
        return regexes

    def _check_groups(self, section: Section, name: str, groups: tuple[str, ...]) -> None:
        """Report too many groups of a progress pattern; note its name if the user may have meant a count."""
        metrics = metrics_of(name, groups)
        if len(metrics) > MAX_METRICS:
            section.fault(name, f"the regex has more than {MAX_METRICS} groups; write others (?:...)")
        elif not metrics and len(groups) > MAX_GROUPS:
            section.fault(
                name, f"the regex has more than {MAX_GROUPS} groups (number, total); write others (?:...)"
            )
        elif metrics and not any(groups) and not is_measured(name):
            self.unknown.append(name)

    def _error_patterns(self) -> tuple[ErrorPattern, ...]:
        patterns = []
        for section in self._top.objects("error_patterns"):
            text = section.verbatim("pattern", required=True)
            self._regex(section, "pattern", text)
            severity = section.choice("severity", _SEVERITIES, _SEVERITIES[0])
            section.close()
            patterns.append(ErrorPattern(text, severity == "warning"))
        return tuple(patterns)

    def _regex(self, section: Section, key: str, text: str) -> re.Pattern[bytes] | None:
        if not text:
            return None
        try:
            regex = self._compile(text)
        except ValueError as error:
            section.fault(key, f"not a valid regex: {error}")
            return None
        if regex.search(b"") is None:
            return regex
        section.fault(key, "the regex matches an empty line; it must require some text")
        return None

    def _check_alerts(self) -> None:
        alerts = self._top.section("alerts")
        for name, keys in _ALERTS.items():
            if alerts.has(name):
                section = alerts.section(name)
                section.ignore(*keys)
                section.close()
                self.unused.append(f"alerts.{name}")
        alerts.close()


def _thresholds(section: Section) -> Thresholds:
    default, values = Thresholds(), {}
    for name in (each.name for each in fields(Thresholds)):
        usual: float = getattr(default, name)
        values[name] = float(section.number(name, usual, 1.0, *_limit(name)))
    section.close()
    return Thresholds(**values)


def _limit(name: str) -> tuple[float, ...]:
    if name.endswith("percent"):
        return (100.0,)
    return ()


def _text(section: Section, key: str) -> str:
    text = section.text(key)
    if not text.isprintable():  # no path and no name has control characters
        section.fault(key, f"contains a control character: {text!a}")
    return text


def _gpu_ids(section: Section) -> tuple[int, ...]:
    ids = section.items("gpu_ids")
    valid = tuple(each for each in ids if isinstance(each, int) and not isinstance(each, bool) and each >= 0)
    if len(valid) < len(ids):
        section.fault("gpu_ids", "expected a list of whole numbers from 0, e.g. [0, 1]")
    return valid


def _total_items(section: Section) -> int | None:
    if not section.has("total_items"):
        return None
    return section.whole_number("total_items", 1, 1, _MAX_ITEMS)
