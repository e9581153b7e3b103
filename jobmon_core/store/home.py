"""The folder with all files of one user's jobmon."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.files import private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HOME_VARIABLE = "JOBMON_HOME"
COPY_PREFIX = "rerun-"  # of folders in `Home.runs`, each with the copy of a script while it is submitted
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}[0-9a-f-]{4,}\.tmp", re.DOTALL)  # also those of the first release
_UNFINISHED_AFTER_S = 86_400.0  # no process takes so long to write a file


class Home(NamedTuple):
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

    def was_removed(self) -> bool:
        """Whether the folder with the state files is missing; unlike `state`, this creates nothing."""
        try:
            (self.root / "state").stat()
        except FileNotFoundError:
            return True
        except OSError:
            return False  # e.g. a file server that does not respond
        return False

    @property
    def config(self) -> Path:
        """The configuration, which may hold the webhooks."""
        return self.root / "config.json"

    @property
    def patterns(self) -> Path:
        """The user's own failure patterns, which override the shipped ones."""
        return self.root / "patterns.json"

    @property
    def state(self) -> Path:
        """One JSON file per submission."""
        return private_folder(self.root / "state")

    @property
    def monitors(self) -> Path:
        """Locks, owner records and requests of the jobs, and locks of commands."""
        return private_folder(self.state / "monitors")

    @property
    def slots(self) -> Path:
        """The slots of monitors; `store.monitor_slots` creates it."""
        return self.monitors / "slots"

    @property
    def offers(self) -> Path:
        """Jobs offered to running monitors; `lifecycle.adopt` creates it."""
        return self.monitors / "offers"

    @property
    def shared_answers(self) -> Path:
        """What monitors share: the scheduler's answers, outage notices, queues, dead channels."""
        return private_folder(self.state / "replies")

    @property
    def progress(self) -> Path:
        """The progress of each job."""
        return private_folder(self.state / "progress")

    def progress_file(self, state_id: str) -> Path:
        """Return the file with the progress of a job."""
        return self.progress / f"{state_id}.json"

    @property
    def runs(self) -> Path:
        """The record of what each job runs."""
        return private_folder(self.state / "runs")

    def run_file(self, state_id: str) -> Path:
        """Return the file with the record of what a job runs."""
        return self.runs / f"{state_id}.json"

    @property
    def patrol_file(self) -> Path:
        """What the last patrols saw."""
        return self.monitors / "patrol.json"

    @property
    def patrol_log(self) -> Path:
        """The log of an installed patrol without a channel."""
        return self.logs / "patrol.log"

    @property
    def notes(self) -> Path:
        """The user's notes about jobs."""
        return private_folder(self.state / "notes")

    def note_file(self, state_id: str) -> Path:
        """Return the file with the user's notes about a job."""
        return self.notes / f"{state_id}.json"

    @property
    def alerts(self) -> Path:
        """What the user muted and acknowledged, and what each channel got lately."""
        return private_folder(self.state / "alerts")

    @property
    def messages(self) -> Path:
        """The messages about no single job."""
        return private_folder(self.state / "messages")

    @property
    def groups(self) -> Path:
        """The groups of jobs, their locks and summaries; `GroupStore.create` creates it."""
        return self.root / "state" / "groups"

    @property
    def lineages(self) -> Path:
        """The lineages of jobs that may be restarted; `LineageStore` creates it."""
        return self.root / "state" / "lineages"

    @property
    def history(self) -> Path:
        """The folder with a line for each ended run; `jobmon_core.store.history` creates it."""
        return self.root / "state" / "history"

    def profile_file(self, name: str) -> Path:
        """Return an empty file, written when a cluster with a jobmon of its own was last reached."""
        return private_folder(self.state / "profiles") / name

    def group_log(self, name: str) -> Path:
        """Return the log of a group, unless the user wants it elsewhere."""
        return self.logs / f"group-{name}.log"

    def telemetry_folder(self, state_id: str, task: str) -> Path:
        """Return what agents measured of a task (a key; empty: the job); may be missing."""
        return self.state / f"telemetry/{state_id}/{task or 'job'}"

    def telemetry(self, state_id: str) -> Path:
        """Return what agents measured of all tasks of a job; may be missing."""
        return self.state / f"telemetry/{state_id}"

    def backend_folder(self, name: str) -> Path:
        """Return the folder of a backend, e.g. with the jobs of the local one."""
        return private_folder(self.state / name)

    @property
    def logs(self) -> Path:
        """The logs of monitors, groups and patrols, and the diagnostics bundles."""
        return private_folder(self.root / "logs")

    def log_file(self, state_id: str) -> Path:
        """Return the log of the monitor of a job."""
        return self.logs / f"{state_id}.log"

    def bundle_file(self, state_id: str, task: str) -> Path:
        """Return the file with the diagnostics of a failed task (a key; empty: the job)."""
        return self.logs / f"{state_id}{f'.{task}' if task else ''}.diagnostics.txt"

    def lock_file(self, state_id: str) -> Path:
        """Return the file that the owner of a job locks."""
        return self.monitors / f"{state_id}.lock"

    def owner_file(self, state_id: str) -> Path:
        """Return the record of the owner of a job."""
        return self.monitors / f"{state_id}.owner"

    def cancel_file(self, state_id: str) -> Path:
        """Return the request to the owner of a job to stop watching it."""
        return self.monitors / f"{state_id}.drop"

    def replay_file(self, state_id: str) -> Path:
        """Return the request to the owner of a job to send its given-up messages again."""
        return self.monitors / f"{state_id}.replay"

    def clean_up(self) -> Iterator[Path]:
        """Remove what killed processes left unfinished more than a day ago; yield each path."""
        folders = (self.logs, self.monitors, self.shared_answers, self.progress, self.runs, self.notes)
        for folder in (self.root, self.state, *folders, self.messages, self.alerts, self.groups):
            try:
                names = os.listdir(folder)  # noqa: PTH208 - few of a thousand names become paths
            except FileNotFoundError:  # the user has no groups
                continue
            except OSError as error:
                raise StorageFailed(f"{folder} cannot be read: {error.strerror}") from error
            for path in (folder / name for name in sorted(names) if _TEMPORARY.fullmatch(name)):
                with suppress(OSError):  # it was just removed, or cannot be removed: it does no harm
                    if time.time() - path.stat().st_mtime > _UNFINISHED_AFTER_S:
                        path.unlink()
                        yield path
        yield from self._clean_up_copies()

    def _clean_up_copies(self) -> Iterator[Path]:
        """Remove the copies of scripts that killed `jobmon rerun` commands left."""
        for path in sorted(self.runs.glob(f"{COPY_PREFIX}*/")):
            with suppress(OSError):  # as in `clean_up`
                if time.time() - path.lstat().st_mtime > _UNFINISHED_AFTER_S:
                    from shutil import rmtree  # rarely needed, and a monitor stays small

                    rmtree(path)
                    yield path


class CheckedHome(Home):
    """The same folder, for one look at many jobs: each folder in it is checked and made only once."""

    @cached_property
    def state(self) -> Path:
        """As that of `Home`."""
        return super().state

    @cached_property
    def monitors(self) -> Path:
        """As that of `Home`."""
        return super().monitors

    @cached_property
    def shared_answers(self) -> Path:
        """As those of `Home`."""
        return super().shared_answers

    @cached_property
    def progress(self) -> Path:
        """As that of `Home`."""
        return super().progress


def file_name(*parts: str) -> str:
    """Return a file name for these strings that differs from the name for any others."""
    return ",".join(quote(part, safe="") for part in parts)  # a quoted part has no comma
