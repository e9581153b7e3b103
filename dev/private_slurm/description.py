"""The file by which other processes find a running cluster."""

import json
from pathlib import Path

from .configuration import Settings
from .errors import PrivateSlurmError
from .layout import Layout
from .slots import Slot


def write(settings: Settings) -> None:
    """Describe the cluster."""
    values = {
        "name": settings.name,
        "slot": settings.slot.number,
        "accounting": settings.accounting,
        "cgroup_memory": settings.cgroup_memory,
        "swap_limit": settings.swap_limit,
        "min_job_age": settings.min_job_age,
    }
    settings.layout.description.write_text(json.dumps(values, indent=2) + "\n")


def read(path: Path) -> Settings:
    """Read what ``write`` wrote; the cluster lies beside its description."""
    try:
        values = json.loads(path.read_text())
        return Settings(
            name=str(values["name"]),
            layout=Layout(path.parent),
            slot=Slot(int(values["slot"])),
            accounting=bool(values["accounting"]),
            cgroup_memory=bool(values["cgroup_memory"]),
            swap_limit=bool(values["swap_limit"]),
            min_job_age=int(values["min_job_age"]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PrivateSlurmError(f"{path} describes no private Slurm: {error!r}") from error
