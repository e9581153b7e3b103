"""The batch script as a file: does it exist, will Slurm run it, will Slurm read its options."""

from __future__ import annotations

import re

from jobmon_core.domain.before.checks.facts import Facts, PathKind
from jobmon_core.domain.before.checks.model import Item, failed, not_applicable, passed, warned
from jobmon_core.domain.slurm.sbatch_options import directive_words

_ALMOST = re.compile(r"\s+#SBATCH\s|#(?:sbatch|Sbatch|SBTACH|SBATH|SBACTH|SBTCH|SBATHC|S BATCH)\s+-")
_EXPANDED = re.compile(r"\$\{?[A-Za-z_]\w*\}?|(?:^|=)~")
_PATH_OPTIONS = ("--output", "--error", "--chdir", "--input", "-o", "-e", "-D")


def script(facts: Facts) -> Item:
    """The script exists and can be read."""
    file = facts.script_file
    if file is None:
        return not_applicable("the commands are not in a file")
    if file.is_missing:
        return failed(f"{file.path} does not exist", "Check the path; sbatch options come before it.")
    if file.kind is PathKind.UNKNOWN:
        return failed(
            f"{file.path} cannot be looked at",
            f"Check the permissions of the folders above it: `namei -l {file.path}`.",
        )
    if file.kind is not PathKind.FILE:
        what = "a folder" if file.kind is PathKind.FOLDER else "a pipe or a device"
        return failed(f"{file.path} is {what}, not a script", "Name the script itself.")
    if not file.can_read:
        return failed(f"{file.path} cannot be read", f"Run `chmod u+r {file.path}`.")
    return passed(f"{file.path} can be read")


def shebang(facts: Facts) -> Item:
    """The first line names a program that exists."""
    script = facts.script
    if not script.text:
        return not_applicable("there is no script to look at")
    if not script.shebang:
        return failed(
            "the first line does not begin with `#!`, so sbatch refuses the script",
            "Begin it with #!/bin/bash.",
        )
    program = script.interpreter[0]
    if not program.startswith("/"):
        return failed(f"`#!{program}` is not an absolute path", "Begin the script with #!/bin/bash.")
    found = facts.path(program)
    if found.is_missing:
        return failed(f"the interpreter {program} does not exist here", "Name one that exists after `#!`.")
    if found.kind is PathKind.FILE and not found.can_run:
        return failed(f"the interpreter {program} cannot be executed", "Name a program after `#!`.")
    return passed(f"{program} runs the script")


def unread(facts: Facts) -> Item:
    """Nobody knows which word is the script."""
    option = f"--{facts.unknown_option}"
    return warned(
        f"not checked: jobmon does not know {option}, nor does `sbatch --help`",
        f"Write {option}=VALUE, if it takes a value: jobmon then finds the script.",
    )


def line_endings(facts: Facts) -> Item:
    """No line of the script, or of a shell script that it runs, ends with a carriage return."""
    if not facts.script.text:
        return not_applicable("there is no script to look at")
    if "\r\n" in facts.script.text:
        path = facts.script_file.path if facts.script_file else "FILE"
        return failed(
            "lines end in CRLF (DOS), which sbatch refuses", f"`sed -i 's/\\r$//' {path}` fixes it."
        )
    if bad := [file.path for file in facts.shell_files if file.has_line_ends_of_dos]:
        return failed(f"lines of {bad[0]} end in CRLF (DOS)", f"`sed -i 's/\\r$//' {bad[0]}` fixes it.")
    return passed("no line ends in CRLF (DOS)")


def options_order(facts: Facts) -> Item:
    """No option for sbatch follows the script."""
    if facts.misplaced:
        options = " ".join(dict.fromkeys(facts.misplaced))
        judged = warned if takes_arguments(facts) else failed
        return judged(
            f"{options} after the script: passed to the script, not to sbatch",
            "Put sbatch options before the script.",
        )
    return passed("no option of sbatch follows the script")


def takes_arguments(facts: Facts) -> bool:
    """Whether the script uses its arguments, so that they may be its own options."""
    names = {
        part.text for each in facts.script.commands for word in each.every_word() for part in word.uses()
    }
    return not facts.script.is_shell or any(name in ("@", "*", "1", "2", "#") for name in names)


def directives(facts: Facts) -> Item:
    """Slurm reads every ``#SBATCH`` line, and takes it as it is meant."""
    comments, commands = facts.script.comments, facts.script.commands
    first = commands[0].line if commands else None
    late = [line for line, text in comments if text.startswith("#SBATCH") and first and line > first]
    if late:
        return failed(
            f"line {late[0]}: #SBATCH after the first command (line {first}), so Slurm ignores it",
            "Move all #SBATCH lines above the first command.",
        )
    literal = [
        word for words in directive_words(facts.script.text) for word in words if _EXPANDED.search(word)
    ]
    if literal:
        judged = failed if literal[0].startswith(_PATH_OPTIONS) or "/" in literal[0] else warned
        return judged(
            f"#SBATCH {literal[0]}: Slurm expands neither variables nor ~ there",
            "Write the value itself, use Slurm's own patterns (%u, %j, %x), or pass it on the command line.",
        )
    for number, line in enumerate(facts.script.text.split("\n"), 1):
        if (first is None or number < first) and _ALMOST.match(line):
            return warned(
                f"line {number} is a comment for Slurm: it does not begin with #SBATCH",
                "Begin it with #SBATCH, in capitals and without a space before it.",
            )
    if not facts.request.has_directives:
        return not_applicable("the script has no #SBATCH lines")
    return passed("Slurm reads all #SBATCH lines")
