"""``kubectl`` as a real executable around a small state machine, and answers of a real API server.

The forms of its answers and errors are those of kubectl 1.33 (recorded); the objects are what a test shows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import BackendResources
from jobmon_core.scheduler.kubernetes.client import KubeScheduler
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl
from jobmon_core.scheduler.kubernetes.poll import poll
from jobmon_core.system.lock import command_lock
from jobmon_core.system.runner import Ran, Result, Runner
from tests.support.kubectl_program import Ended, answer

Json = dict[str, Any]
RECORDINGS = Path(__file__).resolve().parents[2].with_name("shared") / "data" / "kubernetes"
SERVICE = "lab/ml"

_SCRIPT = """#!{python} -S
import sys
sys.path.insert(0, {support!r})
import kubectl_program
kubectl_program.main({folder!r})
"""


class FakeKubectl:
    """A ``kubectl`` in ``folder/bin``, to be put on PATH, and what its cluster has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        program = self.bin / "kubectl"
        where = {"support": str(Path(__file__).parent), "folder": str(folder)}
        program.write_text(_SCRIPT.format(python=sys.executable, **where), encoding="utf-8")
        program.chmod(0o755)
        self.world: Json = {"objects": [], "logs": {}, "rules": [], "lose_answers": False}
        self._save()

    def _save(self) -> None:
        new = self.folder / "world.test"
        new.write_text(json.dumps(self.world), encoding="utf-8")
        new.replace(self.folder / "world.json")

    def reload(self) -> Json:
        """Return what the cluster has, also what kubectl created."""
        self.world = json.loads((self.folder / "world.json").read_text(encoding="utf-8"))
        return self.world

    def show(self, *objects: Json) -> None:
        """From now on, the cluster has these objects, and answers."""
        self.world |= {"objects": list(objects), "rules": []}
        self._save()

    def log(self, pod: str, text: str) -> None:
        """From now on, the container of a pod has printed this; ``POD/previous`` is the one before."""
        self.world["logs"][pod] = text
        self._save()

    def set(self, **values: object) -> None:
        """Change the world."""
        self.world |= values
        self._save()

    def fail(self, stderr: str, *words: str, stdout: str = "", rc: int = 1) -> None:
        """From now on, commands with these words end so, e.g. as they were recorded."""
        self.world["rules"] = [{"words": words, "stderr": stderr, "stdout": stdout, "rc": rc}]
        self._save()

    def heal(self) -> None:
        """Answer again."""
        self.world["rules"] = []
        self._save()

    @property
    def calls(self) -> list[list[str]]:
        """The arguments of all commands so far."""
        path = self.folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class KubeRunner(Runner):
    """Answers in this process, by a world as that of FakeKubectl, for tests with many questions."""

    def __init__(self) -> None:
        super().__init__()
        self.world: Json = {"objects": [], "logs": {}, "rules": [], "lose_answers": False}

    def feed(self, argv: Sequence[str], text: str, timeout_s: float) -> Result:  # noqa: ARG002 - nothing hangs
        """Return what the command would answer."""
        try:
            answer(self.world, list(argv[1:]), text)
        except Ended as ended:
            return Ran(tuple(argv), *ended.args)


@dataclass(frozen=True)
class KubeInProcess(KubeScheduler):
    """Looks without a process."""

    runner: KubeRunner = field(default_factory=KubeRunner)

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - see KubeScheduler
        return poll(
            self.resources.folder(), self.service, lambda _number: True, Kubectl(self.service, self.runner)
        ).answer


def kube_resources(folder: Path) -> BackendResources:
    """Return what the backend may use of a home in ``folder``; jobmon follows all of its jobs."""
    return BackendResources(
        folder=lambda: folder,
        is_known=lambda ref: (folder / str(ref.job_id)).exists(),
        search_lock=lambda: command_lock(folder / "search.lock", "a test", 5.0),
    )


def recorded_objects(name: str) -> list[Json]:
    """Return the objects of a recorded answer, e.g. ``04_succeeded/3_complete``, without its events."""
    data = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    return [each for each in data.get("items", [data]) if each["kind"] != "Event"]


def recorded_call(name: str) -> Json:
    """Return a recorded call: ``rc``, ``stdout`` and ``stderr``."""
    data: Json = json.loads((RECORDINGS / f"{name}.json").read_text(encoding="utf-8"))
    return data


def job(name: str = "train", uid: str = "u1", *, conditions: tuple[Json, ...] = (), **more: Any) -> Json:  # noqa: ANN401 - JSON
    """Return a Job of batch/v1 by its documentation; ``spec`` and ``status`` are added to what it has."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "uid": uid,
            "namespace": "ml",
            "creationTimestamp": "2026-11-28T14:56:30Z",
            **more.get("metadata", {}),
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "template": {},
            **more.get("spec", {}),
        },
        "status": {
            "startTime": "2026-11-28T14:56:31Z",
            "conditions": list(conditions),
            **more.get("status", {}),
        },
    }


def condition(kind: str, reason: str = "", message: str = "") -> Json:
    """Return a true condition."""
    return {
        "type": kind,
        "status": "True",
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-28T15:10:00Z",
    }


COMPLETE = condition("Complete")
BACKOFF = condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")


def pod(
    name: str = "train-a",
    owner: str = "u1",
    phase: str = "Running",
    *,
    exit_code: int | None = None,
    exit_reason: str = "Error",
    **more: Any,  # noqa: ANN401 - JSON
) -> Json:
    """Return a pod with one container by its documentation; an ``exit_code`` is that of the container."""
    state: Json = {"running": {"startedAt": "2026-11-28T14:57:00Z"}}
    if exit_code is not None:
        state = {
            "terminated": {
                "exitCode": exit_code,
                "reason": exit_reason,
                "startedAt": "2026-11-28T14:57:00Z",
                "finishedAt": "2026-11-28T15:09:58Z",
            }
        }
    container = {
        "name": "main",
        "restartCount": 0,
        "state": state,
        "lastState": {},
        **more.get("container", {}),
    }
    owners = [{"kind": "Job", "name": "train", "uid": owner, "apiVersion": "batch/v1"}] if owner else []
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "uid": f"pod-{name}",
            "creationTimestamp": "2026-11-28T14:56:32Z",
            "ownerReferences": owners,
            "labels": {"job-name": "train"},
            **more.get("metadata", {}),
        },
        "spec": {"nodeName": "gpu-node-1", "containers": [{"name": "main"}], **more.get("spec", {})},
        "status": {
            "phase": phase,
            "conditions": [],
            "containerStatuses": [container],
            **more.get("status", {}),
        },
    }
