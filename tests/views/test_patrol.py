"""The lines of a patrol."""

from __future__ import annotations

from dataclasses import replace

from jobmon.views.console import Console
from jobmon.views.patrol import patrol_lines, summary
from jobmon.views.text_width import text_width
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.many.patrol import Patrol, SeenJob

NOW_S = 1_700_000_000.0
SEEN = SeenJob("slurm-12-x", "12", "train", "running", "RUNNING")
STALLED = replace(SEEN, problems=(Finding(Severity.WARNING, "stalled: no progress for 12m", id="stalled"),))


def test_one_line_says_what_still_is_wrong_though_nothing_has_changed() -> None:
    jobs = (STALLED, *(replace(STALLED, ref=f"{n}") for n in range(4)))
    patrol = Patrol(NOW_S, NOW_S - 1800, jobs)
    (line,) = patrol_lines(patrol, Console())
    assert ": 5 running; 5 warnings; nothing has changed since " in line
    assert line.endswith(
        " (30m ago); still: 12 train stalled: no progress for 12m, 0 train stalled: no progress for 12m, "
        "1 train stalled: no progress for 12m and 2 more"
    )


def test_of_many_jobs_with_news_the_first_are_shown_and_the_rest_is_counted() -> None:
    jobs = tuple(replace(SEEN, ref=f"{n}", changes=("+1 step",)) for n in range(25))
    lines = [*patrol_lines(Patrol(NOW_S, NOW_S - 60, jobs), Console())]
    assert lines[-1] == "  and news of 5 more jobs: `jobmon status` lists all"
    assert len(lines) == 22


def test_lines_fit_a_terminal_and_results_stay_as_they_are() -> None:
    job = replace(
        SEEN,
        group="failed",
        problems=(Finding(Severity.CRITICAL, "failed", id="outcome"),),
        changes=("RUNNING -> FAILED: " + "a long reason " * 9,),
        new_results=(Quote("metrics.csv", "acc\n0.9120"),),
    )
    other = Finding(Severity.WARNING, "a state file is skipped: " + "it is damaged " * 9)
    patrol = Patrol(NOW_S, None, (job,), (other,))
    lines = [*patrol_lines(patrol, Console(80))]
    assert max(map(text_width, lines)) <= 80
    assert lines[-3:] == ["    metrics.csv:", "    | acc", "    | 0.9120"]
    assert summary(patrol).endswith(": 1 failed; 1 critical, 1 warning; the first patrol")


def test_control_codes_of_a_name_do_not_reach_the_terminal() -> None:
    job = replace(SEEN, name="a\x1b[31mb", changes=("+1 step",))
    assert "\x1b" not in "".join(patrol_lines(Patrol(NOW_S, None, (job,)), Console(80)))
