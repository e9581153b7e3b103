"""What the history says before a submission."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.before.checks.rules import past
from jobmon_core.domain.before.pending.model import Partition
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.job.history.nodes import SuspectNode
from jobmon_core.domain.job.history.record import HistoryRecord

GIB, HOUR_S = 2**30, 3600
RUN = HistoryRecord(
    7,
    1,
    1.0,
    name="train",
    outcome="success",
    state="COMPLETED",
    nodes="n1",
    run_s=3.0 * HOUR_S,
    cpu_s=6.0 * HOUR_S,
    memory_peak=9 * GIB,
)
SUCCESSES = tuple(RUN._replace(job_id=number) for number in range(8))


def facts(*options: str, **known: object) -> Facts:
    text = "#!/bin/bash\n./train\n"
    return replace(Facts(read_request([*options, "job.sh"], {}, text), parse_script(text)), **known)  # type: ignore[arg-type] # fields by name


def failures(cause: str, **changes: object) -> tuple[HistoryRecord, ...]:
    runs = [RUN._replace(job_id=90 - number, outcome="failure", cause=cause) for number in range(4)]
    return tuple(run._replace(**changes) for run in runs)  # type: ignore[arg-type]


OOM = failures("host_oom_kill", memory_requested=32 * GIB)
TIMEOUT = failures("slurm_timeout", limit_s=2 * HOUR_S)


@pytest.mark.parametrize(
    ("options", "alike", "text", "advice"),
    [
        (
            ("--mem=32G",),
            OOM,
            "4 of the last 4 jobs of this name or script ran out of memory with at most 32.0 GiB",
            "Request more memory, e.g. `--mem 48G`, or use less. `jobmon history 90` shows the latest.",
        ),
        (
            ("--mem-per-cpu=4G",),
            OOM,
            "4 of the last 4 jobs of this name or script ran out of memory with at most 32.0 GiB",
            "Request more memory, or use less. `jobmon history 90` shows the latest.",
        ),
        (
            ("-t", "2:00:00"),
            TIMEOUT,
            "4 of the last 4 jobs of this name or script reached their time limit of at most 2h",
            "Request more time, or resume from a checkpoint. `jobmon history 90` shows the latest.",
        ),
        (
            (),
            failures("import_error"),
            "4 of the last 4 jobs of this name or script failed with import_error",
            "Submit it once you have removed the cause. `jobmon history 90` shows the latest.",
        ),
    ],
)
def test_a_failure_that_will_probably_come_again_is_a_warning(
    options: tuple[str, ...], alike: tuple[HistoryRecord, ...], text: str, advice: str
) -> None:
    item = past.past_runs(facts(*options, alike=alike))
    assert (item.severity, item.text, item.advice) == (Severity.WARNING, text, advice)


@pytest.mark.parametrize(
    ("options", "alike", "end"),
    [
        (("--mem=40000",), OOM, "this one requests 39.1 GiB"),
        (("-t", "3:00:00"), TIMEOUT, "this one requests 3h"),
        (("-t", "UNLIMITED"), TIMEOUT, "this one has no time limit"),
    ],
)
def test_a_larger_request_may_be_enough(
    options: tuple[str, ...], alike: tuple[HistoryRecord, ...], end: str
) -> None:
    item = past.past_runs(facts(*options, alike=alike))
    assert item.severity is Severity.INFO
    assert item.text.endswith(end)


def test_a_request_that_is_much_too_large_is_named_with_what_would_be_enough() -> None:
    item = past.right_size(facts("-t", "24:00:00", "--mem=64G", "-c", "16", alike=SUCCESSES))
    runs = "the last 8 successful runs of this name or script"
    assert item.text == f"{runs} took at most 3h of 1d, 9.0 GiB of 64.0 GiB, 2 of 16 CPUs"
    assert item.severity is Severity.WARNING
    assert "to do: `--time 05:00:00`, `--mem 12G`, 3 CPUs of 16. With less," in item.advice


@pytest.mark.parametrize(
    ("options", "severity"),
    [
        (("-t", "5:00:00", "--mem=12G", "-c", "3"), Severity.INFO),
        ((), Severity.INFO),
        (("-t", "5:00:00", "--mem=0", "--exclusive", "-c", "64"), Severity.INFO),  # whole nodes
        (("-t", "5:00:00", "-c", "64", "-N", "2"), Severity.INFO),  # the runs were on one
        (("--mem=8G",), Severity.WARNING),
    ],
)
def test_other_requests_are_in_order(options: tuple[str, ...], severity: Severity) -> None:
    assert past.right_size(facts(*options, alike=SUCCESSES)).severity is severity


def test_less_memory_than_such_runs_took_is_too_little() -> None:
    item = past.right_size(facts("--mem=8G", alike=SUCCESSES))
    assert item.text.endswith("took up to 9.0 GiB, and --mem is 8.0 GiB")
    assert item.advice == "Request more, e.g. `--mem 14G`."


def test_of_a_short_run_only_the_time_is_known() -> None:
    short = tuple(run._replace(run_s=300.0) for run in SUCCESSES)
    item = past.right_size(facts("-t", "24:00:00", "--mem=64G", alike=short))
    assert item.advice.startswith("Enough, unless it has more to do: `--time 00:10:00`. ")


def test_without_three_runs_that_agree_nothing_is_said() -> None:
    assert past.right_size(facts("-t", "24:00:00", alike=SUCCESSES[:2])).severity is Severity.UNKNOWN


BAD = SuspectNode("n17", 3, 3, 0, 41, 0.0004)
SLOW = SuspectNode("n18", 5, 6, 1, 41, 0.00001, 1.5)


def test_a_suspect_node_is_to_be_excluded_with_those_that_already_are() -> None:
    item = past.suspect_nodes(facts("-x", "n1", suspects=(BAD, SLOW)))
    assert item.severity is Severity.WARNING
    assert item.text.startswith(
        "3 of 3 runs died on n17, 0 of 41 elsewhere (chance 0.04%); 5 of 6 runs were slow"
    )
    assert item.advice == "Avoid it: `--exclude=n1,n17,n18`."


@pytest.mark.parametrize("option", ["--nodelist=n[16-17]", "-w n17"])
def test_a_script_that_asks_for_a_suspect_node_is_told_so(option: str) -> None:
    item = past.suspect_nodes(facts(*option.split(), suspects=(BAD,)))
    assert item.advice == "--nodelist asks for n17: leave it out."


@pytest.mark.parametrize(
    "known",
    [
        facts(suspects=()),
        facts("--exclude=n[10-19]", suspects=(BAD,)),
        facts(suspects=(BAD,), partition=Partition("gpu", nodes="n[1-9]")),
        facts(suspects=(BAD,), is_slurm=False),
    ],
)
def test_a_node_that_the_job_cannot_get_is_not_named(known: Facts) -> None:
    assert past.suspect_nodes(known).severity is Severity.INFO


def test_a_history_that_cannot_be_read_is_named() -> None:
    known = facts(history_fault="/h cannot be read: Permission denied")
    for rule in (past.right_size, past.suspect_nodes):
        assert (rule(known).severity, rule(known).text) == (Severity.UNKNOWN, known.history_fault)
