"""Use case: the health of a program in pods of Kubernetes, alone or together with a watched job."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.health.assess import HealthFacts
from jobmon_core.domain.health.network.counters import NodeFabric
from jobmon_core.domain.health.network.judge import NetworkFacts, network_verdict
from jobmon_core.domain.health.pods import PodAnswer, merged_lines
from jobmon_core.domain.telemetry.fabric import Fabric
from jobmon_core.domain.telemetry.model import AgentReport, Node, Sample
from jobmon_core.observe.pods.kubectl import ask_pod
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


def ask_pods(
    names: Sequence[str], namespace: str = "", checkpoint_folder: str = "", runner: Runner = _RUNNER
) -> Pods:
    """Ask pods in parallel; the first one is Ray's head, or any other in which ``ray status`` works.

    Raises:
        CommandMissing, PodUnreachable: no pod can be asked; the error is that of the first one.
    """

    def ask(name: str) -> PodAnswer | JobmonError:
        is_first = name == names[0]
        folder = checkpoint_folder if is_first else ""
        try:
            return ask_pod(runner, name, namespace, with_ray=is_first, checkpoint_folder=folder)
        except JobmonError as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        results = list(pool.map(ask, names))
    answers = tuple(each for each in results if isinstance(each, PodAnswer))
    errors = [each for each in results if isinstance(each, JobmonError)]
    if not answers:
        raise errors[0]
    return Pods(answers, (*map(str, errors), *(text for each in answers for text in each.problems)))


def facts_of_pods(pods: Pods, at_s: float, job: HealthFacts | None = None) -> HealthFacts:
    """Return what pods show at ``at_s`` (Unix seconds), in place of what agents show about the job."""
    first = pods.answers[0]
    names = ", ".join(each.pod for each in pods.answers)
    facts = job or HealthFacts(at_s, name=names)
    fabrics = [
        NodeFabric(each.pod, Fabric(each.ports), is_exclusive=False) for each in pods.answers if each.ports
    ]
    number = len(pods.answers) if len(pods.answers) > 1 else None
    reports = tuple(
        AgentReport(Sample(at_s, node=Node(each.pod), gpus=each.gpus)) for each in pods.answers if each.gpus
    )
    network = network_verdict(
        NetworkFacts(number, merged_lines(pods.answers), tuple(fabrics), bool(reports) or None)
    )
    return replace(
        facts,
        reports=reports,
        network=network,
        cluster=first.cluster or facts.cluster,
        checkpoints=first.checkpoints or facts.checkpoints,
        not_seen=(*facts.not_seen, *pods.problems),
        is_snapshot=True,
    )
