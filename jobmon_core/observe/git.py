"""Ask git about a folder, in a way that runs no program that the repository's configuration names.

A repository can name programs: hooks, a file system monitor, external diff programs, text converters,
filters for file contents, and transports for missing objects. Each is turned off on the command line; see
git-config(1), gitattributes(5). git refuses repositories of other users itself (``safe.directory``).
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from jobmon_core.domain.many.provenance.model import GitState, digest
from jobmon_core.system.runner import NotStarted, Ran, succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.system.runner import Runner


_TIMEOUT_S = 5.0  # of each command; on a slow file system, changes in a large repository may stay unknown
_SAFE = (
    "--no-optional-locks",  # writes no index, so no hook runs
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "protocol.allow=never"),  # a partial clone would fetch what it lacks
)
_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
_MAX_CHANGED = 500  # files that are listed, and whose contents are part of the digest
_MAX_FILE_BYTES = 8 * 2**20  # of a larger file, size and time are part of the digest, not the content
_NO_MATCH = 1  # exit code of git-config(1)


def git_state(folder: str, runner: Runner) -> tuple[GitState | None, str]:
    """Return the state of the repository that a folder is in, and what could not be found out, if anything.

    None without git, outside a repository, or if git fails.
    """
    found = runner.capture(_command(folder, "rev-parse", "--show-toplevel"), _TIMEOUT_S)
    if isinstance(found, NotStarted):
        return None, ""
    if not succeeded(found):
        is_outside = isinstance(found, Ran) and "not a git repository" in found.stderr
        return None, "" if is_outside else found.error_text
    state = GitState(found.stdout.removesuffix("\n"))
    head = runner.capture(_command(folder, "rev-parse", "HEAD", "--abbrev-ref", "HEAD"), _TIMEOUT_S)
    lines = head.stdout.splitlines() if succeeded(head) else []
    if len(lines) != len(("commit", "branch")):
        return state, "" if isinstance(head, Ran) else head.error_text  # git fails while there is no commit
    commit, branch = lines
    changed, problem = _changed(folder, runner)
    return GitState(
        state.root,
        commit,
        "" if branch == "HEAD" else branch,
        changed and changed[:_MAX_CHANGED],
        _digest_of(state.root, changed) if changed else "",
    ), problem


def commits_between(root: str, older: str, newer: str, runner: Runner) -> int | None:
    """Return how many commits ``newer`` has that ``older`` lacks; None if git cannot tell."""
    counted = runner.capture(_command(root, "rev-list", "--count", f"{older}..{newer}", "--"), _TIMEOUT_S)
    text = ""
    if succeeded(counted):
        text = counted.stdout.strip()
    if text.isdecimal():
        return int(text)
    return None


def _command(folder: str, *arguments: str, settings: Sequence[str] = ()) -> tuple[str, ...]:
    return ("git", *_SAFE, *settings, "-C", folder, *arguments)


def _changed(folder: str, runner: Runner) -> tuple[tuple[str, ...] | None, str]:
    listed = runner.capture(
        _command(folder, "config", "--null", "--name-only", "--get-regexp", _FILTERS), _TIMEOUT_S
    )
    if not isinstance(listed, Ran) or listed.exit_code not in (0, _NO_MATCH):
        return None, listed.error_text
    keys = [key for key in listed.stdout.split("\0") if key]
    if any("=" in key for key in keys):  # `-c` would set another key
        return None, "git: a filter has = in its name, so changed files were not looked for"
    settings = [
        word
        for key in dict.fromkeys(keys)
        for word in ("-c", f"{key}={'false' if key.endswith('.required') else ''}")
    ]
    options = (
        "--name-only",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=all",
    )
    answer = runner.capture(_command(folder, "diff", *options, "HEAD", "--", settings=settings), _TIMEOUT_S)
    if not succeeded(answer):
        return None, answer.error_text
    return tuple(sorted(name for name in answer.stdout.split("\0") if name)), ""


def _digest_of(root: str, names: Sequence[str]) -> str:
    parts = [f"{name}\0{_content(os.path.join(root, name))}" for name in names[:_MAX_CHANGED]]  # noqa: PTH118 - a text, as git prints it
    return digest("\0".join((*parts, str(len(names)))).encode("utf-8", "surrogateescape"))


def _content(path: str) -> str:
    """Return a digest of a regular file, its size and time if it is large, or what it is instead."""
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode):
            return os.readlink(path)  # noqa: PTH115 - as above
        if not stat.S_ISREG(status.st_mode):
            return "special"
        if status.st_size > _MAX_FILE_BYTES:
            return f"{status.st_size} {status.st_mtime_ns}"
        with open(path, "rb", opener=_without_waiting) as file:
            return digest(file.read(_MAX_FILE_BYTES))
    except OSError:
        return "missing"


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)
