"""Which limits a reason such as ``QOSMaxJobsPerUserLimit`` stands for, and limits as sentences.

Source: the names in ``job_state_reason.c`` and those that ``scontrol show assoc_mgr`` prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.pending.model import Limit

_REASON = re.compile(
    r"(?P<owner>QOS|Assoc)?(?P<kind>Grp|Max|Min)(?P<what>[A-Za-z]+?)"
    r"(?P<period>RunMinutes|Minutes)?(?P<scope>PerJob|PerNode|PerUser|PerAccount)?(?:Limit|NotSatisfied)?",
    re.ASCII,
)
_RESOURCES = {
    "cpu": "cpu",
    "mem": "mem",
    "memory": "mem",
    "node": "node",
    "gres": "gres/",
    "license": "license/",
}
_RESOURCES |= {"energy": "energy", "billing": "billing", "bb": "bb/"}
_SCOPES = {"PerJob": "PJ", "PerNode": "PN", "PerUser": "PU", "PerAccount": "PA"}
_MEGABYTE = 1024**2
_WORDS = {
    "GrpJobs": "{} in all",
    "GrpSubmitJobs": "{} in all",
    "GrpWall": "{} of run time in all",
    "GrpTRES": "{} in all",
    "GrpTRESMins": "{} in all",
    "GrpTRESRunMins": "{} of running jobs",
    "MaxJobs": "{}",
    "MaxJobsPU": "{} per user",
    "MaxJobsPA": "{} per account",
    "MaxSubmitJobs": "{}",
    "MaxSubmitJobsPU": "{} per user",
    "MaxSubmitJobsPA": "{} per account",
    "MaxTRESPU": "{} per user",
    "MaxTRESPA": "{} per account",
    "MaxTRESPJ": "{} per job",
    "MaxTRESPN": "{} per node",
    "MaxTRESMinsPJ": "{} per job",
    "MaxWallPJ": "{} of run time per job",
    "MinTRESPJ": "{} per job",
}
_RESOURCE_WORDS = {"cpu": "CPU", "node": "node", "billing": "billing unit", "energy": "joule"}
_MINUTES = ("GrpWall", "MaxWallPJ")


def limit_sentences(reason_name: str, limits: Iterable[Limit]) -> Iterator[str]:
    """Yield what each limit that the reason stands for allows or requires, and what counts towards it.

    If some of these limits are exhausted, the others are left out, as are those that hold no job back, e.g.
    ``GrpJobsAccrue``.
    """
    matching = [limit for limit in limits if limit.name in _WORDS and _matches(reason_name, limit)]
    exhausted = [limit for limit in matching if limit.used is not None and limit.used >= limit.allowed]
    for limit in exhausted or matching:
        bound = "requires at least" if limit.name.startswith("Min") else "allows at most"
        allowed = _WORDS[limit.name].format(_amount(limit, limit.allowed))
        used = "" if limit.used is None else f"; counted now: {_amount(limit, limit.used)}"
        yield f"{limit.owner} {bound} {allowed} ({limit.name}){used}."


def _matches(reason_name: str, limit: Limit) -> bool:
    """Whether a reason stands for a limit; a reason that names none stands for all."""
    match = _REASON.fullmatch(reason_name)
    if match is None:
        return True
    owner = "QOS" if match["owner"] != "Assoc" else ""
    if limit.owner.startswith("QOS") != bool(owner):
        return False
    name, resource = _limit_name(match)
    return limit.name == name and limit.resource.startswith(resource)


def _limit_name(match: re.Match[str]) -> tuple[str, str]:
    """Return the name of a limit in ``scontrol show assoc_mgr``, and the start of its resource."""
    kind, what, scope = match["kind"], match["what"].lower(), _SCOPES.get(match["scope"] or "", "")
    if what == "wallduration":
        return "MaxWallPJ", ""
    if what == "wall":
        return "GrpWall", ""
    if what in ("jobs", "submitjob", "submitjobs"):
        return f"{kind}{'Jobs' if what == 'jobs' else 'SubmitJobs'}{scope}", ""
    resource = _RESOURCES.get(what, "?")
    if kind == "Min":
        return "MinTRESPJ", resource
    period = {"Minutes": "Mins", "RunMinutes": "RunMins"}.get(match["period"] or "", "")
    return f"{kind}TRES{period}{scope}", resource


def _amount(limit: Limit, value: float) -> str:
    """Return e.g. ``4 CPUs``, ``600 CPU minutes``, ``2h``, ``64.0 GiB``."""
    if limit.name in _MINUTES:
        return duration(value * 60)
    if not limit.resource:
        return count(round(value), "submitted job" if "Submit" in limit.name else "running job")
    minutes = " minutes" if "Mins" in limit.name else ""
    if limit.resource == "mem":
        return size(value * _MEGABYTE) + minutes
    name = limit.resource.removeprefix("gres/").removeprefix("license/")
    noun = _RESOURCE_WORDS.get(limit.resource, "")
    if limit.resource.startswith("gres/gpu"):
        noun = f"{name.removeprefix('gpu').lstrip(':')} GPU".strip()
    if noun and not minutes:
        return count(round(value), noun)
    return f"{value:,.0f} {noun or name}{minutes}"
