"""What a monitor needs of the configuration while it waits.

It is read in a child: a monitor then holds no webhook for days, and carries none of what checks one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.heartbeat import HeartbeatUrl  # noqa: TC001 - the codec reads it at run time
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.domain.config import Config

_READ_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """A part of the configuration, or what is wrong with it."""

    policy: Policy = Policy()
    heartbeat: HeartbeatUrl | None = None
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class SettingsReader:
    """Reads the settings again where the file has changed; one that is at fault is read each time."""

    path: Path
    configuration: Callable[[], Config]
    children: Worker
    _stamp: tuple[int, ...] = field(default=(), init=False)
    _read: Settings | None = field(default=None, init=False)

    def settings(self) -> Settings:
        """Return the settings as they are now.

        Raises:
            ConfigInvalid: naming every fault of the configuration.
        """
        stamp = self._stamp_now()
        if self._read is None or stamp != self._stamp:
            found = self._in_a_child()
            if found.faults:
                raise ConfigInvalid(str(self.path), list(found.faults))
            self._read, self._stamp = found, stamp
        return self._read

    def _stamp_now(self) -> tuple[int, ...]:
        try:
            status = self.path.stat()
        except OSError:
            return ()  # no file: the defaults hold
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _in_a_child(self) -> Settings:
        try:
            return self.children.run(Settings, self._now, _READ_TIMEOUT_S)
        except WorkerFailed:  # a host without room for another process must not change how jobs are watched
            return self._now()

    def _now(self) -> Settings:
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            return Settings(faults=tuple(error.faults))
        return Settings(config.policy, config.heartbeat)
