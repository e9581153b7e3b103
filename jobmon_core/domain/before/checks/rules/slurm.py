"""What Slurm makes of the request: is it accepted, can it start, where do its logs go."""

from __future__ import annotations

import math
import posixpath

from jobmon_core.domain.before.checks.facts import Facts, PathFact, PathKind, SubmissionAnswer
from jobmon_core.domain.before.checks.model import Item, failed, not_applicable, passed, warned
from jobmon_core.domain.humanize import duration

_MAKES_LOG_FOLDERS = (23, 2)  # since this version, slurmd makes the folder of a log
_SOON_S = 60
_NEVER_S = 10 * 365 * 86_400.0  # Slurm's estimate is later if the job waits for jobs without a time limit
_RUNNABLE = ("UP", "")


def test_only(facts: Facts) -> Item:
    """The real sbatch accepts the request (``--test-only``)."""
    answer = facts.test_only
    if answer is None:
        return not_applicable("the job is not for Slurm, or its script cannot be read")
    if answer.accepted is None:
        return not_applicable(f"Slurm did not say whether it accepts the job: {answer.text}")
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


def time_limit(facts: Facts) -> Item:
    """The time limit is no longer than the partition's."""
    partition = facts.partition
    limit_s = math.inf if facts.request.is_unlimited else facts.request.time_limit_s
    if partition is None:
        return not_applicable("the limits of the partition are not known")
    if partition.state not in _RUNNABLE:
        return warned(
            f"partition {partition.name} is {partition.state}: no job starts there",
            "`sinfo -s` lists the partitions that are up.",
        )
    longest_s = partition.max_time_s
    if limit_s is None:
        default_s = partition.default_time_s or longest_s
        default = duration(default_s) if default_s else "unlimited"
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


def working_folder(facts: Facts) -> Item:
    """The folder that --chdir names exists."""
    if "chdir" not in facts.request.options:
        return not_applicable("no --chdir is given")
    if not facts.path(facts.folder).is_missing:
        return passed(f"the job starts in {facts.folder}")
    return failed(
        f"{facts.folder}, the folder of --chdir, does not exist here: Slurm would start the job in /tmp",
        f"Run `mkdir -p {facts.folder}` first, or name another folder.",
    )


def logs(facts: Facts) -> Item:
    """The folders of the job's own output exist, and each task has a file of its own."""
    if not facts.logs:
        return not_applicable("jobmon does not know where the job's output goes")
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


def _log_problem(facts: Facts, template: str) -> Item | None:
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


def _missing_log_folder(facts: Facts, found: PathFact) -> Item | None:
    makes_it = facts.slurm_version is not None and facts.slurm_version >= _MAKES_LOG_FOLDERS
    if (makes_it or not facts.is_slurm) and found.can_write_above:
        return None
    return failed(
        f"the folder of the logs, {found.path}, does not exist here; without it, the job fails",
        f"Run `mkdir -p {found.path}` before the job starts; a mkdir inside the script comes too late.",
    )
