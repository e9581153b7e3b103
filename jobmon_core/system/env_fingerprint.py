"""Fingerprints of an environment: a monitor adopts only jobs whose environment equals its own.

A process has one environment: it decides which cluster answers and which webhooks get the messages.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOME = "JOBMON_HOME"  # not compared: each home has its own monitors
_VARIABLES = (
    # which cluster answers, and with which credentials
    "SLURM_CONF",
    "SLURM_CONF_SERVER",
    "SLURM_JWT",
    "SLURM_SACK_KEY",
    "SLURM_SACK_SOCKET",
    # how messages reach Discord
    *("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("https_proxy", "http_proxy", "all_proxy", "no_proxy"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    "HOME",  # configured paths may be relative to it
)
SLURM_PROGRAMS = ("squeue", "sacct", "scontrol")


def env_fingerprint(environment: Mapping[str, str]) -> str:
    """Return a fingerprint that is equal for the same cluster and webhooks on the same host.

    It is a checksum and reveals none of the values. Of PATH it includes only where Slurm's commands
    are: the rest differs from one activated Python environment to the next.
    """
    values = [os.uname().nodename, *(environment.get(name, "") for name in _VARIABLES)]
    values += sorted(f"{k}={v}" for k, v in environment.items() if k.startswith("JOBMON_") and k != _HOME)
    return _checksum([*values, *(dir_of_program(program, environment) for program in SLURM_PROGRAMS)])


def controller_fingerprint(environment: Mapping[str, str]) -> str:
    """Return a fingerprint that is equal where the same slurmctld answers."""
    values = [environment.get(name, "") for name in ("SLURM_CONF", "SLURM_CONF_SERVER")]
    return _checksum([*values, dir_of_program(SLURM_PROGRAMS[0], environment)])


def dir_of_program(program: str, environment: Mapping[str, str]) -> str:
    """Return the absolute path of the first folder on PATH that has the program, empty if none has."""
    for folder in environment.get("PATH", os.defpath).split(os.pathsep):
        with suppress(FileNotFoundError):  # the folder is relative and the working directory was removed
            path = Path(folder, program).absolute()
            if os.access(path, os.X_OK) and path.is_file():
                return str(path.parent)
    return ""


def _checksum(values: list[str]) -> str:
    return f"{zlib.crc32(os.fsencode(chr(0).join(values))):08x}"
