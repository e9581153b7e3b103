"""Where an experiment tracker keeps what a run logs to it, by the words of the log and of the job script.

These are leads: a caller opens a place only if it exists, and uses only what this run wrote there. An address
is a link to show, and never one to ask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from jobmon_core.domain.artifacts.found import script_lines
from jobmon_core.domain.logs.tracker import Tracker


class Lead(NamedTuple):
    """What leads to a tracker's files: a path as the run names it, or only an address to show."""

    tracker: Tracker
    path: str = ""  # of a file or a folder, maybe relative to the working directory
    run: str = ""  # the id or name of the run; empty: not known
    is_own: bool = False  # the place holds this run alone
    url: str = ""  # of the run's page


_MAX_CHARS = 1000  # of such a line
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_LABEL = re.compile(r"^\d+: ")  # of srun --label
_PATH = r"[\"'`]?(?P<path>[^\"'`]*[^\s\"'`.:])"
_WORD = r"[\"'`]?(?P<path>[^\s\"'`,;]*[^\s\"'`,;.:)])"
_MUST_HOLD = re.compile(
    r"(?i)wandb|trackio|tensorboard|lightning_logs|logger folder|logging to|View run|\.eval\b"
)
_SENTENCE = (
    r"(?i)\btensorboard (?:event |event files |log )?(?:logs?|files|summaries|events|dir\w*|folder)\b"
    r"[^/\"'`]{0,40}?(?:\b(?:to|in|at|under)\b:?|[:=])\s*"
)
# with the path of a place, or the id and the address of a run; the first that is in a line counts
_IN_LOG: tuple[tuple[Tracker, re.Pattern[str], bool], ...] = (
    (
        Tracker.WANDB,
        re.compile(r"^wandb: (?:\S+ )?View run (?:.+ )?at:? (?P<url>https?://\S+/runs/(?P<run>[\w-]+))"),
        False,
    ),
    (
        Tracker.MLFLOW,
        re.compile(r"View run .*\bat: (?P<url>https?://\S+/experiments/\S+/runs/(?P<run>[0-9a-f]{32}))\b"),
        False,
    ),
    # 0.15 to 0.31: while it runs, and at the end of one that is offline
    (Tracker.WANDB, re.compile(rf"^wandb: .*Run data is saved locally in {_PATH}"), True),
    (Tracker.WANDB, re.compile(rf"^wandb: .*\bwandb sync (?:-\S+ )*{_PATH}"), True),
    (Tracker.WANDB, re.compile(r"^(?P<path>wandb): .*Tracking run with wandb version"), False),
    (Tracker.WANDB, re.compile(r"^wandb: Find logs at: (?P<path>.+?)/logs\s*$"), True),
    (Tracker.TENSORBOARD, re.compile(rf"^Logging to {_PATH}\s*$"), True),  # stable-baselines3
    (Tracker.TENSORBOARD, re.compile(r"(?P<path>[^\s\"'`:=(]*\blightning_logs/version_\d+)"), True),
    (Tracker.TENSORBOARD, re.compile(rf"Missing logger folder: {_PATH}"), True),  # lightning
    (Tracker.TENSORBOARD, re.compile(rf"(?i)\btensorboard\b.*? --logdir(?:=|\s+){_WORD}"), False),
    (Tracker.TENSORBOARD, re.compile(_SENTENCE + _WORD), False),
    (Tracker.INSPECT, re.compile(r"(?:^|\s)Log:\s+(?P<path>\S+\.eval)\b"), True),
)  # fmt: skip
_TRACKIO = re.compile(
    r"^\* (?:Trackio (?P<what>project initialized|metrics logged to)|Created new run): (?P<value>.+?)\s*$"
)
_CREDENTIALS = re.compile(r"//[^/@]*@")


def leads_in_log(lines: Iterable[str]) -> list[Lead]:
    """Return what a log says of trackers, each once."""
    found: list[Lead] = []
    trackio: dict[str, str] = {}
    for line in lines:
        if len(line) > _MAX_CHARS or not (_MUST_HOLD.search(line) or line.startswith("* ")):
            continue
        text = _LABEL.sub("", _COLOURS.sub("", line).strip())
        if said := _TRACKIO.search(text):
            trackio[said["what"] or "run"] = said["value"]
        found += _in_line(text)
    if project := trackio.get("project initialized"):
        folder = trackio.get("metrics logged to", _TRACKIO_DIR)
        found.append(Lead(Tracker.TRACKIO, f"{folder}/{project}.db", trackio.get("run", "")))
    return list(dict.fromkeys(found))


def _in_line(text: str) -> Iterator[Lead]:
    for tracker, regex, is_own in _IN_LOG:
        said = named.groupdict("") if (named := regex.search(text)) else {}
        path = said.get("path", "")
        if said and "://" not in path:
            url = _CREDENTIALS.sub("//", said.get("url", ""))
            yield Lead(tracker, path.removesuffix("/"), said.get("run", ""), is_own, url)
            return


_TRACKIO_DIR = "~/.cache/huggingface/trackio"
_DEFAULTS = {  # relative to the working directory
    Tracker.WANDB: ("wandb",),
    Tracker.TENSORBOARD: ("runs",),
    Tracker.MLFLOW: ("mlflow.db", "mlruns"),
    Tracker.TRACKIO: (_TRACKIO_DIR,),
}
_OPTION = re.compile(
    r"(?:^|\s)--(?P<name>(?:logging|log|tensorboard|tb)[-_]?(?:log[-_]?)?dir|tensorboard[-_]log"
    r"|(?:mlflow[-_])?tracking[-_]uri|report[-_]to)(?:\s+|=)[\"']?(?P<value>[^\s\"'$]+)"
)
_VARIABLES = {  # the environment variables that name a place, and what follows it there
    "WANDB_DIR": (Tracker.WANDB, "/wandb"),
    "TENSORBOARD_LOGDIR": (Tracker.TENSORBOARD, ""),
    "TENSORBOARD_LOGGING_DIR": (Tracker.TENSORBOARD, ""),
    "MLFLOW_TRACKING_URI": (Tracker.MLFLOW, ""),
    "TRACKIO_DIR": (Tracker.TRACKIO, ""),
}
FILE_URL = re.compile(r"^(?:sqlite:///|file:(?://(?=/))?)")


def leads_in_script(text: str, variables: Mapping[str, str], outputs: Iterable[str] = ()) -> list[Lead]:
    """Return what the options and variables of a job script say of trackers, each once.

    ``outputs`` are folders that the script names for outputs: the Trainer's default is a folder in these.
    """
    found: list[Lead] = []
    known: Mapping[str, str] = {}
    folders = [f"{folder}/runs" for folder in outputs]
    for line, known in script_lines(text, variables):  # noqa: B007 - the last ones count below
        for match in _OPTION.finditer(line):
            found += _of_option(match["name"].replace("-", "_"), match["value"], folders)
    for name, (tracker, rest) in _VARIABLES.items():
        if value := known.get(name, "").strip("'\""):
            found += _place(tracker, f"{value}{rest}")
    return list(dict.fromkeys(found))


def _of_option(name: str, value: str, folders: list[str]) -> Iterator[Lead]:
    if name.endswith("tracking_uri"):
        yield from _place(Tracker.MLFLOW, value)
    elif name != "report_to":
        yield from _place(Tracker.TENSORBOARD, value)
    else:
        named = value.split(",")
        for tracker, defaults in _DEFAULTS.items():
            if tracker in named or "all" in named:
                places = folders if tracker is Tracker.TENSORBOARD else []
                yield from (Lead(tracker, path) for path in (*places, *defaults))


def _place(tracker: Tracker, value: str) -> Iterator[Lead]:
    path = FILE_URL.sub("", value)
    if "://" not in path and "$" not in path:
        yield Lead(tracker, path.rstrip("/") or path)
