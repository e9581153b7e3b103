"""The part of ``jobmon submit`` that is about Kubernetes: ``jobmon submit --backend kubernetes JOB.yaml``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.watch_service import CONTEXT_HELP, NAMESPACE_HELP
from jobmon.errors import UsageError, report, say
from jobmon.parser import command_parser
from jobmon_core.app.jobs.job_config import read_settings
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.remote.kubernetes import kubernetes_service, submit_to_kubernetes
from jobmon_core.context import Context
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.restart.kubernetes_attempts import fault_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.commands.common import Parser
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
# exit code if it is not known whether the job was accepted: EX_UNAVAILABLE of sysexits.h
_UNKNOWN = 69


def submit_there(request: SubmitRequest, refused: Sequence[str]) -> int:
    """Submit and watch; ``refused`` are given options that do not apply."""
    if refused:
        raise UsageError(f"{refused[0]} does not apply to jobs on Kubernetes")
    options = command_parser("submit-kubernetes").parse_args(request.arguments)
    manifest = _manifest(options.file)
    ctx = Context.open(os.environ)
    settings = None
    if request.job_config:
        settings = read_settings(Path(request.job_config), say)
    settings = request.restart(settings or JobSettings()) if request.restart else settings
    service = kubernetes_service(ctx, options.context or "", options.namespace or "")
    try:
        job, problem = submit_to_kubernetes(
            ctx, service, manifest, say, settings=settings, group=request.group
        )
    except SchedulerRejected as error:
        return report(error, "nothing was submitted: ")
    ANSWERS.append(Watched(str(job.ref), job.id))
    print(job.name, flush=True)
    if problem:
        say(
            f"it is not known whether Kubernetes ({service}) accepted the job: {problem}. Do not submit it "
            f"again: jobmon watches for {job.name} as job {job.ref}; `jobmon show {job.ref}` will tell"
        )
        return _UNKNOWN
    say(f"watching {job.name} of Kubernetes {service} as job {job.ref}; `jobmon status` shows it")
    if job.attempt and job.settings and job.settings.restart:
        say(f"restarts: {job.settings.restart.mode}; `jobmon restarts {job.ref}` shows the attempts")
    return 0


def add_arguments(parser: Parser) -> None:
    parser.prog = "jobmon submit --backend kubernetes"
    parser.usage = f"{parser.prog} [OPTIONS] FILE"
    parser.add_argument("--context", metavar="NAME", help=CONTEXT_HELP)
    parser.add_argument("--namespace", metavar="NAME", help=NAMESPACE_HELP)
    parser.add_argument("file", metavar="FILE", help="a YAML or JSON file with one Job (- for stdin)")


def _manifest(name: str) -> Json:
    import yaml

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
