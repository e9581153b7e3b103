"""Local copies of the logs of pods, from which all later steps read ordinary files.

Each line comes with its time (``--timestamps``), so what follows the last copied line can be asked for.
Kubernetes keeps the log of a container only until the one after the next restart (``--previous``), and none
of a pod that is gone: what a container printed before its restart is copied first.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from jobmon_core.scheduler.kubernetes.kubectl import KubeFailed
from jobmon_core.scheduler.kubernetes.records import PodLog
from jobmon_core.system.files import open_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from jobmon_core.scheduler.kubernetes.kubectl import Kubectl
    from jobmon_core.scheduler.kubernetes.objects import Container, Pod
    from jobmon_core.scheduler.kubernetes.records import Followed

_TIMEOUT_S = 20.0
_MAX_BYTES = 4 << 20  # of one answer
_FIRST_LINES = 20_000  # of a log that is new to jobmon
_MAX_COPY_BYTES = 64 << 20
_MAX_PODS = 16  # of one job whose logs are copied
_TIME = re.compile(r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d) ")
GAP = "[jobmon: lines of the log are missing here; `kubectl logs` has them as long as the pod is there]\n"


def copy_logs(kubectl: Kubectl, job: Followed, deadline_s: float) -> dict[str, PodLog]:
    """Add what the containers of a job have printed since the last look, until a monotonic time."""
    logs = dict(job.before.logs)
    for pod in sorted(job.pods, key=lambda each: (each.created_s or 0, each.name)):
        container = next((each for each in pod.containers if each.name == pod.main), None)
        if time.monotonic() > deadline_s or not (container and container.has_started):
            continue
        known = logs.get(pod.uid) or PodLog(_slot(logs, job, pod))
        if known.slot >= _MAX_PODS or known.is_done:
            continue
        path = log_file(job.folder.path, known.slot)
        if pod.uid not in logs and path.exists():
            _append(path, f"[jobmon: pod {pod.name} begins here]\n")
        logs[pod.uid] = _copy(kubectl, path, known, pod, container)
    return logs


def log_file(folder: Path, slot: int) -> Path:
    """The copy for the first pod of a job (0), or for one beside it."""
    return folder / (f"pod-{slot}.log" if slot else "job.log")


def _slot(logs: Mapping[str, PodLog], job: Followed, pod: Pod) -> int:
    """A pod that follows another one continues its file; pods side by side have one each."""
    has_several = job.job.has_several_pods
    if pod.index.isdecimal() and has_several:
        return int(pod.index)
    alive = {each.uid for each in job.pods if not each.has_ended}
    follows = not has_several or not pod.has_ended
    used = {log.slot for uid, log in logs.items() if uid in alive or not follows}
    return next(number for number in range(len(used) + 1) if number not in used)


def _copy(kubectl: Kubectl, path: Path, known: PodLog, pod: Pod, container: Container) -> PodLog:
    try:
        if container.restarts > known.restarts:
            if container.restarts > known.restarts + 1 and known.last:
                _append(path, GAP)
            known = _added(kubectl, path, known, pod, previous=True)
            _append(path, f"[jobmon: container {pod.main} was restarted here]\n")
            known = replace(known, restarts=container.restarts, last="", same=0)
        known = _added(kubectl, path, known, pod, previous=False)
    except KubeFailed as error:
        # a pod that is gone has no log any more; anything else may be better at the next look
        return replace(known, is_done=error.is_absence_of(pod.name))
    return replace(known, is_done=pod.has_ended)


def _added(kubectl: Kubectl, path: Path, known: PodLog, pod: Pod, *, previous: bool) -> PodLog:
    """Append what follows the lines that were copied; an answer repeats those of the last second."""
    options = ["-c", pod.main, "--timestamps", f"--limit-bytes={_MAX_BYTES}", f"--tail={_FIRST_LINES}"]
    if known.last:
        options[-1] = f"--since-time={known.last}"
    if previous:
        options.append("--previous")
    said = kubectl.text("logs", pod.name, *options, timeout_s=_TIMEOUT_S)
    is_full = len(said.encode()) >= _MAX_BYTES - 4  # the last character may be cut
    *whole, rest = said.split("\n")
    lines = [f"{line}\n" for line in whole]
    # a line that goes on is copied when it is whole; a container that has ended prints no more of it
    if rest and (previous or pod.has_ended) and not is_full:
        lines.append(rest)
    seconds = list(_seconds(lines, known.last))
    new = [_TIME.sub("", line) for line in lines[min(known.same, seconds.count(known.last)) :]]
    last = (seconds or [known.last])[-1]
    # an answer may lack lines that were copied, e.g. while the kubelet begins another file
    same = max(seconds.count(last), {known.last: known.same}.get(last, 0))
    if not known.last and len(lines) >= _FIRST_LINES:
        new.insert(0, GAP)
    elif is_full and last and not new:  # more in one second than an answer holds
        new, same = [GAP], 0
        last = (datetime.fromisoformat(last) + timedelta(seconds=1)).isoformat()
    _append(path, "".join(new))
    return replace(known, last=last, same=same)


def _seconds(lines: Iterable[str], second: str) -> Iterator[str]:
    """Yield those of the lines: one without a time goes on with the line before."""
    for line in lines:
        if at := _TIME.match(line):
            second = f"{at[1]}{at[2]}"
        yield second


def _append(path: Path, text: str) -> None:
    if not text:
        return
    with suppress(FileNotFoundError):
        if path.stat().st_size > _MAX_COPY_BYTES:
            os.replace(path, f"{path}.1")  # noqa: PTH105 - one call that names both
    with open(open_private(path, os.O_WRONLY | os.O_APPEND), "ab") as file:
        file.write(text.encode())
