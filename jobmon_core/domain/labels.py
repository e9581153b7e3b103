"""The labels of failures: the coarse classes that every id of a rule or a cause refines.

An id is a label, or a label, a dot and a finer name: ``slurm_timeout.hang`` is a ``slurm_timeout``.
"""

from __future__ import annotations

from typing import Final

CLEAN: Final = "clean"  # no failure at all
GENERIC: Final = "python_exception_other"  # an exception that no other label names: often a mere look-up

LABELS: Final = frozenset({
    "clean", "cuda_oom", "host_oom_kill", "python_memory_error", "slurm_timeout", "slurm_cancelled",
    "slurm_preempted", "node_fail", "nccl_timeout", "nccl_error", "cuda_device_assert",
    "cuda_illegal_access", "cuda_driver_mismatch", "gpu_hardware", "import_error", "file_not_found",
    "permission_denied", "disk_full", "segfault", "bus_error_shm", "dataloader_worker_killed",
    "rendezvous_error", "port_in_use", "network_error", "auth_error", "shape_mismatch",
    "dtype_device_mismatch", "checkpoint_mismatch", "checkpoint_corrupt", "config_error", "nan_loss",
    "assertion_error", "module_env", "compile_error", "mpi_error", "srun_error", "python_exception_other",
})  # fmt: skip


def label_of(identifier: str) -> str:
    """Return the label that an id refines: all of it up to its first dot."""
    return identifier.partition(".")[0]
