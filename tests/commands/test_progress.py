"""``jobmon progress`` in a shell."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.store.home import Home
from tests.support.job_records import failed, job_of
from tests.support.pseudo_terminal import terminal
from tests.support.shell import Shell, complaint
from tests.support.training_logs import bars

LOG = (
    "python train.py\n" + bars(0, 180, 20, 1500, "Steps", rest=", loss=0.025, lr=1e-5, grad_norm=1.5") + "\n"
)


def test_a_log_gives_a_bar_and_the_latest_values(shell: Shell) -> None:
    (shell.work / "train.log").write_text(LOG, encoding="utf-8")
    done = shell.jobmon("progress", "train.log")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "[####--------------------------] 12.0% (180/1,500 steps)\n"
        "  loss 0.025   lr 1e-05   grad norm 1.5   2.0 steps/s\n"
        "  elapsed 1m 30s   11m left, as the log says\n"
    )
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_has_the_documented_keys(shell: Shell) -> None:
    (shell.work / "train.log").write_text(LOG, encoding="utf-8")
    done = shell.jobmon("progress", "train.log", "--json")
    values = json.loads(done.stdout)
    last_update, eta_timestamp = values.pop("last_update"), values.pop("eta_timestamp")
    assert last_update < eta_timestamp
    assert values == {
        "progress_pct": 12.0, "items_processed": 180, "total_items": 1500, "unit": "step", "unclear": [],
        "current_batch": 180, "total_batches": 1500, "epoch": None, "total_epochs": None, "loss": 0.025,
        "learning_rate": 1e-05, "grad_norm": 1.5, "metrics": {}, "throughput": 2, "average_throughput": None,
        "elapsed": 90, "eta_seconds": 660, "eta_range": None, "eta_confidence": None,
        "label": "Steps", "format": "tqdm", "run": 1, "end_marker": None, "logs": ["train.log"],
    }  # fmt: skip


def test_standard_input_is_a_log(shell: Shell) -> None:
    done = shell.jobmon("progress", "-", stdin="Epoch 3/10 loss: nan")
    assert done.stdout == "[#########---------------------] 30.0% (3/10 epochs)\n  loss nan\n"
    assert (
        json.loads(shell.jobmon("progress", "-", "--json", stdin="Epoch 3/10 loss: nan").stdout)["loss"]
        == "nan"
    )


def test_without_a_total_there_is_no_percentage(shell: Shell) -> None:
    done = shell.jobmon("progress", "-", stdin="iter 100: loss 2.5\n")
    assert done.stdout == "100 steps (total unknown)\n  loss 2.5\n"


def test_what_else_is_known_is_noted(shell: Shell) -> None:
    log = bars(0, 400, 1, 900) + bars(0, 900, 1, 900) + "\nTraining completed\n"
    assert shell.jobmon("progress", "-", stdin=log).stdout == (
        "[##############################] 100% (900/900 steps)\n"
        "  2.0 steps/s\n"
        "  elapsed 7m 30s\n"
        "  the log says: Training completed   run 2 in this log\n"
    )
    log = "Epoch [1/5], Step [100/600], Loss: 0.3\nEpoch [2/5], Step [100/600], Loss: 0.3\n"
    assert shell.jobmon("progress", "-", stdin=log).stdout == (
        "[#######-----------------------] 23.3% (700/3,000 steps)\n  epoch 2/5   batch 100/600   loss 0.3\n"
    )


def test_a_log_without_progress_says_so(shell: Shell) -> None:
    assert complaint(shell.jobmon("progress", "-", stdin="hello\n")).startswith("no progress found yet")
    values = json.loads(shell.jobmon("progress", "-", "--json", stdin="hello\n").stdout)
    assert values["progress_pct"] is values["items_processed"] is None


def test_a_file_that_cannot_be_read_is_named(shell: Shell) -> None:
    done = shell.jobmon("progress", "gone.log")
    assert (done.returncode, complaint(done)) == (1, "gone.log does not exist")
    (shell.work / "train.log").write_text(LOG, encoding="utf-8")
    done = shell.jobmon("progress", "train.log", ".")
    assert (done.returncode, done.stderr) == (1, "jobmon: . is a folder\n")
    assert "180/1,500" in done.stdout


def test_standard_input_stands_alone(shell: Shell) -> None:
    (shell.work / "train.log").write_text(LOG, encoding="utf-8")
    assert "standard input" in complaint(shell.jobmon("progress", "-", "train.log"))


@pytest.mark.parametrize("options", [("-f",), ("--follow", "--json")])
def test_standard_input_is_followed_to_its_end(shell: Shell, options: tuple[str, ...]) -> None:
    done = shell.jobmon("progress", "-", *options, stdin="Batch 1/4\nBatch 2/4\nBatch 3/4")
    assert done.returncode == 0
    assert "3/4 batches" in done.stdout or json.loads(done.stdout.splitlines()[-1])["items_processed"] == 3


def test_a_file_is_followed_on_a_terminal_in_one_line(shell: Shell) -> None:
    log = shell.work / "train.log"
    log.write_text("Batch 1/4\n")
    with terminal("progress", "-f", str(log), environment=os.environ) as screen:
        screen.shows("1/4 batches")
        with log.open("a") as file:
            file.write("Batch 2/4\n")
        screen.shows("\r\x1b[K[###############---------------] 50.0% (2/4 batches)")
        assert screen.interrupt() == 0
    assert screen.text.endswith("\n")


def test_a_job_is_followed_until_it_has_ended(shell: Shell) -> None:
    log = shell.work / "train.log"
    log.write_text("Batch 1/4\n")
    job = job_of(failed(), job_id=12, concluded_s=1.0)
    Context(Home(shell.home), {}).store.save(replace(job, logs=LogPaths(str(log), str(log), BY_USER)))
    done = shell.jobmon("progress", "-f", "12")
    assert (done.returncode, "1/4 batches" in done.stdout) == (0, True)
    assert "job 12 has ended: FAILED" in done.stderr


def test_only_all_of_it_is_100_percent(shell: Shell) -> None:
    (shell.work / "train.log").write_text("Processed 999999/1000000 items\n", encoding="utf-8")
    values = json.loads(shell.jobmon("progress", "train.log", "--json").stdout)
    assert values["progress_pct"] == 99.99


def test_a_time_beyond_all_calendars_is_no_time(shell: Shell) -> None:
    bar = "  1%|#   | 1/100 [00:01<999999999:00:00, 1.0it/s]\n"
    (shell.work / "train.log").write_text(bar, encoding="utf-8")
    values = json.loads(shell.jobmon("progress", "train.log", "--json").stdout)
    assert (values["items_processed"], values["eta_timestamp"]) == (1, None)
