"""Local copies of the logs of pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.kubernetes.kubectl import Kubectl
    from jobmon_core.scheduler.kubernetes.objects import Pod
    from jobmon_core.scheduler.kubernetes.records import KubeJobFolder


def copy_logs(kubectl: Kubectl, jobs: Sequence[tuple[KubeJobFolder, tuple[Pod, ...], bool]]) -> None:
    """Add what the containers have printed since the last look."""
