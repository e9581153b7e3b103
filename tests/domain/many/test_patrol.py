"""What a patrol compares, remembers and when it runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.errors import UsageError
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.many.autostart.command import (
    AutostartCommand,
    cron_lines,
    marker_for,
    our_lines,
    scrontab_lines,
    unit_files,
    with_lines,
)
from jobmon_core.domain.many.patrol import (
    OUTCOME,
    Memories,
    Memory,
    Patrol,
    SeenJob,
    compare,
    patrol_command,
    remembered,
)
from jobmon_core.system.json_codec import from_json, to_json

START_S, NOW_S = 1_000_000.0, 1_001_800.0
RUNNING = SeenJob(
    "slurm-12-x",
    "12",
    "train",
    "running",
    "RUNNING",
    current=500.0,
    unit="step",
    progress="50.0% (500/1,000 steps)",
    outputs=4,
    expected_outputs=8,
    checkpoints=2,
    newest_checkpoint="checkpoint-400",
    markers={"marker /o/DONE": False},
    results=(Quote("metrics.csv", "acc\n0.9"),),
)
STALL = Finding(Severity.WARNING, "stalled: no progress for 12m", id="stalled")
FAILURE = Finding(Severity.CRITICAL, "failed: KeyError: 'lr'", id=OUTCOME)


def patrol(before: SeenJob | None, now: SeenJob, *problems: Finding) -> Patrol:
    """Return the second of two patrols."""
    first = compare([before] if before else [], (), Memory(), START_S)
    return compare([now], problems, remembered(Memory(), first), NOW_S)


def changes(before: SeenJob | None, now: SeenJob) -> tuple[str, ...]:
    (job,) = patrol(before, now).jobs
    return job.changes


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({}, ()),
        ({"progress": "50.0%, 2h left"}, ()),  # an estimate alone is no news
        ({"state": "COMPLETED", "is_over": True}, ("RUNNING -> COMPLETED",)),
        ({"state": "PENDING", "reason": "held (JobHeldUser)"}, ("RUNNING -> PENDING: held (JobHeldUser)",)),
        (
            {"state": "FAILED", "reason": "KeyError: 'lr'", "problems": (FAILURE,)},
            ("RUNNING -> FAILED: KeyError: 'lr'",),
        ),
        (
            {"problems": (FAILURE,)},
            ("failed: KeyError: 'lr'",),
        ),  # the state said so before its cause was known
        ({"is_over": True, "is_unwatched": True}, ("no longer watched",)),
        ({"current": 1700.0, "progress": "1,700 steps"}, ("+1,200 steps: 1,700 steps",)),
        ({"current": 501.0, "progress": "501 steps"}, ("+1 step: 501 steps",)),
        ({"current": 20.0, "progress": "20 steps"}, ("started again: 500 -> 20 steps, 20 steps",)),
        ({"current": 3.0, "unit": "epoch", "progress": "3/9 epochs"}, ("3/9 epochs",)),
        ({"current": None, "progress": ""}, ()),
        ({"newest_checkpoint": "checkpoint-500"}, ("checkpoint-500 saved",)),
        ({"outputs": 6}, ("outputs: 4 -> 6 of 8 files",)),
        ({"outputs": 1, "expected_outputs": None}, ("outputs: 4 -> 1 file",)),
        ({"outputs": None}, ()),  # not known: nothing is said about them
        ({"markers": {"marker /o/DONE": True}}, ("marker /o/DONE appeared",)),
        ({"problems": (STALL,)}, ("stalled: no progress for 12m",)),
    ],
)
def test_what_changed_is_said_once_and_nothing_else(after: dict[str, object], said: tuple[str, ...]) -> None:
    now = replace(RUNNING, **after)  # type: ignore[arg-type]  # the table names the fields
    assert changes(RUNNING, now) == said
    assert changes(now, now) == ()


def test_a_problem_that_lasts_is_no_news_though_its_text_counts_on_and_its_end_is() -> None:
    before = replace(RUNNING, problems=(STALL,))
    assert changes(before, replace(RUNNING, problems=(replace(STALL, text="stalled: for 42m"),))) == ()
    assert changes(before, RUNNING) == ("no longer: stalled: no progress for 12m",)
    assert changes(before, replace(RUNNING, state="FAILED", is_over=True)) == ("RUNNING -> FAILED",)


def test_a_marker_that_is_removed_is_news() -> None:
    there = replace(RUNNING, markers={"marker /o/DONE": True})
    assert changes(there, RUNNING) == ("marker /o/DONE is gone",)


def test_results_are_quoted_when_they_say_something_new() -> None:
    better = (Quote("metrics.csv", "acc\n0.95"),)
    assert patrol(RUNNING, RUNNING).jobs[0].new_results == ()
    assert patrol(RUNNING, replace(RUNNING, results=better)).jobs[0].new_results == better
    assert patrol(None, RUNNING).jobs[0].new_results == RUNNING.results


def test_a_job_that_no_patrol_has_seen_is_described() -> None:
    (job,) = patrol(None, replace(RUNNING, problems=(STALL,), markers={"marker /o/DONE": True})).jobs
    assert job.is_new
    assert job.changes == (
        "RUNNING",
        "50.0% (500/1,000 steps)",
        "outputs: 4 of 8 files",
        "checkpoint-400 is the newest of 2 checkpoints",
        "marker /o/DONE is there",
        "stalled: no progress for 12m",
    )


@pytest.mark.parametrize(
    ("of_job", "of_jobmon", "code"),
    [
        ((), (), 0),
        ((STALL,), (), 1),
        ((), (Finding(Severity.WARNING, "a state file is skipped"),), 1),
        ((STALL, FAILURE), (), 2),
        ((FAILURE,), (Finding(Severity.WARNING, "a state file is skipped"),), 2),
    ],
)
def test_the_exit_code_is_that_of_the_worst_finding(
    of_job: tuple[Finding, ...], of_jobmon: tuple[Finding, ...], code: int
) -> None:
    assert patrol(RUNNING, replace(RUNNING, problems=of_job), *of_jobmon).severity == code


def test_without_a_job_all_is_well() -> None:
    assert compare([], (), Memory(), NOW_S).severity is Severity.INFO


def test_the_worst_job_comes_first_then_those_with_news() -> None:
    jobs = [replace(RUNNING, id=name, ref=name) for name in ("1", "2", "3")]
    memory = remembered(Memory(), compare(jobs, (), Memory(), START_S))
    now = [jobs[0], replace(jobs[1], outputs=5), replace(jobs[2], problems=(FAILURE,))]
    assert [job.ref for job in compare(now, (), memory, NOW_S).jobs] == ["3", "2", "1"]


def test_a_patrol_over_named_jobs_forgets_nothing_about_the_others() -> None:
    other = replace(RUNNING, id="slurm-13-x", ref="13")
    memory = remembered(Memory(), compare([RUNNING, other], (), Memory(), START_S))
    named = compare([RUNNING], (), memory, NOW_S, names_jobs=True)
    after = remembered(memory, named, names_jobs=True)
    assert (after.at_s, set(after.jobs)) == (START_S, {"slurm-12-x", "slurm-13-x"})
    assert compare([RUNNING], (), after, NOW_S + 1, names_jobs=True).since_s == NOW_S


def test_what_is_remembered_survives_its_file() -> None:
    seen = replace(RUNNING, problems=(STALL,), markers={"marker /o/DONE": True})
    memory = remembered(Memory(), compare([seen], (), Memory(), START_S))
    stored = Memories({"": memory})
    assert from_json(Memories, to_json(stored)) == stored
    found = compare([seen], (), memory, NOW_S)
    assert from_json(Patrol, to_json(found)) == found


HOME = marker_for("/h")


@pytest.mark.parametrize(
    ("minutes", "cron", "calendar"),
    [
        (30, "3,33 * * * *", "*:3,33"),
        (15, "3,18,33,48 * * * *", "*:3,18,33,48"),
        (60, "3 * * * *", "*:3"),
        (120, "3 */2 * * *", "0/2:3"),
        (1440, "3 8 * * *", "8:3"),
    ],
)
def test_cron_and_systemd_run_it_at_the_same_times(minutes: int, cron: str, calendar: str) -> None:
    command = patrol_command(minutes, "")
    assert (command.cron, command.calendar) == (cron, calendar)


@pytest.mark.parametrize("minutes", [0, 1, 4, 5.5, 7, 45, 61, 90, 300, 2880])
def test_an_interval_that_cron_or_jobmon_does_not_offer_is_refused(minutes: float) -> None:
    with pytest.raises(UsageError, match=r"every 5m, 6m, .*30m, 1h, .*1d, but not every \d"):
        patrol_command(minutes, "")


def test_the_entries_of_recover_and_of_the_patrol_are_kept_apart() -> None:
    recover = AutostartCommand(("/j",), {}, HOME)
    patrol = AutostartCommand(("/j",), {}, HOME, patrol_command(30, "error"))
    text = with_lines(with_lines("", cron_lines(recover), recover.marker), cron_lines(patrol), patrol.marker)
    assert our_lines(text, recover.marker) == list(cron_lines(recover))
    assert our_lines(text, patrol.marker) == list(cron_lines(patrol))
    (line,) = cron_lines(patrol)
    assert line == f"3,33 * * * * /usr/bin/env /j patrol --unattended --to error # {HOME}-patrol"
    assert not set(unit_files(recover)) & set(unit_files(patrol))
    slurm = with_lines("", scrontab_lines(patrol), patrol.marker)
    assert "--stay" not in slurm
    assert our_lines(slurm, recover.marker) == []


def test_the_units_of_a_patrol_start_nothing_at_boot_and_keep_nothing_running() -> None:
    service, timer = unit_files(AutostartCommand(("/j",), {}, HOME, patrol_command(60, ""))).values()
    assert "KillMode" not in service
    assert "OnStartupSec" not in timer
    assert "\nOnCalendar=*:3\n" in timer
    assert "`jobmon patrol --uninstall` removes it" in timer
