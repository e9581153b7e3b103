"""Read a job configuration (YAML) or a file of runs (YAML or JSON). Only commands that do load this module.

The values are of JSON's types: ``on`` and ``yes`` are texts, and so are dates and ``12:30``. Tags, aliases
(with which a small file grows to gigabytes) and a key that occurs twice are faults.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import yaml

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.heartbeat import mask_addresses
from jobmon_core.domain.job.job_config import JobConfig, parse_job_config
from jobmon_core.domain.many.groups.runs_file import Reader, parse_runs, planned_run
from jobmon_core.domain.webhook import mask_webhooks
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.patterns.re2_regex import compile_regex
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from jobmon_core.domain.many.groups.model import PlannedRun
    from jobmon_core.domain.slurm.job_ids import JobRef


_MAX_BYTES = 64 * 2**10  # parsed in half a second
_MAX_RUNS_BYTES = 512 * 2**10  # thousands of runs
_MAX_DIGITS = 18  # characters of an integer; a longer number becomes a float
_CONSTANTS = {"": None, "~": None, "null": None, "true": True, "false": False}
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def read_job_config(path: Path, trusted: Collection[int] | None = None) -> JobConfig:
    """Read and check a job configuration; the folders in it are relative to its own.

    ``trusted``: the users (uids) whose file counts. None: any, because the user named this file. In either
    case, only a file of the calling user turns restarts on: nobody submits in another's name.

    Raises:
        ConfigInvalid: lists every fault, or says why the file cannot be read.
    """
    path = path.absolute()
    try:
        text, owner = _text(str(path), trusted)
        data = parse_yaml(text)
    except ValueError as error:
        raise ConfigInvalid(str(path), [mask_addresses(mask_webhooks(str(error)))]) from error

    def absolute(folder: str) -> str:
        try:
            return str(path.parent / Path(folder).expanduser())
        except RuntimeError:  # no such user: the folder itself may begin with ~
            return str(path.parent / folder)

    config = parse_job_config({} if data is None else data, str(path), absolute, compile_regex)
    if owner == os.geteuid():
        return config
    return config.restarts_turned_off(
        f"the file belongs to user {user_name(owner)}, and only you turn restarts on for your jobs, "
        "e.g. with --restart"
    )


def _text(path: str, trusted: Collection[int] | None) -> tuple[str, int]:
    """Return the content of a file and the uid of who put it there.

    Raises:
        ValueError: it cannot be read, or is not to be; the text says why.
    """
    try:
        with regular_file(path) as file:
            owner = os.fstat(file.descriptor).st_uid
            if trusted is not None and owner not in trusted:
                raise ValueError(
                    f"the file belongs to user {user_name(owner)}; beside a script, only a file of yours, of "
                    "root or of the owner of the script counts"
                )
            content = file.read_at(0, _MAX_BYTES + 1)
            link = os.lstat(path)
            if stat.S_ISLNK(link.st_mode):  # it may lead to a file of this user that is about another job
                owner = link.st_uid
    except Unreadable as error:
        raise ValueError(f"the file {error}") from error
    return _decoded(content, _MAX_BYTES, ", too large for a job configuration"), owner


def _decoded(content: bytes, max_bytes: int, too_large: str = "") -> str:
    if len(content) > max_bytes:
        raise ValueError(f"the file is larger than {max_bytes // 2**10} KiB{too_large}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"the file is not UTF-8: {error.reason} at byte {error.start}") from error


def parse_yaml(text: str, *, keep_empty: bool = False, keep_numbers: bool = True) -> object:
    """Return the value of a YAML document, made of dicts, lists, strings, numbers and booleans.

    Keys without a value are left out unless ``keep_empty``; an item of a list without one, and an empty
    document, are None. Without ``keep_numbers``, numbers are strings, as they are written.

    Raises:
        ValueError: says what is not valid, and where if that is known.
    """
    try:
        return _Document(text, keep_empty=keep_empty, keep_numbers=keep_numbers).value()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = ""
        if mark:
            where = f"line {mark.line + 1}, column {mark.column + 1}: "
        what = ", ".join(part for part in (error.context, error.problem) if part)
        raise ValueError(f"not valid YAML: {where}{what}{_hint(what)}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ValueError(f"not valid YAML: line {line}: {error.reason}") from error
    except (ValueError, OverflowError) as error:  # `_reject`, or an escape of a character that does not exist
        raise ValueError(f"not usable: {error}") from error
    except RecursionError as error:
        raise ValueError("not usable: lists or objects are nested too deeply") from error


def _hint(problem: str) -> str:
    if "unknown escape character" in problem:
        return "; put a regex in single quotes"
    if r"'\t'" in problem:
        return "; indent with spaces"
    return ""


class _Document:
    """The events of a YAML document, in their order."""

    def __init__(self, text: str, *, keep_empty: bool, keep_numbers: bool) -> None:
        self._keep_empty = keep_empty
        self._keep_numbers = keep_numbers
        self._events: Iterator[yaml.Event] = yaml.parse(text, Loader=yaml.SafeLoader)

    def value(self) -> object:
        """Return the value of the whole document."""
        next(self._events)  # the start of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return None
        value = self._node(next(self._events))  # after the start of the document
        next(self._events)  # its end
        if not isinstance(event := next(self._events), yaml.StreamEndEvent):
            _reject(event, "a second document begins; one is allowed")
        return value

    def _node(self, event: yaml.Event) -> object:
        if not isinstance(event, yaml.ScalarEvent | yaml.CollectionStartEvent):
            _reject(event, "aliases (*name) are not supported; repeat the value")
        if event.tag not in (None, "!"):
            _reject(event, "tags (!name) are not supported")
        if isinstance(event, yaml.ScalarEvent):
            if event.implicit[0]:
                return self._scalar(event.value)
            return event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list()
        return self._dict()

    def _scalar(self, text: str) -> str | float | bool | None:
        if text.lower() in _CONSTANTS:
            return _CONSTANTS[text.lower()]
        if self._keep_numbers:
            return _number(text)
        return text

    def _list(self) -> list[object]:
        items = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event))
        return items

    def _dict(self) -> dict[str, object]:
        members: dict[str, object] = {}
        while not isinstance(key := next(self._events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                _reject(key, "a key must be a text")
            if key.value in members:
                _reject(key, f"the key {key.value!r} occurs twice")
            members[key.value] = self._node(next(self._events))
        return {name: value for name, value in members.items() if value is not None or self._keep_empty}


def _reject(event: yaml.Event, problem: str) -> NoReturn:
    mark = event.start_mark
    raise ValueError(f"line {mark.line + 1}: {problem}" if mark else problem)


def _number(text: str) -> str | float:
    if _INTEGER.fullmatch(text) and len(text) <= _MAX_DIGITS and not text.endswith("_") and "__" not in text:
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    return text


def read_runs(path: Path, read: Reader = planned_run) -> dict[str, PlannedRun | JobRef]:
    """Return the runs that a file names, in its order; see `parse_runs`."""
    try:
        with regular_file(str(path)) as file:
            text = _decoded(file.read_at(0, _MAX_RUNS_BYTES + 1), _MAX_RUNS_BYTES)
        data = _json(text) if text.lstrip().startswith("{") else _yaml(text)
    except Unreadable as error:
        raise ConfigInvalid(str(path), [f"the file {error}"]) from error
    except ValueError as error:  # not UTF-8, not YAML, not JSON
        raise ConfigInvalid(str(path), [str(error)]) from error
    return parse_runs(data, str(path), read)


def _yaml(text: str) -> object:
    """Return the value of a YAML text: ``12_3`` is an array task, and ``0.10`` stays as it is written."""
    return parse_yaml(text, keep_empty=True, keep_numbers=False)


def _json(text: str) -> object:
    """Return the value of a text that is JSON or else YAML."""

    def members(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(
                f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice"
            )
        return found

    try:
        return json.loads(text, object_pairs_hook=members)
    except json.JSONDecodeError:
        return _yaml(text)  # a flow mapping of YAML begins like JSON
    except RecursionError as error:
        raise ValueError("lists or objects are nested too deeply") from error
