"""How jobmon itself is set up for this job."""

from __future__ import annotations

import math

from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.finding import Finding, failed, passed, unknown, warned
from jobmon_core.domain.humanize import duration

_LONG_S = 24 * 3600  # a login node may well be rebooted during a longer job
_PLURAL = {"success": "successes", "error": "failures"}


def channels(facts: Facts) -> Finding:
    """Messages about successes and about failures have a channel."""
    setup = facts.setup
    if setup.fault:
        return failed(setup.fault, "Fix it: `jobmon submit` refuses to run with it.")
    missing = [route for route in ("success", "error") if route not in setup.channels]
    if missing:
        return warned(
            f"no channel receives messages about {' and '.join(_PLURAL[route] for route in missing)}",
            "`jobmon init` connects jobmon to Discord."
        )  # fmt: skip
    return passed("messages about successes and failures have a channel")


def monitor_returns(facts: Facts) -> Finding:
    """Something restarts the monitor of a long job after a reboot."""
    limit_s = facts.time_limit_s
    if facts.setup.returns_by:
        return passed(f"{facts.setup.returns_by} restarts the monitor after a reboot")
    advice = "`jobmon recover --install` restarts it automatically."
    if not facts.setup.can_return:
        advice = "Run `jobmon recover` after a reboot, or submit with --sentinel."
    if limit_s is not None and limit_s > _LONG_S:
        when = "while the job runs" if math.isinf(limit_s) else f"within {duration(limit_s)}"
        return warned(f"nothing restarts the monitor if this host reboots {when}", advice)
    return passed("after a reboot, the monitor stays down until you run `jobmon recover`", advice)


def progress(facts: Facts) -> Finding:
    """Jobmon could read the progress of an earlier run."""
    if not facts.alike:
        return unknown("no earlier run shows whether jobmon can read its progress")
    if any(run.done is not None for run in facts.alike):
        return passed("jobmon could read the progress of an earlier run")
    return passed(
        "jobmon could not read the progress of any earlier run",
        "Print lines such as `step 30/500 loss 0.3`, or describe them in jobmon.yaml.",
    )


def patterns(facts: Facts) -> Finding:
    """The job configuration says how to read the progress and the outputs."""
    said = facts.settings
    if facts.settings_fault:
        return warned(facts.settings_fault, "The job will be watched without this file.")
    if said is None:
        return unknown("no jobmon.yaml: jobmon reads progress and outputs by its own patterns")
    has_outputs = said.output_pattern or said.expected_outputs or said.checkpoint_pattern or said.results
    found = {"progress": said.progress_patterns or said.total_items, "outputs": has_outputs}
    missing = [what for what, is_there in found.items() if not is_there]
    if missing:
        text = f"{said.source} has no pattern of {' and '.join(missing)}: jobmon uses its own"
        return passed(text, "docs/configuration.md lists the keys.")
    return passed(f"{said.source} has patterns of progress and outputs")
