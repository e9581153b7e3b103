"""`jobmon history` at a shell."""

from __future__ import annotations

import csv
import io
import json
import stat
import time

import pytest

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.store.history.lines import append
from tests.support.shell import Shell

T0 = 1_795_900_000
RUN = HistoryRecord(
    12,
    T0,
    1.0,
    state_id="t-12",
    name="train",
    outcome="failure",
    state="FAILED",
    cause="cuda_oom",
    started_s=T0 + 60,
    ended_s=T0 + 3660,
    run_s=3600.0,
    gpus=2,
    cpus=8,
    step_s=0.5,
    unit="step",
    results={"loss": 0.25},
)


@pytest.fixture
def past(shell: Shell) -> Shell:
    """A shell of a user with three runs, of which one has a hostile name."""
    earlier = RUN._replace(
        job_id=11, outcome="success", state="COMPLETED", cause="", ended_s=T0 + 100, step_s=0.25
    )
    hostile = RUN._replace(job_id=13, name='=HYPERLINK("x")\x1b[31m', ended_s=T0 + 50, run="", task="3")
    append(shell.home / "state" / "history", [RUN, earlier, hostile], "a", float(T0))
    return shell


def test_runs_are_listed_with_what_they_took_together(past: Shell) -> None:
    lines = past.jobmon("history").stdout.splitlines()
    assert lines[0].split()[:4] == ["JOB", "NAME", "STATE", "ENDED"]
    assert [line.split()[0] for line in lines[1:4]] == ["12", "11", "13_3"]
    assert (
        lines[1].split()[-6:] == ["2.0", "GPU", "0.5", "s/step", "cuda_oom"][-6:] or "0.5 s/step" in lines[1]
    )
    assert lines[4] == (
        "3 runs: 1 succeeded, 2 failed, 6.0 GPU hours (4.0 in runs without success), 24.0 CPU hours"
    )
    assert "\x1b" not in "".join(lines)


def test_one_run_is_shown_beside_earlier_ones_of_its_name(past: Shell) -> None:
    text = past.jobmon("history", "12").stdout
    assert "12 train: FAILED" in text
    (pace,) = (line.split() for line in text.splitlines() if line.startswith("seconds per unit"))
    assert pace == ["seconds", "per", "unit", "0.5", "0.25", "0.25", "0.25"]
    found = json.loads(past.jobmon("history", "12", "--json").stdout)
    assert [each["job_id"] for each in found["earlier"]] == ["11"]
    assert found["run"]["results"] == {"loss": 0.25}


def test_csv_holds_no_formula_and_the_keys_of_the_json(past: Shell) -> None:
    rows = [*csv.DictReader(io.StringIO(past.jobmon("history", "--csv").stdout))]
    found = json.loads(past.jobmon("history", "--json").stdout)
    assert rows[0].keys() == found["runs"][0].keys()
    assert rows[2]["name"].startswith("'=")
    assert rows[0]["results"] == "loss=0.25"


def test_totals_are_those_of_the_wanted_runs(past: Shell) -> None:
    wanted = ("--name", "train", "--state", "failure")
    (total,) = json.loads(past.jobmon("history", "--by", "cause", *wanted, "--json").stdout)
    assert (total["label"], total["runs"], total["gpu_hours"]) == ("cuda_oom", 1, 2.0)
    assert "cuda_oom" in past.jobmon("history", "--by", "cause", "--sort", "gpu-hours").stdout


def test_the_page_is_written_for_the_user_alone_and_replaces_an_older_one(past: Shell) -> None:
    page = past.work / "history.html"
    page.write_text("old")
    page.chmod(0o644)
    done = past.jobmon("history", "--name", "train", "--by", "cause", "--html", "history.html")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "jobmon: history written to history.html\n"
    text = page.read_text("utf-8")
    assert "<p>Runs with name train</p>" in text
    assert "<h2>By cause</h2>" in text
    assert "HYPERLINK" not in text
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert [each.name for each in past.work.iterdir()] == ["history.html"]


def test_the_page_can_go_to_stdout_alone_or_beside_json(past: Shell) -> None:
    done = past.jobmon("history", "12", "--html", "-")
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert "<h1>Runs of train</h1><p>Job 12 (FAILED) among the runs of its name</p>" in done.stdout
    assert done.stderr == ""
    assert len(json.loads(past.jobmon("history", "--html", "page.html", "--json").stdout)["runs"]) == 3
    for other in ("--json", "--csv"):
        done = past.jobmon("history", "--html", "-", other)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"--html - and {other} would both print to stdout" in done.stderr


def test_a_page_that_cannot_be_written_is_an_error(past: Shell) -> None:
    (past.work / "folder").mkdir()
    done = past.jobmon("history", "--html", "folder")
    assert done.returncode == 74
    assert "folder cannot be written: it is a folder" in done.stderr
    assert past.jobmon("history", "--html", "missing/page.html").returncode == 74


def test_a_run_that_the_history_does_not_know_is_an_error(past: Shell) -> None:
    done = past.jobmon("history", "99")
    assert (done.returncode, done.stdout) == (1, "")
    assert "the history has no run of 99" in done.stderr


def test_an_empty_history_says_so(shell: Shell) -> None:
    assert "the history has no such run" in shell.jobmon("history").stdout
    found = json.loads(shell.jobmon("history", "--json").stdout)
    assert found == {"runs": [], "totals": [], "damaged_lines": 0}


def test_nodes_that_kill_runs_are_named(shell: Shell) -> None:
    now_s = int(time.time())
    ok = RUN._replace(outcome="success", cause="", ended_s=now_s - 900)
    good = [ok._replace(job_id=number, nodes=f"n{number % 20}") for number in range(60)]
    dead = RUN._replace(nodes="n77", cause="gpu_hardware", ended_s=now_s - 600)
    bad = [dead._replace(job_id=number) for number in (100, 101, 102)]
    append(shell.home / "state" / "history", [*good, *bad], "a", float(T0))
    text = shell.jobmon("nodes").stdout
    assert text.startswith("! 3 of 3 runs died on n77, 0 of 60 elsewhere (chance ")
    assert "--exclude=n77" in text
    found = json.loads(shell.jobmon("nodes", "--json").stdout)
    assert [each["node"] for each in found["suspects"]] == ["n77"]
    assert len(found["nodes"]) == 21
    assert "no such run" in shell.jobmon("nodes", "--since", "1m").stdout


def test_a_run_shows_how_busy_its_gpus_were_beside_earlier_ones(shell: Shell) -> None:
    busy_s = (30, 0, 0, 0, 0, 0, 0, 0, 0, 70)
    earlier = [RUN._replace(job_id=n, ended_s=T0 + n, gpu_busy_s=busy_s[::-1]) for n in (8, 9)]
    append(shell.home / "state" / "history", [RUN._replace(gpu_busy_s=busy_s), *earlier], "a", float(T0))
    lines = shell.jobmon("history", "12").stdout.splitlines()
    assert "GPU activity: 30 0 0 0 0 0 0 0 0 70 (% of GPU time below 10, 20 ... 100%)" in lines
    assert "earlier:      70 0 0 0 0 0 0 0 0 30 (% of GPU time below 10, 20 ... 100%)" in lines
