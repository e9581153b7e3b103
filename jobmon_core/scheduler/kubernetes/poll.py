"""One look at a namespace, for all jobs that jobmon follows there. It runs in a helper."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.backends import KUBE_STUCK
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.restart.kubernetes_attempts import TOKEN_KEY
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.log_copy import copy_logs
from jobmon_core.scheduler.kubernetes.objects import read_list
from jobmon_core.scheduler.kubernetes.pending import kueue_words, warning_about
from jobmon_core.scheduler.kubernetes.pods import end_of, is_running, latest_failure
from jobmon_core.scheduler.kubernetes.reading import KINDS, POD, Reading, from_pods, pods_of, read_pod
from jobmon_core.scheduler.kubernetes.records import Followed, KubeJobFolder, Registered, SeenStatus
from jobmon_core.scheduler.records import Reply, StatusRow, to_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from jobmon_core.scheduler.kubernetes.objects import KubeObject, Pod
    from jobmon_core.scheduler.kubernetes.pods import PodEnd

STUCK_AFTER_S = 120.0  # how long a problem that a person must mend has lasted before its job is reported
APPEARS_WITHIN_S = 180.0  # how soon after a submission without an answer its object must be shown
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
            followed = _look_at_all(kubectl, followed, time.time())
            followed = _explained(kubectl, followed)
            copy_logs(kubectl, [each for each in followed if each.pods])
        for each in followed:
            each.folder.save_status(each.after, each.before)
    except KubeFailed as error:
        return Reply(problem=str(error))
    except (OSError, StorageFailed) as error:
        return Reply(problem=f"the records of the jobs on Kubernetes cannot be used: {error}")
    return Reply(to_answer(each.after.row for each in followed if each.after.row and not each.after.gone_why))


def _look_at_all(kubectl: Kubectl, followed: list[Followed], now_s: float) -> list[Followed]:
    alive = [each.job.kind for each in followed if not each.before.is_final]
    kinds = sorted({KINDS[kind].resource for kind in alive if kind != POD})
    found = read_list(kubectl.json("get", ",".join((*kinds, "pods"))))
    if found is None:
        raise KubeFailed(f"the answer of kubectl ({kubectl.service}) is no list of objects")
    objects, pods = found
    owned: dict[str, list[Pod]] = {}
    for pod in pods:
        for owner in pod.owners:
            owned.setdefault(owner[2], []).append(pod)
    shown = _Shown({each.uid: each for each in objects}, {pod.uid: pod for pod in pods}, owned)
    return [each if each.before.is_final else _look(kubectl, each, shown, now_s) for each in followed]


def _explained(kubectl: Kubectl, followed: list[Followed]) -> list[Followed]:
    """With the reasons of a few jobs that wait and show none; the others are asked about at a later look."""
    vague = [each for each in followed if _is_vague(each)]
    asked = random.sample(vague, min(_MAX_EXPLAINED, len(vague)))
    return [_with_reason(kubectl, each) if each in asked else each for each in followed]


def _is_vague(each: Followed) -> bool:
    row = each.after.row
    if row is None or each.before.is_final or row.state != JobState.PENDING:
        return False
    return not row.reason or row.reason.startswith(_VAGUE)


def _with_reason(kubectl: Kubectl, each: Followed) -> Followed:
    row = each.after.row
    if row is None:
        return each
    if row.reason.startswith("Suspended"):
        found = kueue_words(kubectl, each.job.uid)
    else:
        found = warning_about(kubectl, (each.job.name, *(pod.name for pod in each.pods[:2])))
    if not found:
        return each
    reason = f"{row.reason}; {found}" if row.reason else found
    return each._replace(after=replace(each.after, row=replace(row, reason=reason)))


class _Shown(NamedTuple):
    objects: dict[str, KubeObject]  # by their uids
    pods: dict[str, Pod]
    owned: dict[str, list[Pod]]  # by the uids of their owners

    def object(self, job: Registered) -> KubeObject | None:
        """By its uid; of a submission that no look has shown, by its name."""
        if job.uid:
            return self.objects.get(job.uid)
        kind = KINDS[job.kind]
        wanted = (kind.kind, kind.group, job.name)
        named = (each for each in self.objects.values() if (each.kind, each.group, each.name) == wanted)
        return next(named, None)

    def pods_of(self, job: KubeObject) -> list[Pod]:
        return self.owned.get(job.uid) or pods_of(job, self.pods.values())


def _look(kubectl: Kubectl, each: Followed, shown: _Shown, now_s: float) -> Followed:
    job = each.job
    if job.kind == POD:
        pod = shown.pods.get(job.uid)
        if pod is None:
            return _missing(kubectl, each, [], now_s)
        return _read(each, [pod], lambda _ends: read_pod(pod, now_s), now_s)
    found = shown.object(job)
    if found is None:
        left = [pod for pod in shown.pods.values() if job.uid and pod.is_of(job.uid)]
        return _missing(kubectl, each, left, now_s)
    if not job.uid:
        if found.annotations.get(TOKEN_KEY) != job.token:
            return each._replace(after=replace(each.before, gone_why=REPLACED))
        job = replace(job, uid=found.uid, submit_s=found.created_s, completions=found.completions)
        each.folder.register(job)
        each = each._replace(job=job)
    own, read = shown.pods_of(found), KINDS[job.kind].read
    return _read(each, own, lambda ends: read(found, own, ends, now_s), now_s, found.limit_s)


def _read(
    each: Followed,
    pods: Sequence[Pod],
    read: Callable[[list[PodEnd]], Reading],
    now_s: float,
    limit_s: int | None = None,
) -> Followed:
    ends = dict(each.before.ends)
    for pod in pods:
        if end := end_of(pod):  # kept although the pod may be removed, or the container restarted
            ends[pod.uid] = end
    ends = dict(list(ends.items())[-_MAX_ENDS:])
    reading = read(list(ends.values()))
    reading, stuck_since_s = _with_problem(each.before, reading, now_s)
    row = _row(each, reading, pods, limit_s)
    return each._replace(
        after=replace(each.before, row=row, ends=ends, stuck_since_s=stuck_since_s), pods=tuple(pods)
    )


def _with_problem(before: SeenStatus, reading: Reading, now_s: float) -> tuple[Reading, float | None]:
    """With a beginning of the reason that has the user told, once the problem has lasted."""
    if not reading.is_stuck:
        return reading, None
    since_s = before.stuck_since_s or now_s
    if now_s - since_s >= STUCK_AFTER_S:
        reading = replace(reading, reason=f"{KUBE_STUCK}: {reading.reason}")
    return reading, since_s


def _row(each: Followed, reading: Reading, pods: Sequence[Pod], limit_s: int | None = None) -> StatusRow:
    job, before, is_alive = each.job, each.before.row, reading.state.is_alive
    nodes = dict.fromkeys(pod.node for pod in pods if pod.node and (is_running(pod) or pod.has_ended))
    start_s = reading.start_s or (before.start_s if before else None)
    if reading.state is JobState.PENDING:
        start_s = None
    elif not (start_s or is_alive):
        times = (end.started_s for end in each.before.ends.values())
        start_s = min(filter(None, times), default=None)
    return each.folder.row(
        reading.state,
        reason=reading.reason,
        exit_code=reading.exit_code,
        submit_s=job.submit_s,
        start_s=start_s,
        end_s=None if is_alive else reading.end_s,
        limit_s=limit_s,
        nodes=",".join(nodes) or (before.nodes if before else ""),
        name=job.full_name,
        command=job.command,
        backend_state=reading.word,
    )


def _missing(kubectl: Kubectl, each: Followed, pods: Sequence[Pod], now_s: float) -> Followed:
    """The answer does not show the object. Its absence is asked for by name: only that is an answer."""
    job = each.job
    resource = "pods" if job.kind == POD else KINDS[job.kind].resource
    try:
        shown = read_list(kubectl.json("get", resource, job.name))
    except KubeFailed as error:
        if not error.is_absence_of(job.name):
            return _unseen(each)  # nothing is known; the next look asks again
        return _gone(each, pods, GONE, now_s)
    objects, found = shown or ([], [])
    uids = {*(item.uid for item in objects), *(item.uid for item in found)}
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
    alive = [pod for pod in pods if not pod.has_ended]
    if alive:
        reading = from_pods(alive, [], now_s)
        words = f"its {job.kind} was deleted, but pod {alive[0].name} has not ended"
        return _read(each, pods, lambda _ends: replace(reading, reason=reading.reason or words), now_s)
    if each.folder.is_cancelled:
        reading = Reading(JobState.CANCELLED, "deleted by jobmon's user", end_s=int(now_s))
        return _read(each, pods, lambda _ends: reading, now_s)
    seen = _read(each, pods, lambda ends: _by_pods(job, ends) or Reading(JobState.UNKNOWN), now_s)
    if seen.after.row and seen.after.row.state == JobState.UNKNOWN:
        return each._replace(after=replace(before, ends=seen.after.ends, gone_why=why))
    return seen


def _by_pods(job: Registered, ends: list[PodEnd]) -> Reading | None:
    """How a job ended whose object is gone: all its pods succeeded, or one failed and it has no retry."""
    last = [end for end in ends if end.is_last]
    good = [end for end in last if end.is_good]
    words = f"as its last pod shows: its {job.kind} is not there any more"
    if job.completions and len(good) >= job.completions:
        return Reading(JobState.COMPLETED, words, exit_code=good[0].exit_code, end_s=good[-1].ended_s)
    failure = latest_failure(last)
    if failure and not job.retries:
        reason = f"{failure.reason}; {words}" if failure.reason else words
        return Reading(failure.state, reason, exit_code=failure.exit_code, end_s=failure.ended_s)
    return None
