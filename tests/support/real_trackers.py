"""The real libraries of experiment trackers, in an environment of their own: they write what jobmon reads."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from jobmon_core.domain.logs.tracker import Tracker
from tests.support.warm_jobmon import start_program

_CHECKOUT = Path(__file__).resolve().parents[2]
VENV = _CHECKOUT / ".venv-trackers"
PROGRAMS = _CHECKOUT / "tests" / "real" / "programs" / "trackers"
_INSTALL_S, _END_S = 900.0, 300.0
_IMPORTED = {  # by the programs, or by the library when it is used
    Tracker.TENSORBOARD: (
        "tensorboardX",
        "tensorboard.summary",
        "tensorboard.backend.event_processing.event_file_loader",
    ),
    Tracker.WANDB: ("wandb",),
    Tracker.MLFLOW: ("mlflow", "mlflow.store.tracking.sqlalchemy_store", "mlflow.store.tracking.file_store"),
    Tracker.TRACKIO: ("huggingface_hub",),  # it reads the environment when it is imported
    Tracker.INSPECT: ("inspect_ai", "inspect_ai.scorer"),
}


@dataclass(frozen=True)
class Format:
    """A program that logs by a library, and its arguments after the folder and the name of the run."""

    tracker: Tracker
    program: str
    arguments: tuple[str, ...] = ()


FORMATS = {
    "tensorboardX": Format(Tracker.TENSORBOARD, "tensorboardx.py"),
    "PyTorch's event files": Format(Tracker.TENSORBOARD, "torch_events.py"),
    "TensorFlow 2's event files": Format(Tracker.TENSORBOARD, "tensorflow2_events.py"),
    "W&B offline": Format(Tracker.WANDB, "wandb_offline.py"),
    "MLflow's database": Format(Tracker.MLFLOW, "mlflow_store.py", ("db",)),
    "MLflow's files": Format(Tracker.MLFLOW, "mlflow_store.py", ("files",)),
    "Trackio": Format(Tracker.TRACKIO, "trackio_local.py"),
    "inspect-ai .eval": Format(Tracker.INSPECT, "inspect_log.py", ("eval",)),
    "inspect-ai .json": Format(Tracker.INSPECT, "inspect_log.py", ("json",)),
}


def install_trackers() -> str:
    """Install the libraries, once for the checkout; return why that is not possible, else nothing."""
    done = subprocess.run(
        [_CHECKOUT / "dev" / "setup-trackers"],
        capture_output=True,
        text=True,
        timeout=_INSTALL_S,
        check=False,
    )
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


def grouped(kinds: Iterable[Format]) -> list[object]:
    """Return parameters of which those of one library are tested by one worker, which loads it once."""
    names = {kind: name for name, kind in FORMATS.items()}
    return [pytest.param(kind, id=names[kind], marks=one_worker(kind)) for kind in kinds]


def one_worker(kind: Format) -> pytest.MarkDecorator:
    """Return the mark of a test that needs the library of a format."""
    return pytest.mark.xdist_group(f"tracker {kind.tracker}")


class TrackedProgram:
    """A program that logs to a tracker when it is told so, for the time of a ``with`` block."""

    def __init__(self, kind: Format, folder: Path, run: str, *more: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder.parent / f"{run}.log"
        environment = {
            "PATH": os.defpath,
            "HOME": str(folder.parent),
            "TRACKIO_DIR": str(folder),
            "WANDB_SILENT": "true",
            "GIT_PYTHON_REFRESH": "quiet",
        }
        python = (f"{VENV}/bin/python", *_IMPORTED[kind.tracker])
        argv = (f"{PROGRAMS}/{kind.program}", str(folder), run, *kind.arguments, *more)
        (stdin, write_end), (read_end, stdout) = os.pipe(), os.pipe()
        self._orders, self._answers = os.fdopen(write_end, "w"), os.fdopen(read_end)
        with self._log.open("ab") as log:
            streams = (stdin, stdout, log.fileno())
            self._process = start_program(python, argv, folder.parent, environment, streams)
        os.close(stdin)
        os.close(stdout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def log(self, start: int, end: int) -> None:
        """Let it log the steps from ``start`` to before ``end``, and wait until they are written."""
        self._order(f"log {start} {end}")
        while (line := self._answers.readline().strip()) != "done":
            assert line, self._log.read_text("utf-8", "replace")[-3000:]

    def end(self, code: int = 0) -> None:
        """Let it end with this code."""
        self._order(f"end {code}")
        self._close()

    def kill(self) -> None:
        """Kill it, without a chance to write more."""
        self._process.kill()
        self._close()

    def _order(self, text: str) -> None:
        self._orders.write(f"{text}\n")
        self._orders.flush()

    def _close(self) -> None:
        """Wait until it has ended, and so have all that it started with its output."""
        with suppress(BrokenPipeError):
            self._orders.close()
        self._process.wait(_END_S)
        self._answers.close()
