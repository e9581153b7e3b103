"""``kubectl`` as a real executable around a small state machine, and answers of a real API server.

The forms of its answers and errors are those of kubectl 1.33 (recorded); the objects are what a test shows.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from jobmon_core.scheduler.base import BackendResources
from jobmon_core.system.lock import command_lock

Json = dict[str, Any]
RECORDINGS = Path(__file__).resolve().parents[2].with_name("shared") / "data" / "kubernetes"
SERVICE = "lab/ml"

_SCRIPT = r"""#!{python} -S
import fcntl, json, os, sys
folder = {folder!r}
arguments = sys.argv[1:]
with open(folder + "/calls", "a") as calls:
    calls.write(json.dumps(arguments) + "\n")
lock = open(folder + "/lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
world = json.load(open(folder + "/world.json"))


def end(out="", err="", code=0):
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.stdout.flush()
    sys.exit(code)


def save():
    json.dump(world, open(folder + "/world.new", "w"))
    os.rename(folder + "/world.new", folder + "/world.json")


options, words = {{}}, []
while arguments:
    word = arguments.pop(0)
    if word in ("--context", "-n", "-o", "-l", "-f", "-c"):
        options[word] = arguments.pop(0)
    elif word == "--":
        break
    elif word.startswith("--") and "=" in word:
        name, _, value = word.partition("=")
        options[name] = value
    elif word.startswith("--"):
        options[word] = ""
    else:
        words.append(word)
verb = words.pop(0)
if verb == "exec" and not world["rules"]:
    lock.close()
    program = sys.argv[sys.argv.index("--") + 1:]
    os.execvp(program[0], program)
if verb == "config":
    end("lab\n" if words[0] == "current-context" else "ml")
for rule in world["rules"]:
    if all(word in " ".join(sys.argv[1:]) for word in rule["words"]):
        end(rule["stdout"], rule["stderr"], rule["rc"])
GROUPS = {{"jobs.batch": ("Job", "batch/"), "pods": ("Pod", "v1"), "nodes": ("Node", "v1"),
          "events": ("Event", "v1"), "workloads.kueue.x-k8s.io": ("Workload", "kueue"),
          "jobsets.jobset.x-k8s.io": ("JobSet", "jobset"), "rayjobs.ray.io": ("RayJob", "ray.io"),
          "pytorchjobs.kubeflow.org": ("PyTorchJob", "kubeflow"),
          "jobs.batch.volcano.sh": ("Job", "batch.volcano"),
          "trainjobs.trainer.kubeflow.org": ("TrainJob", "trainer"), "job": ("Job", "batch/")}}


def of(resource):
    kind, group = GROUPS[resource]
    found = [each for each in world["objects"] if each["kind"] == kind]
    return [each for each in found if each["apiVersion"].startswith(group)]


def missing(resource, name):
    end(err='Error from server (NotFound): %s "%s" not found\n' % (resource, name), code=1)


if verb == "get":
    items = [each for resource in words[0].split(",") for each in of(resource)]
    if len(words) > 1:
        items = [each for each in items if each["metadata"]["name"] == words[1]]
        if not items:
            missing(words[0], words[1])
        end(json.dumps(items[0]))
    if "-l" in options:
        key, _, value = options["-l"].partition("=")
        items = [each for each in items if each["metadata"].get("labels", {{}}).get(key) == value]
    if "--field-selector" in options:
        path, _, value = options["--field-selector"].partition("=")
        path = path.split(".")
        items = [each for each in items if each.get(path[0], {{}}).get(path[1]) == value]
    end(json.dumps({{"apiVersion": "v1", "kind": "List", "metadata": {{}}, "items": items}}, indent=4))
if verb == "create":
    made = json.loads(sys.stdin.read())
    name = made["metadata"]["name"]
    if any(each["metadata"]["name"] == name for each in of("jobs.batch")):
        said = 'Error from server (AlreadyExists): error when creating "STDIN": jobs.batch "%s" already'
        end(err=said % name + " exists\n", code=1)
    made["metadata"].update(uid="uid-" + name, creationTimestamp="2026-11-28T14:56:30Z", namespace="ml")
    made["status"] = {{}}
    world["objects"].append(made)
    save()
    if world["lose_answers"]:
        end(err="Unable to connect to the server: context deadline exceeded\n", code=1)
    end(json.dumps(made))
if verb == "delete":
    name = words[0].partition("/")[2]
    kept = [each for each in world["objects"] if each["metadata"]["name"] != name]
    if len(kept) == len(world["objects"]):
        missing("jobs.batch", name)
    world["objects"] = [each for each in kept if not any(
        owner["name"] == name for owner in each["metadata"].get("ownerReferences", []))]
    save()
    end('job.batch "%s" deleted\n' % name)
if verb == "logs":
    text = world["logs"].get(words[0] + ("/previous" if "--previous" in options else ""))
    if not any(each["metadata"]["name"] == words[0] for each in of("pods")):
        missing("pods", words[0])
    text = text or ""
    since = options.get("--since-time", "")
    lines = [line for line in text.splitlines(True) if line[:19] + "Z" >= since]
    if "--tail" in options:
        lines = lines[-int(options["--tail"]):]
    end("".join(lines)[:int(options.get("--limit-bytes", 1 << 30))])
end(err="error: unknown command\n", code=1)
"""


class FakeKubectl:
    """A ``kubectl`` in ``folder/bin``, to be put on PATH, and what its cluster has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        program = self.bin / "kubectl"
        program.write_text(_SCRIPT.format(python=sys.executable, folder=str(folder)), encoding="utf-8")
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
