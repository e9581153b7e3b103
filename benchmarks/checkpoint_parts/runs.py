"""Runs of the programs that save checkpoints, to their end or killed, and what jobmon says of each."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.checkpoint_parts.writers import WRITERS, Writer

_BEFORE, _LAST = 200, 300  # steps: the one that is saved before the kill, and the one that is being saved
_POLL_S = 0.0005
_MEMORY = "/dev/shm"  # noqa: S108 - a file system of its own, as /tmp is on a node of a cluster
_VERSIONS = """\
import json, sys
from importlib.metadata import version
from importlib.util import find_spec
found = {}
for layout, package, module in json.loads(sys.argv[1]):
    try:
        if find_spec(module):
            found[layout] = version(package)
    except ImportError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What jobmon says of a folder, and what the framework makes of step 300."""

    layout: str
    version: str
    moment: str
    named: int | None  # the step of the newest complete checkpoint, by jobmon
    why: str  # step 300 is not complete, by jobmon
    is_begun: bool  # something of step 300 is there
    is_loadable: bool  # the framework loads step 300, with the numbers that were saved

    @property
    def is_wrong(self) -> bool:
        """Whether jobmon names neither step 200 nor a step 300 that the framework loads."""
        return self.named != _BEFORE and not (self.named == _LAST and self.is_loadable)

    @property
    def is_overlooked(self) -> bool:
        """Whether step 300 can be loaded, and jobmon does not name it."""
        return self.is_loadable and self.named != _LAST


@dataclass(frozen=True, slots=True)
class Bench:
    """Where the programs run."""

    python: str  # the path of an interpreter that has the frameworks
    folder: Path
    numbers: int  # in each checkpoint, of 4 bytes

    def available(self) -> Iterator[tuple[Writer, str]]:
        """Yield the writers whose framework is installed, and its version."""
        wanted = json.dumps([(each.layout, each.package, each.module) for each in WRITERS])
        command = [self.python, "-c", _VERSIONS, wanted]
        found = json.loads(subprocess.check_output(command, env=_environment(self.folder), text=True))
        yield from ((each, found[each.layout]) for each in WRITERS if each.layout in found)

    def answers(self, writer: Writer, version: str, kills: int) -> Iterator[Answer]:
        """Yield the answers to saves that nothing disturbs, and to one save for each kill."""
        with self._saving(writer) as save:
            yield save.answer(version, "200 saved")
            save.begin()
            appeared_s = save.wait_for_files()
            save.finish()
            duration_s = time.monotonic() - appeared_s
            save.require_loadable()
            yield save.answer(version, "300 saved")
        for number in range(kills):
            share = (number - 1 + random.random()) / (kills - 1) if number else 0.0  # noqa: S311 - no secret
            with self._saving(writer) as save:
                save.begin()
                appeared_s = save.wait_for_files()
                time.sleep(max(0.0, appeared_s + share * duration_s - time.monotonic()))
                save.kill()
                yield save.answer(version, f"killed at {share:.0%}")

    @contextmanager
    def _saving(self, writer: Writer) -> Iterator[_Save]:
        with (
            tempfile.TemporaryDirectory(dir=self.folder) as name,
            tempfile.TemporaryDirectory(dir=_MEMORY if Path(_MEMORY).is_dir() else None) as temporary,
        ):
            saved = Path(name) / "checkpoints"
            saved.mkdir()
            arguments = [str(saved), str(self.numbers)]
            environment = _environment(Path(name)) | {"TMPDIR": temporary}
            save = _Save(writer, [self.python, "-c", writer.program], arguments, environment)
            try:
                yield save
            finally:
                save.kill()


class _Save:
    """A program that has saved steps 100 and 200, and waits."""

    def __init__(
        self, writer: Writer, command: Sequence[str], arguments: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self._writer, self._command, self._arguments = writer, command, arguments
        self._environment = environment
        self._folder = Path(arguments[0])
        self._errors = self._folder.parent / "errors"
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                [*command, "save", *arguments],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._wait_for_line("ready")
        self._before = _files(self._folder)

    def begin(self) -> None:
        """Let it save step 300."""
        _pipe(self._process.stdin).write("\n")
        _pipe(self._process.stdin).flush()

    def wait_for_files(self) -> float:
        """Wait until something of step 300 is there; return the time, by the monotonic clock."""
        while _files(self._folder) <= self._before:
            if self._process.poll() is not None and _files(self._folder) <= self._before:
                raise SystemExit(f"{self._writer.layout}: step 300 was not saved\n{self._errors.read_text()}")
            time.sleep(_POLL_S)
        return time.monotonic()

    def finish(self) -> None:
        """Wait until it has saved step 300."""
        self._wait_for_line("saved")

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._process.kill()
        self._process.wait()

    def require_loadable(self) -> None:
        """Check that the program can load step 300, once it is saved.

        Raises:
            SystemExit: it cannot; then a failure to load would not show that step 300 is incomplete.
        """
        if (done := self._load()).returncode:
            raise SystemExit(f"{self._writer.layout}: step 300 was saved but not loaded\n{done.stderr}")

    def answer(self, version: str, moment: str) -> Answer:
        """Ask jobmon, and then the framework."""
        said = self._ask()
        last = next((each for each in said["checkpoints"] if each["step"] == _LAST), {"why": ""})
        named = [each["step"] for each in said["checkpoints"] if each["path"] == said["newest_complete"]]
        is_begun = not _files(self._folder) <= self._before
        return Answer(
            self._writer.layout,
            version,
            moment,
            named[0] if named else None,
            last["why"] or "",
            is_begun,
            is_loadable=is_begun and self._load().returncode == 0,
        )

    def _ask(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "jobmon", "checkpoints", str(self._folder), "--json"]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)
        if not done.stdout:
            raise SystemExit(f"jobmon gives no answer: {done.stderr}")
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def _load(self) -> subprocess.CompletedProcess[str]:
        command = [*self._command, "load", *self._arguments]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False)

    def _wait_for_line(self, wanted: str) -> None:
        for line in _pipe(self._process.stdout):
            if line == f"{wanted}\n":
                return
        raise SystemExit(f"{self._writer.layout}: the program failed\n{self._errors.read_text()}")


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise ValueError("the program has no such pipe")
    return pipe


def _files(folder: Path) -> set[str]:
    """Return the paths of everything below a folder, some of which may disappear meanwhile."""
    return {f"{parent}/{name}" for parent, folders, files in os.walk(folder) for name in (*folders, *files)}


def _environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "JOBMON_HOME": str(home / "jobmon"),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "JAX_PLATFORMS": "cpu",
    }
