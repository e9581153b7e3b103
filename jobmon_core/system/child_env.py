"""The environment that child programs get.

A user's ``SQUEUE_USERS`` or ``SACCT_FORMAT`` changes the output of Slurm's commands, and inside a job
``SLURM_*`` describes that job: queries run without these variables. Source: the ENVIRONMENT VARIABLES
sections of squeue(1), sacct(1), sinfo(1), scontrol(1), Slurm 20.11 to 25.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_SLURM_PREFIXES = ("SLURM", "SQUEUE_", "SACCT_", "SINFO_", "SCONTROL_", "SBATCH_")
# the cluster and the credentials: without these another cluster would answer, or none
_CONNECTION = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_SACK_KEY", "SLURM_SACK_SOCKET")
_MACHINE_FORMAT = {
    "LC_ALL": "C",
    "SLURM_TIME_FORMAT": "%s",  # Unix seconds: independent of the time zone
    "SLURM_BITSTR_LEN": "0",  # otherwise squeue truncates the indices of an array at 64 characters
}


def for_queries(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which Slurm's commands print the same for every user and job."""
    variables = {
        name: value
        for name, value in environ.items()
        if not _is_secret(name) and (name in _CONNECTION or not name.startswith(_SLURM_PREFIXES))
    }
    return {**variables, **_MACHINE_FORMAT}


def for_user(environ: Mapping[str, str], not_set_by_user: Collection[str] = ()) -> dict[str, str]:
    """Return the user's own environment, which sbatch copies into the job, without jobmon's secrets.

    Variables in ``not_set_by_user`` are left out too.
    """
    return {
        name: value for name, value in environ.items() if not _is_secret(name) and name not in not_set_by_user
    }


def _is_secret(name: str) -> bool:
    """Return whether the variable holds a webhook URL; the path of a file that holds one is not secret."""
    return name.startswith("JOBMON_") and "WEBHOOK" in name and not name.endswith("_FILE")
