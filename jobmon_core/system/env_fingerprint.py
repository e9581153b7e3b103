"""What a running monitor has to share with a command to take up its jobs: a process has one environment."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_OURS, _THE_HOME = "JOBMON_", "JOBMON_HOME"  # the webhooks among others; the home has files of its own
_VARIABLES = (
    # which cluster answers, and to whom
    "SLURM_CONF",
    "SLURM_CONF_SERVER",
    "SLURM_JWT",
    "SLURM_SACK_KEY",
    "SLURM_SACK_SOCKET",
    # by which way messages go
    *("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("https_proxy", "http_proxy", "all_proxy", "no_proxy"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    "HOME",  # configured paths may count from it
)
SLURM = ("squeue", "sacct", "scontrol")


def env_fingerprint(environment: Mapping[str, str]) -> str:
    """Return a mark that is the same where the same cluster and webhooks are meant, on the same host.

    A mark and no more: it tells nothing of what an environment holds. Of PATH only that counts which
    decides what Slurm's commands are: it differs from one activated Python environment to the next.
    """
    told = [os.uname().nodename, *(environment.get(name, "") for name in _VARIABLES)]
    told += sorted(f"{k}={v}" for k, v in environment.items() if k.startswith(_OURS) and k != _THE_HOME)
    return _mark([*told, *(dir_of_program(program, environment) for program in SLURM)])


def controller_fingerprint(environment: Mapping[str, str]) -> str:
    """Return a mark that is the same where the same controller answers."""
    told = [environment.get(name, "") for name in ("SLURM_CONF", "SLURM_CONF_SERVER")]
    return _mark([*told, dir_of_program(SLURM[0], environment)])


def dir_of_program(program: str, environment: Mapping[str, str]) -> str:
    """Return the folder of PATH that a program is started from, as an absolute path; empty if none."""
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        with suppress(FileNotFoundError):  # a relative one counts from a working folder that is gone
            path = Path(folder, program).absolute()
            if os.access(path, os.X_OK) and path.is_file():
                return str(path.parent)
    return ""


def _mark(told: list[str]) -> str:
    return f"{zlib.crc32(os.fsencode(chr(0).join(told))):08x}"
