"""What jobmon changes in the manifest of a Job: its name, and what an attempt of a lineage needs.

Source: batch/v1 of the Kubernetes API; ``podReplacementPolicy`` since 1.29.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from jobmon_core.domain.job.job_settings import AttemptPlace
from jobmon_core.domain.job.restart.next_submission import OWN_VARIABLES, variables_of

TOKEN_KEY = "jobmon/submission"  # noqa: S105 - the annotation with the token of a submission
LINEAGE_KEY, ATTEMPT_KEY = "jobmon/lineage", "jobmon/attempt"
_MAX_BASE = 40  # of a name, which has at most 63 characters
_TOKEN_CHARS = 8
_SHELLS = ("sh", "bash", "dash", "ash")
_POLICY = "podReplacementPolicy"

Manifest = dict[str, Any]


def fault_of(manifest: object) -> str:
    """Return why a document is no Job that can be submitted; empty if it is one."""
    if not isinstance(manifest, dict):
        return "it is no object of Kubernetes"
    kind = f"{manifest.get('apiVersion')} {manifest.get('kind')}"
    if kind != "batch/v1 Job":
        return f"it is a {kind}; jobmon submits a batch/v1 Job (`kubectl create`, then `jobmon watch`)"
    if not isinstance(_template(manifest).get("containers"), list):
        return "it has no spec.template.spec.containers"
    if not isinstance(manifest.get("metadata") or {}, dict):
        return "its metadata is no mapping"
    return ""


def named(manifest: Mapping[str, Any], token: str, number: int | None = None) -> Manifest:
    """Return the Job under a name that no other Job has; ``number`` is that of an attempt."""
    metadata = dict(manifest.get("metadata") or {})
    given = str(metadata.get("name") or metadata.pop("generateName", "") or "job")
    base = re.sub(r"[^a-z0-9-]+", "-", given.lower())[:_MAX_BASE].strip("-") or "job"
    ending = "" if number is None else f"-a{number}"
    return {**manifest, "metadata": {**metadata, "name": f"{base}-{token[:_TOKEN_CHARS]}{ending}"}}


def with_annotations(manifest: Mapping[str, Any], added: Mapping[str, str]) -> Manifest:
    """Return the Job with more annotations."""
    metadata = manifest["metadata"]
    annotations = {**(metadata.get("annotations") or {}), **added}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}


def as_attempt(
    manifest: Mapping[str, Any], place: AttemptPlace, words: Sequence[str] = (), reason: str = ""
) -> Manifest:
    """Return the Job as an attempt: with its variables, and without retries of the cluster.

    ``words`` are added to the command of the first container; ``reason`` is why the attempt before it ended.
    """
    template = _template(manifest)
    variables = variables_of(place, reason)
    containers = [_with_variables(each, variables) for each in template["containers"]]
    containers[0] = _with_words(containers[0], words)
    spec = manifest["spec"]
    changed = {
        **spec,
        "backoffLimit": 0,
        _POLICY: "Failed",  # no other pod while one of it may still run
        "template": {
            **spec["template"],
            "spec": {**template, "containers": containers, "restartPolicy": "Never"},
        },
    }
    annotations = {LINEAGE_KEY: place.lineage, ATTEMPT_KEY: str(place.number)}
    return with_annotations({**manifest, "spec": changed}, annotations)


def without_policy(manifest: Mapping[str, Any]) -> Manifest:
    """Return the Job for a cluster that is too old to wait for the end of a pod before it makes another."""
    return {**manifest, "spec": {key: value for key, value in manifest["spec"].items() if key != _POLICY}}


def _template(manifest: Mapping[str, Any]) -> Manifest:
    found: object = manifest
    for key in ("spec", "template", "spec"):
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _with_variables(container: Manifest, variables: Mapping[str, str]) -> Manifest:
    kept = [each for each in container.get("env") or () if each.get("name") not in OWN_VARIABLES]
    return {**container, "env": [*kept, *({"name": key, "value": value} for key, value in variables.items())]}


def _with_words(container: Manifest, words: Sequence[str]) -> Manifest:
    """Return a container whose command has further words; a shell's script gets them at its end."""
    if not words:
        return container
    argv = [*(container.get("command") or ()), *(container.get("args") or ())]
    is_script = len(argv) == 3 and argv[0].rpartition("/")[2] in _SHELLS and argv[1].endswith("c")  # noqa: PLR2004 - SHELL -c SCRIPT
    if is_script:
        script = " ".join((argv[2].rstrip(), *map(shlex.quote, words)))
        return {**container, "command": [*argv[:2], script], "args": []}
    return {**container, "args": [*(container.get("args") or ()), *words]}
