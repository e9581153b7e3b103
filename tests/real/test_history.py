"""The history of real jobs: what it counts is what accounting counts, and it outlives the job's state."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.store.history.index import open_history
from jobmon_core.store.history.lines import append
from tests.support.user import User
from tests.support.waiting import eventually

_ONCE = '[ "${SLURM_RESTART_COUNT:-0}" -gt 0 ] || { sleep 2; exit 77; }'  # which requeues the job
_SHAPES = {
    "done": (("sleep 1",), ()),
    "failed": (("sleep 1; exit 3",), ("-n2",)),
    "array": (("sleep 1",), ("-a", "1-2")),
    "requeued": ((f"{_ONCE}; sleep 1",), ()),
    "het": (("sleep 2",), ("-n1", ":", "-n2")),
}


def _runs(user: User, job_id: int) -> list[dict[str, Any]]:
    found = json.loads(user.jobmon("history", "-n", "0", "--json").stdout)["runs"]
    return [run for run in found if int(run["job_id"].split("_")[0].split("+")[0]) == job_id]


@pytest.mark.parametrize("shape", _SHAPES)
def test_cpu_hours_are_those_of_accounting_each_run_once(user: User, shape: str) -> None:
    (body,), options = _SHAPES[shape]
    job_id = user.submit(*options, user.script(body, name=f"{shape}.sh"))
    user.told(job_id)
    fields = "JobID,State,ElapsedRaw,AllocCPUS"

    def counted() -> list[tuple[float, int]]:
        lines = user.slurm("sacct", "-X", "-D", "-n", "-P", "-j", str(job_id), "-o", fields).splitlines()
        rows = [line.split("|") for line in lines]
        return sorted((float(row[2]), int(row[3])) for row in rows)

    runs = _runs(user, job_id)
    assert sorted((run["run_s"], run["cpus"]) for run in runs) == counted()
    assert {run["name"] for run in runs} == {f"{shape}.sh"}
    assert len({(run["job_id"], run["submitted_at"]) for run in runs}) == len(runs)


def test_a_forgotten_job_stays_in_the_history_with_its_cause(user: User) -> None:
    log = "import torch\\nModuleNotFoundError: No module named torch"
    job_id = user.submit(user.script(f"printf '{log}\\n'; exit 1"))
    user.told(job_id)
    before = _runs(user, job_id)
    assert before[0]["outcome"] == "failure"
    assert user.jobmon("forget", str(job_id)).returncode == 0
    assert str(job_id) not in user.jobmon("status", "--all").stdout
    assert _runs(user, job_id) == before


def test_a_run_that_was_deleted_from_the_history_does_not_come_back_from_accounting(user: User) -> None:
    job_id = user.submit(user.script("exit 0"))
    user.told(job_id)
    assert _runs(user, job_id)
    done = user.jobmon("forget", "--history", str(job_id))
    assert done.stdout.endswith("history: 1 run deleted\n")
    user.jobmon("history", "backfill", "--since", "1h")
    assert _runs(user, job_id) == []


def test_a_run_that_cannot_be_added_does_not_delay_its_message_and_is_added_later(user: User) -> None:
    blocked = user.home / "state" / "history"
    user.home.joinpath("state").mkdir(exist_ok=True, mode=0o700)
    blocked.write_text("in the way")
    job_id = user.submit("--wrap", "exit 3")
    eventually(lambda: any(entry.delivered_s for entry in user.job(job_id).outbox))
    assert user.job(job_id).record_due_s is not None
    blocked.unlink()
    assert user.jobmon("recover").returncode == 0
    eventually(lambda: user.job(job_id).record_due_s is None)
    assert len(_runs(user, job_id)) == 1


def test_backfill_adds_what_was_not_watched_once_and_leaves_what_was(user: User) -> None:
    watched = user.submit(user.script("sleep 1; exit 3"))
    user.told(watched)
    before = _runs(user, watched)
    others = [int(user.slurm("sbatch", "--parsable", "-a", "1-2", "--wrap", "sleep 1")) for _ in range(2)]
    counting = (
        "sacct",
        "-X",
        "-n",
        "-P",
        "-j",
        ",".join(map(str, others)),
        "-o",
        "JobID,ElapsedRaw,AllocCPUS,End,State",
    )

    def ended() -> list[list[str]]:
        return [line.split("|") for line in user.slurm(*counting).splitlines() if line.endswith("COMPLETED")]

    eventually(lambda: len(ended()) == 4)
    assert "added" in user.jobmon("history", "backfill", "--since", "1d").stdout
    for job_id in others:
        found = {
            run["job_id"]: (run["run_s"], run["cpus"], run["from_accounting"]) for run in _runs(user, job_id)
        }
        expected = {
            row[0]: (float(row[1]), int(row[2]), True) for row in ended() if row[0].startswith(str(job_id))
        }
        assert found == expected
    assert _runs(user, watched) == before
    added = [_runs(user, job_id) for job_id in others]
    user.jobmon("history", "backfill", "--since", "1d")  # jobs of other tests may have ended since
    assert [_runs(user, job_id) for job_id in others] == added


def test_the_price_of_an_hour_is_kept_and_a_budget_is_told_with_what_the_running_jobs_may_add(
    user: User,
) -> None:
    budgets = [{"name": "paper", "match": "exp-*", "amount": 1, "per": "month"}]
    user.configure(prices={"cpu": 3600, "currency": "EUR"}, budgets=budgets)
    done = user.jobmon("submit", "-t", "30", "-J", "exp-b", "--wrap", "sleep 600")
    assert "cost: 1,800.00 EUR for the whole limit of 30m (1 CPU)\n" in done.stderr
    running = done.stdout.split()[-1]
    user.watched_as(running, "RUNNING")
    job_id = user.submit("-n2", "-J", "exp-a", user.script("sleep 3"))
    user.told(job_id)
    eventually(lambda: user.job(job_id).record_due_s is None)
    (run,) = _runs(user, job_id)
    assert run["cost"] == 2 * run["run_s"]
    (budget,) = json.loads(user.jobmon("history", "--cost", "--json").stdout)["budgets"]
    assert (budget["spent"], budget["runs"], budget["unpriced"]) == (run["cost"], 1, 0)
    assert budget["forecast"] == run["cost"] + 1800
    title = f"Budget paper: {100 * run['cost']:.0f}% of 1.00 EUR spent this month"
    eventually(lambda: title in json.dumps(user.discord.received()))
    assert json.dumps(user.discord.received()).count("Budget paper") == 1
    user.slurm("scancel", running)


def test_a_run_whose_accounting_came_late_gets_its_hours_and_cost_by_backfill(user: User) -> None:
    user.configure(prices={"cpu": 3600, "currency": "EUR"})
    job_id = user.submit("-n2", "-J", "late", user.script("sleep 2; exit 3"))
    user.told(job_id)
    eventually(lambda: user.job(job_id).record_due_s is None)
    (before,) = _runs(user, job_id)
    folder = user.home / "state" / "history"
    with open_history(folder) as history:
        (own,) = history.records(Wanted(job_id=job_id))
    late = own._replace(cpus=0, cpu_s=None, memory_peak=None, rate=None, currency="", noted_s=own.noted_s + 1)
    append(folder, [late], os.uname().nodename, own.noted_s + 1)
    (known,) = _runs(user, job_id)
    assert (known["cpu_hours"], known["cost"]) == (None, None)
    listed = " ".join(user.jobmon("history", "--name", "late").stdout.split())
    assert (
        "1 run here without hours, which accounting did not have when they ended: `jobmon history" in listed
    )
    done = user.jobmon("history", "backfill", "--since", "1h")
    assert done.stdout.endswith("were known, of which 1 got hours that accounting had not told before\n")
    (mended,) = _runs(user, job_id)
    assert mended == before
    assert "without hours" not in user.jobmon("history", "--name", "late").stdout
    assert "before" not in user.jobmon("history", "backfill", "--since", "1h").stdout


def _ended(user: User, *options: str) -> dict[str, Any]:
    job_id = user.submit("-J", "paid", *options, user.script("sleep 2"))
    user.told(job_id)
    eventually(lambda: user.job(job_id).record_due_s is None)
    (run,) = _runs(user, job_id)
    assert run["run_s"] > 0
    return run


def _per_hour(run: dict[str, Any]) -> float:
    return float(round(3600 * run["cost"] / run["run_s"], 6))


def test_gpus_cost_what_their_type_costs_as_accounting_names_it(user: User) -> None:
    user.configure(prices={"a100": 2.0, "h100": 5.0, "default": 1.0, "cpu": 0.25, "currency": "EUR"})
    by_type = {
        gres: _ended(user, "-c2", f"--gres={gres}") for gres in ("gpu:a100:2", "gpu:h100:1", "gpu:a100:1")
    }
    assert {gres: (run["gpu"], run["gpus"]) for gres, run in by_type.items()} == {
        "gpu:a100:2": ("a100", 2),
        "gpu:h100:1": ("h100", 1),
        "gpu:a100:1": ("a100", 1),
    }
    prices = {"gpu:a100:2": 4.5, "gpu:h100:1": 5.5, "gpu:a100:1": 2.5}
    assert {gres: _per_hour(run) for gres, run in by_type.items()} == prices
    untyped = _ended(user, "-w", "n1", "--gres=gpu:2")
    assert (untyped["gpu"], untyped["gpus"], _per_hour(untyped)) == (None, 2, 2.25)
    rows = json.loads(user.jobmon("history", "--name", "paid", "--by", "name", "--cost", "--json").stdout)
    assert rows[0]["cost"] == pytest.approx(sum(run["cost"] for run in (*by_type.values(), untyped)))


def test_billing_units_are_those_of_accounting_and_count_instead_of_other_prices(user: User) -> None:
    user.configure(prices={"billing": 0.5, "a100": 100.0, "cpu": 100.0, "currency": "EUR"})
    run = _ended(user, "-p", "billed", "-c2", "--gres=gpu:a100:1")
    job_id = run["job_id"]
    tres = user.slurm("sacct", "-X", "-n", "-P", "-j", job_id, "-o", "AllocTRES")
    billing = int(dict(each.split("=") for each in tres.strip().split(","))["billing"])
    assert billing == 12  # two CPUs, and ten for the GPU
    assert _per_hour(run) == 6.0
    shown = user.jobmon("report", job_id).stdout + user.jobmon("efficiency", job_id).stdout
    assert shown.count("EUR") >= 2
