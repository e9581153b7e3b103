"""What ``kubectl get -o json`` prints of pods and of what owns them. Pure; nothing here raises.

A value is read where it is asked for: of the thousands in an answer, a look needs few. Source: the types
of the Kubernetes API, batch/v1 and v1 (1.20 to 1.34). Those of the other kinds: JobSet v1alpha2,
training-operator 1.9 (kubeflow.org/v1), Trainer v1alpha1, KubeRay (ray.io/v1), Volcano v1alpha1.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from jobmon_core.scheduler.json_values import at, dicts, number, number_or, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_TEXT = 300  # characters of a message that fit into a row
_INDEX = ("batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index")
_DEFAULT = "kubectl.kubernetes.io/default-container"


def seconds(data: object, *path: str) -> int | None:
    """The time there, e.g. ``2026-11-28T14:56:44Z``, as Unix seconds."""
    try:
        return int(datetime.fromisoformat(text(data, *path)).timestamp())
    except (ValueError, OverflowError):
        return None


def _texts(data: object, *path: str) -> list[str]:
    entries = at(data, *path)
    return [each for each in entries if isinstance(each, str)] if isinstance(entries, list) else []


def short(data: object, *path: str) -> str:
    """The text there, as one line that fits into a row."""
    return " ".join(text(data, *path).split())[:_MAX_TEXT]


def _labels(data: object, *path: str) -> dict[str, str]:
    pairs = at(data, *path)
    items = pairs.items() if isinstance(pairs, dict) else ()
    return {key: value for key, value in items if isinstance(value, str)}


def _command(data: object) -> str:
    first = next(iter(dicts(data, "spec", "template", "spec", "containers")), {})
    return " ".join((*_texts(first, "command"), *_texts(first, "args"))) or text(data, "spec", "entrypoint")


T = TypeVar("T")


class _At(Generic[T]):
    """An attribute that a function reads from what is shown."""

    def __init__(self, read: Callable[..., T], *path: str) -> None:
        self._read, self._path = read, path

    def __get__(self, shown: Shown, _kind: type[Shown]) -> T:
        return self._read(shown.data, *self._path)


class Shown:
    """An object, or a part of one, as the answer has it. Times are Unix seconds."""

    def __init__(self, data: object) -> None:
        """``data`` is JSON, whatever its form."""
        self.data = data


class Condition(Shown):
    """One of an object."""

    type = _At(text, "type")
    is_true = _At(lambda data: text(data, "status") == "True")
    reason = _At(text, "reason")
    message = _At(short, "message")
    since_s = _At(seconds, "lastTransitionTime")


class Exit(Shown):
    """A container that ended."""

    code = _At(lambda data: number_or(0, data, "exitCode"))
    reason = _At(text, "reason")
    message = _At(short, "message")
    started_s = _At(seconds, "startedAt")
    finished_s = _At(seconds, "finishedAt")


def _exit(data: object, *path: str) -> Exit | None:
    found = at(data, *path, "terminated")
    return None if number(found, "exitCode") is None else Exit(found)


class Container(Shown):
    """The status of a container."""

    name = _At(text, "name")
    waiting = _At(text, "state", "waiting", "reason")
    message = _At(short, "state", "waiting", "message")
    running_s = _At(seconds, "state", "running", "startedAt")
    exit = _At(_exit, "state")
    last_exit = _At(_exit, "lastState")  # before the latest restart
    restarts = _At(lambda data: number_or(0, data, "restartCount"))

    def __init__(self, data: object, *, is_init: bool, is_sidecar: bool) -> None:
        """A sidecar is an init container that runs beside the others: its exit code does not count."""
        super().__init__(data)
        self.is_init, self.is_sidecar = is_init, is_sidecar

    @property
    def has_started(self) -> bool:
        """Whether it has ever run."""
        return bool(self.running_s or self.exit or self.last_exit)


class Pod(Shown):
    """A pod."""

    name = _At(text, "metadata", "name")
    uid = _At(text, "metadata", "uid")
    labels = _At(_labels, "metadata", "labels")
    created_s = _At(seconds, "metadata", "creationTimestamp")
    deleted_by_s = _At(seconds, "metadata", "deletionTimestamp")  # when its processes are to be gone
    phase = _At(text, "status", "phase")
    reason = _At(text, "status", "reason")
    message = _At(short, "status", "message")
    node = _At(text, "spec", "nodeName")

    @cached_property
    def owners(self) -> tuple[tuple[str, str, str], ...]:
        """The kinds, names and uids."""
        each = dicts(self.data, "metadata", "ownerReferences")
        return tuple((text(owner, "kind"), text(owner, "name"), text(owner, "uid")) for owner in each)

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Those with a status, in the order of the specification; init containers come first."""
        return tuple(_containers(self.data))

    @property
    def main(self) -> str:
        """The container whose log counts."""
        names = [text(each, "name") for each in dicts(self.data, "spec", "containers")]
        return text(self.data, "metadata", "annotations", _DEFAULT) or next(iter(names), "")

    @property
    def index(self) -> str:
        """Its number in its job; empty without one."""
        places = ((place, name) for name in _INDEX for place in ("annotations", "labels"))
        return next(filter(None, (text(self.data, "metadata", *each) for each in places)), "")

    @property
    def has_ended(self) -> bool:
        """Whether its phase is a final one."""
        return self.phase in ("Succeeded", "Failed")

    def condition(self, kind: str) -> Condition | None:
        """The condition with this type."""
        return next((each for each in _conditions(self.data) if each.type == kind), None)

    def is_of(self, uid: str) -> bool:
        """Whether an object with this uid made it."""
        names = ("controller-uid", "batch.kubernetes.io/controller-uid")
        return any(each[2] == uid for each in self.owners) or (
            not self.owners and any(self.labels.get(name) == uid for name in names)
        )


class KubeObject(Shown):
    """A Job, or another kind of object that makes pods."""

    kind = _At(text, "kind")
    group = _At(lambda data: text(data, "apiVersion").rpartition("/")[0])
    name = _At(text, "metadata", "name")
    uid = _At(text, "metadata", "uid")
    queue = _At(text, "metadata", "labels", "kueue.x-k8s.io/queue-name")
    annotations = _At(_labels, "metadata", "annotations")
    created_s = _At(seconds, "metadata", "creationTimestamp")
    is_being_deleted = _At(lambda data: bool(text(data, "metadata", "deletionTimestamp")))
    started_s = _At(seconds, "status", "startTime")
    completed_s = _At(
        lambda data: seconds(data, "status", "completionTime") or seconds(data, "status", "endTime")
    )
    limit_s = _At(
        lambda data: (
            number(data, "spec", "activeDeadlineSeconds")
            or number(data, "spec", "runPolicy", "activeDeadlineSeconds")
        )
    )
    is_suspended = _At(
        lambda data: True in (at(data, "spec", "suspend"), at(data, "spec", "runPolicy", "suspend"))
    )
    completions = _At(
        lambda data: number_or(number_or(1, data, "spec", "parallelism"), data, "spec", "completions")
    )
    retries = _At(lambda data: number_or(6, data, "spec", "backoffLimit"))  # failed pods that it replaces
    # those of a RayJob, else of Volcano
    phase = _At(lambda data: text(data, "status", "jobDeploymentStatus") or _volcano(data, "phase"))
    inner = _At(text, "status", "jobStatus")
    reason = _At(lambda data: text(data, "status", "reason") or _volcano(data, "reason"))
    message = _At(lambda data: short(data, "status", "message") or _volcano(data, "message"))
    command = _At(_command)

    def condition(self, *kinds: str) -> Condition | None:
        """The first true condition of these types."""
        found = [each for each in _conditions(self.data) if each.is_true]
        return next((each for kind in kinds for each in found if each.type == kind), None)


def read_list(data: object) -> tuple[list[KubeObject], list[Pod]] | None:
    """The objects and pods of an answer, a List or a single one; None if it is neither."""
    if not isinstance(data, dict):
        return None
    items = data.get("items") if str(data.get("kind", "")).endswith("List") else [data]
    if not isinstance(items, list) or not all(text(item, "metadata", "uid") for item in items):
        return None
    pods = [Pod(item) for item in items if text(item, "kind") == "Pod"]
    return [KubeObject(item) for item in items if text(item, "kind") != "Pod"], pods


def _volcano(data: object, key: str) -> str:
    return short(data, "status", "state", key)


def _conditions(data: object) -> list[Condition]:
    return [Condition(each) for each in dicts(data, "status", "conditions")]


def _containers(pod: object) -> Iterator[Container]:
    for key, statuses, is_init in (
        ("initContainers", "initContainerStatuses", True),
        ("containers", "containerStatuses", False),
    ):
        known = {text(each, "name"): each for each in dicts(pod, "status", statuses)}
        for each in dicts(pod, "spec", key):
            is_sidecar = is_init and text(each, "restartPolicy") == "Always"
            if shown := known.get(text(each, "name")):
                yield Container(shown, is_init=is_init, is_sidecar=is_sidecar)
