"""One look at a namespace, for all jobs that jobmon follows there. It runs in a helper."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.backends import KUBE_STUCK
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.restart.kubernetes_attempts import TOKEN_KEY
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.log_copy import copy_logs
from jobmon_core.scheduler.kubernetes.pending import kueue_words, warning_about
from jobmon_core.scheduler.kubernetes.pods import Reading, end_of, is_running, latest_failure
from jobmon_core.scheduler.kubernetes.reading import KINDS, from_pods, pods_of
from jobmon_core.scheduler.kubernetes.records import Followed, KubeJobFolder, Registered
from jobmon_core.scheduler.records import Reply, StatusRow, same_fields, to_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from jobmon_core.scheduler.kubernetes.objects import KubeObject, Pod

STUCK_AFTER_S = 120.0  # how long a problem that a person must mend has lasted before its job is reported
APPEARS_WITHIN_S = 180.0  # how soon after a submission without an answer its object must be shown
LOGS_WITHIN_S = 30.0  # of one look, for the logs of all jobs
_MAX_EXPLAINED = 4  # jobs whose events are asked for at one look
_VAGUE = ("it has no pod yet", "ContainerCreating", "node ", "Suspended: it waits in the queue")
_MAX_ENDS = 64  # of pods of one job that are remembered
GONE = (
    "Kubernetes does not know it any more: it was deleted, or removed after its end "
    "(ttlSecondsAfterFinished), before jobmon saw its end"
)
REPLACED = (
    "Kubernetes has another object of this name now: the watched one was removed before jobmon saw its end"
)
_NEVER_SEEN = "Kubernetes never confirmed the submission and does not know it"


def poll(root: Path, service: str, is_known: Callable[[int], bool], kubectl: Kubectl | None = None) -> Reply:
    """The rows of the jobs that jobmon follows; their files are updated."""
    kubectl = kubectl or Kubectl(service)
    try:
        known = KubeJobFolder.followed(root, service, is_known)
        followed = [Followed(*each, each[-1]) for each in known]
        if any(not each.before.is_final for each in followed):
            followed = _explained(kubectl, _look_at_all(kubectl, followed, time.time()))
        deadline_s = time.monotonic() + LOGS_WITHIN_S
        order = random.sample(followed, len(followed))  # if the time is over, another look begins with others
        for each in sorted(order, key=lambda each: not each.after.is_final):
            logs = copy_logs(kubectl, each, deadline_s)
            each.folder.save_status(replace(each.after, logs=logs), each.before)
    except KubeFailed as error:
        return Reply(problem=str(error))
    except (OSError, StorageFailed) as error:
        return Reply(problem=f"the records of the jobs on Kubernetes cannot be used: {error}")
    return Reply(to_answer(each.after.row for each in followed if each.after.row and not each.after.gone_why))


def _look_at_all(kubectl: Kubectl, followed: list[Followed], now_s: float) -> list[Followed]:
    alive = {each.job.kind for each in followed if not each.before.is_final}
    objects, pods = kubectl.objects("get", ",".join(sorted(KINDS[kind].resource for kind in {*alive, "pod"})))
    owned: dict[str, list[Pod]] = {}
    for pod in pods:
        for owner in pod.owners:
            owned.setdefault(owner[2], []).append(pod)
    shown = _Shown({each.uid: each for each in (*objects, *pods)}, pods, owned)
    return [each if each.before.is_final else _look(kubectl, each, shown, now_s) for each in followed]


def _explained(kubectl: Kubectl, followed: list[Followed]) -> list[Followed]:
    """With the reasons of a few jobs that wait and show none; the others are asked about at a later look."""
    vague = [each for each in followed if _is_vague(each)]
    asked = random.sample(vague, min(_MAX_EXPLAINED, len(vague)))
    return [_with_reason(kubectl, each) if each in asked else each for each in followed]


def _is_vague(each: Followed) -> bool:
    row = each.after.row
    is_waiting = row is not None and not each.before.is_final and row.state == JobState.PENDING
    return bool(is_waiting and row and (not row.reason or row.reason.startswith(_VAGUE)))


def _with_reason(kubectl: Kubectl, each: Followed) -> Followed:
    row = each.after.row
    reason = row.reason if row else ""
    if reason.startswith("Suspended"):
        found = kueue_words(kubectl, each.job.uid)
    else:
        found = warning_about(kubectl, (each.job.name, *(pod.name for pod in each.pods[:2])))
    reason = "; ".join(filter(None, (reason, found)))
    return each._replace(after=replace(each.after, row=row and replace(row, reason=reason)))


class _Shown(NamedTuple):
    objects: dict[str, KubeObject]  # by their uids
    pods: list[Pod]
    owned: dict[str, list[Pod]]  # by the uids of their owners

    def object(self, job: Registered) -> KubeObject | None:
        """By its uid; of a submission that no look has shown, by its name."""
        if job.uid:
            return self.objects.get(job.uid)
        kind = KINDS[job.kind]
        wanted = (kind.kind, kind.group, job.name)
        named = (each for each in self.objects.values() if (each.kind, each.group, each.name) == wanted)
        return next(named, None)


def _look(kubectl: Kubectl, each: Followed, shown: _Shown, now_s: float) -> Followed:
    job, found = each.job, shown.object(each.job)
    if found is None:
        left = [pod for pod in shown.pods if job.uid and pod.is_of(job.uid)]
        return _missing(kubectl, each, left, now_s)
    if not job.uid:
        if found.annotations.get(TOKEN_KEY) != job.token:
            return each._replace(after=replace(each.before, gone_why=REPLACED))
        job = Registered.of(job.service, job.kind, found, job.token)
        each.folder.register(job)
        each = each._replace(job=job)
    own = shown.owned.get(job.uid) or pods_of(found, shown.pods)
    return _read(each, own, lambda ends: KINDS[job.kind].read(found, own, ends, now_s), now_s, found.limit_s)


def _read(
    each: Followed,
    pods: Sequence[Pod],
    read: Callable[[list[Reading]], Reading],
    now_s: float,
    limit_s: int | None = None,
) -> Followed:
    ends = dict(each.before.ends)
    for pod in pods:
        if end := end_of(pod):  # kept although the pod may be removed, or the container restarted
            ends[pod.uid] = end
    ends = dict(list(ends.items())[-_MAX_ENDS:])
    reading, stuck_since_s = read(list(ends.values())), None
    if reading.is_stuck:
        stuck_since_s = each.before.stuck_since_s or now_s
        if now_s - stuck_since_s >= STUCK_AFTER_S:  # has the user told
            reading = replace(reading, reason=f"{KUBE_STUCK}: {reading.reason}")
    row = _row(each, reading, pods, limit_s)
    after = replace(each.before, row=row, ends=ends, stuck_since_s=stuck_since_s)
    return each._replace(after=after, pods=tuple(pods))


def _row(each: Followed, reading: Reading, pods: Sequence[Pod], limit_s: int | None = None) -> StatusRow:
    job, before, is_alive = each.job, each.before.row, reading.state.is_alive
    nodes = dict.fromkeys(pod.node for pod in pods if pod.node and (is_running(pod) or pod.has_ended))
    start_s = reading.start_s or (before.start_s if before else None)
    if not (start_s or is_alive):
        start_s = min(filter(None, (end.start_s for end in each.before.ends.values())), default=None)
    known: dict[str, Any] = {
        **same_fields(reading, StatusRow),
        "start_s": None if reading.state is JobState.PENDING else start_s,
        "end_s": None if is_alive else reading.end_s,
        "nodes": ",".join(nodes) or (before.nodes if before else ""),
    }
    about: dict[str, Any] = {
        "submit_s": job.submit_s,
        "name": job.full_name,
        "command": job.command,
        "limit_s": limit_s,
    }
    return each.folder.row(**known, **about)


def _missing(kubectl: Kubectl, each: Followed, pods: Sequence[Pod], now_s: float) -> Followed:
    """The answer does not show the object. Its absence is asked for by name: only that is an answer."""
    job = each.job
    try:
        objects, found = kubectl.objects("get", KINDS[job.kind].resource, job.name)
    except KubeFailed as error:
        if error.is_absence_of(job.name):
            return _gone(each, pods, GONE, now_s)
        return _unseen(each)  # nothing is known; the next look asks again
    uids = {item.uid for item in (*objects, *found)}
    if job.uid and uids and job.uid not in uids:
        return _gone(each, pods, REPLACED, now_s)
    return _unseen(each)  # it appeared meanwhile


def _unseen(each: Followed) -> Followed:
    if each.before.row:
        return each
    row = _row(each, Reading(JobState.PENDING, "Kubernetes has not shown it yet"), [])
    return each._replace(after=replace(each.before, row=row))


def _gone(each: Followed, pods: Sequence[Pod], why: str, now_s: float) -> Followed:
    job, before = each.job, each.before
    if not job.uid:
        if now_s - job.at_s < APPEARS_WITHIN_S:
            return _unseen(each)
        return each._replace(after=replace(before, gone_why=_NEVER_SEEN))
    if alive := [pod for pod in pods if not pod.has_ended]:
        reading = from_pods(alive, [], now_s)
        words = f"its {job.kind} was deleted, but pod {alive[0].name} has not ended"
        return _read(each, pods, lambda _ends: replace(reading, reason=reading.reason or words), now_s)
    by_user = None
    if each.folder.cancelled.exists():
        by_user = Reading(JobState.CANCELLED, "deleted by jobmon's user", end_s=int(now_s))
    unknown = Reading(JobState.UNKNOWN)
    seen = _read(each, pods, lambda ends: by_user or _by_pods(job, ends) or unknown, now_s)
    if seen.after.row and seen.after.row.state == JobState.UNKNOWN:
        return each._replace(after=replace(before, ends=seen.after.ends, gone_why=why))
    return seen


def _by_pods(job: Registered, ends: list[Reading]) -> Reading | None:
    """How a job ended whose object is gone: all its pods succeeded, or one failed and it has no retry."""
    last = [end for end in ends if end.is_last]
    good = [end for end in last if end.is_good]
    if job.completions and len(good) >= job.completions:
        end: Reading | None = replace(good[0], end_s=good[-1].end_s)
    else:
        end = None if job.retries else latest_failure(last)
    words = f"as its last pod shows: its {job.kind} is not there any more"
    return end and replace(end, reason=f"{end.reason}; {words}" if end.reason else words, start_s=None)
