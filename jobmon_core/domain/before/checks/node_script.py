"""The short job that `jobmon check --on-node` runs on a node, made from the user's script."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from jobmon_core.domain.before.batch_script.launchers import CONTAINERS, MANAGERS, PYTHON_LAUNCHERS
from jobmon_core.domain.before.batch_script.model import Command, Word
from jobmon_core.domain.before.checks.facts import Facts, PythonFact
from jobmon_core.domain.before.checks.setup_lines import expands_safely, set_up_of

MARK = "@@jobmon"  # begins each line of the report
_ENVIRONMENTS = (*CONTAINERS, *MANAGERS, "conda", "mamba", "micromamba")
_PYTHON = re.compile(r"python(?:\d(?:\.\d+)?)?")
# options that the short job takes from the user's job
_SHARED_OPTIONS = """
partition account qos constraint reservation gres gpus-per-node mem mem-per-cpu mem-per-gpu chdir
clusters nodelist exclude
"""
_SHARED = tuple(_SHARED_OPTIONS.split())
_TIME_LIMIT_MIN = 5
# imported package -> the host that it needs
_HOSTS = {
    "datasets": "huggingface.co",
    "huggingface_hub": "huggingface.co",
    "transformers": "huggingface.co",
    "diffusers": "huggingface.co",
    "wandb": "api.wandb.ai",
}
_HOSTS_OF_COMMANDS = {"pip": "pypi.org", "git": "github.com", "huggingface-cli": "huggingface.co"}
_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE", "WANDB_MODE", "WANDB_DISABLED")
_PROGRAM = """
import importlib, json, os, sys
sys.path[0] = sys.argv[1]
report = {"python": sys.version.split()[0], "executable": sys.executable, "failed": {}}
for name in sys.argv[2:]:
    path = os.path.join(sys.argv[1], name)
    if os.path.exists(path) or os.path.exists(path + ".py"):
        continue
    try:
        importlib.import_module(name)
    except BaseException as error:
        text = str(error).strip().split("\\n")[0]
        report["failed"][name] = "%s: %s" % (type(error).__name__, text[:200])
torch = sys.modules.get("torch")
if torch is not None and hasattr(torch, "cuda"):
    try:
        cuda = torch.version.cuda
        report["torch"] = {"version": str(torch.__version__), "cuda": cuda,
                           "available": bool(torch.cuda.is_available()), "gpus": torch.cuda.device_count()}
    except Exception as error:
        report["torch"] = {"error": str(error)[:200]}
print("@@jobmon python " + json.dumps(report))
"""
_GPU_QUERY = "index,name,memory.total,memory.used,driver_version"


@dataclass(frozen=True, slots=True)
class NodeScript:
    """A short job that looks at a node."""

    text: str
    options: tuple[str, ...]  # of sbatch
    needs_gpu: bool = False
    hosts: tuple[str, ...] = ()  # that the job seems to need
    left_out: tuple[int, ...] = ()  # lines that may set up something too


def node_script(facts: Facts) -> NodeScript:
    """The short job for a submission.

    It runs those commands of the script that set up the environment, and starts the script's Pythons to try
    their imports.
    """
    hosts = tuple(dict.fromkeys(_hosts(facts)))
    commands, left_out = set_up_of(facts.script, facts.values)
    lines = [f"#!{facts.script.shebang if facts.script.is_shell else '/bin/bash'}"]
    lines += _private_options(facts)
    lines += [f"cd {shlex.quote(facts.folder)}", *map(_set_up_line, commands)]
    lines += [f'echo "{MARK} node ${{SLURMD_NODENAME:-$(hostname -s)}}"', *_gpu_lines(), *_host_lines(hosts)]
    for number, each in enumerate(_checked_programs(facts)):
        lines += _python_lines(facts, each, number)
    lines.append(f"echo '{MARK} end'")
    return NodeScript(
        "\n".join(lines) + "\n", tuple(_options(facts)), bool(facts.request.gpus_per_node), hosts, left_out
    )


def _options(facts: Facts) -> Iterator[str]:
    given = facts.request.options
    yield from (f"--{name}={given[name]}" for name in _SHARED if name in given)
    gpus = facts.request.gpus_per_node
    if gpus and "gres" not in given and "gpus-per-node" not in given:
        yield f"--gpus-per-node={gpus}"
    yield from ("--nodes=1", "--ntasks=1", f"--time={_TIME_LIMIT_MIN}")


def _private_options(facts: Facts) -> Iterator[str]:
    """They may contain secrets, and accounting keeps the command line."""
    value = facts.request.options.get("export")
    if value is not None and value.isprintable():
        yield f"#SBATCH {shlex.quote(f'--export={value}')}"


def _set_up_line(command: Command) -> str:
    words = [f"{name}={value.raw}" for name, value in command.assignments]
    text = " ".join([*words, *(word.raw for word in command.words)])
    return f"{text} || echo '{MARK} setup {command.line}'"


def _gpu_lines() -> list[str]:
    query = f"nvidia-smi --query-gpu={_GPU_QUERY} --format=csv,noheader,nounits"
    return [
        "if command -v nvidia-smi > /dev/null; then",
        f"  {query} 2>&1 | sed 's/^/{MARK} gpu /'",
        f"  nvidia-smi 2> /dev/null | sed -n 's/.*CUDA Version: *\\([0-9.]*\\).*/{MARK} driver-cuda \\1/p'",
        "else",
        f"  echo '{MARK} no-nvidia-smi'",
        "fi",
    ]


def _host_lines(hosts: tuple[str, ...]) -> list[str]:
    lines = []
    for host in hosts:
        by_curl = f"curl -sS -m 8 -o /dev/null https://{host} > /dev/null 2>&1"
        by_bash = f"timeout 8 bash -c '< /dev/tcp/{host}/443' > /dev/null 2>&1"
        lines += [
            f"if command -v curl > /dev/null; then {by_curl}; else {by_bash}; fi",
            f'echo "{MARK} host {host} $?"',
        ]
    return lines


def _hosts(facts: Facts) -> Iterator[str]:
    is_offline = any(name in facts.environment or name in facts.script.text for name in _OFFLINE)
    if is_offline:
        return
    for each in facts.python:
        yield from (_HOSTS[name] for name in (each.source.imports if each.source else ()) if name in _HOSTS)
    for program in facts.programs:
        words = [word or "" for word in program.words]
        is_download = any(word in ("install", "clone", "download", "fetch", "pull") for word in words[1:2])
        if program.name in _HOSTS_OF_COMMANDS and is_download:
            yield _HOSTS_OF_COMMANDS[program.name]


def _checked_programs(facts: Facts) -> list[PythonFact]:
    """Of those with the same Python and imports, one."""
    found: dict[tuple[str, ...], PythonFact] = {}
    for each in facts.python:
        is_safe = all(map(expands_safely, _environment_words(each)))  # else its words would run a program
        if each.source and not each.source.fault and is_safe:
            found.setdefault((_python_command(each), *each.source.imports), each)
    return list(found.values())


def _environment_words(fact: PythonFact) -> tuple[Word, ...]:
    """From the container or environment manager up to the Python."""
    words = fact.program.command.words
    names = [word.raw.rpartition("/")[2] for word in words]
    start = next((number for number, name in enumerate(names) if name in _ENVIRONMENTS), len(names))
    ends = [
        n
        for n, name in enumerate(names)
        if n > start and (_PYTHON.fullmatch(name) or name in PYTHON_LAUNCHERS)
    ]
    if ends:
        return words[start : ends[0]]
    return ()


def _python_command(fact: PythonFact) -> str:
    own = ""
    if fact.program.python:
        own = fact.program.python.interpreter
    own = "python" if own in PYTHON_LAUNCHERS else own or "python3"
    return " ".join([*(word.raw for word in _environment_words(fact)), own])


def _python_lines(facts: Facts, fact: PythonFact, number: int) -> list[str]:
    imports = fact.source.imports if fact.source else ()
    folder = posixpath.dirname(fact.path) or facts.folder
    words = " ".join(shlex.quote(word) for word in (folder, *imports))
    end = f"JOBMON_END_{number}"
    command = f"{_python_command(fact)} - {words}"
    return [
        f"{command} <<'{end}'{_PROGRAM}{end}",
        f"[ $? = 0 ] || echo '{MARK} no-python {fact.program.line}'",
    ]
