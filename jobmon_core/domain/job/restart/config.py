"""The section ``restart`` of a job configuration: when the job is started again, and how."""

from __future__ import annotations

import re
from typing import Final

from jobmon_core.domain.config_section import Section
from jobmon_core.domain.job.job_settings import FIRST_DELAY_S, MAX_DELAY_S, RestartMode, RestartSettings

# what the rules charge a restart to, in the order of their table
BUDGETS: Final = ("preempted", "node", "time", "hang", "crash", "memory", "exit")
# for "did you mean": the keys that no other section could have
DISTINCT_KEYS: Final = (
    *("max_restarts", "resume_arg", "never_on_exit", "again_on_exit", "set_aside", "stop_on_stall"),
    "current_script",
)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_PATH = "{path}"
_MAX_RESTARTS = 1000
_MAX_DELAY_S = 7 * 86_400.0
_MIN_STALL_S = 60.0  # a shorter pause is no stall, but an evaluation or a save
_MAX_GROWTH = 4.0
_LAST_EXIT_CODE = 255
_USUAL = RestartSettings()


def read_restart(section: Section) -> RestartSettings:
    """Return what a section asks for; its faults are added to those of the configuration.

    A section without ``mode`` turns no restarts on: it describes those that an option turns on.
    """
    never, again = _exit_codes(section)
    delay_s, max_delay_s = _delays(section)
    growth = section.section("grow")
    has_most = section.has("max_restarts")
    settings = RestartSettings(
        mode=RestartMode(section.choice("mode", tuple(RestartMode), RestartMode.OFF)),
        on=_causes(section),
        max_restarts=section.whole_number("max_restarts", 0, 0, _MAX_RESTARTS) if has_most else None,
        budgets=_budgets(section.section("max")),
        delay_s=delay_s,
        max_delay_s=max_delay_s,
        resume_arg=section.parsed("resume_arg", checked_resume_arg) or "",
        never_on_exit=never,
        again_on_exit=again,
        grow_memory=growth.number("memory", 1.0, 1.0, _MAX_GROWTH),
        grow_time=growth.number("time", 1.0, 1.0, _MAX_GROWTH),
        set_aside=section.switch("set_aside", False),
        stall_is_failure_s=section.number_or_none("stop_on_stall", _MIN_STALL_S),
        current_script=section.switch("current_script", False),
    )
    growth.close()
    section.close()
    return settings


def checked_resume_arg(text: str) -> str:
    """Return words for the script, if they can be given to it; else ValueError says what is wrong."""
    import shlex  # a monitor never needs it

    if not text.isprintable():
        raise ValueError(f"contains a control character: {text!a}")
    try:
        shlex.split(text)
    except ValueError as error:
        raise ValueError(f"not a list of words: {error}") from error
    if others := [each for each in _PLACEHOLDER.findall(text) if each != _PATH]:
        raise ValueError(f"only {_PATH} is replaced, not {others[0]}")
    return text


def _causes(section: Section) -> tuple[str, ...]:
    causes = section.texts("on")
    for fault in (fault_of_cause(each) for each in causes):
        if fault:
            section.fault("on", fault)
    return tuple(causes)


def fault_of_cause(cause: str) -> str:
    """Return what is wrong with the name of a cause after which a job is restarted."""
    from difflib import get_close_matches  # a monitor never needs it

    if not re.fullmatch(r"\w[\w.-]*", cause):
        return f"expected names of causes, e.g. [{', '.join(BUDGETS[:3])}], found {cause!a}"
    if cause not in BUDGETS and (meant := get_close_matches(cause, BUDGETS, n=1, cutoff=0.75)):
        return f"unknown cause {cause!r}; did you mean {meant[0]}?"
    return ""


def _budgets(section: Section) -> dict[str, int]:
    found = {name: section.whole_number(name, 0, 0, _MAX_RESTARTS) for name in BUDGETS if section.has(name)}
    section.close()
    return found


def _delays(section: Section) -> tuple[float, float]:
    numbers = section.items("delay")
    if not numbers:  # not given, or no list
        return FIRST_DELAY_S, MAX_DELAY_S
    delays = [float(each) for each in numbers if isinstance(each, int | float) and not isinstance(each, bool)]
    is_pair = len(delays) == len(numbers) == 2  # noqa: PLR2004 - the first and the longest
    if not is_pair or not 1 <= delays[0] <= delays[1] <= _MAX_DELAY_S:
        section.fault(
            "delay",
            f"expected the first delay and the longest in seconds, from 1 to {_MAX_DELAY_S:g}, "
            f"e.g. [{FIRST_DELAY_S:g}, {MAX_DELAY_S:g}]",
        )
        return FIRST_DELAY_S, MAX_DELAY_S
    return delays[0], delays[1]


def _exit_codes(section: Section) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the exit codes after which it is never started again, and after which it always is."""
    given_never, given_again = _codes(section, "never_on_exit"), _codes(section, "again_on_exit")
    if both := sorted({*(given_never or ())} & {*(given_again or ())}):
        section.fault("again_on_exit", f"{both[0]} is in never_on_exit, too")
    # a code that the user names in one list is no default of the other
    never = tuple(code for code in _USUAL.never_on_exit if code not in (given_again or ()))
    again = tuple(code for code in _USUAL.again_on_exit if code not in (given_never or ()))
    return (never if given_never is None else given_never), (again if given_again is None else given_again)


def _codes(section: Section, key: str) -> tuple[int, ...] | None:
    if not section.has(key):
        return None
    items = section.items(key)
    codes = [each for each in items if isinstance(each, int) and not isinstance(each, bool)]
    if len(codes) != len(items) or not all(1 <= code <= _LAST_EXIT_CODE for code in codes):
        section.fault(key, f"expected a list of exit codes from 1 to {_LAST_EXIT_CODE}, e.g. [75, 99]")
        return ()
    return tuple(codes)
