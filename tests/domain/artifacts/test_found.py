from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.artifacts.found import (
    folder_of,
    likely_folders,
    paths_in_log,
    paths_in_script,
    saved_paths,
)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        # sentences
        ("Saving model checkpoint to runs/bert/checkpoint-500", "runs/bert/checkpoint-500"),
        ("[INFO|trainer.py:3410] >> Saving model checkpoint to /out/checkpoint-500", "/out/checkpoint-500"),
        ("Configuration saved in runs/bert/config.json", "runs/bert/config.json"),
        ("Model weights saved in runs/bert/model.safetensors.", "runs/bert/model.safetensors"),
        ("Model saved to './models/best.pt'", "./models/best.pt"),
        ("Results written to /scratch/me/eval/results.json!", "/scratch/me/eval/results.json"),
        ("saved checkpoint '/home/me/ckpts/last'", "/home/me/ckpts/last"),
        ("saving checkpoint at iteration 1000 to /data/megatron", "/data/megatron"),
        ("Logs will be saved to: results/03-01/run.log", "results/03-01/run.log"),
        ("Wrote predictions to out/preds.csv (1200 rows)", "out/preds.csv"),
        ("Exported ONNX model to out/model.onnx", "out/model.onnx"),
        (
            ("(RayTrainWorker pid=7) Checkpoint successfully created at: Checkpoint(filesystem=local, "
            "path=/w/tr1/checkpoint_2026-11-22_07-13-28.451546)"),
            "/w/tr1/checkpoint_2026-11-22_07-13-28.451546",
        ),
        # settings
        ("output_dir: runs/bert", "runs/bert"),
        ("  'save_dir': '/scratch/me/out',", "/scratch/me/out"),
        ('"checkpoint_dir": "ckpts",', "ckpts"),
        ("TrainingArguments(output_dir=results, overwrite=True)", "results"),
        ("  save_path ....................... /data/megatron", "/data/megatron"),
        ("OUTPUT_DIR: output/market", "output/market"),
        # options
        ("+ python train.py --output_dir /scratch/me/out --lr 3e-4", "/scratch/me/out"),
        ("cmd: train --save-dir=ckpts", "ckpts"),
        ("gcc -o out/solver", "out/solver"),
        ("python main.py hydra.run.dir=outputs/2024", "outputs/2024"),
        # none
        ("Saving to disk", ""),
        ("saved the model", ""),
        ("output_dir: null", ""),
        ("--output_dir $OUT", ""),
        ("Could not be saved to /scratch/me/out", ""),
        ("Loading weights saved in /models/llama", ""),
        ("wandb: Run data is saved locally in /home/me/wandb/run-2024", ""),
        ("Your token has been saved to /home/me/.cache/huggingface/token", ""),
        ("Report saved to https://example.com/a/b", ""),
        ("written to /dev/null", ""),
        ("time saved in this step: 3/4", ""),
        ("input_dir: /data/in", ""),
        ("data_path=/data/in", ""),
        ("epoch 3/10 loss 0.3", ""),
    ],
)  # fmt: skip
def test_a_line_of_a_log_names_a_place_to_write_to_or_none(line: str, path: str) -> None:
    assert next(paths_in_log([line]), "") == path


@pytest.mark.parametrize(
    ("script", "path"),
    [
        ("python train.py --output_dir /out/a", "/out/a"),
        ("OUT=/scratch/$USER/run_$SLURM_JOB_ID\npython train.py --output_dir $OUT/x", "/scratch/me/run_12/x"),
        ('export OUT="/out/b"\nsrun python train.py \\\n    --save-dir "${OUT}"', "/out/b"),
        ("python train.py --output_dir $UNKNOWN/x", ""),
        ("OUT=$(mktemp -d)\npython train.py --output_dir $OUT", ""),
        ("# python train.py --output_dir /out/old", ""),
        ("#SBATCH -o slurm-%j.out", ""),
    ],
)
def test_the_options_in_a_script_name_a_place_as_far_as_its_variables_are_known(
    script: str, path: str
) -> None:
    variables = {"USER": "me", "SLURM_JOB_ID": "12"}
    assert next(paths_in_script(f"#!/bin/bash\n{script}\n", variables), "") == path


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/out", "/out"),
        ("/out/model.pt", "/out"),
        ("/out/checkpoint-500", "/out"),
        ("/out/checkpoint-500/model.safetensors", "/out"),
        ("/out/step1000-unsharded", "/out"),
        ("/out/run_v1.5-large", "/out/run_v1.5-large"),
        ("/checkpoints/lora_epoch200", "/checkpoints/lora_epoch200"),
    ],
)
def test_the_folder_of_outputs_holds_files_and_checkpoints(path: str, folder: str) -> None:
    assert folder_of(path) == folder


def test_the_folder_that_holds_most_comes_first() -> None:
    paths = ["/data/tokens.npy", "/out/config.yaml", "/out/step1", "/out/step2", "/out/eval/a.csv"]
    assert likely_folders(paths) == ["/out", "/data", "/out/eval"]


@given(
    st.text(max_size=200) | st.from_regex(r"(saved? (model )?to|--out|output_dir:) ?.{0,30}", fullmatch=True)
)
def test_no_text_raises(text: str) -> None:
    assert all(likely_folders(paths_in_log([text])))
    assert all(paths_in_script(text, {}))


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
