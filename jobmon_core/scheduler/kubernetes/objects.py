"""What ``kubectl get -o json`` prints of pods and of what owns them. Pure; nothing here raises.

A value is read where it is asked for: of the thousands in an answer, a look needs few. Source: the types
of the Kubernetes API, batch/v1 and v1 (1.20 to 1.34). Those of the other kinds: JobSet v1alpha2,
training-operator 1.9 (kubeflow.org/v1), Trainer v1alpha1, KubeRay (ray.io/v1), Volcano v1alpha1.
"""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from jobmon_core.scheduler.json_values import at, dicts, number, number_or, text

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_TEXT = 300  # characters of a message that fit into a row
_DEFAULT = "kubectl.kubernetes.io/default-container"


def _seconds(data: object, *path: str) -> int | None:
    """The time there, e.g. ``2026-11-28T14:56:44Z``, as Unix seconds."""
    try:
        return int(datetime.fromisoformat(text(data, *path)).timestamp())
    except (ValueError, OverflowError):
        return None


def _words(data: object, *path: str) -> str:
    """The text or texts there, as one line."""
    found = at(data, *path)
    texts = [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
    return " ".join(texts) or " ".join(text(data, *path).split())


def _short(data: object, *path: str) -> str:
    """Likewise, if it fits into a row."""
    return _words(data, *path)[:_MAX_TEXT]


def _texts(data: object, *path: str) -> dict[str, str]:
    pairs = at(data, *path)
    items = pairs.items() if isinstance(pairs, dict) else ()
    return {key: value for key, value in items if isinstance(value, str)}


def _command(data: object) -> str:
    first = next(iter(dicts(data, "spec", "template", "spec", "containers")), {})
    words = " ".join(filter(None, (_words(first, "command"), _words(first, "args"))))
    return words or text(data, "spec", "entrypoint")


T = TypeVar("T")


class _At(Generic[T]):
    """An attribute: what a function reads at the first path, e.g. ``spec nodeName``, that has a value."""

    def __init__(self, read: Callable[..., T], *paths: str) -> None:
        self._read, self._paths = read, [path.split() for path in paths or ("",)]

    def __get__(self, shown: Shown, _kind: type[Shown]) -> T:
        *others, last = self._paths
        found = (self._read(shown.data, *path) for path in others)
        return next(filter(None, found), None) or self._read(shown.data, *last)


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
    message = _At(_short, "message")
    since_s = _At(_seconds, "lastTransitionTime")


class Exit(Shown):
    """A container that ended."""

    code = _At(lambda data: number_or(0, data, "exitCode"))
    reason = _At(text, "reason")
    message = _At(_short, "message")
    started_s = _At(_seconds, "startedAt")
    finished_s = _At(_seconds, "finishedAt")


def _exit(data: object, *path: str) -> Exit | None:
    found = at(data, *path)
    return None if number(found, "exitCode") is None else Exit(found)


class Container(Shown):
    """The status of a container."""

    name = _At(text, "name")
    waiting = _At(text, "state waiting reason")
    message = _At(_short, "state waiting message")
    running_s = _At(_seconds, "state running startedAt")
    exit = _At(_exit, "state terminated")
    last_exit = _At(_exit, "lastState terminated")  # before the latest restart
    ended = _At(_exit, "state terminated", "lastState terminated")
    restarts = _At(lambda data: number_or(0, data, "restartCount"))

    def __init__(self, data: object, *, is_init: bool, is_sidecar: bool) -> None:
        """A sidecar is an init container that runs beside the others: its exit code does not count."""
        super().__init__(data)
        self.is_init, self.is_sidecar = is_init, is_sidecar

    @property
    def has_started(self) -> bool:
        """Whether it has ever run."""
        return bool(self.running_s or self.ended)


class KubeObject(Shown):
    """A pod, a Job, or another kind of object that makes pods."""

    kind = _At(text, "kind")
    group = _At(lambda data: text(data, "apiVersion").rpartition("/")[0])
    name = _At(text, "metadata name")
    uid = _At(text, "metadata uid")
    queue = _At(text, "metadata labels kueue.x-k8s.io/queue-name")
    labels = _At(_texts, "metadata labels")
    annotations = _At(_texts, "metadata annotations")
    created_s = _At(_seconds, "metadata creationTimestamp")
    deleted_by_s = _At(_seconds, "metadata deletionTimestamp")  # when the processes of a pod are to be gone
    started_s = _At(_seconds, "status startTime")
    completed_s = _At(_seconds, "status completionTime", "status endTime")
    limit_s = _At(number, "spec activeDeadlineSeconds", "spec runPolicy activeDeadlineSeconds")
    is_suspended = _At(lambda *where: at(*where) is True, "spec suspend", "spec runPolicy suspend")
    completions = _At(
        lambda data: number_or(number_or(1, data, "spec", "parallelism"), data, "spec", "completions")
    )
    retries = _At(lambda data: number_or(6, data, "spec", "backoffLimit"))  # failed pods that it replaces
    command = _At(_command)
    # those of a RayJob, else of Volcano
    phase = _At(text, "status jobDeploymentStatus", "status state phase")
    inner = _At(text, "status jobStatus")
    reason = _At(text, "status reason", "status state reason")
    message = _At(_short, "status message", "status state message")

    def conditions(self) -> list[Condition]:
        """All of them."""
        return [Condition(each) for each in dicts(self.data, "status", "conditions")]

    def condition(self, *kinds: str) -> Condition | None:
        """The first true condition of these types."""
        found = {each.type: each for each in reversed(self.conditions()) if each.is_true}
        return next((found[kind] for kind in kinds if kind in found), None)


class Pod(KubeObject):
    """A pod."""

    phase = _At(text, "status phase")
    node = _At(text, "spec nodeName")
    index = _At(  # its number in its job; empty without one
        text,
        *(
            f"metadata {place} {name}"
            for name in ("batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index")
            for place in ("annotations", "labels")
        ),
    )
    retries = _At(lambda _pod: 0)

    @cached_property
    def owners(self) -> tuple[tuple[str, str, str], ...]:
        """The kinds, names and uids."""
        each = dicts(self.data, "metadata", "ownerReferences")
        return tuple((text(owner, "kind"), text(owner, "name"), text(owner, "uid")) for owner in each)

    @cached_property
    def containers(self) -> tuple[Container, ...]:
        """Those with a status, in the order of the specification; init containers come first."""
        found = []
        for key, statuses in (
            ("initContainers", "initContainerStatuses"),
            ("containers", "containerStatuses"),
        ):
            shown = {text(each, "name"): each for each in dicts(self.data, "status", statuses)}
            for each in dicts(self.data, "spec", key):
                is_init = key == "initContainers"
                is_sidecar = is_init and text(each, "restartPolicy") == "Always"
                if status := shown.get(text(each, "name")):
                    found.append(Container(status, is_init=is_init, is_sidecar=is_sidecar))
        return tuple(found)

    @property
    def own(self) -> list[Container]:
        """Those that work side by side."""
        return [each for each in self.containers if not each.is_init]

    @property
    def main(self) -> str:
        """The container whose log counts."""
        first = next(iter(dicts(self.data, "spec", "containers")), {})
        return self.annotations.get(_DEFAULT) or text(first, "name")

    @property
    def has_ended(self) -> bool:
        """Whether its phase is a final one."""
        return self.phase in ("Succeeded", "Failed")

    def shown(self, kind: str) -> Condition | None:
        """The condition with this type, also one that is not true."""
        return next((each for each in self.conditions() if each.type == kind), None)

    def is_of(self, uid: str) -> bool:
        """Whether an object with this uid made it."""
        if self.owners:
            return any(each[2] == uid for each in self.owners)
        names = ("controller-uid", "batch.kubernetes.io/controller-uid")
        return any(self.labels.get(name) == uid for name in names)


def read_list(data: Any) -> tuple[list[KubeObject], list[Pod]] | None:  # noqa: ANN401 - JSON
    """The objects and pods of an answer, a List or a single one; None if it is neither."""
    is_list = text(data, "kind").endswith("List")
    items = at(data, "items") if is_list else [data]
    if not isinstance(items, list) or not all(text(item, "metadata", "uid") for item in items):
        return None
    pods = [Pod(item) for item in items if text(item, "kind") == "Pod"]
    return [KubeObject(item) for item in items if text(item, "kind") != "Pod"], pods
