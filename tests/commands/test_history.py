"""`jobmon history` at a shell."""

from __future__ import annotations

import csv
import io
import json
import stat
import time

import pytest

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.history.lines import append
from jobmon_core.store.jobs import JobStore
from tests.support.documentation import CHECKOUT
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
    (pace,) = (line.split() for line in text.splitlines() if line.startswith("seconds per step"))
    assert pace == ["seconds", "per", "step", "0.5", "0.25", "0.25", "0.25"]
    found = json.loads(past.jobmon("history", "12", "--json").stdout)
    assert [each["job_id"] for each in found["earlier"]] == ["11"]
    assert found["run"]["results"] == {"loss": 0.25}


def test_runs_of_the_same_script_count_whatever_their_names(shell: Shell) -> None:
    runs = [RUN._replace(script="5c"), RUN._replace(job_id=10, name="train2", script="5c", ended_s=T0 + 100)]
    wraps = [RUN._replace(job_id=number, name="wrap", ended_s=T0 + number) for number in (1, 2)]
    append(shell.home / "state" / "history", [*runs, *wraps], "a", float(T0))
    found = json.loads(shell.jobmon("history", "12", "--json").stdout)
    assert [each["job_id"] for each in found["earlier"]] == ["10"]
    assert "10   train2  FAILED" in shell.jobmon("history", "12").stdout
    assert json.loads(shell.jobmon("history", "2", "--json").stdout)["earlier"] == []


def test_a_running_job_is_shown_beside_earlier_ones_of_its_name(past: Shell) -> None:
    task = Task("", JobState.RUNNING, "RUNNING", submit_s=T0 + 4000, start_s=T0 + 4300)
    JobStore(past.state).save(WatchedJob("t-20", 20, T0 + 4000.0, name="train", tasks={"": task}))
    found = json.loads(past.jobmon("history", "20", "--json").stdout)
    assert (found["run"]["state"], found["run"]["wait_s"], found["run"]["ended_at"]) == ("RUNNING", 300, None)
    assert [each["job_id"] for each in found["earlier"]] == ["12", "11"]
    assert found["unusual"] == []


def test_hours_that_accounting_has_not_told_yet_are_not_said_to_be_none(shell: Shell) -> None:
    late = RUN._replace(job_id=21, gpus=0, cpus=0)
    append(shell.home / "state" / "history", [RUN, late], "a", float(T0))
    runs = {run["job_id"]: run for run in json.loads(shell.jobmon("history", "--json").stdout)["runs"]}
    held = ("gpus", "cpus", "gpu_hours", "cpu_hours")
    assert [runs["21"][key] for key in held] == [None] * 4
    assert [runs["12"][key] for key in held] == [2, 8, 2.0, 8.0]
    text = shell.jobmon("history").stdout
    assert "1 run here without hours, which accounting did not have when they ended" in " ".join(text.split())


def test_csv_holds_no_formula_and_the_keys_of_the_json(past: Shell) -> None:
    rows = [*csv.DictReader(io.StringIO(past.jobmon("history", "--csv").stdout))]
    found = json.loads(past.jobmon("history", "--json").stdout)
    assert rows[0].keys() == found["runs"][0].keys()
    assert rows[2]["name"].startswith("'=")
    assert rows[0]["results"] == "loss=0.25"


def test_every_key_of_the_json_is_in_the_documentation(past: Shell) -> None:
    text = (CHECKOUT / "docs" / "history.md").read_text("utf-8").partition("## JSON")[2]
    found = json.loads(past.jobmon("history", "--cost", "--json").stdout)
    one, nodes = (
        json.loads(past.jobmon(*words, "--json").stdout) for words in (("history", "12"), ("nodes",))
    )
    digest = json.loads(past.jobmon("digest", "--json").stdout)
    keys = {*found, *found["runs"][0], *found["totals"][0], *one, *nodes, *digest}
    assert {key for key in keys if f"`{key}`" not in text} == set()


def test_totals_are_those_of_the_wanted_runs(past: Shell) -> None:
    wanted = ("--name", "train", "--state", "failure")
    (total,) = json.loads(past.jobmon("history", "--by", "cause", *wanted, "--json").stdout)
    assert (total["label"], total["runs"], total["gpu_hours"]) == ("cuda_oom", 1, 2.0)
    assert "cuda_oom" in past.jobmon("history", "--by", "cause", "--sort", "gpu-hours").stdout


def test_a_state_is_known_in_any_case_and_a_wrong_one_refused(past: Shell) -> None:
    """ "No such run" would be false of `--state failed`."""
    for word in ("failed", "FAILED", "Failure"):
        assert len(json.loads(past.jobmon("history", "--state", word, "--json").stdout)["runs"]) == 2
    wrong = past.jobmon("history", "--state", "fial")
    assert wrong.returncode == 2
    assert "'fial' is no state of Slurm, and none of success, failure, cancelled" in wrong.stderr


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


def test_the_page_can_go_to_stdout_and_is_not_printed_beside_json(past: Shell) -> None:
    done = past.jobmon("history", "--html", "-")
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert done.stderr == ""
    for other in ("--json", "--csv"):
        done = past.jobmon("history", "--html", "-", other)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"{other}: not allowed with argument --html" in done.stderr
    done = past.jobmon("history", "12", "--html", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`jobmon report 12 --html FILE`" in done.stderr


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


PRICED = RUN._replace(rate=2.0, currency="EUR", done=1000.0, began=0.0)


def priced(shell: Shell) -> None:
    """Let the user have prices, and runs with and without them in two currencies."""
    budget = {"name": "paper", "match": "train", "amount": 4, "per": "total"}
    config = {"prices": {"default": 1, "currency": "EUR"}, "budgets": [budget]}
    (shell.home / "config.json").write_text(json.dumps(config), "utf-8")
    (shell.home / "config.json").chmod(0o600)
    dollars = PRICED._replace(job_id=14, currency="USD", rate=100.0, name="eval", ended_s=T0 + 30)
    free = RUN._replace(job_id=15, ended_s=T0 + 20)
    append(shell.home / "state" / "history", [PRICED, dollars, free], "a", float(T0))


def test_costs_are_listed_with_the_cost_of_a_unit_and_never_added_across_currencies(shell: Shell) -> None:
    priced(shell)
    lines = shell.jobmon("history", "--cost").stdout.splitlines()
    assert lines[0].split() == [
        "JOB",
        "NAME",
        "STATE",
        "ENDED",
        "COST",
        "TIME",
        "HOURS",
        "PER",
        "UNIT",
        "CAUSE",
    ]
    assert " 2.00 EUR " in lines[1]
    assert " 0.002/step " in lines[1]
    assert " 100.00 USD " in lines[2]
    assert "EUR" not in lines[3]
    text = "\n".join(lines)
    assert "24.0 CPU hours" not in text
    assert "8.0 CPU hours, 2.00 EUR" in text
    assert "16.0 CPU hours, 100.00 USD (without 1 run that have no price)" in text
    assert lines[-2].split() == ["paper", "all", "time", "4.00", "EUR", "2.00", "EUR", "50%", "2.00", "EUR"]


def test_costs_are_in_json_and_csv_whether_asked_for_or_not(shell: Shell) -> None:
    priced(shell)
    found = json.loads(shell.jobmon("history", "--json").stdout)
    assert [run["cost"] for run in found["runs"]] == [2.0, 100.0, None]
    assert [(each["currency"], each["cost"], each["priced"]) for each in found["totals"]] == [
        *(("EUR", 2.0, 1), ("USD", 100.0, 1))
    ]
    assert "budgets" not in found
    (budget,) = json.loads(shell.jobmon("history", "--cost", "--json").stdout)["budgets"]
    assert (budget["spent"], budget["percent"], budget["forecast"], budget["unpriced"]) == (2.0, 50.0, 2.0, 0)
    rows = [*csv.DictReader(io.StringIO(shell.jobmon("history", "--csv", "--sort", "cost").stdout))]
    assert [row["cost"] for row in rows] == ["100.0", "2.0", ""]
    rows = json.loads(shell.jobmon("history", "--by", "name", "--sort", "cost", "--json").stdout)
    assert [(row["label"], row["cost"], row["currency"]) for row in rows][:2] == [
        *(("eval", 100.0, "USD"), ("train", 2.0, "EUR"))
    ]


def test_a_lineage_is_shown_with_what_all_its_attempts_cost(shell: Shell) -> None:
    first = PRICED._replace(lineage="l1", gpu_idle_s=720)
    second = first._replace(job_id=13, attempt=1, submit_s=T0 + 4000, ended_s=T0 + 9000, gpu_idle_s=0)
    second = second._replace(outcome="success", state="COMPLETED", began=750.0, done=1500.0)
    append(shell.home / "state" / "history", [first, second], "a", float(T0))
    text = " ".join(shell.jobmon("history", "13").stdout.split())
    expected = (
        "The 2 runs of this job cost 4.00 EUR, 0.0027 EUR per step; of it 2.00 EUR in runs without success"
    )
    assert f"{expected}, 0.50 EUR for steps that were done again, 0.20 EUR while GPUs were idle." in text
    lineage = json.loads(shell.jobmon("history", "12", "--json").stdout)["lineage"]
    assert (lineage["runs"], lineage["cost"], lineage["repeated"]) == (2, 4.0, 0.5)


def test_without_prices_nothing_is_said_about_cost(past: Shell) -> None:
    for arguments in ((), ("--by", "month"), ("12",)):
        text = past.jobmon("history", *arguments).stdout.lower()
        assert "cost" not in text
        assert "price" not in text
    for arguments in ((), ("--by", "month")):
        text = past.jobmon("history", *arguments, "--cost").stdout
        assert "no run has a cost: `prices` in config.json" in text


def test_check_says_what_the_whole_time_limit_costs_if_there_are_prices(shell: Shell) -> None:
    script = shell.home / "job.sh"
    shell.home.mkdir(exist_ok=True, mode=0o700)
    script.write_text("#!/bin/bash\n#SBATCH -t 90 --gpus=2\nsrun true\n", "utf-8")
    check = ("check", "--backend", "local", str(script))
    assert "cost" not in shell.jobmon(*check, "--all").stdout
    priced(shell)
    text = " ".join(shell.jobmon(*check).stdout.split())
    assert "ok cost: 3.00 EUR for the whole limit of 1h 30m (2 GPUs)" in text


def test_nodes_on_which_runs_are_slow_are_named_apart(shell: Shell) -> None:
    now_s = int(time.time())
    ok = RUN._replace(outcome="success", state="COMPLETED", cause="", run="")
    runs = [
        ok._replace(
            job_id=100 * day + number,
            nodes=f"n{number}",
            ended_s=now_s - day * 86_400 - number,
            step_s=1.0 if number else 1.6,
        )
        for day in range(1, 6)
        for number in range(12)
    ]
    append(shell.home / "state" / "history", runs, "a", float(T0))
    text = shell.jobmon("nodes").stdout
    assert text.startswith("! 5 of 5 runs were slow on n0 (1.6 times the usual time per unit), 0 of ")
    found = json.loads(shell.jobmon("nodes", "--json").stdout)
    assert found["suspects"] == []
    (slow,) = found["slow"]
    assert (slow["node"], slow["slow_runs"], slow["runs"], slow["option"]) == ("n0", 5, 5, "--exclude=n0")
    assert slow["slowdown"] == pytest.approx(1.6)
    said = json.loads(shell.jobmon("history", "100", "--json").stdout)["unusual"]
    assert [each["id"] for each in said] == ["slower_than_usual", "slow_node"]
    assert "--exclude=n0" in said[1]["advice"]


def test_an_empty_word_is_no_wish_for_all_runs(past: Shell) -> None:
    done = past.jobmon("history", "")
    assert (done.returncode, done.stdout) == (2, "")
    assert "JOB is an empty word" in done.stderr
