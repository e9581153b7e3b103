"""Read what a submission runs: its script, the files that it names, and the packages of its environment.

What sbatch will read is not consumed, and no Python is started.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.many.provenance.model import (
    MAX_SCRIPT_BYTES,
    PythonEnvironment,
    Script,
    ScriptKind,
    digest,
)
from jobmon_core.domain.redaction import redacted
from jobmon_core.observe.logs.open_file import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_MAX_PACKAGES = 3000
# the names are those of the recorded-projects specification: NAME-VERSION.dist-info, or .egg-info
_METADATA = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info")
_CONDA_PACKAGE = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-[^-]+\.json")

WRAPPED = "#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{}\n\n"
_MAX_READ_BYTES = 4 * 2**20  # by default sbatch accepts no larger script
_MAX_FILE_BYTES = 4 * 2**20  # of a file that the script names
_STDIN = 0


class ReadScript(NamedTuple):
    """A script as the record keeps it, and its whole text, which may show secrets."""

    script: Script
    text: str = ""


def read_file(name: str, folder: str, search_path: str) -> ReadScript:
    """Return the script that sbatch reads for ``name``: in ``folder``, else on ``search_path``."""
    path = os.path.join(folder, name)  # noqa: PTH118 - a text, as given
    if not os.path.lexists(path) and "/" not in name:
        path = shutil.which(name, os.F_OK, search_path) or path
    content = read_regular(path, _MAX_READ_BYTES)
    if content is None:  # after `sbatch <(generate)` it is a pipe, which only sbatch may read
        path = "" if path.startswith(("/dev/", "/proc/")) else path
        return ReadScript(Script(path=path, why_no_text="could not be read"))
    return script_of(content, ScriptKind.FILE, path)


def read_stdin() -> ReadScript:
    """Return the script on stdin if that is a file, without moving its position; a pipe is left to sbatch."""
    try:
        if not stat.S_ISREG(os.fstat(_STDIN).st_mode):
            return ReadScript(Script(ScriptKind.STDIN, why_no_text="came from a pipe"))
        return script_of(os.pread(_STDIN, _MAX_READ_BYTES, 0), ScriptKind.STDIN)
    except OSError as error:
        why = f"could not be read: {error.strerror}"
        return ReadScript(Script(ScriptKind.STDIN, why_no_text=why))


def script_of(content: bytes, kind: ScriptKind, path: str = "") -> ReadScript:
    """Return a script with this content; the record has no text if it is too long or shows a secret."""
    text = content.decode("utf-8", "surrogateescape")
    why = ""
    if len(content) > MAX_SCRIPT_BYTES:
        why = f"is longer than {MAX_SCRIPT_BYTES // 2**20} MiB"
    elif redacted(text) != text:
        why = "contains what looks like a password or a token, which jobmon does not keep"
    return ReadScript(Script(kind, path, None if why else text, digest(content), len(content), why), text)


def file_digests(paths: Iterable[str]) -> dict[str, str]:
    """Return a digest of each of these files; those that are missing, empty or large are left out."""
    contents = ((path, read_regular(path, _MAX_FILE_BYTES + 1)) for path in paths)
    return {
        path: digest(content) for path, content in contents if content and len(content) <= _MAX_FILE_BYTES
    }


def changed_files(recorded: Mapping[str, str]) -> list[str]:
    """Return those of the recorded files whose content has changed; a missing file counts."""
    now = file_digests(recorded)
    return [path for path, old in recorded.items() if now.get(path) != old]


def python_environment(prefix: str) -> PythonEnvironment | None:
    """Return the packages that are installed below ``prefix``; None if there is no such folder."""
    if not prefix.startswith("/") or not os.path.isdir(prefix):  # noqa: PTH112 - a text, as in the script
        return None
    packages: dict[str, str] = {}
    for folder in sorted(Path(prefix).glob("lib*/python3*/site-packages")):
        packages |= _matches(folder, _METADATA)
    # conda's other packages, e.g. cuda-toolkit, have no .dist-info
    conda = _matches(Path(prefix, "conda-meta"), _CONDA_PACKAGE)
    found = sorted((conda | packages).items())
    return PythonEnvironment(prefix, dict(found[:_MAX_PACKAGES]))


def _matches(folder: Path, pattern: re.Pattern[str]) -> dict[str, str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - only names are needed
    except OSError:
        return {}
    matches = (pattern.fullmatch(name) for name in names)
    return {_normalised(match["name"]): match["version"] for match in matches if match}


def _normalised(name: str) -> str:
    """Return a package's name as PEP 503 compares it: ``Foo_bar`` is ``foo-bar``."""
    return re.sub(r"[-_.]+", "-", name).lower()
