from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest
from hypothesis import given

from jobmon.views.console import Console
from jobmon.views.diagnosis import report_json, report_lines, summary
from jobmon_core.app.diagnose import Report, Subject
from jobmon_core.app.live.verdict import LiveVerdict
from jobmon_core.domain.job.tracking.model import End, Source, Task
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.records import anything
from tests.support.situations import trouble

FOUND = Diagnosis(
    cause="cuda_oom",
    title="Out of GPU memory",
    explanation="A GPU had no memory left.",
    advice="Lower the batch size.",
    evidence=(Line("/scratch/me/train.err", 412, "CUDA out of memory. " + "x" * 200),),
    symptoms=("srun_error", "unheard_of"),
    log_path="/scratch/me/train.err",
    note="it still runs",
    label="cuda_oom",
    confidence=0.9,
    fingerprint="0a1b2c3d4e5f6071",
    is_proved=True,
)
UNKNOWN = Diagnosis(
    None, "Cause unknown", "Its last lines follow.", "", evidence=(Line("a", None, "the end"),)
)
CLEAN = Diagnosis(None, "No failure found", "Nothing shows a failure.", "", label="clean", confidence=0.9)
FAILED = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=1, signal=0)
PIPE, TERMINAL = Console(), Console(60, colour=True)


def drawn(report: Report, sheet: Console = PIPE) -> list[str]:
    return list(report_lines(report, {"srun_error": "srun reports an end"}, sheet))


def heading(end: End | None, count: int = 1, parts: int = 1) -> str:
    task = Task("7", JobState.RUNNING, "RUNNING", end=end)
    subject = Subject(JobRef(8123, task=7), "train", task, end, count, parts)
    return drawn(Report(FOUND, subject))[1]


def test_a_diagnosis_of_a_file_is_drawn_with_what_is_urgent_first() -> None:
    assert drawn(Report(FOUND)) == [
        "Out of GPU memory",
        "A GPU had no memory left.",
        "",
        "Proof:",
        "  /scratch/me/train.err",
        "    412: CUDA out of memory. " + "x" * 200,
        "",
        "What to do:",
        "  Lower the batch size.",
        "",
        "Also seen: srun reports an end (srun_error), unheard_of",
        "Note: it still runs",
    ]


def test_a_healthy_log_says_so_and_no_more() -> None:
    assert drawn(Report(CLEAN)) == ["No failure found"]


@pytest.mark.parametrize(("confidence", "is_said"), [(0.0, False), (0.5, True), (0.7, False), (0.9, False)])
def test_only_a_low_confidence_is_shown(confidence: float, *, is_said: bool) -> None:
    said = "A GPU had no memory left." + (" Not certain (50%)." if is_said else "")
    assert drawn(Report(replace(FOUND, confidence=confidence)))[1] == said


def test_a_cancellation_is_told_once() -> None:
    found = replace(FOUND, cause="slurm_cancelled", title="Cancelled by you")
    end = replace(FAILED, state=JobState.CANCELLED, raw_state="CANCELLED by 0", cancelled_by=os.getuid())
    subject = Subject(JobRef(8123), "train", Task("", end=end), end)
    assert drawn(Report(found, subject))[:2] == ["Cancelled by you", "Job 8123 train: CANCELLED"]


def test_where_nothing_is_certain_no_confidence_is_claimed_and_nothing_is_called_proof() -> None:
    assert drawn(Report(UNKNOWN)) == [
        "Cause unknown",
        "Its last lines follow.",
        "",
        "Last lines:",
        "  a",
        "    the end",
    ]


def test_only_a_terminal_gets_bold_type_and_lines_that_fit() -> None:
    lines = drawn(Report(FOUND), TERMINAL)
    assert lines[0] == "\x1b[1mOut of GPU memory\x1b[0m"
    assert lines[-1] == "Note: it still runs"
    proof = lines[lines.index("Proof:") + 1 : lines.index("What to do:") - 1]
    assert proof[0] == "  /scratch/me/train.err"
    assert proof[1].startswith("    412: CUDA out of memory. xxx")
    assert "".join(line.strip() for line in proof).endswith("x" * 200)  # wrapped, not cut
    assert all(len(line) <= 60 for line in lines[1:])
    assert "\x1b" not in "".join(drawn(Report(FOUND)))


def test_a_long_headline_is_wrapped_on_a_narrow_terminal_not_cut() -> None:
    fact = "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    first, second, *_ = drawn(Report(replace(FOUND, what_failed=fact)), TERMINAL)
    assert first.startswith("\x1b[1mJSONDecodeError")
    assert second == "\x1b[1mquotes: line 1 column 2 (char 1)\x1b[0m"


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (None, "RUNNING"),
        (FAILED, "FAILED, exit code 1"),
        (replace(FAILED, exit_code=0, signal=9), "FAILED, killed by signal 9 (SIGKILL: "),
        (replace(FAILED, raw_state="TIMEOUT", exit_code=0), "TIMEOUT"),
        (
            replace(FAILED, state=JobState.COMPLETED, raw_state="COMPLETED", exit_code=0),
            "COMPLETED, exit code 0",
        ),
        (replace(FAILED, raw_state="CANCELLED by 1000", exit_code=None), "CANCELLED by 1000"),
        (
            replace(FAILED, state=JobState.CANCELLED, exit_code=0, cancelled_by=os.getuid()),
            "CANCELLED by you",
        ),
    ],
)
def test_a_diagnosis_of_a_job_says_which_part_it_is_about_and_how_it_ended(
    end: End | None, words: str
) -> None:
    assert heading(end).startswith(f"Job 8123_7 train: {words}")
    assert "parts" not in heading(end)


def test_of_many_parts_it_is_said_how_many_met_the_same() -> None:
    assert heading(FAILED, 3, 20).endswith("; 3 of 20 tasks failed")
    assert heading(None, 2, 20).endswith("; 2 of 20 tasks not ended")
    task = Task("1", end=FAILED)
    subject = Subject(JobRef(8123, task=1), "train", task, FAILED, 5, 20, "1,4,7")
    assert drawn(Report(FOUND, subject))[1].endswith("; 5 of 20 tasks failed, tasks 1,4,7 with this cause")


def test_a_pattern_of_the_job_is_named_by_its_title() -> None:
    title = "Error pattern of this job: shard lost"
    found = replace(CLEAN, symptoms=("job_pattern_1", "srun_error"), also_seen=(title, "srun reports an end"))
    assert drawn(Report(found))[-1] == f"Also seen: srun reports an end (srun_error), {title}"


def test_other_causes_are_named_with_the_command_that_shows_their_tasks() -> None:
    subject = Subject(JobRef(8123, task=1), "train", Task("1", end=FAILED), FAILED, 5, 20)
    lines = drawn(Report(FOUND, replace(subject, other_causes=("Killed (5)",))))
    assert "Tasks with another cause: Killed (5). `jobmon show 8123` shows them." in lines
    lines = drawn(Report(FOUND, replace(subject, other_causes=("a (1)", "b (2)", "c (3)", "d (4)", "e (5)"))))
    assert (
        "Tasks with another cause: a (1); b (2); c (3); and 2 more. `jobmon show 8123` shows them." in lines
    )


def test_the_log_of_a_job_is_named_once() -> None:
    subject = Subject(JobRef(8123), "", Task(""), None)
    assert "\n".join(drawn(Report(FOUND, subject))).count("/scratch/me/train.err") == 1
    assert "Log: /scratch/me/train.err" in drawn(Report(replace(FOUND, evidence=()), subject))


def test_each_file_of_the_proof_is_named_before_its_lines() -> None:
    evidence = (Line("a.out", 1, "one"), Line("a.out", 2, "two"), Line("b.err", 9, "three"))
    lines = drawn(Report(replace(FOUND, evidence=evidence)))
    proof = lines[lines.index("Proof:") + 1 : lines.index("What to do:") - 1]
    assert proof == ["  a.out", "    1: one", "    2: two", "  b.err", "    9: three"]


def test_several_sentences_of_advice_are_numbered_steps() -> None:
    lines = drawn(Report(replace(FOUND, advice="Lower it (e.g. by half. Or more). Run it again.")))
    start = lines.index("What to do:") + 1
    assert lines[start : start + 2] == ["  1. Lower it (e.g. by half. Or more).", "  2. Run it again."]


def test_the_json_has_the_documented_keys_in_their_order() -> None:
    shown = report_json(Report(FOUND, Subject(JobRef(8123, task=7), "train", Task("7"), None)))
    assert list(shown) == [
        "cause", "label", "title", "headline", "confidence", "advice", "evidence", "symptoms", "fingerprint",
        "explanation", "note", "job_id", "live", "changes", "known_failure",
    ]  # fmt: skip
    assert shown["evidence"] == [
        {"file": "/scratch/me/train.err", "line": 412, "text": FOUND.evidence[0].text}
    ]
    assert shown["job_id"] == "8123_7"
    assert report_json(Report(UNKNOWN))["evidence"][0]["line"] is None
    assert report_json(Report(CLEAN))["job_id"] is None


def test_the_words_of_the_log_are_the_title_and_their_class_begins_the_explanation() -> None:
    report = Report(replace(FOUND, what_failed="CUDA out of memory (tried 4.00 GiB)"))
    assert drawn(report)[:2] == [
        "CUDA out of memory (tried 4.00 GiB)",
        "Out of GPU memory. A GPU had no memory left.",
    ]
    assert report_json(report)["headline"] == "CUDA out of memory (tried 4.00 GiB)"
    assert report_json(Report(FOUND))["headline"] == "Out of GPU memory"


def test_a_summary_is_one_line() -> None:
    assert summary(FOUND) == "Out of GPU memory (cuda_oom), confidence 90%"
    assert summary(CLEAN) == "No failure found, confidence 90%"
    assert summary(UNKNOWN) == "Cause unknown"


@given(anything(Diagnosis), anything(Task))
def test_nothing_in_a_diagnosis_harms_a_terminal_or_the_json(found: Diagnosis, task: Task) -> None:
    report = Report(found, Subject(JobRef(1), found.note, task, task.end))
    for sheet in (PIPE, TERMINAL, Console(1)):
        for line in report_lines(report, {}, sheet):
            plain = line.removeprefix("\x1b[1m").removesuffix("\x1b[0m")
            assert plain.isprintable()
    json.loads(json.dumps(report_json(report)))


LEAK = trouble(
    "memory-leak",
    "its memory grows by 6.0 GiB/h: full in 3h 40m",
    1_700_000_000.5,
    title="The memory grows steadily",
    evidence=("memory on n1: 9.9 GiB of 32.0 GiB", "growth: 5.0 GiB in 50m"),
    advice="See `jobmon show JOBID`.",
    is_critical=True,
)


def test_the_verdict_about_a_running_job_comes_before_what_its_log_shows() -> None:
    zombie = trouble(
        "zombie-workers", "1 of its processes", 5.0, title="Processes ended without being reaped"
    )
    running = Subject(JobRef(12), "train", Task("", JobState.RUNNING, "RUNNING"), None)
    report = Report(CLEAN, running, live=LiveVerdict((LEAK, zombie), ("n1: GPUs: no NVIDIA driver",)))
    assert drawn(report) == [
        "The memory grows steadily",
        "Job 12 train: RUNNING; its memory grows by 6.0 GiB/h: full in 3h 40m",
        "",
        "Signs:",
        "  memory on n1: 9.9 GiB of 32.0 GiB",
        "  growth: 5.0 GiB in 50m",
        "",
        "What to do:",
        "  See `jobmon show 12`.",
        "",
        "Also: processes ended without being reaped (1 of its processes)",
        "Not seen: n1: GPUs: no NVIDIA driver",
        "",
        "Its log so far:",
        "No failure found",
    ]
    live = report_json(report)["live"]
    assert (live["verdict"], live["critical"], live["since"]) == ("memory-leak", True, 1_700_000_000)
    assert live["advice"] == "See `jobmon show 12`."
    assert [other["verdict"] for other in live["others"]] == ["zombie-workers"]
