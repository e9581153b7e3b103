"""The record of what was run, as it is stored. It holds no value of an environment variable and no secret."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

MAX_SCRIPT_BYTES: Final = 2**20  # for a longer script, only the digest is kept
_DIGEST_CHARS = 16  # hexadecimal digits of a digest: 64 bits


class ScriptKind(StrEnum):
    """Where the text that Slurm runs comes from."""

    FILE = "file"
    WRAP = "wrap"  # the command of ``--wrap``
    STDIN = "stdin"
    COMMAND = "command"  # a command of `jobmon run`: there is no script
    SCHEDULER = "scheduler"  # the scheduler's copy, for a job not submitted through jobmon


@dataclass(frozen=True, slots=True)
class Script:
    """The text that the job runs, as it was when the job was submitted."""

    kind: ScriptKind = ScriptKind.FILE
    path: str = ""  # absolute
    text: str | None = None  # None if it could not be read, is too long, or would show a secret
    digest: str = ""  # of the whole text
    size_bytes: int | None = None
    why_no_text: str = ""  # completes the sentence "the script ..."

    @property
    def name(self) -> str:
        """The name of its file; else what it is, in a word."""
        return (
            self.path.rpartition("/")[2] or f"the {'command' if self.kind is ScriptKind.WRAP else 'script'}"
        )


@dataclass(frozen=True, slots=True)
class GitState:
    """The git repository that the folder of the submission is in."""

    root: str = ""
    commit: str = ""  # of HEAD
    branch: str = ""  # empty if HEAD is detached
    changed: tuple[str, ...] | None = None  # tracked files that differ from HEAD; None: not known
    changed_digest: str = ""  # of their names and contents


@dataclass(frozen=True, slots=True)
class PythonEnvironment:
    """The Python environment that the script activates, else the one active at the submission."""

    path: str = ""
    packages: dict[str, str] = field(default_factory=dict)  # normalised name -> version


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What was run: all that jobmon can tell about it without asking the scheduler again."""

    recorded_s: float = 0.0  # Unix seconds
    arguments: tuple[str, ...] = ()  # as given to sbatch, options included, or the command; without secrets
    arguments_hidden: bool = False  # a secret was replaced
    folder: str = ""  # of the submission
    job_config: str = ""
    sentinel: bool = False
    script: Script | None = None
    git: GitState | None = None  # None outside a repository, or if git could not be asked
    modules: tuple[str, ...] | None = None  # the loaded ones; None without a module system
    python: PythonEnvironment | None = None
    files: dict[str, str] = field(default_factory=dict)  # absolute paths that the script names -> digest
    environment: dict[str, str] = field(default_factory=dict)  # names of variables -> digest of the value
    scheduler_version: str = ""  # e.g. ``slurm 23.11.4``
    problems: tuple[str, ...] = ()


def digest(content: bytes) -> str:
    """Return 16 hexadecimal digits that differ for different contents."""
    import hashlib  # loads OpenSSL, and most only read the record

    return hashlib.sha256(content).hexdigest()[:_DIGEST_CHARS]
