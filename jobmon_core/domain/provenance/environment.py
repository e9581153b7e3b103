"""Environment variables in a record: only their names and a short digest, never a value."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_DIGEST_CHARS = 8  # 32 bits: enough to notice a change, too few to find a long random value by trial
_MAX_VARIABLES = 1000

# variables that differ from login to login and change no job
_VOLATILE = re.compile(
    r"_|PWD|OLDPWD|SHLVL|TERM\w*|COLORTERM|COLUMNS|LINES|WINDOWID|DISPLAY|XAUTHORITY|LS_COLORS|MAIL"
    r"|PS[1-4]|PROMPT_\w*|HIST\w*|SSH_\w*|STY|WINDOW|TMUX\w*|XDG_\w*|DBUS_\w*|KRB5CCNAME|GPG_\w*|LESS\w*"
    r"|VSCODE_\w*|ELECTRON_\w*|PYCHARM\w*|GIO_\w*|SESSION_MANAGER|INVOCATION_ID|JOURNAL_STREAM"
    r"|SYSTEMD_\w*|SLURM_(?!CONF)\w*|BASH_FUNC_.*|__LMOD_\w*|_LM\w*|LMOD_\w*|__MODULES\w*|MODULES_\w*|JOBMON_\w*"
)


def variable_digests(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the variables that may matter to a job, each with a digest of its value."""
    names = sorted(name for name in environment if not _VOLATILE.fullmatch(name))
    return {name: _digest(environment[name]) for name in names[:_MAX_VARIABLES]}


def loaded_modules(environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the loaded environment modules, of Lmod or Environment Modules; None without such a system."""
    if "LOADEDMODULES" in environment:
        return tuple(name for name in environment["LOADEDMODULES"].split(":") if name)
    return () if "MODULEPATH" in environment else None


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_CHARS]
