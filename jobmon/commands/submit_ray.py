"""The part of ``jobmon submit`` that is about Ray clusters: ``jobmon submit --backend ray``."""

from __future__ import annotations

import argparse
import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import Options, Parser, positive
from jobmon.commands.submit_service import Service, submit_there
from jobmon.commands.watch_service import ADDRESS_HELP
from jobmon.errors import UsageError
from jobmon_core.app.remote import ray_cluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.model import Json
    from jobmon_core.app.runs.submit_request import SubmitRequest


DESCRIPTION = """\
Submit a command to a Ray cluster, as `ray job submit` does, and watch it in the background. Ray itself
need not be installed here. The submission id is printed on stdout. If an answer of the cluster gets
lost, the request is sent again under the same id, which Ray starts at most once."""
EPILOG = """\
examples:
  jobmon submit --backend ray -- python /nfs/train.py --lr 0.1
  jobmon submit --backend ray --address http://head:8265 -- python /nfs/train.py
  jobmon submit --backend ray --working-dir . --runtime-env env.yaml -- ./run.sh
  jobmon submit --backend ray --restart --checkpoint-dir /nfs/saved -- ./run.sh"""
_ID = re.compile(r"[A-Za-z0-9-]{1,100}")


def submit_to_ray(request: SubmitRequest, refused: Sequence[str]) -> int:
    """See `submit_there`."""
    return submit_there(_RAY, request, refused)


def add_arguments(parser: Parser) -> None:
    parser.prog = "jobmon submit --backend ray"
    parser.usage = f"{parser.prog} [OPTIONS] -- COMMAND ..."
    parser.add_argument("--address", metavar="URL", help=ADDRESS_HELP)
    parser.add_argument(
        "--submission-id", type=_submission_id, metavar="ID", help="the id of the job (default: a new one)"
    )
    parser.add_argument(
        "--working-dir",
        metavar="DIR",
        help="the folder in which the command runs: one of this machine, which is sent to the cluster "
        "without .git and virtual environments (at most 100 MiB), or the URI of a zip archive",
    )
    environment = parser.add_mutually_exclusive_group()
    environment.add_argument(
        "--runtime-env", type=Path, metavar="FILE", help="a YAML file with Ray's runtime environment"
    )
    environment.add_argument("--runtime-env-json", type=_object, metavar="JSON", help="the same as JSON")
    for name in ("num-cpus", "num-gpus"):
        parser.add_argument(
            f"--entrypoint-{name}", type=_amount, metavar="N", help="what the command itself reserves"
        )
    parser.add_argument("--entrypoint-memory", type=positive, metavar="BYTES", help="likewise")
    parser.add_argument("--entrypoint-resources", type=_object, metavar="JSON", help="likewise, custom ones")
    parser.add_argument(
        "--job-json", type=_object, metavar="JSON", help="what else Ray's job API takes, by its names"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND", help=argparse.SUPPRESS)


def _description(options: Options) -> Json:
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise UsageError("no command given: jobmon submit --backend ray [OPTIONS] -- COMMAND ...")
    environment = dict(options.runtime_env_json or {})
    if options.runtime_env:
        environment = _yaml_object(options.runtime_env)
    if options.working_dir:
        environment["working_dir"] = options.working_dir
    given = {
        "submission_id": options.submission_id,
        "runtime_env": environment,
        "entrypoint_num_cpus": options.entrypoint_num_cpus,
        "entrypoint_num_gpus": options.entrypoint_num_gpus,
        "entrypoint_memory": options.entrypoint_memory,
        "entrypoint_resources": options.entrypoint_resources,
    }
    # a single word is a command line for the shell, as in `ray job submit -- "cd x && python y"`
    entrypoint = command[0] if len(command) == 1 else shlex.join(command)
    given = {name: value for name, value in given.items() if value}
    return {**(options.job_json or {}), "entrypoint": entrypoint, **given}


def _yaml_object(path: Path) -> Json:
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"--runtime-env: {path}: {error.strerror}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise UsageError(f"--runtime-env: {path} is not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise UsageError(f"--runtime-env: {path} must be a mapping, e.g. `pip: [torch]`")
    return data


def _object(text: str) -> Json:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not valid JSON: {error}") from error
    if not isinstance(data, dict):
        raise argparse.ArgumentTypeError('not a JSON object, e.g. {"pip": ["torch"]}')
    return data


def _amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:  # noqa: PLR2004 - also excludes "nan" and "inf"
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and below 1e9")
    return number


def _submission_id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not an id of 1 to 100 letters, digits and hyphens")
    return text


_RAY = Service(
    "submit-ray",
    "the Ray cluster",
    "jobs of Ray",
    _description,
    lambda ctx, options: ray_cluster.ray_service(ctx, options.address or ""),
    ray_cluster.submit_to_ray,
)
