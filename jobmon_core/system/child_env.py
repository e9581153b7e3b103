"""What a child program may know of our environment.

A user's ``SQUEUE_USERS`` or ``SACCT_FORMAT`` changes what Slurm's commands answer, and inside a job
``SLURM_*`` describes that job: questions are asked without any of it. Source: the ENVIRONMENT VARIABLES
sections of squeue(1), sacct(1), sinfo(1), scontrol(1), Slurm 20.11 to 25.11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_OF_SLURM = ("SLURM", "SQUEUE_", "SACCT_", "SINFO_", "SCONTROL_", "SBATCH_")
# which cluster to talk to, and as whom: without these another cluster would answer, or none
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_SACK_KEY", "SLURM_SACK_SOCKET")
_MACHINE_FORMAT = {
    "LC_ALL": "C",
    "SLURM_TIME_FORMAT": "%s",  # Unix seconds: no time zone to guess
    "SLURM_BITSTR_LEN": "0",  # or squeue cuts the indices of an array at 64 characters
}


def for_questions(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which Slurm's commands answer the same for every user and job."""
    kept = {
        name: value
        for name, value in environ.items()
        if not _is_secret(name) and (name in _KEPT or not name.startswith(_OF_SLURM))
    }
    return {**kept, **_MACHINE_FORMAT}


def for_the_user(environ: Mapping[str, str], made_up: Collection[str] = ()) -> dict[str, str]:
    """Return the user's own environment, which sbatch copies into the job, without jobmon's secrets.

    ``made_up`` names what the user never set, and what is left out for that.
    """
    return {name: value for name, value in environ.items() if not _is_secret(name) and name not in made_up}


def _is_secret(name: str) -> bool:
    """Whether this holds a webhook's address; the name of a file that holds one is no secret."""
    return name.startswith("JOBMON_") and "WEBHOOK" in name and not name.endswith("_FILE")
