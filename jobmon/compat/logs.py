"""Read progress and errors from the logs of workers, as they grow."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.api.records import file_names
from jobmon.api.watched import progress_record
from jobmon_core.app.from_python import open_context
from jobmon_core.app.jobs.output import begin_following
from jobmon_core.app.jobs.progress import LogProgress
from jobmon_core.app.live.log_errors import AppendedErrors, LogError, own_patterns
from jobmon_core.app.patterns import own_pattern_file
from jobmon_core.domain.errors import Invalid
from jobmon_core.domain.job.job_settings import JobSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon.api.records import FileName, Progress


class LogParser:
    """Reads the logs of several workers. A worker has the name of its log without the suffix: `worker_0`."""

    def __init__(
        self,
        log_patterns: FileName | Sequence[FileName],
        progress_patterns: Mapping[str, str] | None = None,
        error_patterns: Mapping[str, str] | None = None,
    ) -> None:
        """Begin at the start of the logs.

        Args:
            log_patterns: globs of the logs, e.g. ``logs/worker_*.log``; new files are found at each call.
            progress_patterns: regexes (RE2 syntax) by name, besides the formats that jobmon knows.
            error_patterns: regexes (RE2 syntax) by name, instead of jobmon's failure patterns.

        Raises:
            Invalid: names each error pattern that is not valid.
        """
        self._globs = file_names(log_patterns)
        self._settings = JobSettings(progress_patterns=dict(progress_patterns or {}))
        self._logs: dict[str, LogProgress] = {}
        patterns = own_patterns(error_patterns or {})
        self._errors = AppendedErrors(patterns, own_pattern_file(open_context()))

    def parse_progress(self) -> dict[str, Progress]:
        """Return how far each worker is, by its name; only what was appended is read.

        Raises:
            Invalid: a progress pattern is not valid.
        """
        found = {}
        for name, path in self._paths().items():
            logs = self._logs.setdefault(path, LogProgress((path,), self._settings))
            try:
                found[name] = progress_record(logs.read())
            except ValueError as error:
                raise Invalid("progress_patterns", [str(error)]) from error
        return found

    def parse_errors(self) -> tuple[LogError, ...]:
        """Return the errors and warnings in what was appended."""
        return self._errors.look(self._paths())

    def tail_logs(self, num_lines: int = 100) -> dict[str, tuple[str, ...]]:
        """Return the last lines of each log, as a terminal would finally show them."""
        found = {}
        for name, path in self._paths().items():
            text, follower = begin_following(path, num_lines)
            rest = follower.read().unfinished
            found[name] = (*text.lines, *([rest] if rest else []))[-num_lines:]
        return found

    def _paths(self) -> dict[str, str]:
        """Return the logs by the names of their workers; of two with one name, by their paths."""
        paths = sorted({path for each in self._globs for path in glob.glob(each)})  # noqa: PTH207 - any path
        stems = [Path(path).stem for path in paths]
        return {
            (stem if stems.count(stem) == 1 else path): path for stem, path in zip(stems, paths, strict=True)
        }
