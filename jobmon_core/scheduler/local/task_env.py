"""The file paths and the environment of one task. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet
from jobmon_core.domain.slurm.log_paths import PathContext, expand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.scheduler.local.job_dir import JobSpec

CLUSTER = "local"
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER")  # other SLURM_* describe the Slurm job that jobmon may run in
_BASIC = ("HOME", "LOGNAME", "PATH", "SHELL", "USER")


@dataclass(frozen=True, slots=True)
class TaskEnv:
    """Computes them."""

    spec: JobSpec
    job_id: int
    index: int | None
    raw_job_id: int
    host: str

    @property
    def node(self) -> str:
        """The host's short name."""
        return self.host.split(".", 1)[0]

    def path(self, template: str) -> str:
        """Expand a file name pattern."""
        context = PathContext(
            job_id=self.raw_job_id,
            array_job_id=None if self.index is None else self.job_id,
            array_task=self.index,
            user=self.spec.user,
            job_name=self.spec.name,
            node=self.node,
        )
        return expand(template, context)

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The variables selected by ``--export``, and Slurm's."""
        if self.spec.keeps_environment:
            return dict(inherited)
        user_variables = {
            name: value for name, value in inherited.items() if not name.startswith("SLURM_") or name in _KEPT
        }
        return {
            **exported(user_variables, self.spec.export),
            "ENVIRONMENT": "BATCH",
            "SLURMD_NODENAME": self.node,
            "SLURM_CLUSTER_NAME": CLUSTER,
            "SLURM_JOB_ID": str(self.raw_job_id),
            "SLURM_JOB_NAME": self.spec.name,
            "SLURM_JOB_NODELIST": self.node,
            "SLURM_JOB_NUM_NODES": "1",
            "SLURM_JOB_UID": str(self.spec.uid),
            "SLURM_JOB_USER": self.spec.user,
            "SLURM_LOCALID": "0",
            "SLURM_NNODES": "1",
            "SLURM_NODEID": "0",
            "SLURM_NODELIST": self.node,
            "SLURM_PROCID": "0",
            "SLURM_SUBMIT_DIR": self.spec.submit_dir,
            "SLURM_SUBMIT_HOST": self.node,
            **self._array_variables(),
        }

    def _array_variables(self) -> dict[str, str]:
        if self.index is None:
            return {}
        indices = list(IndexSet.parse(self.spec.array))
        steps = {later - earlier for earlier, later in pairwise(indices)}
        return {
            "SLURM_ARRAY_JOB_ID": str(self.job_id),
            "SLURM_ARRAY_TASK_COUNT": str(len(indices)),
            "SLURM_ARRAY_TASK_ID": str(self.index),
            "SLURM_ARRAY_TASK_MAX": str(indices[-1]),
            "SLURM_ARRAY_TASK_MIN": str(indices[0]),
            "SLURM_ARRAY_TASK_STEP": str(min(steps, default=1)),
        }


def exported(environment: Mapping[str, str], export: str) -> dict[str, str]:
    """The variables that the text of ``--export`` selects: all for an empty text or ``ALL``.

    Else it lists names (``NONE`` and ``NIL`` name none), kept besides ``_BASIC``; all with ``ALL`` among
    them. ``NAME=VALUE`` sets a variable.
    """
    # split at the commas outside quotes; sbatch does not remove the quotes
    entries = re.findall(r"""(?:"[^"]*"|'[^']*'|[^,])+""", export) or ["ALL"]
    has_all = any(entry.upper() == "ALL" for entry in entries)
    selected = {name: value for name, value in environment.items() if has_all or name in _BASIC}
    for entry in entries:
        name, equals, value = entry.partition("=")
        if equals and name:
            selected[name] = value
        elif name in environment:
            selected[name] = environment[name]
    return selected
