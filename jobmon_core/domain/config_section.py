"""One JSON object of the configuration: typed access to its keys, and a list of every fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from jobmon_core.domain.heartbeat import mask_addresses
from jobmon_core.domain.webhook import mask_webhooks

T = TypeVar("T")

_MAX_NUMBER = 1e9


class SecretSources(NamedTuple):
    """Where secrets outside the configuration file come from."""

    environment: Mapping[str, str]
    read_file: Callable[[str], str]  # returns the content of a file that holds a secret; raises OSError


class Section:
    """One JSON object of the configuration. It collects faults instead of raising at the first."""

    def __init__(self, value: object, path: str, faults: list[str], secrets: SecretSources) -> None:
        """Read ``value``, which stands at ``path`` (empty: the top); add what is wrong to ``faults``."""
        self._path = path
        self._faults = faults
        self._secrets = secrets
        self._unread: dict[str, object] = {}
        if isinstance(value, dict):
            self._unread = {str(key): item for key, item in value.items()}
        else:
            self.fault("", f"expected an object, found {_kind(value)}")

    def fault(self, key: str, what: str) -> None:
        """Report a fault of ``key`` (empty: of the section itself)."""
        where = ".".join(part for part in (self._path, key) if part)
        # a secret may stand in the wrong place
        self._faults.append(mask_addresses(mask_webhooks(f"{where}: {what}" if where else what)))

    def section(self, key: str) -> Section:
        """Return the object under ``key``; an empty one if the key is missing."""
        path = f"{self._path}.{key}" if self._path else key
        return Section(self._unread.pop(key, {}), path, self._faults, self._secrets)

    def sections(self) -> Iterator[tuple[str, Section]]:
        """Yield the keys and objects of all remaining keys; report those that hold something else."""
        for key, value in list(self._unread.items()):
            section = self.section(key)
            if isinstance(value, dict):
                yield key, section

    def number(self, key: str, default: float, at_least: float) -> float:
        """Return a number from ``at_least`` to 1e9."""
        value = self._unread.pop(key, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.fault(key, f"expected a number, found {_kind(value)}")
        elif value < at_least:
            self.fault(key, f"must be at least {at_least:g}, found {value}")
        elif not value <= _MAX_NUMBER:  # NaN too
            self.fault(key, f"must be at most 1e9, found {value}")
        else:
            return value
        return default

    def choice(self, key: str, allowed: tuple[str, ...], default: str = "") -> str:
        """Return one of ``allowed``; ``default`` if the key is missing (and, if empty, required) or wrong."""
        value = self._unread.pop(key, default)
        if value in allowed:
            return str(value)
        found = _shown(value) if value != "" else "nothing"
        self.fault(key, f"expected one of {', '.join(allowed)}, found {found}")
        return default

    def text(self, key: str) -> str:
        """Return a string without surrounding white space; empty if the key is missing."""
        value = self._unread.pop(key, "")
        if isinstance(value, str):
            return value.strip()
        self.fault(key, f"expected a string, found {_kind(value)}")
        return ""

    def texts(self, key: str, default: Sequence[str] = ()) -> list[str]:
        """Return a list of strings."""
        value = self._unread.pop(key, list(default))
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return value
        self.fault(key, f"expected a list of strings, found {_kind(value)}")
        return []

    def parsed(self, key: str, parse: Callable[[str], T]) -> T | None:
        """Return what ``parse`` makes of a string; None if it is missing, empty or wrong (ValueError)."""
        return self._parse(key, self.text(key), parse)

    def secret(
        self, key: str, parse: Callable[[str], T], *, variable: str = "", required: bool = False
    ) -> T | None:
        """Return a secret: from the environment ``variable``, else the file ``<key>_file``, else ``key``."""
        text, path = self.text(key), self.text(f"{key}_file")
        from_environment = self._secrets.environment.get(variable, "").strip()
        if from_environment:
            return self._parse(f"{key} (from ${variable})", from_environment, parse)
        if not path:
            if required and not text:
                self.fault(key, f"missing; give it here or in {key}_file")
            return self._parse(key, text, parse)
        try:
            text = self._secrets.read_file(path).strip()
        except OSError as error:
            self.fault(f"{key}_file", f"cannot read {path}: {error.strerror}")
            return None
        return self._parse(f"{key}_file", text, parse)

    def _parse(self, where: str, text: str, parse: Callable[[str], T]) -> T | None:
        try:
            return parse(text) if text else None
        except ValueError as error:
            self.fault(where, str(error))
            return None

    def close(self) -> None:
        """Report every key that was not read."""
        for key in self._unread:
            self.fault(key, "unknown key")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, str | int | float) else _kind(value)
