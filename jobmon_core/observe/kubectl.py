"""Asks a pod of Kubernetes what it shows, by one ``kubectl exec`` of a script that changes nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandMissing, JobmonError
from jobmon_core.domain.node.health.pods import PodAnswer, pod_answer
from jobmon_core.system.runner import NotStarted, Ran

if TYPE_CHECKING:
    from jobmon_core.system.runner import Result, Runner

_TIMEOUT_S = 60.0
_MARK = "== jobmon: "
# no line of a log: the script prints only those with NCCL in them
_SECTION = re.compile(rf"^{_MARK}([a-z]+)\n", re.MULTILINE)
# $1: "ray" to ask Ray, too; $2: the folder of checkpoints, or empty. A utilisation is that of a moment, so
# there are three looks. The logs are those of the newest 64 files; each may hold the lines of many workers.
_SCRIPT = r"""
export LC_ALL=C
echo '== jobmon: gpus'
for look in 1 2 3; do
  nvidia-smi --query-gpu=index,uuid,name,utilization.gpu,memory.used,memory.total \
    --format=csv,noheader,nounits 2>&1 || break
  sleep 1
done
echo '== jobmon: processes'
nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv,noheader,nounits 2>&1
if [ "$1" = ray ]; then echo '== jobmon: ray'; ray status 2>&1; fi
echo '== jobmon: nccl'
logs=${RAY_TMPDIR:-/tmp}/ray/session_latest/logs
ls -t "$logs" 2>/dev/null | grep '^worker' | head -n 64 | while read -r log; do
  grep -aE 'NCCL (INFO|WARN)' "$logs/$log" | head -n 1000
done
echo '== jobmon: fabric'
ls /sys/class/infiniband 2>/dev/null
if [ -n "$2" ]; then
  echo '== jobmon: checkpoints'
  cd "$2" 2>&1 && for each in *; do stat -c '%Y %n' "$each" 2>/dev/null; done | tail -n 5000
  echo "latest $(readlink latest 2>/dev/null)"
fi
exit 0
"""
_DENIED = ("forbidden", "unauthorized", "you must be logged in", "permission denied")


class PodUnreachable(JobmonError):
    """kubectl cannot run a command in a pod."""

    exit_code = 69  # EX_UNAVAILABLE of sysexits.h


def ask_pod(
    runner: Runner,
    pod: str,
    namespace: str,
    *,
    with_ray: bool = False,
    checkpoint_folder: str = "",
    context: str = "",
) -> PodAnswer:
    """Return what a pod shows; ``namespace`` and ``context`` are empty for those that kubectl uses.

    Raises:
        CommandMissing: kubectl is not installed on this machine.
        PodUnreachable: there is no such pod, or no command can be run in it.
    """
    where = (*(("--context", context) if context else ()), *(("-n", namespace) if namespace else ()))
    arguments = ("ray" if with_ray else "", checkpoint_folder)
    command = ("kubectl", "exec", *where, pod, "--", "sh", "-c", _SCRIPT, "jobmon", *arguments)
    result = runner.capture(command, _TIMEOUT_S)
    if isinstance(result, Ran) and _MARK in result.stdout:
        return pod_answer(pod, _sections(result.stdout), checkpoint_folder)
    raise _error(result, pod, namespace)


def _sections(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    _, *parts = _SECTION.split(text)
    for name, content in zip(parts[::2], parts[1::2], strict=True):
        found.setdefault(name, content)
    return found


def _error(result: Result, pod: str, namespace: str) -> JobmonError:
    if isinstance(result, NotStarted):
        return CommandMissing(
            f"{result.error_text}: install it, or run this where kubectl is configured for the cluster"
        )
    text, option = result.error_text, f" -n {namespace}" if namespace else ""
    lower = text.lower()
    if any(word in lower for word in _DENIED):
        return PodUnreachable(
            f"kubectl may not run commands in pod {pod} ({text}); "
            f"`kubectl auth can-i create pods/exec{option}` must say yes, or use another --namespace"
        )
    if "(notfound)" in lower:  # of the server; a program that is missing in the pod is "not found" too
        return PodUnreachable(
            f"there is no pod {pod} ({text}); `kubectl get pods{option}` lists the pods, "
            "--namespace names another namespace"
        )
    return PodUnreachable(
        f"no command could be run in pod {pod}: {text}; `kubectl get pod {pod}{option}` shows its state"
    )
