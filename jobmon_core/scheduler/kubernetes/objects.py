"""What ``kubectl get -o json`` prints of pods and of what owns them, as values. Pure; nothing here raises.

Source: the types of the Kubernetes API, batch/v1 and v1 (1.20 to 1.34). Those of the other kinds: JobSet
v1alpha2, training-operator 1.9 (kubeflow.org/v1), Trainer v1alpha1, KubeRay (ray.io/v1), Volcano v1alpha1.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_TEXT = 300  # characters of a message that fit into a row
_INDEX = ("batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index")


@dataclass(frozen=True, slots=True)
class Condition:
    """One of an object; only those with the status True are kept, and those of pods with False, too."""

    type: str
    is_true: bool
    reason: str = ""
    message: str = ""
    since_s: int | None = None


@dataclass(frozen=True, slots=True)
class Exit:
    """A container that ended."""

    code: int
    reason: str = ""
    message: str = ""
    started_s: int | None = None
    finished_s: int | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """The status of a container, in the order of the pod's specification; init containers come first."""

    name: str
    is_init: bool = False
    is_sidecar: bool = False  # an init container that runs beside the others: its exit code does not count
    waiting: str = ""  # the reason
    message: str = ""
    running_s: int | None = None
    exit: Exit | None = None
    last_exit: Exit | None = None  # before the latest restart
    restarts: int = 0

    @property
    def has_started(self) -> bool:
        """Whether it has ever run."""
        return bool(self.running_s or self.exit or self.last_exit)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. Times are Unix seconds."""

    name: str
    uid: str
    phase: str
    owners: tuple[tuple[str, str, str], ...] = ()  # kind, name, uid
    labels: tuple[tuple[str, str], ...] = ()
    reason: str = ""
    message: str = ""
    node: str = ""
    created_s: int | None = None
    deleted_by_s: int | None = None  # when its processes are to be gone, if it is being deleted
    conditions: tuple[Condition, ...] = ()
    containers: tuple[Container, ...] = ()
    main: str = ""  # the container whose log counts
    index: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether its phase is a final one."""
        return self.phase in ("Succeeded", "Failed")

    def condition(self, kind: str) -> Condition | None:
        """The condition with this type."""
        return next((each for each in self.conditions if each.type == kind), None)

    def is_of(self, uid: str) -> bool:
        """Whether an object with this uid made it."""
        names = ("controller-uid", "batch.kubernetes.io/controller-uid")
        return any(each[2] == uid for each in self.owners) or (
            not self.owners and any(dict(self.labels).get(name) == uid for name in names)
        )


@dataclass(frozen=True, slots=True)
class KubeObject:
    """A Job, or another kind of object that makes pods."""

    kind: str
    group: str
    name: str
    uid: str
    queue: str = ""  # of Kueue
    annotations: tuple[tuple[str, str], ...] = ()
    created_s: int | None = None
    started_s: int | None = None
    completed_s: int | None = None
    limit_s: int | None = None
    is_being_deleted: bool = False
    is_suspended: bool = False
    completions: int = 1
    retries: int = 0  # failed pods that it replaces
    conditions: tuple[Condition, ...] = ()  # the true ones
    phase: str = ""  # jobDeploymentStatus of a RayJob, state.phase of Volcano
    inner: str = ""  # jobStatus of a RayJob
    reason: str = ""
    message: str = ""
    command: str = ""

    def condition(self, *kinds: str) -> Condition | None:
        """The first true condition of these types."""
        return next((each for kind in kinds for each in self.conditions if each.type == kind), None)


def read_list(data: object) -> tuple[list[KubeObject], list[Pod]] | None:
    """The objects and pods of an answer, a List or a single one; None if it is neither."""
    if not isinstance(data, dict):
        return None
    items = data.get("items") if str(data.get("kind", "")).endswith("List") else [data]
    if not isinstance(items, list):
        return None
    objects, pods = [], []
    for item in items:
        if not text(item, "metadata", "uid"):
            return None
        if text(item, "kind") == "Pod":
            pods.append(_pod(item))
        else:
            objects.append(_object(item))
    return objects, pods


def _object(data: object) -> KubeObject:
    spec, status = at(data, "spec"), at(data, "status")
    first = next(iter(_items(at(spec, "template", "spec", "containers"))), {})
    words = [*_texts(at(first, "command")), *_texts(at(first, "args"))]
    return KubeObject(
        kind=text(data, "kind"),
        group=text(data, "apiVersion").rpartition("/")[0],
        name=text(data, "metadata", "name"),
        uid=text(data, "metadata", "uid"),
        queue=text(data, "metadata", "labels", "kueue.x-k8s.io/queue-name"),
        annotations=_pairs(at(data, "metadata", "annotations")),
        created_s=seconds(data, "metadata", "creationTimestamp"),
        started_s=seconds(status, "startTime"),
        completed_s=seconds(status, "completionTime") or seconds(status, "endTime"),
        limit_s=number(spec, "activeDeadlineSeconds") or number(spec, "runPolicy", "activeDeadlineSeconds"),
        is_being_deleted=bool(text(data, "metadata", "deletionTimestamp")),
        is_suspended=at(spec, "suspend") is True or at(spec, "runPolicy", "suspend") is True,
        completions=number_or(number_or(1, spec, "parallelism"), spec, "completions"),
        retries=number_or(6, spec, "backoffLimit"),
        conditions=tuple(each for each in _conditions(status) if each.is_true),
        phase=text(status, "jobDeploymentStatus") or text(status, "state", "phase"),
        inner=text(status, "jobStatus"),
        reason=text(status, "reason") or text(status, "state", "reason"),
        message=_short(text(status, "message") or text(status, "state", "message")),
        command=" ".join(words) or text(spec, "entrypoint"),
    )


def _pod(data: object) -> Pod:
    spec, status, meta = at(data, "spec"), at(data, "status"), at(data, "metadata")
    labels = at(meta, "labels")
    names = [text(each, "name") for each in _items(at(spec, "containers"))]
    main = text(meta, "annotations", "kubectl.kubernetes.io/default-container") or next(iter(names), "")
    indices = (text(meta, place, name) for name in _INDEX for place in ("annotations", "labels"))
    return Pod(
        name=text(meta, "name"),
        uid=text(meta, "uid"),
        phase=text(status, "phase"),
        owners=tuple(
            (text(each, "kind"), text(each, "name"), text(each, "uid"))
            for each in _items(at(meta, "ownerReferences"))
        ),
        labels=_pairs(labels),
        reason=text(status, "reason"),
        message=_short(text(status, "message")),
        node=text(spec, "nodeName"),
        created_s=seconds(meta, "creationTimestamp"),
        deleted_by_s=seconds(meta, "deletionTimestamp"),
        conditions=tuple(_conditions(status)),
        containers=tuple(_containers(spec, status)),
        main=main,
        index=next(filter(None, indices), ""),
    )


def _containers(spec: object, status: object) -> Iterator[Container]:
    for key, statuses, is_init in (
        ("initContainers", "initContainerStatuses", True),
        ("containers", "containerStatuses", False),
    ):
        known = {text(each, "name"): each for each in _items(at(status, statuses))}
        for each in _items(at(spec, key)):
            name = text(each, "name")
            if name in known:
                is_sidecar = is_init and text(each, "restartPolicy") == "Always"
                yield _container(known[name], is_init=is_init, is_sidecar=is_sidecar)


def _container(data: object, *, is_init: bool, is_sidecar: bool) -> Container:
    state = at(data, "state")
    return Container(
        name=text(data, "name"),
        is_init=is_init,
        is_sidecar=is_sidecar,
        waiting=text(state, "waiting", "reason"),
        message=_short(text(state, "waiting", "message")),
        running_s=seconds(state, "running", "startedAt"),
        exit=_exit(at(state, "terminated")),
        last_exit=_exit(at(data, "lastState", "terminated")),
        restarts=number(data, "restartCount") or 0,
    )


def _exit(data: object) -> Exit | None:
    code = number(data, "exitCode")
    if code is None:
        return None
    return Exit(
        code,
        text(data, "reason"),
        _short(text(data, "message")),
        seconds(data, "startedAt"),
        seconds(data, "finishedAt"),
    )


def _conditions(status: object) -> Iterator[Condition]:
    for each in _items(at(status, "conditions")):
        yield Condition(
            text(each, "type"),
            text(each, "status") == "True",
            text(each, "reason"),
            _short(text(each, "message")),
            seconds(each, "lastTransitionTime"),
        )


# the JSON edge


def at(data: object, *path: str) -> Any:  # noqa: ANN401 - JSON
    """What is below these keys; None if there is nothing."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def text(data: object, *path: str) -> str:
    """The text there; empty if there is none."""
    value = at(data, *path)
    return value if isinstance(value, str) else ""


def number(data: object, *path: str) -> int | None:
    """The whole number there."""
    value = at(data, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number_or(default: int, data: object, *path: str) -> int:
    """The whole number there, else ``default``."""
    value = number(data, *path)
    return default if value is None else value


def seconds(data: object, *path: str) -> int | None:
    """The time there, e.g. ``2026-11-28T14:56:44Z``, as Unix seconds."""
    try:
        return int(datetime.fromisoformat(text(data, *path)).timestamp())
    except (ValueError, OverflowError):
        return None


def _items(data: object) -> list[object]:
    return data if isinstance(data, list) else []


def _texts(data: object) -> list[str]:
    return [each for each in _items(data) if isinstance(each, str)]


def _pairs(data: object) -> tuple[tuple[str, str], ...]:
    pairs = data.items() if isinstance(data, dict) else ()
    return tuple((str(key), value) for key, value in pairs if isinstance(value, str))


def _short(words: str) -> str:
    return " ".join(words.split())[:_MAX_TEXT]
