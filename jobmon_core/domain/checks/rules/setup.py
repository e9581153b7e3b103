"""How jobmon itself is set up for this job."""

from __future__ import annotations

import math

from jobmon_core.domain.checks.facts import Facts
from jobmon_core.domain.checks.model import Item, failed, not_applicable, passed, warned
from jobmon_core.domain.humanize import duration

_LONG_S = 24 * 3600  # a login node may well be rebooted during a longer job
_PLURAL = {"success": "successes", "error": "failures"}


def channels(facts: Facts) -> Item:
    """Messages about successes and about failures have a channel."""
    name, setup = "messages", facts.setup
    if setup.fault:
        return failed(name, setup.fault, "Fix it: `jobmon submit` refuses to run with it.")
    missing = [route for route in ("success", "error") if route not in setup.channels]
    if missing:
        return warned(
            name, f"no channel receives messages about {' and '.join(_PLURAL[route] for route in missing)}",
            "`jobmon init` connects jobmon to Discord.",
        )  # fmt: skip
    return passed(name, "messages about successes and failures have a channel")


def monitor_returns(facts: Facts) -> Item:
    """Something restarts the monitor of a long job after a reboot."""
    name, limit_s = "monitor", facts.time_limit_s
    if facts.setup.returns_by:
        return passed(name, f"{facts.setup.returns_by} restarts the monitor after a reboot")
    advice = "`jobmon recover --install` restarts it automatically."
    if limit_s is not None and limit_s > _LONG_S:
        when = "while the job runs" if math.isinf(limit_s) else f"within {duration(limit_s)}"
        return warned(name, f"nothing restarts the monitor if this host reboots {when}", advice)
    return passed(name, "after a reboot, the monitor stays down until you run `jobmon recover`", advice)


def progress(facts: Facts) -> Item:
    """Jobmon could read the progress of an earlier run."""
    name = "progress"
    if not facts.past:
        return not_applicable(name, "no earlier run shows whether jobmon can read its progress")
    if any(run.had_progress for run in facts.past):
        return passed(name, "jobmon could read the progress of an earlier run")
    return passed(
        name,
        "jobmon could not read the progress of any earlier run",
        "Print lines such as `step 30/500 loss 0.3`, or describe them in jobmon.yaml.",
    )
