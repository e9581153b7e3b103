"""The batch script of a submission: found, read and checked as sbatch does."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.sbatch_directives import directive_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n\n"


@dataclass(frozen=True, slots=True)
class Script:
    """A batch script that may be run."""

    content: bytes
    name: str  # what the job is called unless the user says otherwise
    path: str = ""  # empty where it came from no file

    def directives(self) -> Iterator[list[str]]:
        """Yield the words of each ``#SBATCH`` line."""
        return directive_words(os.fsdecode(self.content))


def read_script(named: Sequence[str], wrap: str | None, search_path: str) -> Script:
    """Return the script that a submission names, wraps, or else gives on standard input.

    Raises:
        SchedulerRejected: it can't be read, or is no batch script.
    """
    if wrap is not None:
        script = Script(os.fsencode(_WRAPPED.format(wrap)), "wrap")
    elif named:
        script = _from_file(named[0], search_path)
    else:
        script = Script(sys.stdin.buffer.read(), "sbatch")
    _check(script.content)
    return script


def _from_file(name: str, search_path: str) -> Script:
    path = _located(name, search_path)
    try:
        return Script(path.read_bytes(), path.name, str(path.absolute()))
    except IsADirectoryError:
        return Script(b"", path.name)  # sbatch calls it an empty script, and so it will be called
    except OSError as error:
        raise SchedulerRejected(f"Unable to open file {name}") from error


def _located(name: str, search_path: str) -> Path:
    """Return where a script is: in this folder, else on the search path."""
    folders = [""] if "/" in name else ["", *search_path.split(":")]
    candidates = (Path(folder, name) for folder in folders)
    return next((path for path in candidates if os.access(path, os.F_OK)), Path(name))


def _check(content: bytes) -> None:
    if not content:
        raise SchedulerRejected("Batch script is empty!")
    if not content.strip():
        raise SchedulerRejected("Batch script contains only whitespace!")
    if not content.startswith(b"#!"):
        raise SchedulerRejected(
            "This does not look like a batch script.  The first\n"
            "line must start with #! followed by the path to an interpreter.\n"
            "For instance: #!/bin/sh"
        )
    if b"\0" in content:
        raise SchedulerRejected(
            "The Slurm controller does not allow scripts that\ncontain a NULL character '\\0'."
        )
    if b"\r\n" in content:
        raise SchedulerRejected(
            "Batch script contains DOS line breaks (\\r\\n)\ninstead of expected UNIX line breaks (\\n)."
        )
