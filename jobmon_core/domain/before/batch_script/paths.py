"""The files and folders that a script names, and what it uses each for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.before.batch_script.model import UNKNOWN, BatchScript, Command
from jobmon_core.domain.before.batch_script.programs import Program, program_of


class Use(StrEnum):
    """What for."""

    PROGRAM = "program"  # a file that it runs
    INPUT = "input"
    OUTPUT_FOLDER = "output folder"
    CHECKPOINTS = "checkpoint folder"
    REDIRECTED = "redirected output"  # the shell opens it, so its folder must exist
    IMAGE = "container image"
    FOLDER = "folder"  # that it changes to
    LIST = "list"  # a text from which each task of an array takes its line


STARTED = "started"  # in place of an option: the path itself is the command


class PathUse(NamedTuple):
    """A path that a script names."""

    use: Use
    path: str  # absolute
    line: int
    name: str = ""  # the option or redirection that names it, or `STARTED`
    is_made: bool = False  # by the script, before: it or a folder above it
    may_be_made: bool = False  # by an earlier program

    @property
    def folder(self) -> str:
        """The one that is written to."""
        return posixpath.dirname(self.path) if self.use is Use.REDIRECTED else self.path


_INPUT = re.compile(
    r"(?:input|in|data|dataset|train|val|valid|validation|test|eval|src|source|config|cfg|conf|params?|vocab|"
    r"tokenizer|manifest|corpus|images?|annotations?|labels?)"
    r"(?:_?(?:file|files|path|paths|dir|directory|folder|data|root|json|csv|yaml|list|set|bin))*",
    re.IGNORECASE,
)
_OUTPUT = re.compile(
    r"(?:output|out|results?|save|work|exp|experiment|run|logging|log|tensorboard|tb)_?"
    r"(?:dir|directory|folder|path|root)|o|outdir|savedir|workdir|hydra\.run\.dir|outputdir",
    re.IGNORECASE,
)
_CHECKPOINTS = re.compile(
    r"(?:checkpoints?|ckpts?|snapshots?)_?(?:dir|directory|folder|path|root)?|save", re.IGNORECASE
)
_DATA_FILE = re.compile(
    r".+\.(?:csv|tsv|jsonl?|ya?ml|toml|ini|cfg|txt|parquet|h5|hdf5|npy|npz|pt|pth|safetensors|pkl|bin|dat|nc|tar|gz|"
    r"tgz|zip|fasta|fastq|fa|fq|bam|vcf|inp|tpr|mdp|gro|in|xml|db|sqlite|arrow|tfrecord|lst|sif|R|r|jl|m|py|sh|pl)"
)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://|s3:|gs:|hf:", re.IGNORECASE)
_OUTPUT_OPERATORS = (">", ">>", ">|", "&>", "&>>", ">&")
_RUNS_FILE = ("bash", "sh", "Rscript", "julia", "perl", "octave", "node", "ruby")
_MAKES_ANYTHING = ("unzip", "tar", "git", "wget", "curl", "eval")
_MAKERS = (*_MAKES_ANYTHING[:-1], "mkdir", "touch", "cp", "mv", "rsync", "ln", "install", "tee")
_ELSEWHERE = "docker podman enroot shifter ch-run sarus udocker ssh pdsh parallel"
_NODE_LOCAL = "/tmp/ /var/tmp/ /dev/shm/ /local/ /lscratch/ /scratch/local/ /localscratch/"  # noqa: S108 - nothing is written there
_SPECIAL = ("/dev/", "/proc/", "/sys/")
# a list whose n-th line is that of the n-th task: sed -n "${SLURM_ARRAY_TASK_ID}p" FILE
_LINE_OF_LIST = re.compile(
    r"sed\s+-n\s+(['\"]?)\$\{?SLURM_ARRAY_TASK_ID\}?(?:['\"]?)p\1?\s+['\"]?([\w./-]+)['\"]?\s*\)?[`\"]?$"
)


def paths_of(
    script: BatchScript, values: Mapping[str, str | None], folder: str, *, on_node: bool = False
) -> Iterator[PathUse]:
    """The paths of a script that starts in ``folder``; ``on_node``: only those on a disk of the node.

    Else those are left out, and so are devices; URLs and paths that only the job knows always are.
    """
    here: str | None = folder
    made: set[str] = set()
    has_worked = False  # whether a program that may make anything comes before
    for command in script.commands:
        program = program_of(command, command.texts(values))
        for use in _uses(program, command, values):
            path = _absolute(use.path, here)
            if not path or _URL.match(use.path) or is_on_node(path, folder) is not on_node:
                continue
            if on_node or not path.startswith(_SPECIAL):
                yield use._replace(path=path, is_made=_is_within(path, made), may_be_made=has_worked)
        has_worked = has_worked or program.is_work or program.name in _MAKES_ANYTHING
        made |= {path for text in _made(program, command, values) if (path := _absolute(text, here))}
        if program.name in ("cd", "pushd") and not command.in_function:
            here = _changed(here, program)


def is_on_node(path: str, folder: str) -> bool:
    """Whether a path is on a disk of the node, which this host cannot see; not if the job starts there."""
    return any(path.startswith(disk) and not folder.startswith(disk) for disk in _NODE_LOCAL.split())


def _changed(here: str | None, program: Program) -> str | None:
    """The folder after a `cd`; None if only the job knows it."""
    target = next((word for word in program.arguments if word is None or not word.startswith("-")), None)
    if target is None or program.command.within:
        return None
    return _absolute(target, here)


def _absolute(path: str, here: str | None) -> str | None:
    if path.startswith("~"):
        return None
    if not path.startswith("/"):
        return posixpath.normpath(posixpath.join(here, path)) if here else None
    return posixpath.normpath("/" + path.lstrip("/"))  # else two leading slashes stay, as POSIX allows


def _is_within(path: str, made: set[str]) -> bool:
    """Whether the script makes a path, or a folder above it."""
    while path.strip("/"):
        if path in made:
            return True
        path = posixpath.dirname(path)
    return False


def _uses(program: Program, command: Command, values: Mapping[str, str | None]) -> Iterator[PathUse]:
    line = command.line
    if program.image and ("/" in program.image or program.image.endswith(".sif")):
        yield PathUse(Use.IMAGE, program.image, line)
    for operator, word in command.redirections:
        if (target := word.value(values)) and not word.is_glob():
            yield from _redirected(operator, target, line)
    if program.name in ("cd", "pushd"):
        yield from (
            PathUse(Use.FOLDER, word, line) for word in program.arguments[:1] if word and _is_path(word)
        )
    elif not program.in_container:
        yield from _run_files(program, line)
        yield from _named_by_options(program, line)
        yield from _lists(command, values)


def _redirected(operator: str, target: str, line: int) -> Iterator[PathUse]:
    if operator == "<":
        yield PathUse(Use.INPUT, target, line, "<")
    elif operator in _OUTPUT_OPERATORS and not target.isdigit() and target != "-":
        yield PathUse(Use.REDIRECTED, target, line, operator)


def _run_files(program: Program, line: int) -> Iterator[PathUse]:
    if program.python and program.python.file:
        yield PathUse(Use.PROGRAM, program.python.file, line)
    elif program.words and "/" in (program.words[0] or ""):
        yield PathUse(Use.PROGRAM, program.words[0] or "", line, STARTED)
    elif program.name in _RUNS_FILE:
        first = next((word for word in program.arguments if word is None or not word.startswith("-")), None)
        has_code = {"-c", "-e"} & {word or "" for word in program.arguments}
        if first and not has_code:
            yield PathUse(Use.PROGRAM, first, line)


def _named_by_options(program: Program, line: int) -> Iterator[PathUse]:
    """As ``--data-dir``."""
    if not program.is_work or program.name in _ELSEWHERE.split():
        return
    for option, value in program.settings():
        if option.startswith("-") or "." in option or "_" in option:
            yield from _by_option(option, value, line)


def _by_option(option: str, value: str, line: int) -> Iterator[PathUse]:
    name = option.lstrip("-").replace("-", "_")
    if name == "config_path":  # Hydra's is relative to the program
        return
    if (
        not value
        or UNKNOWN in value
        or not (_is_path(value) or name.endswith(("dir", "directory", "folder")))
    ):
        return
    for regex, use in ((_CHECKPOINTS, Use.CHECKPOINTS), (_OUTPUT, Use.OUTPUT_FOLDER), (_INPUT, Use.INPUT)):
        if regex.fullmatch(name):
            if use is Use.OUTPUT_FOLDER and name in ("o", "out") and _DATA_FILE.fullmatch(value):
                return  # a file
            yield PathUse(use, value, line, option)
            return


def _is_path(word: str | None) -> bool:
    """A local file or folder, rather than a data set or a model of a hub."""
    if not word or _URL.match(word) or any(char in word for char in "*?[]{}$,;| "):
        return False
    return word.startswith(("/", "./", "../")) or bool(_DATA_FILE.fullmatch(word)) or word.endswith("/")


def _lists(command: Command, values: Mapping[str, str | None]) -> Iterator[PathUse]:
    """A text from which each task of an array takes its line."""
    texts = [part.text for word in command.every_word() for part in word.parts]
    if command.name == "sed":
        texts.append(
            " ".join(word.raw for word in command.words[:-1]) + f" {command.words[-1].value(values)}"
        )
    for text in texts:
        if found := _LINE_OF_LIST.search(text):
            yield PathUse(Use.LIST, found[2], command.line)


def _made(program: Program, command: Command, values: Mapping[str, str | None]) -> Iterator[str]:
    """By its words."""
    if program.name in _MAKERS:
        words = [_outside_braces(word) for word in program.arguments if word and not word.startswith("-")]
        yield from words if program.name in ("mkdir", "touch", "tee") else words[-1:]
    for operator, word in command.redirections:
        if operator in _OUTPUT_OPERATORS and (target := word.value(values)):
            yield target
    if program.is_work:  # what an earlier program writes, a later one may read
        yield from _outputs(program)


def _outside_braces(word: str) -> str:
    """The folder before a brace expansion such as ``out/{a,b}``."""
    before, brace, _ = word.partition("{")
    return before.rpartition("/")[0] or "." if brace else word


def _outputs(program: Program) -> Iterator[str]:
    """The values of options that name an output."""
    for option, value in program.settings():
        if _OUTPUT.fullmatch(option.lstrip("-").replace("-", "_")) and value.strip(UNKNOWN):
            yield value
