"""The Ray backend. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

import re
from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import OutageWords, url_of
from jobmon_core.scheduler.base import Backend, ManualCommands, deferred

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import BackendResources


_DRIVER = re.compile(r"[0-9a-f]{8}")  # the id of a job that no submission started
_START_NOTE = (
    "submit its entrypoint again, with its runtime environment and its resources; `jobmon submit --backend "
    "ray --help` names the options"
)


def _cancel_command(_job: str, name: str, service: str) -> str:
    if _DRIVER.fullmatch(name):  # `ray job stop` takes only what a submission started
        return ""
    return f"ray job stop --address {quote(url_of(service))} {quote(name)}"


def _manual_commands(_resources: BackendResources, service: str, _number: int, name: str) -> ManualCommands:
    url = url_of(service)
    browser = f"    # or see {url} in a browser"
    if _DRIVER.fullmatch(name):
        note = "no submission of Ray started it: start its program again as it was started"
        return ManualCommands((f"ray job list --address {quote(url)}{browser}",), start_note=note)
    look = f"ray job status --address {quote(url)} {quote(name)}{browser}"
    return ManualCommands((look,), (_cancel_command("", name, service),), start_note=_START_NOTE)


_OUTAGE = OutageWords(
    name="The Ray cluster {cluster}",
    summary="The dashboard of the Ray cluster {cluster} has not answered for {lasted}, so jobmon has no news "
    "of your jobs there. It considers none finished and keeps asking. You will be notified once it answers.",
    advice="Look at the head node of {cluster}: whether the dashboard and the GCS run (`ray status`). "
    "The jobs may run on without the dashboard: do not start them again before you know.",
)

RAY = Backend(
    name="ray",
    display_name="Ray",
    submitter=None,  # `jobmon_core.app.remote.ray_cluster` submits: the options are not those of sbatch
    scheduler=deferred("ray.client", "RayScheduler"),
    cancel_command=_cancel_command,
    remote_jobs=deferred("ray.client", "RayScheduler"),
    cluster_resources=deferred("ray.client", "cluster_resources"),
    manual_commands=_manual_commands,
    processes_left=deferred("ray.client", "processes_left"),
    outage_words=_OUTAGE,
)
