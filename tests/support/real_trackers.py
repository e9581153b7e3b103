"""The real libraries of experiment trackers, in an environment of their own: they write what jobmon reads."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from jobmon_core.domain.logs.tracker import Tracker

_CHECKOUT = Path(__file__).resolve().parents[2]
_VENV = _CHECKOUT / ".venv-trackers"
_PROGRAMS = _CHECKOUT / "tests" / "real" / "programs" / "trackers"
_INSTALL_S, _END_S = 900.0, 300.0


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


class TrackedProgram:
    """A program that logs to a tracker when it is told so, for the time of a ``with`` block."""

    def __init__(self, kind: Format, folder: Path, run: str, *more: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder.parent / f"{run}.log"
        command = [
            f"{_VENV}/bin/python",
            f"{_PROGRAMS}/{kind.program}",
            str(folder),
            run,
            *kind.arguments,
            *more,
        ]
        environment = {
            "PATH": os.defpath,
            "HOME": str(folder.parent),
            "TRACKIO_DIR": str(folder),
            "WANDB_SILENT": "true",
            "GIT_PYTHON_REFRESH": "quiet",
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=folder.parent,
                env=environment,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def log(self, start: int, end: int) -> None:
        """Let it log the steps from ``start`` to before ``end``, and wait until they are written."""
        self._order(f"log {start} {end}")
        assert self._process.stdout
        while (line := self._process.stdout.readline().strip()) != "done":
            assert line, self._log.read_text("utf-8", "replace")[-3000:]

    def end(self, code: int = 0) -> None:
        """Let it end with this code."""
        self._order(f"end {code}")
        self._process.communicate(timeout=_END_S)

    def kill(self) -> None:
        """Kill it, without a chance to write more."""
        self._process.kill()
        self._process.communicate()

    def _order(self, text: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(f"{text}\n")
        self._process.stdin.flush()
