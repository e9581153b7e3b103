"""Parse ``scontrol -o show assoc_mgr``: the limits that are set, and their use. Never raises.

Limits are ``GrpJobs=5(2)`` (allowed, used) or ``MaxWallPJ=60``; ``N`` is none. Those on resources are lists:
``GrpTRES=cpu=100(1),mem=N(1024)``. Those per user or account come in braces: ``0={MaxJobsPU=1(1) ...}``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.pending.model import Limit
from jobmon_core.scheduler.slurm.site import key_values

if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT = re.compile(r"(?<!\S)((?:Grp|Max|Min)\w+)=(\S+)")
_AMOUNT = re.compile(r"(?:([\w/:.-]+)=)?(\d+(?:\.\d+)?)(?:\((\d+(?:\.\d+)?)\))?", re.ASCII)
_BRACES = re.compile(r"(\S+)=\{([^{}]*)\}")
_ACCOUNT_LIMITS = "Account Limits="  # the limits of the QOS itself come before this


def read_limits(text: str, user: str, uid: int | None, account: str) -> tuple[Limit, ...]:
    """Parse the limits that apply to a user and an account."""
    mine = {user, f"{user}({uid})", str(uid), account}
    found: list[Limit] = []
    for line in text.split("\n"):
        if line.startswith("QOS="):
            name = key_values.value(line, "QOS").partition("(")[0]
            found += _of_qos(f"QOS {name}", line, mine)
        elif line.startswith("ClusterName=") and key_values.value(line, "Account") == account:
            member = key_values.value(line, "UserName").partition("(")[0]
            if member in ("", user):
                owner = f"User {user} of account {account}" if member else f"Account {account}"
                found += _limits(owner, line)
    return tuple(found)


def _of_qos(owner: str, line: str, mine: set[str]) -> Iterator[Limit]:
    """Yield the limits of a QOS; of those per user or account, only those of ``mine``."""
    head = line.partition(_ACCOUNT_LIMITS)[0]
    yield from _limits(owner, head)
    for name, body in _BRACES.findall(line):
        if name in mine:
            yield from _limits(owner, body)


def _limits(owner: str, text: str) -> Iterator[Limit]:
    for name, listed in _LIMIT.findall(text):
        for part in listed.split(","):
            if match := _AMOUNT.fullmatch(part):
                resource, allowed, used = match.groups()
                yield Limit(owner, name, resource or "", float(allowed), float(used) if used else None)
