"""Where programs say that they save checkpoints."""

from __future__ import annotations

import pytest

from jobmon_core.domain.artifacts.found import saved_paths


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("Saving model checkpoint to /w/out/checkpoint-500", "/w/out/checkpoint-500"),
        ("[INFO|trainer.py:4226] >> Saving model checkpoint to out/checkpoint-5", "out/checkpoint-5"),
        ("  successfully saved checkpoint from iteration     500 to /w/ckpts [ t 1/2, p 1/1 ]", "/w/ckpts"),
        ("saving checkpoint at iteration     500 to /w/ckpts in torch_dist format", "/w/ckpts"),
        ("[INFO] [Rank 0] [Torch] Saved /w/global_step10/mp_rank_00_model_states.pt.", ""),
        ("Saved checkpoint '/w/a b", "/w/a"),
        ("saved model to ./models/best.pt (loss 0.1)", "./models/best.pt"),
        ("Checkpoint saved at epoch_12.pth", "epoch_12.pth"),
        (
            ("(RayTrainWorker pid=7) Checkpoint successfully created at: Checkpoint(filesystem=local, "
            "path=/w/tr1/checkpoint_2026-11-22_07-13-28.451546)"),
            "/w/tr1/checkpoint_2026-11-22_07-13-28.451546",
        ),
        ("epoch 3 loss 0.1", ""),
        ("Loading checkpoint from /w/ckpts/a.pt", ""),
        ("Saved 3 predictions to /w/out.json", ""),
    ],
)  # fmt: skip
def test_a_line_of_a_log_names_where_a_checkpoint_was_saved(line: str, path: str) -> None:
    assert saved_paths([line]) == ([path] if path else [])


def test_the_latest_mention_is_last() -> None:
    lines = [f"saving checkpoint to /w/{name}" for name in ("a", "b", "a")]
    assert saved_paths(lines) == ["/w/b", "/w/a"]


def test_any_text_takes_little_time() -> None:
    for text in ("saving " * 3000, "save checkpoint to " + "a/" * 3000):
        saved_paths([text])
