"""The part of the configuration that a monitor keeps in memory: no webhook, and not the validation code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.heartbeat import HeartbeatUrl  # noqa: TC001 - the codec reads it at run time
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.node.telemetry.agent import AgentSettings
from jobmon_core.system.files import file_stamp
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.domain.config import Config
    from jobmon_core.system.files import Stamp

_READ_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a monitor, or the faults of the configuration."""

    policy: Policy = Policy()
    heartbeat: HeartbeatUrl | None = None
    agent: AgentSettings = AgentSettings()
    has_prices: bool = False  # without any, no child needs to read the configuration for them
    # of trackers that may be asked about runs, with their addresses
    servers: tuple[tuple[str, str], ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(slots=True)
class SettingsReader:
    """Reads the settings whenever the file has changed, in a child process, or in this one if that fails.

    An invalid file is read again at every call.
    """

    path: Path
    configuration: Callable[[], Config]
    helper: Helper
    _stamp: Stamp | None = field(default=None, init=False)  # of the file that was read; None: there was none
    _settings: Settings | None = field(default=None, init=False)

    def settings(self) -> Settings:
        """Return the current settings; ConfigInvalid names every fault."""
        stamp = file_stamp(self.path)
        if self._settings is None or stamp != self._stamp:
            try:
                settings = self.helper.run(Settings, self._read, _READ_TIMEOUT_S)
            except HelperFailed:  # e.g. the host cannot create another process
                settings = self._read()
            if settings.faults:
                raise ConfigInvalid(str(self.path), list(settings.faults))
            self._settings, self._stamp = settings, stamp
        return self._settings

    def _read(self) -> Settings:
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            return Settings(faults=tuple(error.faults))
        has_prices = config.prices is not None
        return Settings(config.policy, config.heartbeat, config.agent, has_prices, config.servers)
