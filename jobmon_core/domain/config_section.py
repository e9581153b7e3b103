"""Read one JSON object of the configuration: typed access to its keys, and a list of all faults found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from jobmon_core.domain.heartbeat import mask_addresses
from jobmon_core.domain.humanize import duration, seconds_of
from jobmon_core.domain.webhook import mask_webhooks

T = TypeVar("T")

MIN_EVERY_S = 600.0  # of messages about how far a job is
_MAX_NUMBER = 1e9


class SecretSources(NamedTuple):
    """The places outside the configuration file that may hold secrets."""

    environment: Mapping[str, str]
    # returns the text of the file at a path, None if it is not to be checked; raises OSError
    read_file: Callable[[str], str | None]
    folder: str = ""  # of the configuration; relative paths start there


class Section:
    """One JSON object of the configuration.

    Nothing here raises. A wrong value adds a fault to a list, and the method that reads it returns what it
    returns for a missing key, unless its docstring says otherwise. Each key can be read once.
    """

    def __init__(self, value: object, path: str, faults: list[str], secrets: SecretSources) -> None:
        """Read ``value``, which has the dotted ``path`` (empty for the whole file); add to ``faults``."""
        self._path = path
        self._faults = faults
        self._secrets = secrets
        self._known: list[str] = []  # the keys that were asked for
        self._unread: dict[str, object] = {}
        if isinstance(value, dict):
            self._unread = {str(key): item for key, item in value.items()}
        else:
            self.fault("", f"expected an object, found {_kind(value)}")

    def fault(self, key: str, what: str) -> None:
        """Report a fault of ``key`` (empty: of the section itself); tokens and paths in URLs are hidden."""
        where = ".".join(part for part in (self._path, key) if part)
        # the user may have put a secret in the wrong place
        self._faults.append(mask_addresses(mask_webhooks(f"{where}: {what}" if where else what)))

    def section(self, key: str) -> Section:
        """Return the object under ``key``; an empty one if the key is missing."""
        path = f"{self._path}.{key}" if self._path else key
        return Section(self._take(key, {}), path, self._faults, self._secrets)

    def part(self, value: object, path: str) -> Section:
        """Return an object that is read like a section at ``path``, with the same list of faults."""
        return Section(value, path, self._faults, self._secrets)

    def choices(self, key: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
        """Return a list of some of ``allowed``; others are faults, left out."""
        chosen = self.texts(key)
        for each in chosen:
            if each not in allowed:
                self.fault(key, f"expected one or more of {', '.join(allowed)}, found {each!r}")
        return tuple(each for each in chosen if each in allowed)

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Yield each key not read yet, with its object; report and skip values that are not objects."""
        for key, value in list(self._unread.items()):
            section = self.section(key)
            if isinstance(value, dict):
                yield key, section

    def has(self, key: str) -> bool:
        """Whether a key is there and was not read yet; `close` may suggest it for an unknown one."""
        self._known.append(key)
        return key in self._unread

    def names(self) -> list[str]:
        """Return the keys that were not read yet."""
        return list(self._unread)

    def ignore(self, *keys: str) -> list[str]:
        """Accept these keys with any values; return those that are there."""
        found = [key for key in keys if self.has(key)]
        for key in found:
            del self._unread[key]
        return found

    def number(self, key: str, default: float, at_least: float, at_most: float = _MAX_NUMBER) -> float:
        """Return a number from ``at_least`` to ``at_most``."""
        is_missing = key not in self._unread
        value = self._take(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(key, f"expected a number, found {_kind(value)}")
        elif is_missing and value < at_least:
            self.fault(key, "missing")
        elif value < at_least:
            self.fault(key, f"must be at least {at_least:g}, found {value}")
        elif not value <= at_most:  # NaN too
            limit = f"{at_most:g}".replace("e+0", "e").replace("e+", "e")
            self.fault(key, f"must be at most {limit}, found {value}")
        else:
            return value
        return default

    def number_or_none(self, key: str, at_least: float, at_most: float = _MAX_NUMBER) -> float | None:
        """Return such a number; ``at_least`` in place of a wrong one, None without it."""
        return float(self.number(key, at_least, at_least, at_most)) if self.has(key) else None

    def every_s(self) -> float | None:
        """Return the key ``every``: seconds, or a text such as ``2h``; 0 for never, None without it."""
        value = self._take("every", None)
        if value is None:
            return None
        try:
            found_s = seconds_of(str(value))
        except ValueError as error:
            self.fault("every", str(error))
            return None
        if 0 < found_s < MIN_EVERY_S:
            self.fault("every", f"must be 0 (never) or at least {duration(MIN_EVERY_S)}, found {value}")
        return found_s

    def whole_number(self, key: str, default: int, at_least: int, at_most: float = _MAX_NUMBER) -> int:
        """Return a whole number from ``at_least`` to ``at_most``."""
        value = self.number(key, default, at_least, at_most)
        if value == int(value):
            return int(value)
        self.fault(key, f"expected a whole number, found {value}")
        return default

    def switch(self, key: str, default: bool) -> bool:  # noqa: FBT001 - positional, as in the other methods
        """Return true or false."""
        value = self._take(key, default)
        if isinstance(value, bool):
            return value
        self.fault(key, f"expected true or false, found {_kind(value)}")
        return default

    def choice(self, key: str, allowed: tuple[str, ...], default: str = "") -> str:
        """Return one of ``allowed``, else ``default``, which is a fault if empty."""
        value = self._take(key, default)
        if value in allowed:
            return str(value)
        found = _shown(value) if value != "" else "nothing"
        self.fault(key, f"expected one of {', '.join(allowed)}, found {found}")
        return default

    def text(self, key: str) -> str:
        """Return a string without surrounding white space."""
        return self.verbatim(key).strip()

    def path(self, key: str, default: str) -> str:
        """Return a path; a relative one starts in the folder of the configuration, ``~`` stays as it is."""
        path = self.text(key) or default
        return path if path.startswith(("/", "~")) else self.beside(path)

    def beside(self, name: str) -> str:
        """Return the path of a file in the folder of the configuration."""
        return f"{self._secrets.folder}/{name}" if self._secrets.folder else name

    def verbatim(self, key: str, *, required: bool = False) -> str:
        """Return a string as it is. A ``required`` one must not be empty."""
        value = self._take(key, "")
        if isinstance(value, str):
            if required and not value:
                self.fault(key, "missing")
            return value
        self.fault(key, f"expected a string, found {_kind(value)}")
        return ""

    def texts(self, key: str, default: Sequence[str] = ()) -> list[str]:
        """Return a list of strings; an empty one if it is wrong."""
        value = self._take(key, list(default))
        if not isinstance(value, list):
            self.fault(key, f"expected a list of strings, found {_kind(value)}")
            return []
        wrong = [_kind(item) for item in value if not isinstance(item, str)]
        if wrong:
            self.fault(key, f"expected a list of strings, found {wrong[0]} in the list")
        return [] if wrong else value

    def items(self, key: str) -> list[object]:
        """Return a list of anything."""
        value = self._take(key, [])
        if isinstance(value, list):
            return value
        self.fault(key, f"expected a list, found {_kind(value)}")
        return []

    def objects(self, key: str) -> list[Section]:
        """Return the objects of a list; report and skip other values."""
        path = f"{self._path}.{key}" if self._path else key
        items = enumerate(self.items(key))
        sections = [(item, Section(item, f"{path}[{i}]", self._faults, self._secrets)) for i, item in items]
        return [section for item, section in sections if isinstance(item, dict)]

    def parsed(self, key: str, parse: Callable[[str], T], *, required: bool = False) -> T | None:
        """Return what ``parse`` makes of a string; its ValueError is a fault, or that it is ``required``."""
        text = self.text(key)
        if required and not text:
            self.fault(key, "missing")
        return self._parse(key, text, parse)

    def secret(
        self, key: str, parse: Callable[[str], T], *, variable: str = "", required: bool = False
    ) -> T | None:
        """Return what ``parse`` makes of a secret; None if there is no secret.

        It comes from the environment ``variable`` if that is set, else from the file that ``<key>_file``
        names, else from ``key``. It is a fault if that file cannot be read or is empty, or if a ``required``
        secret is missing.
        """
        text, path = self.text(key), self.text(f"{key}_file")
        from_environment = self._secrets.environment.get(variable, "").strip()
        if from_environment:
            return self._parse(f"{key} (from ${variable})", from_environment, parse)
        if not path:
            if required and not text:
                self.fault(key, f"missing; set it, or set {key}_file to the path of a file that contains it")
            return self._parse(key, text, parse)
        try:
            content = self._secrets.read_file(path)
        except OSError as error:
            self.fault(f"{key}_file", f"cannot read {path}: {error.strerror}")
            return None
        if content is None:
            return None
        text = content.strip()
        if not text:
            self.fault(f"{key}_file", f"{path} is empty")
        return self._parse(f"{key}_file", text, parse)

    def _parse(self, where: str, text: str, parse: Callable[[str], T]) -> T | None:
        try:
            return parse(text) if text else None
        except ValueError as error:
            self.fault(where, str(error))
            return None

    def close(self, elsewhere: Mapping[str, str] = MappingProxyType({})) -> None:
        """Report every key that was not read, with the known key that it resembles, if there is one.

        ``elsewhere`` has further names that it may resemble, each with the dotted key to suggest.
        """
        for key in self._unread:
            from difflib import get_close_matches  # only for this message: an idle monitor stays small

            names = {**elsewhere, **{name: name for name in self._known}}
            similar = get_close_matches(key, names, n=1)
            self.fault(key, "unknown key" + (f"; did you mean {names[similar[0]]}?" if similar else ""))

    def _take(self, key: str, default: object) -> object:
        self._known.append(key)
        return self._unread.pop(key, default)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float) else _kind(value)
