"""``jobmon report`` in a shell."""

from __future__ import annotations

import json
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import progress_file
from jobmon_core.store.jobs import JobStore
from tests.support.job_records import NOW_S, PENDING, failed, job_of, succeeded
from tests.support.shell import Shell, complaint
from tests.support.telemetry import START_S, eventful_job, two_nodes, write_telemetry


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A shell of a user with the eventful job, an array, and a pending job."""
    store, home = JobStore(shell.state), Home(shell.home)
    job, progress = eventful_job()
    store.save(job)
    progress_file(home.progress_file(job.id)).write(progress)
    write_telemetry(home.telemetry_folder(job.id, ""), two_nodes())
    array = replace(job_of(succeeded("1"), failed("2"), name="sweep"), array_indices="1-2", concluded_s=NOW_S)
    store.save(array)
    store.save(job_of(PENDING, job_id=13))
    return shell


def test_the_text_says_why_the_job_failed_and_what_it_used(shell: Shell) -> None:
    shown = shell.jobmon("report", "8123").stdout
    assert shown.startswith("8123 train-llama-7b\nOUT_OF_MEMORY\n\nOut of memory\n")
    assert "8 GPUs, 66% busy on average, 10.69 kWh" in shown
    assert "no progress for 6m 05s (step 42,100 of 80,000)" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_page_is_written_for_the_user_alone_and_replaces_an_older_one(shell: Shell) -> None:
    page = shell.work / "report.html"
    page.write_text("old")
    page.chmod(0o644)
    done = shell.jobmon("report", "8123", "--html", "report.html")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "jobmon: report written to report.html\n"
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert [each.name for each in shell.work.iterdir()] == ["report.html"]


def test_the_page_shows_the_run_among_earlier_ones_of_its_name(shell: Shell) -> None:
    history = shell.home / "state" / "history"
    run = HistoryRecord(
        0, 0, 1.0, name="train-llama-7b", outcome="success", unit="step", step_s=0.1, run_s=9_000.0
    )
    ends_s = [START_S - 90_000 * number for number in range(1, 15)]
    earlier = [run._replace(job_id=at_s, started_s=at_s - 9_000, ended_s=at_s) for at_s in ends_s]
    other = run._replace(name="other", started_s=1, ended_s=START_S - 5)
    meanwhile = run._replace(job_id=2, started_s=1, ended_s=START_S + 5)
    later = run._replace(job_id=1, started_s=1, ended_s=START_S + 90_000)
    append(history, [*earlier, other, meanwhile, later], "a", 1.0)
    page = shell.jobmon("report", "8123", "--html", "-").stdout
    assert "<h2>Among the last 11 runs of its name</h2>" in page
    assert "this run is slower than usual" in page
    assert ">8123 train-llama-7b, " in page
    named = [number for number in (1, 2, ends_s[8], ends_s[9]) if f">{number} train-llama-7b, " in page]
    assert named == [2, ends_s[8]]


def test_a_history_that_cannot_be_read_costs_only_the_comparison(shell: Shell) -> None:
    (shell.home / "state" / "history" / "2026-11.a.jsonl").mkdir(parents=True)
    done = shell.jobmon("report", "8123", "--html", "page.html")
    assert done.returncode == 0
    assert "cannot be read: Is a directory; the page does not compare this run" in done.stderr
    assert "</html>" in (shell.work / "page.html").read_text("utf-8")
    done = shell.jobmon("history", "--html", "page.html")
    assert (done.returncode, done.stdout) == (74, "")
    assert "cannot be read: Is a directory" in done.stderr


def test_the_page_can_go_to_stdout(shell: Shell) -> None:
    done = shell.jobmon("report", "train-llama-7b", "--html", "-")
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert done.stdout.endswith("</html>\n")
    assert done.stderr == ""


def test_the_page_and_json_cannot_both_go_to_stdout(shell: Shell) -> None:
    done = shell.jobmon("report", "8123", "--html", "-", "--json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "would both print to stdout" in done.stderr


def test_a_page_that_cannot_be_written_is_an_error(shell: Shell) -> None:
    (shell.work / "folder").mkdir()
    done = shell.jobmon("report", "8123", "--html", "folder")
    assert done.returncode == 74
    assert "folder cannot be written: it is a folder" in complaint(done)
    assert complaint(shell.jobmon("report", "8123", "--html", "missing/report.html"))


def test_json_is_one_object_whose_keys_are_documented(shell: Shell) -> None:
    found = json.loads(shell.jobmon("report", "8123", "--json").stdout)
    documented = shell.jobmon("report", "--help").stdout
    keys = [
        *found,
        *found["progress"],
        *found["loss"],
        *found["gpus"][0],
        *found["nodes"][0],
        *found["events"][0],
    ]
    assert [key for key in keys if key not in documented] == []
    assert found["job_id"] == "8123"


def test_of_an_array_the_worst_task_is_reported_and_all_are_listed(shell: Shell) -> None:
    shown = shell.jobmon("report", "sweep").stdout
    assert shown.startswith("12_2 sweep\nFAILED, exit code 1\n")
    assert "2 tasks: 1 FAILED, 1 COMPLETED; this report is about 12_2:" in shown
    assert shell.jobmon("report", "12_1").stdout.startswith("12_1 sweep\nCOMPLETED")


def test_a_job_without_a_run_has_no_report(shell: Shell) -> None:
    waiting = complaint(shell.jobmon("report", "13"))
    assert re.fullmatch(
        r"job 13 has not started \(PENDING, Priority, as of .+ ago\), so there is nothing to report", waiting
    )
    assert "no record of job 4711" in complaint(shell.jobmon("report", "4711"))
    Path(shell.work / "x").touch()  # a file, not a job
    assert shell.jobmon("report", "x").returncode == 1
