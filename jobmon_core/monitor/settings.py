"""The parts of the configuration that an idle monitor needs.

They are read in a child process, so that the monitor holds no webhook and no code that parses one in memory.
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
    """A part of the configuration, or its faults."""

    policy: Policy = Policy()
    heartbeat: HeartbeatUrl | None = None
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class SettingsReader:
    """Reads the settings when the file has changed, and every time while it has faults."""

    path: Path
    configuration: Callable[[], Config]
    children: Worker
    _stamp: tuple[int, ...] = field(default=(), init=False)
    _cached: Settings | None = field(default=None, init=False)

    def settings(self) -> Settings:
        """Return the current settings.

        Raises:
            ConfigInvalid: lists every fault of the configuration.
        """
        stamp = self._file_stamp()
        if self._cached is None or stamp != self._stamp:
            settings = self._read()
            if settings.faults:
                raise ConfigInvalid(str(self.path), list(settings.faults))
            self._cached, self._stamp = settings, stamp
        return self._cached

    def _file_stamp(self) -> tuple[int, ...]:
        try:
            status = self.path.stat()
        except OSError:
            return ()  # no file: the defaults apply
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns

    def _read(self) -> Settings:
        try:
            return self.children.run(Settings, self._read_here, _READ_TIMEOUT_S)
        except WorkerFailed:  # a host that cannot start a process must not change how jobs are watched
            return self._read_here()

    def _read_here(self) -> Settings:
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            return Settings(faults=tuple(error.faults))
        return Settings(config.policy, config.heartbeat)
