"""Environment variables: those passed to child programs, and fingerprints of those a monitor depends on."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

QUERY_PROGRAMS = ("squeue", "sacct", "scontrol")
# the variables that change what Slurm's programs print, or describe the job that this process is in; see
# ENVIRONMENT VARIABLES in squeue(1), sacct(1), sinfo(1) and scontrol(1), Slurm 20.11 to 25.11
_SLURM_PREFIXES = ("SLURM", "SQUEUE_", "SACCT_", "SINFO_", "SCONTROL_", "SBATCH_")
# which cluster answers, and with which credentials
_CONNECTION = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_SACK_KEY", "SLURM_SACK_SOCKET")
_MACHINE_FORMAT = {
    "LC_ALL": "C",
    "SLURM_TIME_FORMAT": "%s",  # Unix seconds: independent of the time zone
    "SLURM_BITSTR_LEN": "0",  # otherwise squeue truncates the indices of an array at 64 characters
}
SMTP_PASSWORD_VARIABLE = "JOBMON_SMTP_PASSWORD"  # noqa: S105 - a name
# what an attempt of a lineage gets; only the job itself may have them, not the monitor that its submission
# starts: on a machine without a scheduler, they show which processes belong to the lineage
ATTEMPT_VARIABLES = (
    "JOBMON_LINEAGE",
    "JOBMON_ATTEMPT",
    "JOBMON_RESUME_FROM",
    "JOBMON_RESUME_STEP",
    "JOBMON_RESTART_REASON",
)
# left out of `env_fingerprint`: each home has its own monitors, and JOBMON_LOG_* affect only commands
_NOT_COMPARED = ("JOBMON_HOME", "JOBMON_LOG_LEVEL", "JOBMON_LOG_FILE", *ATTEMPT_VARIABLES)
# how requests to a Ray dashboard are authenticated
_RAY = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_JOB_HEADERS")
PBS_VARIABLES = ("PBS_SERVER", "PBS_DEFAULT", "PBS_CONF_FILE")  # which server answers
# in `env_fingerprint`; one that is not set counts as empty
_COMPARED = (
    *_CONNECTION,
    # the proxies and certificates of HTTP requests, e.g. those to Discord
    *("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("https_proxy", "http_proxy", "all_proxy", "no_proxy"),
    *("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"),
    "KUBECONFIG",
    "HOME",  # configured paths may be relative to it
)


def query_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a program whose output jobmon reads, e.g. squeue.

    The user's settings must not change what it prints; jobmon's secrets are left out.
    """
    variables = {
        name: value
        for name, value in environ.items()
        if not _is_secret(name) and (name in _CONNECTION or not name.startswith(_SLURM_PREFIXES))
    }
    return {**variables, **_MACHINE_FORMAT}


def user_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the user's own environment, which sbatch copies into the job, without jobmon's secrets.

    An ``LC_CTYPE`` that Python itself set is left out: programs of the job warn on a node without that
    locale.
    """
    added = "LC_CTYPE" if _lc_ctype_is_not_users() else ""
    return {name: value for name, value in environ.items() if not _is_secret(name) and name != added}


def _lc_ctype_is_not_users() -> bool:
    """Whether the user did not set ``LC_CTYPE``: Python sets it in the C locale (PEP 538)."""
    try:
        return b"LC_CTYPE=" not in Path("/proc/self/environ").read_bytes()
    except OSError:
        return False  # unknown: a variable that the user set must not be dropped


def own_secrets(environ: Mapping[str, str]) -> dict[str, str]:
    """Return jobmon's secrets, which a program that starts a monitor needs."""
    return {name: value for name, value in environ.items() if _is_secret(name)}


def _is_secret(name: str) -> bool:
    """Whether the variable holds a secret of jobmon; the path of a file with one is not secret."""
    is_webhook = name.startswith("JOBMON_") and "WEBHOOK" in name and not name.endswith("_FILE")
    return is_webhook or name == SMTP_PASSWORD_VARIABLE


def env_fingerprint(environment: Mapping[str, str]) -> str:
    """Return a checksum of the environment; a monitor adopts only jobs with the same one.

    It covers the host, the cluster, the network settings, the server of PBS, the credentials for Ray,
    ``HOME`` and all ``JOBMON_*`` variables but those of the home and of the log. Of PATH only the folders of
    Slurm's commands count, because activated Python environments change the rest.
    """
    values = [os.uname().nodename, *(environment.get(name, "") for name in _COMPARED)]
    values += sorted(
        f"{k}={v}"
        for k, v in environment.items()
        if k in _RAY or k in PBS_VARIABLES or (k.startswith("JOBMON_") and k not in _NOT_COMPARED)
    )
    return _checksum([*values, *(dir_of_program(program, environment) for program in QUERY_PROGRAMS)])


def controller_fingerprint(environment: Mapping[str, str]) -> str:
    """Return what is equal for environments that select the same slurmctld."""
    values = [environment.get(name, "") for name in ("SLURM_CONF", "SLURM_CONF_SERVER")]
    return _checksum([*values, dir_of_program(QUERY_PROGRAMS[0], environment)])


def missing_slurm_conf(environment: Mapping[str, str]) -> str:
    """Return why Slurm's commands cannot work: each waits a minute for a file that does not exist."""
    path = environment.get("SLURM_CONF", "")
    if not path or os.access(path, os.R_OK):
        return ""
    return f"{path}, which $SLURM_CONF names, does not exist or cannot be read"


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
