"""One task to run: which, where its files are, and what its environment tells it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet
from jobmon_core.domain.slurm.log_paths import PathContext, expand
from jobmon_core.scheduler.local.option_values import exported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.scheduler.local.records import JobSpec

CLUSTER = "local"
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER")  # the machine's, not of a job that the submission came from


@dataclass(frozen=True, slots=True)
class TaskEnv:
    """One task of one job; ``index`` is None for a job that is no array."""

    spec: JobSpec
    job_id: int
    index: int | None
    own_id: int
    host: str

    @property
    def node(self) -> str:
        """The host's short name."""
        return self.host.split(".", 1)[0]

    def path(self, template: str) -> str:
        """Expand the pattern of one of the task's files."""
        context = PathContext(
            job_id=self.own_id,
            array_job_id=None if self.index is None else self.job_id,
            array_task=self.index,
            user=self.spec.user,
            job_name=self.spec.name,
            node=self.node,
        )
        return expand(template, context)

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """Return the task's environment: the user's, and Slurm's variables.

        Not ``SLURM_JOBID``, the old name: by it MPI libraries conclude that srun can start processes here.
        """
        outer = {
            name: value for name, value in inherited.items() if not name.startswith("SLURM_") or name in _KEPT
        }
        return {**exported(outer, self.spec.export), **self._of_job(), **self._of_array()}

    def _of_job(self) -> dict[str, str]:
        return {
            "ENVIRONMENT": "BATCH",
            "SLURMD_NODENAME": self.node,
            "SLURM_CLUSTER_NAME": CLUSTER,
            "SLURM_JOB_ID": str(self.own_id),
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
        }

    def _of_array(self) -> dict[str, str]:
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
