"""Parse ``scontrol -o show licenses``. Never raises."""

from __future__ import annotations

from jobmon_core.domain.pending.model import License
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.site import key_values


def read_licenses(text: str, requested: str) -> tuple[License, ...]:
    """Parse the licences that a request such as ``matlab:2,ansys`` names."""
    wanted = {part.partition(":")[0] for part in requested.replace("|", ",").split(",")}
    found = map(_license, key_values.records(text, "LicenseName"))
    return tuple(each for each in found if each.name in wanted)


def _license(record: str) -> License:
    total, free = (values.number(key_values.value(record, key)) or 0 for key in ("Total", "Free"))
    return License(key_values.value(record, "LicenseName"), total, free)
