"""What the servers of trackers say about the runs of all jobs of a user on a host: one question for all.

It is asked once in five minutes on average: the end of a job may bring the next question forward, which
delays the one after it. The answers are in a file that all monitors share.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import RunStatus, TrackerRun
from jobmon_core.store.home import file_name
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jobmon_core.domain.artifacts.tracker_places import Lead
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_EVERY_S = 300.0
_KEPT_S, _REFRESH_S = 1800.0, 300.0  # a run is asked for so long after a look at its job last named it
_TIMEOUT_S = 9.0
_MAX_ASKED, _MAX_RUNS = 50, 500  # of one question, the others have their turn in the next; in all
_MAX_BYTES = 4 * 2**20


@dataclass(frozen=True, slots=True)
class Answers:
    """The latest answers; times are Unix seconds, runs are known by the addresses of their pages."""

    asked_s: float = 0.0  # the latest question
    due_s: float = 0.0  # the next question, unless a job ends before
    wanted: dict[str, float] = field(default_factory=dict)  # when a look named a page
    asked: dict[str, float] = field(default_factory=dict)  # when a question was about a page
    runs: dict[str, TrackerRun] = field(default_factory=dict)


class TrackerServers:
    """Answers questions about runs during one look at some jobs."""

    def __init__(
        self, folder: Path, servers: Mapping[str, str], jobs: Iterable[WatchedJob], now_s: float
    ) -> None:
        """Ask about the runs that earlier looks named, if it is time for that.

        ``servers`` are the addresses of those that may be asked, by `Tracker`. StorageFailed.
        """
        path = folder / f"{file_name('trackers', os.uname().nodename)}.json"
        self._file, self._now_s = JsonFile(path, Answers, _MAX_BYTES, durable=False), now_s
        self._servers, self._named = servers, dict[str, TrackerRun]()
        has_end = any(task.end and not task.diagnosis for job in jobs for task in job.tasks.values())
        self._early_s = _EVERY_S if has_end else 0.0
        self._answers = self._file.read()
        if self._is_due:
            with try_lock(self._file.lock_path) as is_free:
                self._answers = self._file.read()
                if is_free and self._is_due:
                    self._ask()

    @property
    def _is_due(self) -> bool:
        is_back = self._now_s < self._answers.asked_s  # the clock was set back
        return is_back or self._now_s >= self._answers.due_s - self._early_s

    def _ask(self) -> None:
        known, now_s = self._answers, self._now_s
        recent = [page for page, at_s in known.wanted.items() if now_s - at_s < _KEPT_S][-_MAX_RUNS:]
        turn = sorted(recent, key=lambda page: known.asked.get(page, 0.0))[:_MAX_ASKED]
        if not turn:
            return
        due_s = (known.due_s if now_s < known.due_s <= now_s + _EVERY_S else now_s) + _EVERY_S
        kept = replace(
            known,
            asked_s=now_s,
            due_s=due_s,
            wanted={page: known.wanted[page] for page in recent},
            asked={page: known.asked[page] for page in recent if page in known.asked},
            runs={page: known.runs[page] for page in recent},
        )
        self._file.write(kept)  # before the question: if it kills this process, it is not repeated at once
        pages = [TrackerRun(run.tracker, run.run_id, url=run.url) for run in map(kept.runs.__getitem__, turn)]
        said = {run.url: run for run in self._said(pages)}
        asked = {**kept.asked, **dict.fromkeys(turn, now_s)}
        self._answers = replace(kept, asked=asked, runs={**kept.runs, **said})
        self._file.write(self._answers)

    def _said(self, pages: list[TrackerRun]) -> Iterable[TrackerRun]:
        def answers() -> tuple[TrackerRun, ...]:
            from jobmon_core.observe.trackers.online import Keys, ask_servers  # most users want no questions

            return tuple(ask_servers(pages, self._servers, Keys(os.environ, Path.home())))

        try:  # in a process of its own: even the lookup of a name may hang
            return Helper().run(tuple[TrackerRun, ...], answers, _TIMEOUT_S)
        except HelperFailed as error:
            return [replace(run, partial=f"its server was not asked: {error.reason}") for run in pages]

    def about(self, lead: Lead, task: Task) -> TrackerRun:
        """Return the run whose page a log names, with what its server says of this execution of the task."""
        run = TrackerRun(lead.tracker, lead.run, url=lead.url)
        # W&B's interface is at api.HOST, its pages are at HOST
        server = self._servers.get(lead.tracker, "").replace("//api.", "//", 1)
        if not server or not lead.url.startswith(f"{server}/"):
            return run
        self._named[lead.url] = run
        known, asked_s = self._answers.runs.get(lead.url), self._answers.asked.get(lead.url, 0.0)
        if known is None or asked_s < (task.start_s or 0.0):
            return run
        if task.end and asked_s < (task.end.ended_s or self._now_s):
            return replace(known, status=RunStatus.UNKNOWN)  # it says how the run was before the end
        return known

    def close(self) -> None:
        """Note the runs that this look named. StorageFailed."""
        known = self._answers.wanted
        if all(self._now_s - known.get(page, 0.0) < _REFRESH_S for page in self._named):
            return
        with try_lock(self._file.lock_path) as is_free:
            if is_free:  # else the next look does it
                now = self._file.read()
                wanted = {**now.wanted, **dict.fromkeys(self._named, self._now_s)}
                self._file.write(replace(now, wanted=wanted, runs={**self._named, **now.runs}))
