"""What the fake ``kubectl`` answers, by what its cluster has. It needs only Python itself: it starts fast."""

import fcntl
import json
import os
import sys
from typing import Any, NoReturn

Json = dict[str, Any]
_KINDS = {
    "jobs.batch": ("Job", "batch/"),
    "job": ("Job", "batch/"),
    "pods": ("Pod", "v1"),
    "nodes": ("Node", "v1"),
    "events": ("Event", "v1"),
    "workloads.kueue.x-k8s.io": ("Workload", "kueue"),
    "jobsets.jobset.x-k8s.io": ("JobSet", "jobset"),
    "rayjobs.ray.io": ("RayJob", "ray.io"),
    "pytorchjobs.kubeflow.org": ("PyTorchJob", "kubeflow"),
    "jobs.batch.volcano.sh": ("Job", "batch.volcano"),
    "trainjobs.trainer.kubeflow.org": ("TrainJob", "trainer"),
}


class Ended(Exception):
    """Exit code, stdout and stderr."""


def _end(out: str = "", err: str = "", code: int = 0) -> NoReturn:
    raise Ended(code, out, err)


def _missing(resource: str, name: str) -> NoReturn:
    _end(err=f'Error from server (NotFound): {resource} "{name}" not found\n', code=1)


def _read(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    options, words, rest = dict[str, str](), list[str](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word in ("--context", "-n", "-o", "-l", "-f", "-c"):
            options[word] = rest.pop(0)
        elif word == "--":
            break
        elif word.startswith("--"):
            name, _, value = word.partition("=")
            options[name] = value
        else:
            words.append(word)
    return options, words


def _of(world: Json, resource: str) -> list[Json]:
    kind, group = _KINDS[resource]
    found = [each for each in world["objects"] if each["kind"] == kind]
    return [each for each in found if each["apiVersion"].startswith(group)]


def answer(world: Json, arguments: list[str], stdin: str) -> NoReturn:
    """Raise Ended; what the command changes is changed in ``world``."""
    options, (verb, *words) = _read(arguments)
    if verb == "config":
        _end(f"{options.get('--context', 'lab')}/ml")
    for rule in world["rules"]:
        if all(word in " ".join(arguments) for word in rule["words"]):
            _end(rule["stdout"], rule["stderr"], rule["rc"])
    verbs = {"get": _get, "create": _create, "delete": _delete, "logs": _logs}
    if verb not in verbs:
        _end(err="error: unknown command\n", code=1)
    verbs[verb](world, options, words, stdin)
    raise AssertionError(verb)


def _get(world: Json, options: dict[str, str], words: list[str], _stdin: str) -> None:
    items = [each for resource in words[0].split(",") for each in _of(world, resource)]
    if len(words) > 1:
        items = [each for each in items if each["metadata"]["name"] == words[1]]
        if not items:
            _missing(words[0], words[1])
        _end(json.dumps(items[0]))
    if "-l" in options:
        key, _, value = options["-l"].partition("=")
        items = [each for each in items if each["metadata"].get("labels", {}).get(key) == value]
    if "--field-selector" in options:
        path, _, value = options["--field-selector"].partition("=")
        outer, inner = path.split(".")
        items = [each for each in items if each.get(outer, {}).get(inner) == value]
    _end(json.dumps({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}, indent=4))


def _create(world: Json, _options: dict[str, str], _words: list[str], stdin: str) -> None:
    made = json.loads(stdin)
    name = made["metadata"]["name"]
    if any(each["metadata"]["name"] == name for each in _of(world, "jobs.batch")):
        said = 'Error from server (AlreadyExists): error when creating "STDIN": jobs.batch'
        _end(err=f'{said} "{name}" already exists\n', code=1)
    made["metadata"].update(uid=f"uid-{name}", creationTimestamp="2026-11-28T14:56:30Z", namespace="ml")
    made["status"] = {}
    world["objects"].append(made)
    if world["lose_answers"]:
        _end(err="Unable to connect to the server: context deadline exceeded\n", code=1)
    _end(json.dumps(made))


def _delete(world: Json, _options: dict[str, str], words: list[str], _stdin: str) -> None:
    name = words[0].partition("/")[2]
    kept = [each for each in world["objects"] if each["metadata"]["name"] != name]
    if len(kept) == len(world["objects"]):
        _missing("jobs.batch", name)
    owners = ((each, each["metadata"].get("ownerReferences", [])) for each in kept)
    world["objects"] = [each for each, those in owners if not any(owner["name"] == name for owner in those)]
    _end(f'job.batch "{name}" deleted\n')


def _logs(world: Json, options: dict[str, str], words: list[str], _stdin: str) -> None:
    if not any(each["metadata"]["name"] == words[0] for each in _of(world, "pods")):
        _missing("pods", words[0])
    text = world["logs"].get(words[0] + ("/previous" if "--previous" in options else "")) or ""
    since = options.get("--since-time", "")
    lines = [line for line in text.splitlines(keepends=True) if line[:19] + "Z" >= since]
    if "--tail" in options:
        lines = lines[-int(options["--tail"]) :]
    _end("".join(lines)[: int(options.get("--limit-bytes", 1 << 30))])


def main(folder: str) -> None:
    """Be the program, for the cluster in a folder."""
    arguments = sys.argv[1:]
    with open(f"{folder}/calls", "a") as calls:
        calls.write(f"{json.dumps(arguments)}\n")
    with open(f"{folder}/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with open(f"{folder}/world.json") as file:
            world = json.load(file)
        if "exec" in _read(arguments)[1][:1] and not world["rules"]:
            program = arguments[arguments.index("--") + 1 :]
            lock.close()
            os.execvp(program[0], program)  # noqa: S606 - as kubectl does
        stdin = sys.stdin.read() if "create" in arguments else ""
        try:
            answer(world, arguments, stdin)
        except Ended as ended:
            code, out, err = ended.args
        if {"create", "delete"} & set(arguments):
            with open(f"{folder}/world.new", "w") as file:
                json.dump(world, file)
            os.rename(f"{folder}/world.new", f"{folder}/world.json")  # noqa: PTH104 - pathlib loads slowly
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.stdout.flush()
    sys.exit(code)
