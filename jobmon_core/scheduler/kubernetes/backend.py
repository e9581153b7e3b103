"""The Kubernetes backend. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

from shlex import join, quote
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import OutageWords
from jobmon_core.scheduler.base import Backend, ManualCommands, deferred
from jobmon_core.scheduler.kubernetes.kubectl import where

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import BackendResources


def _kubectl(service: str) -> str:
    return join(("kubectl", *where(service)))


def _cancel_command(_job: str, name: str, service: str) -> str:
    return f"{_kubectl(service)} delete {quote(name)}"


def _manual_commands(_resources: BackendResources, service: str, _number: int, name: str) -> ManualCommands:
    return ManualCommands(
        (f"{_kubectl(service)} describe {quote(name)}",),
        (_cancel_command("", name, service),),
        start_note="create it again from its file, under another name: `kubectl create -f FILE`",
    )


_OUTAGE = OutageWords(
    name="Kubernetes ({cluster})",
    summary="kubectl has had no answer about {cluster} for {lasted}, so jobmon has no news of your jobs "
    "there. It considers none finished and keeps asking. You will be notified once it answers.",
    advice="`jobmon show JOB` has what kubectl says; often a login has expired. The jobs may run on: do not "
    "start them again before you know.",
)

KUBERNETES = Backend(
    name="kubernetes",
    display_name="Kubernetes",
    submitter=None,  # its submission takes a file of Kubernetes, no options of sbatch
    scheduler=deferred("kubernetes.client", "KubeScheduler"),
    cancel_command=_cancel_command,
    remote_jobs=deferred("kubernetes.client", "KubeScheduler"),
    manual_commands=_manual_commands,
    job_control=deferred("kubernetes.control", "KubeControl"),
    processes_left=deferred("kubernetes.control", "processes_left"),
    outage_words=_OUTAGE,
)
