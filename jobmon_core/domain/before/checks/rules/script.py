"""The batch script as a file, and what Slurm makes of its request."""

from __future__ import annotations

import math
import posixpath
import re

from jobmon_core.domain.before.checks.facts import Facts, PathFact, PathKind, SubmissionAnswer
from jobmon_core.domain.finding import Finding, failed, passed, unknown, warned
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.slurm.sbatch_options import directive_words

_ALMOST = re.compile(r"\s+#SBATCH\s|#(?:sbatch|Sbatch|SBTACH|SBATH|SBACTH|SBTCH|SBATHC|S BATCH)\s+-")
_EXPANDED = re.compile(r"\$\{?[A-Za-z_]\w*\}?|(?:^|=)~")
_PATH_OPTIONS = ("--output", "--error", "--chdir", "--input", "-o", "-e", "-D")


def script(facts: Facts) -> Finding:
    """The script exists and can be read."""
    file = facts.script_file
    if file is None:
        return unknown("the commands are not in a file")
    if file.is_missing:
        return failed(f"{file.path} does not exist", "Check the path; sbatch options come before it.")
    if file.kind is PathKind.UNKNOWN:
        return failed(
            f"{file.path} cannot be looked at",
            f"Check the permissions of the folders above it: `namei -l {file.path}`.",
        )
    if file.kind is not PathKind.FILE:
        what = "a pipe or a device"
        if file.kind is PathKind.FOLDER:
            what = "a folder"
        return failed(f"{file.path} is {what}, not a script", "Name the script itself.")
    if not file.can_read:
        return failed(f"{file.path} cannot be read", f"Run `chmod u+r {file.path}`.")
    return passed(f"{file.path} can be read")


def shebang(facts: Facts) -> Finding:
    """The first line names a program that exists."""
    script = facts.script
    if not script.text:
        return unknown("there is no script to look at")
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


def unread(facts: Facts) -> Finding:
    """Nobody knows which word is the script."""
    option = f"--{facts.unknown_option}"
    return warned(
        f"not checked: jobmon does not know {option}, nor does `sbatch --help`",
        f"Write {option}=VALUE, if it takes a value: jobmon then finds the script.",
    )


def line_endings(facts: Facts) -> Finding:
    """No line of the script, or of a shell script that it runs, ends with a carriage return."""
    if not facts.script.text:
        return unknown("there is no script to look at")
    if "\r\n" in facts.script.text:
        path = "FILE"
        if facts.script_file:
            path = facts.script_file.path
        return failed(
            "lines end in CRLF (DOS), which sbatch refuses", f"`sed -i 's/\\r$//' {path}` fixes it."
        )
    if bad := [file.path for file in facts.shell_files if file.has_line_ends_of_dos]:
        return failed(f"lines of {bad[0]} end in CRLF (DOS)", f"`sed -i 's/\\r$//' {bad[0]}` fixes it.")
    return passed("no line ends in CRLF (DOS)")


def options_order(facts: Facts) -> Finding:
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
    """Whether the script uses its arguments: they may be its own options."""
    names = {
        part.text for each in facts.script.commands for word in each.every_word() for part in word.uses()
    }
    return not facts.script.is_shell or any(name in ("@", "*", "1", "2", "#") for name in names)


def directives(facts: Facts) -> Finding:
    """Slurm reads every ``#SBATCH`` line, and takes it as it is meant."""
    for rule in (_late_directive, _expanded_directive, _mistyped_directive):
        if problem := rule(facts):
            return problem
    if not facts.request.has_directives:
        return unknown("the script has no #SBATCH lines")
    return passed("Slurm reads all #SBATCH lines")


def _late_directive(facts: Facts) -> Finding | None:
    first = next((command.line for command in facts.script.commands), 0)
    for line, text in facts.script.comments:
        if text.startswith("#SBATCH") and 0 < first < line:
            return failed(
                f"line {line}: #SBATCH after the first command (line {first}), so Slurm ignores it",
                "Move all #SBATCH lines above the first command.",
            )
    return None


def _expanded_directive(facts: Facts) -> Finding | None:
    words = (word for words in directive_words(facts.script.text) for word in words)
    word = next(filter(_EXPANDED.search, words), "")
    if not word:
        return None
    judged = failed if word.startswith(_PATH_OPTIONS) or "/" in word else warned
    return judged(
        f"#SBATCH {word}: Slurm expands neither variables nor ~ there",
        "Write the value itself, use Slurm's own patterns (%u, %j, %x), or pass it on the command line.",
    )


def _mistyped_directive(facts: Facts) -> Finding | None:
    lines = facts.script.text.split("\n")
    if facts.script.commands:
        lines = lines[: facts.script.commands[0].line - 1]
    for number, line in enumerate(lines, 1):
        if _ALMOST.match(line):
            return warned(
                f"line {number} is a comment for Slurm: it does not begin with #SBATCH",
                "Begin it with #SBATCH, in capitals and without a space before it.",
            )
    return None


_MAKES_LOG_FOLDERS = (23, 2)  # since this version, slurmd makes the folder of a log
_SOON_S = 60
_NEVER_S = 10 * 365 * 86_400.0  # Slurm's estimate is later if the job waits for jobs without a time limit
_RUNNABLE = ("UP", "")


def test_only(facts: Facts) -> Finding:
    """The real sbatch accepts the request (``--test-only``)."""
    answer, scheduler = facts.test_only, "Slurm" if facts.is_slurm else "PBS"
    if answer is None:
        return unknown("the job is not for Slurm, or its script cannot be read")
    if answer.accepted is None:
        return warned(
            f"{scheduler} did not say whether it accepts the job: {answer.text}",
            f"Check again when, or where, {scheduler} answers.",
        )
    if not answer.accepted:
        return failed(
            f"refused: {answer.text}",
            "Change the option that the message names: sbatch refuses such a job, or it never starts.",
        )
    text = f"{answer.text}{_start(facts, answer)}"
    if "warning" in answer.remark.lower():
        return warned(f"{text}, but says: {answer.remark}", "The job may not get what you ask for.")
    return passed(f"{text}; it says: {answer.remark}" if answer.remark else text)


def _start(facts: Facts, answer: SubmissionAnswer) -> str:
    if answer.starts_s is None:
        return ""
    wait_s = answer.starts_s - facts.now_s
    if wait_s > _NEVER_S:
        return "; Slurm has no estimate of its start"
    when = "now" if wait_s < _SOON_S else f"in {duration(wait_s)}"
    return f"; it could start {when} on {answer.nodes}"


def time_limit(facts: Facts) -> Finding:
    """The time limit is no longer than the partition's."""
    partition = facts.partition
    limit_s = math.inf if facts.request.is_unlimited else facts.request.time_limit_s
    if partition is None:
        return unknown("the limits of the partition are not known")
    if partition.state not in _RUNNABLE:
        return warned(
            f"partition {partition.name} is {partition.state}: no job starts there",
            "`sinfo -s` lists the partitions that are up.",
        )
    longest_s = partition.max_time_s
    if limit_s is None:
        default_s = partition.default_time_s or longest_s
        default = "unlimited"
        if default_s:
            default = duration(default_s)
        return passed(
            f"none given; the default of partition {partition.name} is {default}",
            "A shorter --time may let the job start earlier."
        )  # fmt: skip
    limit = "no time limit" if math.isinf(limit_s) else duration(limit_s)
    if longest_s is not None and limit_s > longest_s:
        judged = warned if "qos" in facts.request.options else failed  # a QOS may allow more
        return judged(
            f"{limit} is more than partition {partition.name} allows ({duration(longest_s)})",
            f"Ask for at most {duration(longest_s)}, or for another partition (`sinfo -o '%P %l'`).",
        )
    return passed(f"{limit}, within the limit of partition {partition.name}")


def working_folder(facts: Facts) -> Finding:
    """The folder that --chdir names exists."""
    if "chdir" not in facts.request.options:
        return unknown("no --chdir is given")
    if not facts.path(facts.folder).is_missing:
        return passed(f"the job starts in {facts.folder}")
    return failed(
        f"{facts.folder}, the folder of --chdir, does not exist here: Slurm would start the job in /tmp",
        f"Run `mkdir -p {facts.folder}` first, or name another folder.",
    )


def logs(facts: Facts) -> Finding:
    """The folders of the job's own output exist, and each task has a file of its own."""
    if not facts.logs:
        return unknown("jobmon does not know where the job's output goes")
    for template in facts.logs:
        if problem := _log_problem(facts, template):
            return problem
    options = facts.request.options
    output = options.get("output", "")
    if facts.request.array and output and not any(each in output for each in ("%a", "%j", "%A_%a", "%b")):
        return warned(
            f"all tasks of the array write to {output}", "Put %A_%a into the name: --output=%x-%A_%a.out."
        )
    return passed(f"the output goes to {facts.logs[0]}")


def _log_problem(facts: Facts, template: str) -> Finding | None:
    folder = posixpath.dirname(template)
    # only Slurm knows such a folder, or the item "directives" reports it
    if template.startswith("/dev/") or any(char in folder for char in "%$~"):
        return None
    found = facts.path(folder)
    if found.is_missing:
        return _missing_log_folder(facts, found)
    another = "Name another folder in --output and --error."
    if facts.path(template).kind is PathKind.FOLDER:
        why, another = f"{template} is a folder, so it cannot be a log", f"Name a file: {template}/%j.out."
    elif found.kind is PathKind.FILE:
        why = f"{folder} is a file, so no log can be in it"
    elif found.kind is PathKind.FOLDER and not found.can_write:
        why = f"you have no permission to write to {folder}"
    else:
        return None
    return failed(why, another)


def _missing_log_folder(facts: Facts, found: PathFact) -> Finding | None:
    makes_it = facts.slurm_version is not None and facts.slurm_version >= _MAKES_LOG_FOLDERS
    if (makes_it or not facts.is_slurm) and found.can_write_above:
        return None
    return failed(
        f"the folder of the logs, {found.path}, does not exist here; without it, the job fails",
        f"Run `mkdir -p {found.path}` before the job starts; a mkdir inside the script comes too late.",
    )
