"""What the reader makes of logs of programs that print their progress with ``print``, whatever they are."""

from __future__ import annotations

import pytest

from tests.observe.progress.test_reader import read, values
from tests.support.training_logs import bar, bars


def test_rounds_count_up_to_the_announced_number_of_rounds() -> None:
    log = "INFO :      Starting server, config: num_rounds=150, no timeout\n"
    log += "".join(f"INFO :      [ROUND {number}]\nINFO :      received 10 results\n" for number in (1, 2, 3))
    expected = {"current": 3, "total": 150, "unit": "round"}
    assert values(log, **expected) == expected


def test_a_total_in_the_line_that_starts_a_later_run_is_that_of_this_run() -> None:
    log = "".join(
        f"Namespace(epochs={epochs}, lr=0.1)\nEpoch 1 loss 0.5\nEpoch 2 loss 0.4\n" for epochs in (30, 40)
    )
    expected = {"current": 2, "total": 40, "run": 2}
    assert values(log, **expected) == expected


def test_the_steps_that_are_needed_are_the_total() -> None:
    log = " number of steps needed for 5 periods is        20000\n"
    log += " step n=    1000  t= 0.1\n step n=    2000  t= 0.2\n"
    expected = {"current": 2000, "total": 20000}
    assert values(log, **expected) == expected


def test_lines_between_rules_count_the_parts_of_the_job() -> None:
    log = ""
    for number in (1, 2, 3):
        log += f"--- Sampling {number}/10 ---\n"
        log += "".join(f"  [FT] ep={epoch}: loss=0.5\n" for epoch in range(0, 50, 10))
    expected = {"current": 3, "total": 10}
    assert values(log, **expected) == expected


def _with_lines_at_the_end(epochs: int, last_shown: int = 100, line: str = "Epoch {}/20 loss: 0.5") -> str:
    return "".join(
        bars(0, last_shown, 5, 100, "train") + f"\n{line.format(epoch)}\n" for epoch in range(1, epochs + 1)
    )


@pytest.mark.parametrize("last_shown", [100, 95])
def test_lines_at_the_end_of_epochs_count_those_that_have_ended(last_shown: int) -> None:
    log = _with_lines_at_the_end(3, last_shown)
    expected = {"current": 300, "total": 2000, "epoch": 3, "epochs": 20}
    assert values(log, **expected) == expected
    expected |= {"current": 335, "batch": 35}
    assert values(log + bars(0, 35, 5, 100, "train"), **expected) == expected


def test_lines_at_the_end_of_epochs_do_so_in_each_fold() -> None:
    log = _with_lines_at_the_end(8) + _with_lines_at_the_end(2)
    expected = {"current": 235, "total": 2000, "epoch": 2, "run": 2}
    assert values(log + bars(0, 35, 5, 100, "train"), **expected) == expected


def test_lines_at_the_end_of_epochs_of_counted_batches() -> None:
    epoch = "".join(f"Batch {batch}/500 loss: 0.5\n" for batch in range(100, 501, 100))
    log = f"{epoch}Epoch 1/4 done\n{epoch}Epoch 2/4 done\nBatch 100/500 loss: 0.5\nBatch 200/500 loss: 0.5\n"
    expected = {"current": 1200, "total": 2000}
    assert values(log, **expected) == expected


@pytest.mark.parametrize("line", ["\nEpoch {}/20\n", ""])
def test_a_bar_without_a_name_that_follows_another_in_each_epoch_takes_nothing_back(line: str) -> None:
    log = "".join(line.format(epoch) + bars(0, 100, 5, 100) + bars(0, 20, 5, 20) for epoch in (1, 2, 3))
    log += line.format(4) + bars(0, 100, 5, 100)
    expected = {"current": 400, "total": 2000 if line else None}
    assert values(log + bars(0, 10, 5, 20), **expected) == expected
    assert values(log + bars(0, 20, 5, 20) + line.format(5) + bars(0, 10, 5, 100), current=0) == {
        "current": 410
    }


def test_a_bar_that_was_full_soon_is_not_the_job_if_lines_count_on_after_it() -> None:
    log = bars(0, 50, 10, 50) + "\n" + "".join(f"It {number}00, loss 0.3\n" for number in range(1, 30))
    expected = {"current": 2900, "total": None}
    assert values(log, **expected) == expected
    log = log.replace("00:25<", "09:25<")  # it took longer: the job, with an evaluation after it
    assert values(log, current=0) == {"current": 50}


def test_a_step_in_thousands_is_not_mistaken_for_another_number() -> None:
    log = "".join(
        f"train.py:35 step:{step}K smpl:{step * 9}K ep:{step * 7} loss:0.1\n" for step in range(3, 9)
    )
    assert values(log, current=0) == {"current": 8000}


def test_numbers_in_front_of_lines_count_once_they_have_risen_for_a_while() -> None:
    lines = [f"{number} /data/images/{number * 7919 % 1000:x}a.jpg\n" for number in range(1, 40)]
    assert read("".join(lines[:5])) is None
    expected = {"current": 39, "total": None, "unit": "item"}
    assert values("".join(lines), **expected) == expected
    sizes = "".join(f"{number * 7919 % 1000} ./data/x{number}\n" for number in range(1, 40))
    assert read(sizes) is None


def test_of_several_announced_numbers_of_steps_that_which_fits_the_printed_eta_counts() -> None:
    log = "MAX_ITER: 2000\nWARMUP:\n  NUM_ITER: 200\n"
    log += "eta: 0:14:30  iter: 259  total_loss: 62.4  time: 0.5000  data_time: 0.01\n"
    assert values(log, total=0) == {"total": 2000}


def test_the_first_batch_of_a_later_epoch_is_within_that_epoch() -> None:
    log = ""
    for epoch in (1, 2, 3):
        log += f"Epoch: [{epoch} | 60]\n(1/50) Data: 0.1s | ETA: 0:00:09 | Loss: 0.5\n"
        log += "(41/50) Data: 0.1s | ETA: 0:00:02 | Loss: 0.4\n"
    log += "Epoch: [4 | 60]\n(1/50) Data: 0.1s | ETA: 0:00:09 | Loss: 0.5\n"
    expected = {"current": 151, "total": 3000, "epoch": 4, "epochs": 60}
    assert values(log, **expected) == expected


def test_the_first_count_with_a_total_in_an_epoch_counts_at_once() -> None:
    log = "epochs: 20\nEpoch 1/20\nEpoch 2/20\nEpoch 3 | iter 40/100 | loss 0.5\n"
    expected = {"current": 240, "total": 2000, "batch": 40, "batches": 100}
    assert values(log, **expected) == expected


def test_a_bar_of_bytes_is_a_download() -> None:
    download = "".join(
        f"\r{n}%|##  | {n}.0M/100M [00:{n:02}<00:09, 9.5MB/s]" for n in range(10, 50, 5)
    )  # cut off by another process
    log = "Namespace(epochs=4)\n" + download + "\nEpoch: [0]  [ 20/200]  eta: 0:02:00  loss: 1.2\n"
    expected = {"current": 20, "total": 800, "unit": "step"}
    assert values(log, **expected) == expected
    assert values(download, current=0, total=0) == {"current": 45e6, "total": 1e8}


def test_the_announced_number_of_epochs_stands_beside_a_count_of_steps() -> None:
    log = "max_epoch: 200\nmax_update: 90000\nbegin training epoch 1\n"
    log += "".join(f'{{"update": 1, "num_updates": "{n}00"}}\nbegin training epoch {n}\n' for n in (2, 3, 4))
    expected = {"current": 400, "total": 90000, "epoch": 4, "epochs": 200}
    assert values(log, **expected) == expected


def test_a_line_about_a_step_is_newer_than_the_bar_before_it() -> None:
    log = (
        bars(0, 790, 10, 2000) + "\nStep 790: loss=0.5\n" + bars(795, 795, 5, 2000) + "\nStep 800: loss=0.4\n"
    )
    expected = {"current": 800, "total": 2000}
    assert values(log, **expected) == expected
    assert values(log.replace("Step 800", "Step 1600"), current=0) == {
        "current": 795
    }  # it counts something else


def test_a_bar_ahead_of_the_lines_after_it_was_written_over_in_place() -> None:
    lines = "".join(f"step:{step} - loss:0.5 note:{'x' * step}\n" for step in range(1, 31))
    log = bar(19, 5000, "Training") + "\n" + lines
    expected = {"current": 30, "total": 5000}
    assert values(log, **expected) == expected
    assert values(log + bar(20, 5000, "Training") + "\nstep:31 - loss:0.5\n", current=0) == {"current": 20}
