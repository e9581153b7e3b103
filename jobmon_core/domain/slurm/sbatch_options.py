"""The options of sbatch (20.11 to 26.05): how the local scheduler treats them, and how Slurm parses them.

Source for ``#SBATCH`` lines: ``_opt_batch_script()`` and ``get_argument()`` of ``sbatch/opt.c``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.errors import SchedulerRejected


class UnknownOption(SchedulerRejected):
    """sbatch may know it, and whether it takes the next word."""

    def __init__(self, text: str, name: str) -> None:
        """``name`` has no dashes."""
        super().__init__(text)
        self.name = name


class Treatment(StrEnum):
    """How the local scheduler treats an option."""

    HONOURED = "honoured"
    IGNORED = "ignored"  # the script runs as well without it, e.g. because it selects nodes or accounts
    REFUSED = "refused"  # without it the job would not do what the user asked for


class Option(NamedTuple):
    """One option of sbatch."""

    name: str
    letter: str
    argument: str  # empty: takes none; ``=``: takes one; ``?``: may take one, as --name=value
    treatment: Treatment


_HONOURED = """
    array:a= chdir:D= dependency:d= error:e= export:= input:i= job-name:J= kill-on-invalid-dep:= open-mode:=
    output:o= parsable: quiet:Q time:t= wrap:=
"""

_IGNORED = """
    account:A= acctg-freq:= batch:= comment:= consolidate-segments: constraint:C= contiguous: core-spec:S=
    cores-per-socket:= cpu-freq:= cpus-per-gpu:= cpus-per-task:c= delay-boot:= distribution:m= exclude:x=
    exclusive:? extra:= extra-node-info:B= get-user-env:? gpu-bind:= gpu-freq:= gpus:G= gpus-per-node:=
    gpus-per-socket:= gpus-per-task:= gres:= gres-flags:= hint:= ignore-pbs: licenses:L= mail-type:=
    mail-user:= mcs-label:= mem:= mem-bind:= mem-per-cpu:= mem-per-gpu:= mincpus:= network:= nice:?
    no-kill:k? no-requeue: nodefile:F= nodelist:w= nodes:N= ntasks:n= ntasks-per-core:= ntasks-per-gpu:=
    ntasks-per-node:= ntasks-per-socket:= overcommit:O oversubscribe:s partition:p= power:= prefer:=
    priority:= profile:= propagate:? qos:q= reboot: requeue:? reservation:= resv-ports:? segment:=
    sockets-per-node:= spread-job: spread-segments: stepmgr: switches:= tasks-per-node:= thread-spec:=
    threads-per-core:= time-min:= tmp:= tres-bind:= tres-per-task:= use-min-nodes: verbose:v
    wait-all-nodes:= wckey:=
"""

_REFUSED = """
    bb:= bbf:= begin:b= cluster-constraint:= clusters:M= container:= container-id:= deadline:=
    export-file:= gid:= help:h hold:H oom-kill-step:? signal:=
    test-only: uid:= usage: version:V wait:W
"""


def _table(entries: str, treatment: Treatment) -> Iterator[Option]:
    for entry in entries.split():
        name, _, short = entry.partition(":")
        suffix = ""
        if short.endswith(("=", "?")):
            suffix = short[-1:]
        yield Option(name, short.removesuffix(suffix), suffix, treatment)


OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        *_table(_HONOURED, Treatment.HONOURED),
        *_table(_IGNORED, Treatment.IGNORED),
        *_table(_REFUSED, Treatment.REFUSED),
    )
}
_BY_VARIABLE = """
account clusters error exclusive export gpus gpus-per-node gpus-per-task gres input job-name open-mode output
partition qos reservation signal wait
"""
# input environment variables of sbatch, by which an option can be given; they override the script
VARIABLES = {f"SBATCH_{name.upper().replace('-', '_')}": name for name in _BY_VARIABLE.split()}
VARIABLES |= {"SBATCH_ARRAY_INX": "array", "SBATCH_TIMELIMIT": "time"}
LETTERS: dict[str, Option] = {option.letter: option for option in OPTIONS.values() if option.letter}


GivenOption = tuple[str, str]  # its long name, and its value, which is empty if it has no argument

# Before Python 3.14, getopt has no optional arguments. So it gets each long option under two names: "name"
# takes the next word as its argument only if one is required; "\0name" takes an attached argument if one is
# allowed. Before parsing, "--name=value" becomes "--\0name=value". No word of a user contains a NUL.
_ATTACHED = "--\0"
_SHORT = "".join(letter + (":" if option.argument == "=" else "") for letter, option in LETTERS.items())
_LONG = [
    *(name + ("=" if option.argument == "=" else "") for name, option in OPTIONS.items()),
    *(f"\0{name}{'=' if option.argument else ''}" for name, option in OPTIONS.items()),
]


def read_arguments(words: Sequence[str]) -> tuple[list[GivenOption], list[str]]:
    """The options in the order given, and the words from the first operand on."""
    return _read(words, accepts_unknown=False)


def read_with_unknown(words: Sequence[str]) -> tuple[list[GivenOption], list[str]]:
    """As `read_arguments`, but accept unknown options of the form ``--name=value``, too.

    SPANK plugins of a site and newer versions add such options. Without ``=``, only sbatch knows whether the
    next word is the argument or the script: see `spelled_out`. Colons may separate the components of a het
    job; the first one comes last, since it decides.
    """
    options, operands = _read(words, accepts_unknown=True)
    while operands[:1] == [":"]:
        component, operands = _read(operands[1:], accepts_unknown=True)
        options = component + options
    return options, operands


def spelled_out(words: Sequence[str], sbatch_help: str) -> list[str]:
    """Words that `read_with_unknown` can read: unknown options as ``--name=value``.

    What ``sbatch --help`` (``sbatch_help``) does not list is left as it is.
    """
    listed = {match[1]: match[2] == "=" for match in _LISTED.finditer(sbatch_help)}
    found = list(words)
    while True:
        try:
            read_with_unknown(found)
        except UnknownOption as error:
            names = [name for name in listed if name.startswith(error.name)]
            name = ""
            if error.name in listed:
                name = error.name
            elif len(names) == 1:
                name = names[0]
            at = found.index(f"--{error.name}") if name else len(found)
            if at + listed.get(name, False) >= len(found):
                return found
            value = ""
            if listed[name]:
                value = found.pop(at + 1)
            found[at] = f"--{name}={value}"
        except SchedulerRejected:
            return found
        else:
            return found


def _read(words: Sequence[str], *, accepts_unknown: bool) -> tuple[list[GivenOption], list[str]]:
    import getopt  # only here: it loads gettext, and an idle monitor must stay small

    marked = [_ATTACHED + word[2:] if word.startswith("--") and "=" in word else word for word in words]
    long_options = list(_LONG)
    while True:
        try:
            given, operands = getopt.getopt(marked, _SHORT, long_options)
        except getopt.GetoptError as error:
            text = error.msg.replace("\0", "")
            if accepts_unknown and text == f"option --{error.opt} not recognized":
                raise UnknownOption(text, error.opt) from None
            if not (accepts_unknown and _is_unknown(error.opt)):
                raise SchedulerRejected(text) from None
            # declare only this option: getopt stops at the script, and what follows it is not for sbatch
            long_options.append(f"{error.opt}=")
        else:
            options = [(_name_of(option), _unmarked(value)) for option, value in given]
            return options, [_unmarked(word) for word in operands]


def _is_unknown(option: str) -> bool:
    name = option.removeprefix("\0")
    return name not in ("", option) and not any(known.startswith(name) for known in OPTIONS)


_LISTED = re.compile(r"^\s*(?:-\w, )?--([\w-]+)(=|\[=)?", re.MULTILINE)
_WITHOUT_SCRIPT = ("help", "usage", "version", "wrap")


def reads_stdin(words: Sequence[str]) -> bool:
    """Whether the script comes from stdin."""
    try:
        options, operands = read_with_unknown(words)
    except SchedulerRejected:
        return False
    return not operands and not any(name in _WITHOUT_SCRIPT for name, _ in options)


def script_of(words: Sequence[str]) -> str:
    """The path of the script; empty without one."""
    try:
        options, operands = read_with_unknown(words)
    except SchedulerRejected:
        return ""
    if operands and "wrap" not in dict(options):
        return operands[0]
    return ""


# options that many programs have too, so that after a script they are probably meant for it
_COMMON = ("error", "help", "input", "output", "quiet", "usage", "verbose", "version")
_SBATCH_LETTERS = "AGJNpqt"


def misplaced_options(words: Sequence[str]) -> tuple[str, list[str]]:
    """The script, and those of its arguments that look like options for sbatch."""
    try:
        operands = read_with_unknown(words)[1]
    except SchedulerRejected:
        return "", []
    options = (word.partition("=")[0] for word in operands[1:])
    return operands[0] if operands else "", [word for word in options if _is_for_sbatch(word)]


def _is_for_sbatch(word: str) -> bool:
    if word.startswith("--"):
        return word[2:] in OPTIONS and word[2:] not in _COMMON
    return word.startswith("-") and word[1:2] in _SBATCH_LETTERS and len(word) == len("-p")


def _name_of(option: str) -> str:
    name = option.lstrip("-").removeprefix("\0")
    if option.startswith("--"):
        return name
    return LETTERS[name].name


def _unmarked(word: str) -> str:
    if word.startswith(_ATTACHED):
        return "--" + word.removeprefix(_ATTACHED)
    return word


_PREFIXES = ("#SBATCH", "#SLURM")
NEXT_COMPONENT = ("hetjob", "packjob")  # the lines after it describe the next component of a het job


def script_directives(script_text: str) -> dict[str, str]:
    """The values of a script's options by their long names; the last one counts.

    Values are not expanded. Never raises: a line that cannot be read is ignored.
    """
    directives: dict[str, str] = {}
    for words in directive_words(script_text):
        if words and words[0] in NEXT_COMPONENT:
            break
        with suppress(SchedulerRejected):
            directives.update(read_with_unknown(words)[0])
    return directives


def directive_words(script_text: str) -> Iterator[list[str]]:
    """The words of each ``#SBATCH`` or ``#SLURM`` line before the first command, split as by Slurm."""
    for line in script_text.split("\n"):
        prefix = next((known for known in _PREFIXES if line.startswith(known)), None)
        if prefix is not None:
            yield list(_words(line.removeprefix(prefix)))
        elif line.strip() and not line.lstrip().startswith("#"):
            return


def _words(line: str) -> Iterator[str]:
    word, has_word = "", False
    quote = ""
    escaped = False
    for char in f"{line} ":
        if not quote and char.isspace():
            if has_word:
                yield word
            word, has_word, escaped = "", False, False
        elif escaped:
            word += char
            escaped = False
        elif not quote and char == "#":
            break
        else:
            has_word = True
            if char == "\\":
                escaped = True
            elif char == quote:
                quote = ""
            elif not quote and char in "\"'":
                quote = char
            else:
                word += char
    if has_word and not quote:
        yield word


_NO_LIMIT = ("INFINITE", "UNLIMITED", "-1")
_CLOCK_FIELDS = 3
_TIME = re.compile(r"(?:(\d{1,9})-)?(\d{1,9}(?::\d{1,9}){0,2})?", re.ASCII)


def parse_time_limit_s(text: str) -> int | None:
    """Read any of Slurm's forms, in seconds; None for no limit.

    With days: ``D-``, ``D-H``, ``D-H:M`` or ``D-H:M:S``; without: ``M``, ``M:S`` or ``H:M:S``. Slurm rounds
    up to whole minutes, but here ``0:02`` is two seconds.
    """
    if text.upper() in _NO_LIMIT:
        return None
    match = _TIME.fullmatch(text)
    if match is None or not text:
        raise SchedulerRejected("Invalid --time specification")
    days, clock = match.groups()
    numbers = [int(number) for number in clock.split(":")] if clock else []
    if days is None and len(numbers) < _CLOCK_FIELDS:
        numbers.insert(0, 0)
    hours, minutes, seconds = (*numbers, 0, 0, 0)[:3]
    return (((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds) or None
