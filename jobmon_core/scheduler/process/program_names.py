"""Which program a command runs: its own, or the script or module that an interpreter or launcher runs."""

from __future__ import annotations

import re
from posixpath import basename, normpath, splitext
from typing import TYPE_CHECKING

from jobmon_core.scheduler.command_name import INTERPRETER, SCRIPT_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TEXT_FOLLOWS = re.compile(r"-[A-Za-z]*c|-")  # the program is the text of the next word, or stdin
_MODULE_FOLLOWS = re.compile(r"-[A-Za-z]*m")
_R_FILE = "--file="  # Rscript becomes R with this option
_VALUE_FOLLOWS = ("-W", "-X", "-o", "-O")  # options of interpreters whose value is the next word
_LAUNCHERS = (
    *("torchrun", "accelerate", "deepspeed", "torch.distributed.run", "torch.distributed.launch"),
    *("srun", "mpirun", "mpiexec", "time", "timeout", "nice", "env", "nohup", "uv", "poetry", "conda"),
)
_LAUNCHER_WORD = re.compile(r"-.*|run|launch|\w+=.*|[\d.]+[smhd]?")  # an option, an action, a value
_EDITORS = (
    *("nano", "vi", "vim", "nvim", "emacs", "micro", "joe", "code", "gedit", "kate"),
    *("less", "more", "most", "cat", "bat", "tail", "head", "grep", "rg", "watch", "man"),
)


def runs_program(argv: Sequence[str], name: str) -> bool:
    """Whether a command runs the program ``name``: ``train.py``, ``train``, ``src/train.py``, ``pkg.train``.

    Further words of ``name`` must be in the command line too. A file that an editor shows does not run.
    """
    wanted, _, arguments = name.strip().partition(" ")
    return arguments in " ".join(argv) and any(_is_named(program, wanted) for program in _programs(argv))


def _is_named(program: str, wanted: str) -> bool:
    if "/" in wanted:
        path = normpath(wanted)
        return normpath(program) == path or program.endswith(f"/{path}")
    stem, suffix = splitext(basename(program))
    is_module = "/" not in program and suffix not in SCRIPT_SUFFIXES
    return wanted in (basename(program), stem) or (is_module and program.endswith(f".{wanted}"))


def _programs(argv: Sequence[str]) -> Iterator[str]:
    """Yield the program of a command, then what that runs, and so on."""
    while argv:
        yield argv[0]
        name = basename(argv[0])
        if INTERPRETER.fullmatch(name):
            argv = _after_interpreter(argv[1:])
        elif name in _LAUNCHERS:
            argv = _after_launcher(argv[1:])
        elif name == "R":
            argv = [word.removeprefix(_R_FILE) for word in argv[1:] if word.startswith(_R_FILE)]
        else:
            return


def _after_interpreter(words: Sequence[str]) -> Sequence[str]:
    """Return the script or module that an interpreter runs, and what follows; empty without one."""
    is_value = False
    for position, word in enumerate(words):
        if _MODULE_FOLLOWS.fullmatch(word):
            return words[position + 1 :]
        if _TEXT_FOLLOWS.fullmatch(word):
            return ()
        if not is_value and not word.startswith(("-", "+")):
            return words[position:]
        is_value = word in _VALUE_FOLLOWS
    return ()


def _after_launcher(words: Sequence[str]) -> Sequence[str]:
    """Return the program that a launcher starts, and what follows.

    The first word that is not an option may be an option's value: a script or an interpreter is preferred.
    """
    candidates = [position for position, word in enumerate(words) if not _LAUNCHER_WORD.fullmatch(word)]
    for position in candidates:
        if basename(words[position]) in _EDITORS:
            return ()
        if words[position].endswith(SCRIPT_SUFFIXES) or INTERPRETER.fullmatch(basename(words[position])):
            return words[position:]
    return words[candidates[0] :] if candidates else ()
