"""Use case: the health of a program in pods of Kubernetes, alone or together with a watched job."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.node.health.assess import HealthFacts
from jobmon_core.domain.node.health.model import HealthReport
from jobmon_core.domain.node.health.network.counters import NodeFabric
from jobmon_core.domain.node.health.network.judge import NetworkFacts, network_verdict
from jobmon_core.domain.node.health.network.model import NcclLines, NetworkVerdict
from jobmon_core.domain.node.health.pods import PodAnswer
from jobmon_core.domain.node.telemetry.model import AgentReport, Fabric, Node, Sample
from jobmon_core.observe.kubectl import ask_pod
from jobmon_core.system.runner import MAX_POD_BYTES, Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

_AT_ONCE = 8
_RUNNER = Runner(max_bytes=MAX_POD_BYTES)


@dataclass(frozen=True, slots=True)
class Pods:
    """What pods show, and what could not be asked."""

    answers: tuple[PodAnswer, ...]
    problems: tuple[str, ...] = ()


def ask_pods(names: Sequence[str], namespace: str = "", checkpoint_folder: str = "") -> Pods:
    """Ask pods; the first one is Ray's head, or any other in which ``ray status`` works.

    Raises:
        CommandMissing, PodUnreachable: no pod can be asked; the error is that of the first one.
    """
    results = ask_each(names, namespace, checkpoint_folder, with_ray=True).values()
    answers = tuple(each for each in results if isinstance(each, PodAnswer))
    errors = [each for each in results if isinstance(each, JobmonError)]
    if not answers:
        raise errors[0]
    return Pods(answers, (*map(str, errors), *(text for each in answers for text in each.problems)))


def ask_each(
    names: Sequence[str], namespace: str, checkpoint_folder: str = "", *, with_ray: bool = False
) -> dict[str, PodAnswer | JobmonError]:
    """Ask pods in parallel; only the first one about checkpoints and, ``with_ray``, for `ray status`."""

    def ask(name: str) -> PodAnswer | JobmonError:
        is_first = name == names[0]
        folder = checkpoint_folder if is_first else ""
        try:
            return ask_pod(_RUNNER, name, namespace, with_ray=with_ray and is_first, checkpoint_folder=folder)
        except JobmonError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(names, pool.map(ask, names), strict=True))


def network_of(
    answers: Sequence[PodAnswer], nodes: int | None, *, has_gpus: bool | None = None
) -> NetworkVerdict:
    """Return which network NCCL uses, by its lines in the logs of pods and their devices."""
    fabrics = [NodeFabric(each.pod, Fabric(each.ports), is_exclusive=False) for each in answers if each.ports]
    lines = NcclLines.together(each.nccl for each in answers)
    return network_verdict(NetworkFacts(nodes, lines, tuple(fabrics), has_gpus))


def facts_of_pods(pods: Pods, at_s: float, job: HealthFacts | None = None) -> HealthFacts:
    """Return what pods show at ``at_s`` (Unix seconds), in place of what agents show about the job."""
    first = pods.answers[0]
    names = ", ".join(each.pod for each in pods.answers)
    facts = job or HealthFacts(HealthReport(at_s, name=names))
    known = facts.known
    number = len(pods.answers) if len(pods.answers) > 1 else None
    reports = tuple(
        AgentReport(Sample(at_s, node=Node(each.pod), gpus=each.gpus)) for each in pods.answers if each.gpus
    )
    report = replace(
        known,
        network=network_of(pods.answers, number, has_gpus=bool(reports) or None),
        cluster=first.cluster or known.cluster,
        checkpoints=first.checkpoints or known.checkpoints,
        not_seen=(*known.not_seen, *pods.problems),
    )
    return replace(facts, known=report, reports=reports, is_snapshot=True)
