"""The part of ``jobmon submit`` that is about Kubernetes: ``jobmon submit --backend kubernetes JOB.yaml``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.submit_service import Service, submit_there
from jobmon.commands.watch_service import CONTEXT_HELP, NAMESPACE_HELP
from jobmon.errors import UsageError
from jobmon_core.app.remote.kubernetes import TO_KUBERNETES, kubernetes_service
from jobmon_core.app.remote.submitting import submit_first
from jobmon_core.domain.job.restart.kubernetes_attempts import fault_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.commands.common import Options, Parser
    from jobmon.views.model import Json
    from jobmon_core.app.runs.submit_request import SubmitRequest


DESCRIPTION = """\
Create the Job of a file on Kubernetes, under a name of its own, and watch it in the background. The name
is printed on stdout. If an answer of the cluster gets lost, the request is sent again under the same
name, of which a namespace has one. With --restart, jobmon itself makes the further attempts, so the Job
gets backoffLimit 0, restartPolicy Never and podReplacementPolicy Failed; else nothing but the name and
an annotation is changed."""
EPILOG = """\
examples:
  jobmon submit --backend kubernetes train.yaml
  jobmon submit --backend kubernetes --context lab --namespace ml train.yaml
  jobmon submit --backend kubernetes --restart --checkpoint-dir /nfs/saved train.yaml"""


def submit_to_kubernetes(request: SubmitRequest, refused: Sequence[str]) -> int:
    """See `submit_there`."""
    return submit_there(_KUBERNETES, request, refused)


def add_arguments(parser: Parser) -> None:
    parser.prog = "jobmon submit --backend kubernetes"
    parser.usage = f"{parser.prog} [OPTIONS] FILE"
    parser.add_argument("--context", metavar="NAME", help=CONTEXT_HELP)
    parser.add_argument("--namespace", metavar="NAME", help=NAMESPACE_HELP)
    parser.add_argument("file", metavar="FILE", help="a YAML or JSON file with one Job (- for stdin)")


def _manifest(options: Options) -> Json:
    import yaml

    name: str = options.file
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        documents = [each for each in yaml.safe_load_all(text) if each is not None]
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{name} is not valid YAML: {error}") from error
    if len(documents) != 1:
        raise UsageError(f"{name} has {len(documents)} documents; jobmon submits a file with one Job")
    manifest: Json = documents[0]
    if fault := fault_of(manifest):
        raise UsageError(f"{name}: {fault}")
    return manifest


_KUBERNETES = Service(
    "submit-kubernetes",
    "Kubernetes",
    "jobs on Kubernetes",
    _manifest,
    lambda ctx, options: kubernetes_service(ctx, options.context or "", options.namespace or ""),
    lambda ctx, *what, **more: submit_first(ctx, TO_KUBERNETES, *what, **more),
)
