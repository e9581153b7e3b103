"""Where jobmon keeps what it keeps."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.cleanup import clean_up
from jobmon_core.system.files import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


HOME_VARIABLE = "JOBMON_HOME"


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one user's jobmon; it may be shared by several login nodes."""

    root: Path

    @classmethod
    def find(cls, environment: Mapping[str, str]) -> Home:
        """Return ``$JOBMON_HOME``, else the checkout that this code is in, else the user's data folder."""
        named = environment.get(HOME_VARIABLE, "").strip()
        if named:
            return cls(Path(os.path.expanduser(named)).absolute())  # noqa: PTH111 - pathlib's raises for ~nobody
        checkout = Path(__file__).resolve().parents[2]
        if (checkout / "config.json.example").is_file():
            return cls(checkout)
        from platformdirs import user_data_path

        return cls(user_data_path("jobmon", appauthor=False))

    @property
    def config(self) -> Path:
        """The configuration, which holds the webhooks."""
        return self.root / "config.json"

    @property
    def patterns(self) -> Path:
        """The user's own failure patterns, laid over those that jobmon ships."""
        return self.root / "patterns.json"

    @property
    def state(self) -> Path:
        """One JSON file per submission."""
        return private_folder(self.root / "state")

    @property
    def monitors(self) -> Path:
        """Locks and owner records: who watches what."""
        return private_folder(self.state / "monitors")

    @property
    def slots(self) -> Path:
        """The places for monitors; see `jobmon_core.store.monitor_slots`, which makes it."""
        return self.monitors / "slots"

    @property
    def handoffs(self) -> Path:
        """Jobs offered to running monitors; created by `jobmon_core.lifecycle.adopt`."""
        return self.monitors / "offers"

    @property
    def shared_answers(self) -> Path:
        """The scheduler's latest answers, shared by all monitors of a host."""
        return private_folder(self.state / "replies")

    def backend_folder(self, name: str) -> Path:
        """The own files of a scheduler backend, e.g. the jobs of the local one."""
        return private_folder(self.state / name)

    @property
    def logs(self) -> Path:
        """One log per monitor."""
        return private_folder(self.root / "logs")

    def clean_up(self) -> Iterator[tuple[Path, str]]:
        """Remove what killed processes of this host left half written, and links; yield what, in words.

        Raises:
            StorageFailed: a folder can't be used.
        """
        for folder in (self.root, self.state, self.monitors, self.shared_answers):
            try:
                yield from clean_up(folder)
            except OSError as error:
                raise StorageFailed(f"{folder} can't be read: {error.strerror}") from error


def file_name(*words: str) -> str:
    """Return one file name for several words, a different one for any others."""
    return ",".join(quote(word, safe="") for word in words)  # the comma is what no quoted word holds
