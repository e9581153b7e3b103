"""What the reader makes of whole logs: which counter is the job, and how the parts of a log are combined."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.logs.progress.log.fold import ReaderState
from jobmon_core.domain.logs.progress.log.judge import merged
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader, read_progress
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.training_logs import bar, bars

MATCHER = FormatMatcher.with_patterns({})


def read(text: str | bytes) -> Progress | None:
    reader = ProgressReader(MATCHER)
    reader.feed(text if isinstance(text, bytes) else text.encode())
    return reader.progress


def values(text: str | bytes, **expected: object) -> dict[str, Any]:
    """Return the values of the progress that a test compares."""
    progress = read(text)
    assert progress is not None
    return {name: getattr(progress, name) for name in expected}


def test_a_bar_gives_its_count_label_and_times() -> None:
    expected = {
        "current": 180, "total": 1500, "unit": "step", "label": "Steps", "elapsed_s": 90, "remaining_s": 660,
        "rate_per_s": 2.0, "loss": 0.02, "learning_rate": 1e-5, "batch": 180, "batches": 1500,
    }  # fmt: skip
    assert values(bars(0, 180, 20, 1500, "Steps", rest=", loss=0.02, lr=1e-5"), **expected) == expected


def test_evaluation_and_loading_bars_are_not_the_job() -> None:
    log = bars(0, 1000, 100, 1000, "Map") + bars(0, 4, 1, 4, "Loading checkpoint shards")
    log += bars(0, 100, 10, 900) + bars(0, 7, 1, 12)  # a bar without a name, within the other
    expected = {"current": 100, "total": 900, "batch": 7, "batches": 12}
    assert values(log, **expected) == expected
    log += bars(0, 12, 1, 12, "Validation DataLoader 0")
    assert values(log, current=0) == {"current": 100}


def test_an_evaluation_that_is_all_there_is_counts() -> None:
    assert values(bars(0, 30, 5, 100, "Evaluating"), current=0, total=0) == {"current": 30, "total": 100}


def _nested_bars(outer: str) -> str:
    log = bar(0, 10, outer)
    for round_ in range(4):
        log += "\n" + bars(0, 100, 5, 100, "Batches") + "\x1b[A" + bar(round_ + 1, 10, outer, elapsed_s=99)
    return log


def test_an_outer_bar_is_the_job() -> None:
    expected = {"current": 4, "total": 10, "unit": "step"}
    assert values(_nested_bars("Rounds"), **expected) == expected


def test_a_bar_of_batches_in_each_epoch_of_a_bar_gives_steps_of_the_whole_job() -> None:
    log = _nested_bars("Epochs")
    expected = {"current": 400, "total": 1000, "unit": "step", "epoch": 4, "epochs": 10}
    assert values(log, **expected) == expected
    log += "\n" + bars(0, 35, 5, 100, "Batches")
    expected |= {"current": 435, "batch": 35, "batches": 100, "elapsed_s": 99 + 17}
    assert values(log, **expected) == expected


@pytest.mark.parametrize("name", ["", "Batches", "Epoch {}"])
def test_a_bar_of_epochs_that_is_printed_again_before_it_counts_takes_nothing_back(name: str) -> None:
    log = ""
    for epoch in range(4):
        log += bar(epoch, 10, "Epochs") + "\n" + bars(0, 100, 5, 100, name.format(epoch))
        log += bar(epoch, 10, "Epochs", rest=", loss=0.3")  # an evaluation follows
        current = 100 * (epoch + 1)
        assert values(log, current=0, epoch=0) == {"current": current, "epoch": epoch}
        assert values(log + bar(epoch + 1, 10, "Epochs"), current=0, epoch=0) == {
            "current": current,
            "epoch": epoch + 1,
        }


def test_an_epoch_in_the_name_of_a_bar_counts() -> None:
    log = "".join(bars(0, 4, 1, 4, f"Training for epoch_{epoch}") for epoch in range(26))
    expected = {"current": 104, "total": 400, "epoch": 25, "epochs": 100}
    assert values("{'epochs': 100}\n" + log, **expected) == expected


def test_a_step_that_goes_on_over_the_epochs_is_that_of_the_job() -> None:
    log = "".join(f"epoch:{step // 130} || iter:{step} || Loss:1.5\n" for step in range(0, 500, 10))
    expected: dict[str, object] = {"current": 490, "total": None, "epoch": 3}
    assert values(log, **expected) == expected
    expected |= {"total": 6000}
    assert values("max_iters: 6000\n" + log, **expected) == expected
    expected |= {"current": 3, "total": 46, "unit": "epoch"}
    assert values("--epochs 46\n" + log, **expected) == expected


def test_a_step_that_starts_again_in_each_epoch_is_not_that_of_the_job() -> None:
    log = "".join(f"epoch:{step // 40} || iter:{step % 40 * 10} || Loss:1.5\n" for step in range(100))
    expected = {"current": 2 * 390 + 190, "epoch": 2, "batch": 190}
    assert values(log, **expected) == expected


def test_a_line_about_a_later_epoch_moves_steps_on_that_are_shown_rarely() -> None:
    log = "epoch 1 | iter 20/100 | loss 3\nepoch 2 | took 9 s\nepoch 3 | iter 40/100 | loss 2\n"
    expected = {"current": 240, "epoch": 3}
    assert values(log, **expected) == expected
    expected = {"current": 600, "epoch": 7}
    assert values(log + "epoch 6 | took 9 s\nepoch 7 | took 9 s\n", **expected) == expected


def test_a_bar_for_each_epoch_gives_steps_of_the_whole_job() -> None:
    log = "".join(bars(0, 100, 10, 100, f"Epoch {epoch}") for epoch in range(3)) + bars(
        0, 45, 5, 100, "Epoch 3"
    )
    expected: dict[str, object] = {"current": 345, "total": None, "epoch": 3, "batch": 45, "batches": 100}
    assert values(log, **expected) == expected
    expected |= {"total": 1000, "epochs": 10}
    assert values("python train.py --epochs 10\n" + log, **expected) == expected


def test_a_bar_that_starts_again_without_a_name_is_an_epoch() -> None:
    log = "".join(bars(0, 100, 5, 100, "train") + bars(0, 20, 5, 20, "valid") for _ in range(2))
    log += bars(0, 35, 5, 100, "train")
    expected: dict[str, object] = {"current": 235, "total": None, "batch": 35}
    assert values(log, **expected) == expected
    assert values(f"Namespace(epochs=5)\n{log}", total=0) == {"total": 500}


def test_bars_that_follow_each_other_add_up() -> None:
    log = "".join(bar(n, 400, elapsed_s=n * 20) for n in range(0, 401, 50))
    log += "".join(bar(n, 150, elapsed_s=n * 20) for n in range(0, 101, 10))
    assert values(log, current=0, total=0) == {"current": 500, "total": None}


def test_epoch_lines_and_bars_are_combined() -> None:
    log = "".join(f"\nEpoch {epoch}/10\n{bars(0, 100, 5, 100)}\ntrain loss 0.5\n" for epoch in (1, 2, 3))
    expected = {"current": 300, "total": 1000, "epoch": 3, "epochs": 10, "loss": 0.5}
    assert values(log, **expected) == expected
    assert values(log + "Epoch 4/10\n" + bar(20, 100), current=0) == {"current": 320}


def test_keras_erases_its_bar_with_backspaces() -> None:
    log = ""
    for epoch in (1, 2):
        log += f"Epoch {epoch}/5\n"
        log += "".join(f"{n}/180 [=====>....] - ETA: 1s - loss: 0.2" + "\b" * 50 for n in range(20, 180, 20))
        log += "180/180 [==========] - 4s 2ms/step - loss: 0.15\r\n"
        log += f"Epoch {epoch:05}: val_loss improved from inf to 0.3, saving model to best.h5\r\n"
    expected = {"current": 360, "total": 900, "epoch": 2, "loss": 0.15}
    assert values(log, **expected) == expected


@pytest.mark.parametrize(
    ("lines", "current", "total"),
    [
        (["Epoch 0/99", "Epoch 1/99", "Epoch 2/99"], 2, 100),
        (["Epoch 0/100", "Epoch 1/100"], 1, 100),
        (["Epoch 1/99", "Epoch 2/99"], 2, 99),
        (["Epoch 41/99", "Epoch 42/99"], 42, 100),
        (["Epoch 0/2", "Epoch 1/2", "Epoch 2/2"], 2, 3),
    ],
)
def test_epochs_may_count_from_zero(lines: list[str], current: float, total: float) -> None:
    log = "".join(f"{line} loss: 0.5\n" for line in lines)
    assert values(log, current=0, total=0) == {"current": current, "total": total}


def test_an_announced_total_completes_a_count() -> None:
    log = "".join(f"iter {n}: loss 2.4, time 52.31ms, mfu 18.05%\n" for n in range(0, 300, 100))
    assert values(log, current=0, total=0) == {"current": 200, "total": None}
    assert values(f"max_iters = 600\n{log}", total=0) == {"total": 600}
    assert values(f"max_iters = 150\n{log}", total=0) == {"total": None}  # it proved wrong
    assert values(f"warmup_iters = 600\n{log}", total=0) == {"total": None}


def test_an_announced_total_stands_only_for_what_it_counts() -> None:
    log = "".join(f"Episode {n}: reward 3\n" for n in range(1, 4))
    assert values(f"max_steps = 5000\n{log}", unit="", total=0) == {"unit": "episode", "total": None}
    assert values(f"num_episodes = 50\n{log}", unit="", total=0) == {"unit": "episode", "total": 50}
    log = "".join(f"step {n}: loss 3\n" for n in range(1, 4))
    assert values(f"num_episodes = 50\n{log}", total=0) == {"total": None}


def test_a_total_that_grows_with_the_count_is_none() -> None:
    log = "".join(f"TPE using {n}/{n} trials with best loss 3.6\n" for n in range(1, 5))
    assert values(log, current=0, total=0) == {"current": 4, "total": None}
    log = "".join(f"{n}/4 trials done\n" for n in range(1, 5))
    assert values(log, current=0, total=0) == {"current": 4, "total": 4}


def test_a_total_follows_from_the_eta_of_the_whole_job() -> None:
    log = "".join(
        f"d2: eta: 0:08:20  iter: {n}  total_loss: 6.4  time: 0.50  lr: 0.01\n" for n in (19, 39, 59)
    )
    assert values(log, current=0, total=0, loss=0) == {"current": 59, "total": 1059, "loss": 6.4}


def test_a_new_run_in_the_same_file_replaces_the_old_one() -> None:
    log = bars(0, 400, 10, 900) + "\nTraceback\n" + bars(0, 250, 10, 900)
    assert values(log, current=0) == {"current": 250}
    assert values(log + bars(251, 850, 1, 900), current=0, run=0) == {"current": 850, "run": 2}
    log = "".join(f"[Epoch {epoch}/60] loss: 0.5\n" for epoch in range(1, 40))
    log += "".join(f"[Epoch {epoch}/20] loss: 0.5\n" for epoch in range(1, 8))
    assert values(log, current=0, total=0, run=0) == {"current": 7, "total": 20, "run": 2}


def test_of_processes_that_write_at_once_the_slowest_counts() -> None:
    log = "".join(
        bar(4 * n, 1000, "sim", elapsed_s=10 * n) + bar(n, 1000, "sim", elapsed_s=10 * n)
        for n in range(1, 60)
    )
    assert values(log, current=0, total=0, run=0) == {"current": 59, "total": 1000, "run": 1}
    log += bar(240, 1000, "sim", elapsed_s=600)
    assert values(log, current=0, batch=0) == {"current": 59, "batch": 240}


def test_a_bar_that_exceeds_its_total_goes_on() -> None:
    log = bars(0, 100, 10, 100) + "\r105it [00:52,  2.00it/s]"
    assert values(log, current=0, total=0) == {"current": 105, "total": 100}
    progress = read(log)
    assert progress is not None
    assert progress.fraction == 1.0


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [
        ("3: ", ""),
        ("\x1b[36m(TaskRunner pid=12)\x1b[0m ", ""),
        ("[rank3]: ", ""),
        ("\x1b[K", "slurmstepd: error: *** JOB 1 CANCELLED AT 2026-01-01T10:00:00 ***"),
        ("\x00" * 5000, "{'loss': 0.5, 'epoch': 1.0}"),
        ("2026-01-01 10:00:00,123 INFO ", "wandb: done"),
    ],
)
def test_prefixes_and_text_behind_a_bar_do_not_matter(prefix: str, suffix: str) -> None:
    log = f"{prefix}{bar(50, 200, 'Steps').strip()}{suffix}\n"
    assert values(log, current=0, total=0, label="") == {"current": 50, "total": 200, "label": "Steps"}


@pytest.mark.parametrize(
    "log",
    [
        "",
        "hello\n",
        "[1/20] c++ -MMD -o x\n[2/20] c++ -MMD -o y\n",
        "2024/01/05 12:00:00 starting\nmodel-00001-of-00004.safetensors\n",
        '10.0.0.1 - "GET /a/1/20 HTTP/1.1" 200\n',
        'print(f"step:{step}/{args.num_iterations} loss:{loss}")\n',
        "Average Precision (AP) @[ IoU=0.50:0.95 | area= all ] = 0.5\n",
        "let us go step by step\n",
        "| task | 3/4 | 12/20 |\n",
        "10/24 12:00:00 loss of power\n10/25 12:00:00 loss of power\n",
        "3/4 GPUs available\nrank 1/4 ready\nlayer 3/12 frozen\nversion 3/4\n",
        "[1/4] Resolving packages\n[2/4] Fetching packages\n[2/9] gcc -DLEVEL=3 a.c\n",
        "accuracy: 20.8% (512570/2466133)\n1/3: /lib/libc.so.6(+0x29d90)\n2/3: /lib/libc.so.6(+0x29e90)\n",
        "precision: 0.79, recall: 0.74\nbest epoch: 48 F1 = 0.77\n",
        "100% of those who asked\n50% of the data is used\n",
        "worker 3 finished\njob 12345 done\nusing batch 32\nNo improvement for 10 epochs\n",
    ],
)
def test_decoys_show_no_progress(log: str) -> None:
    assert read(log) is None


@pytest.mark.parametrize(
    ("text", "loss"),
    [
        ("loss: 0.3", 0.3),
        ("loss=-1.5", -1.5),
        ("train_loss 1e-5", 1e-5),
        ("{'loss': '1.25', 'epoch': '0.1'}", 1.25),
        ("loss 0.5, val_loss 0.9", 0.5),
        ("step 3: val loss 0.9, train loss 0.5", 0.5),
        ("loss: inf", float("inf")),
    ],
)
def test_the_loss_is_that_of_training(text: str, loss: float) -> None:
    assert values(f"Epoch 1/2 {text}\n", loss=0) == {"loss": loss}


def test_a_loss_of_nan_is_shown() -> None:
    loss = values("Epoch 1/2 loss: nan\n", loss=0)["loss"]
    assert loss != loss  # noqa: PLR0124 - nan


def test_end_markers_are_noted() -> None:
    log = "Epoch 3/10\nEarly stopping triggered at epoch 3\n"
    assert values(log, current=0, end_marker="") == {
        "current": 3,
        "end_marker": "Early stopping triggered at epoch 3",
    }
    assert values(f"{log}Epoch 4/10\n", end_marker="") == {"end_marker": ""}


def test_an_unfinished_number_is_not_read() -> None:
    assert values("Processed 5/20 items\nProcessed 6/2", current=0, total=0) == {"current": 5, "total": 20}
    assert values("Processed 5/20 items\nProcessed 6/20 ite", current=0) == {"current": 6}


def test_the_users_patterns_come_first() -> None:
    matcher = FormatMatcher.with_patterns(
        {
            "items_processed": r"did (\d+) of \[(\d+)\]",
            "throughput": r"(\d+\.?\d*) widgets/s",
            "loss": r"error=(\S+)",
        }
    )
    reader = ProgressReader(matcher)
    reader.feed(b"Epoch 1/10 did 5 of [20] at 3.5 widgets/s error=1e-3\n")
    progress = reader.progress
    assert progress is not None
    assert (progress.current, progress.total, progress.unit) == (5, 20, "item")
    assert (progress.loss, progress.format) == (1e-3, "own:items_processed")


def test_the_whole_words_of_a_users_name_say_what_the_pattern_finds() -> None:
    patterns = {
        "generated_items": r"did (?<done>\d+) of (?P<all>\d+)",
        "learning_rate": r"eta is (\S+)",
    }
    reader = ProgressReader(FormatMatcher.with_patterns(patterns))
    reader.feed(b"did 5 of 20\neta is 1e-3\n")
    progress = reader.progress
    assert progress is not None
    assert (progress.current, progress.total, progress.unit) == (5, 20, "item")
    assert (progress.learning_rate, progress.rate_per_s) == (1e-3, None)


def test_other_patterns_of_the_user_find_metrics_by_the_names_of_their_groups() -> None:
    patterns = {
        "quality": r"P=(?P<precision>\S+) R=(?P<recall>\S+)",
        "accuracy": r"acc (\S+)",
        "step_time": r"took (\d+) ms",
        **{f"m{number}_score": rf"s{number}=(\d+)" for number in range(20)},
    }
    reader = ProgressReader(FormatMatcher.with_patterns(patterns))
    reader.feed(b"step 5/20 P=0.5 R=nan acc 0.75 took 120 ms\n")
    reader.feed(b"step 6/20 P=0.6 R=0.4 acc unknown\n" + b" ".join(b"s%d=7" % number for number in range(20)))
    reader.feed(b"\n")
    progress = reader.progress
    assert progress is not None
    assert (progress.current, progress.total) == (6, 20)  # no count of 120 steps
    named = {name: progress.metrics[name] for name in ("precision", "recall", "accuracy", "step_time")}
    assert named == {"precision": 0.6, "recall": 0.4, "accuracy": 0.75, "step_time": 120}
    assert len(progress.metrics) == 16  # more are not kept


def test_the_time_of_a_step_tokens_and_latency_are_metrics() -> None:
    log = b"iter 100: loss 2.4702, time 52.31ms, mfu 18.05%\ntps: 5,210 latency 3.5 s\n"
    reader = ProgressReader(MATCHER)
    reader.feed(log)
    assert reader.progress is not None
    assert reader.progress.metrics == pytest.approx(
        {"step_time_s": 0.05231, "tokens_per_s": 5210, "latency_s": 3.5}
    )
    both = [("a.err", reader.shown), ("a.out", replace(reader.shown, metrics={"accuracy": 0.5}))]
    together = merged(both)
    assert together is not None
    assert set(together.metrics) == {"step_time_s", "tokens_per_s", "latency_s", "accuracy"}


@pytest.mark.parametrize(
    ("regex", "fault"),
    [
        ("(", "progress_patterns.x: missing )"),
        ("no group", "must have one group ("),
        ("(a)(b)(c)", "has 3"),
        (r"(a)\1", "progress_patterns.x: invalid escape"),
    ],
)
def test_a_pattern_of_the_user_that_is_not_valid_is_named(regex: str, fault: str) -> None:
    with pytest.raises(ValueError, match=r"progress_patterns[.]x") as error:
        FormatMatcher.with_patterns({"x": regex})
    assert fault in str(error.value)


PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([
        b"\r", b"\n", b"\r\n", b"\x1b[A", b"\x1b[36m", b"\x00", b"\b\b\b", "█".encode()[:2], b"Epoch 2/9\n",
        bar(0, 9, "a").encode(), bar(9, 9, "a").encode(), bar(3, 90).encode(),
        b"{'loss': nan, 'epoch': 0.1}\n",
        b"step 12/90 loss=1e-5\n", b"x" * 33_000, b"Processed 1,000/2,000 items\n", b"Namespace(epochs=4)\n",
        b"Epoch 3 [10/90]\n", b"eta: 0:08:20  iter: 19  time: 0.50\n", b"\xff\xfe",
        b"99999999999999999999/1 [",
    ]),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=40), st.data())
def test_any_bytes_in_any_pieces_give_the_same_as_the_whole(pieces: list[bytes], data: st.DataObject) -> None:
    log = b"".join(pieces)
    cuts = data.draw(st.lists(st.integers(0, len(log)), max_size=6).map(sorted))
    reader = ProgressReader(MATCHER)
    for start, end in zip([0, *cuts], [*cuts, len(log)], strict=True):
        reader.feed(log[start:end])
        _ = reader.progress
    whole = ProgressReader(MATCHER)
    whole.feed(log)
    assert repr(reader.progress) == repr(whole.progress)
    assert repr(reader.state) == repr(whole.state)  # nan differs from itself


def stored(state: ReaderState) -> ReaderState:
    """Return the state after a stay in a state file."""
    return from_json(ReaderState, json.loads(json.dumps(to_json(state))))


def test_a_file_is_read_on_from_a_stored_state(tmp_path: Path) -> None:
    path = tmp_path / "log"
    whole, state = b"", None
    for epoch in range(1, 30):
        piece = (f"Epoch {epoch}/30\n" + bars(0, 100, 1, 100) + "\n").encode()
        whole += piece
        with path.open("ab") as file:
            file.write(piece)
        state = stored(read_progress((str(path),), state))
        assert state.progress == read(whole)
    assert state is not None
    assert len(json.dumps(to_json(state))) < 8192
    (file_state,) = state.files
    assert file_state.size - file_state.offset < 64 * 1024


def test_a_file_that_has_not_grown_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("Epoch 1/3\n")
    first = read_progress((str(path),))
    path.write_text("Epoch 2/3\n")
    assert read_progress((str(path),), first) == first


@pytest.mark.parametrize("replaced", [True, False])
def test_a_truncated_or_replaced_file_is_read_from_its_start(tmp_path: Path, replaced: bool) -> None:  # noqa: FBT001
    path = tmp_path / "log"
    path.write_text("Epoch 50/60\n" * 3)
    state = read_progress((str(path),))
    text = "Epoch 1/3\n" + ("\n" * 90 if replaced else "")
    if replaced:
        (tmp_path / "new").write_text(text)
        os.replace(tmp_path / "new", path)  # noqa: PTH105
    else:
        path.write_text(text)
    progress = read_progress((str(path),), state).progress
    assert progress is not None
    assert (progress.current, progress.total, progress.run) == (1, 3, 1)


def test_of_a_huge_file_the_start_and_the_end_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"max_steps=5000\n" + b"noise without numbers\n" * 60_000 + b"step 4000: loss 0.5\n")
    progress = read_progress((str(path),), None, None, 256 * 1024).progress
    assert progress is not None
    assert (progress.current, progress.total) == (4000, 5000)


def test_a_file_that_cannot_be_read_keeps_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("Epoch 2/3\n")
    state = read_progress((str(path),))
    path.unlink()
    state = read_progress((str(path), str(tmp_path)), state)
    assert [each.problem for each in state.files] == ["does not exist", "is a folder"]
    assert state.progress is not None
    assert state.progress.current == 2


def test_stdout_and_stderr_complete_each_other(tmp_path: Path) -> None:
    out, err = tmp_path / "x.out", tmp_path / "x.err"
    out.write_text(
        "".join(f"{{'loss': {1 / n:.3}, 'learning_rate': 1e-5, 'epoch': {n / 10}}}\n" for n in (1, 2, 4))
    )
    err.write_text(bars(0, 120, 10, 300))
    progress = read_progress((str(out), str(err))).progress
    assert progress is not None
    assert (progress.current, progress.total, progress.loss, progress.learning_rate) == (120, 300, 0.25, 1e-5)


def test_a_total_in_one_file_completes_the_count_of_another(tmp_path: Path) -> None:
    out, err = tmp_path / "x.out", tmp_path / "x.err"
    out.write_text("max_steps: 500\n")
    err.write_text("step 100: loss 0.5\nstep 120: loss 0.5\n")
    progress = read_progress((str(out), str(err))).progress
    assert progress is not None
    assert (progress.current, progress.total) == (120, 500)


def test_the_logs_of_workers_are_summed(tmp_path: Path) -> None:
    for worker, done in enumerate((500, 250)):
        (tmp_path / f"worker_{worker}.log").write_text(f"Processed {done}/1000 items\n")
    paths = tuple(sorted(map(str, tmp_path.glob("worker_*.log"))))
    progress = read_progress(paths).progress
    assert progress is not None
    assert (progress.current, progress.total, progress.unit) == (750, 2000, "item")


def test_steps_without_a_total_go_on_over_epochs() -> None:
    again = "".join(
        f"=====epoch {epoch}\n" + "".join(f"iteration: {n} loss: 0.5\n" for n in range(10, 101, 10))
        for epoch in range(3)
    )
    expected = {"current": 300, "total": None, "epoch": 2, "run": 1}
    assert values(again, **expected) == expected
    on = "".join(f"=====epoch {n // 100}\niteration: {n} loss: 0.5\n" for n in range(0, 300, 50))
    expected |= {"current": 250}
    assert values(on, **expected) == expected


def test_an_evaluation_after_the_last_epoch_is_no_epoch() -> None:
    log = "".join(f"Epoch {epoch}/3\n180/180 - 4s - 2ms/step - loss: 0.5\n" for epoch in (1, 2, 3))
    log += "31/31 - 1s - 2ms/step - loss: 0.7\n"
    expected = {"current": 540, "total": 540, "batch": 31}
    assert values(log, **expected) == expected
