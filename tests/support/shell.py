"""A shell for jobmon commands on a machine without Slurm."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.dialogue import talk
from tests.support.waiting import PATIENCE_S
from tests.support.warm_jobmon import run_jobmon, run_program


class Shell:
    """A shell whose PATH has only the programs of the test; ``home`` is jobmon's."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.home = Path(environment["JOBMON_HOME"])
        self.state = self.home / "state"
        self.state.mkdir(parents=True, mode=0o700)
        self.programs = folder / "bin"
        self.programs.mkdir()
        self.work = folder / "work"
        self.work.mkdir()
        self._environment = {**environment, "PATH": f"{self.programs}:/usr/bin:/bin"}
        self.without_slurm()

    def without_slurm(self) -> None:
        """Keep a Slurm of this machine out of PATH."""
        tools = self.programs / "tools"
        tools.mkdir()
        for name in ("bash", "head", "env", "touch"):
            source = next(Path(each) / name for each in ("/usr/bin", "/bin") if (Path(each) / name).exists())
            (tools / name).symlink_to(source)
        self._environment["PATH"] = f"{self.programs}:{tools}"

    def program(self, name: str, *lines: str) -> None:
        """Write an executable script on PATH."""
        path = self.programs / name
        path.write_text("\n".join(("#!/bin/bash", *lines, "")), encoding="utf-8")
        path.chmod(0o755)

    def jobmon(
        self, *arguments: str, stdin: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run jobmon."""
        return run_jobmon(arguments, self.work, {**self._environment, **environment}, stdin, PATIENCE_S)

    def talk(self, arguments: Sequence[str], *steps: tuple[str, str], **environment: str) -> tuple[int, str]:
        """Run jobmon on a terminal; see `tests.support.dialogue`."""
        return talk(arguments, steps, self.work, {**self._environment, **environment})

    def line(self, line: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a line of bash with a ``jobmon`` function and pipefail."""
        function = f'jobmon() {{ {sys.executable} -m jobmon "$@"; }}; set -o pipefail; {line}'
        argv = ["bash", "-c", function]
        return run_program(argv, self.work, {**self._environment, **environment}, "", PATIENCE_S)


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """Return the error message of a command, which must be one line, without the ``jobmon: `` prefix."""
    assert done.stdout == "", done
    (line,) = done.stderr.splitlines()
    assert line.startswith("jobmon: "), done
    return line.removeprefix("jobmon: ")
