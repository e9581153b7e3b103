"""The folder with all files of one user's jobmon, and how it is cleaned of abandoned files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.file_checks import blocking_file
from jobmon_core.system.files import private_folder, writing_host
from jobmon_core.system.process import start_ticks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


HOME_VARIABLE = "JOBMON_HOME"
_TEMPORARY = re.compile(r"\..+\.([0-9a-f]{8})-([0-9]+)-([0-9]+)\.tmp", re.DOTALL)
# files that are created and replaced at any time and hold no history
_REPLACEABLE = (".lock", ".owner", ".heir", ".reply", ".lane", ".notice", ".dead", ".drop")
_CHECKED = (".tmp", *_REPLACEABLE)


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one user's jobmon; several login nodes may share it."""

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
        """The configuration, which may hold the webhooks."""
        return self.root / "config.json"

    @property
    def patterns(self) -> Path:
        """The user's own failure patterns, which override those that jobmon ships."""
        return self.root / "patterns.json"

    @property
    def state(self) -> Path:
        """One JSON file per submission."""
        return private_folder(self.root / "state")

    @property
    def monitors(self) -> Path:
        """Locks and owner records of the jobs, and the locks of commands."""
        return private_folder(self.state / "monitors")

    @property
    def slots(self) -> Path:
        """The slots of monitors; `jobmon_core.store.monitor_slots` creates it."""
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
        """Remove links and the temporary files of killed processes; yield each path and what was done.

        Raises:
            StorageFailed: a folder cannot be read.
        """
        for folder in (self.root, self.state, self.monitors, self.shared_answers):
            try:
                yield from clean_folder(folder)
            except OSError as error:
                raise StorageFailed(f"{folder} cannot be read: {error.strerror}") from error


def clean_folder(folder: Path) -> Iterator[tuple[Path, str]]:
    """Clean up one folder, as `Home.clean_up` does.

    Pipes, folders and files of other users in the place of a file are reported, but stay. Temporary files of
    another host are left to that host. A link in the place of a state file is left to `JobStore`.
    """
    for name in sorted(os.listdir(folder)):  # noqa: PTH208 - few of a thousand names become paths
        if not name.endswith(_CHECKED):
            continue
        path = folder / name
        if path.is_symlink() and path.suffix in _REPLACEABLE:
            what = "a symbolic link, which jobmon does not follow"
        elif _is_abandoned(path.name):
            what = "a file that a killed process did not finish"
        else:
            if blocker := blocking_file(path):
                yield path, blocker
            continue
        try:
            path.unlink()
        except OSError:
            continue  # another process removed it, or it cannot be removed; it does no harm
        yield path, f"removed: {what}"


def _is_abandoned(name: str) -> bool:
    match = _TEMPORARY.fullmatch(name)
    if match is None or match[1] != writing_host():
        return False
    return start_ticks(int(match[2])) != int(match[3])


def file_name(*parts: str) -> str:
    """Return a file name for these strings that differs from the name for any others."""
    return ",".join(quote(part, safe="") for part in parts)  # a quoted part has no comma
