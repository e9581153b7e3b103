"""The paths that a script names."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.paths import PathUse, Use, paths_of
from jobmon_core.domain.before.batch_script.variables import values_of


def _uses(text: str) -> list[PathUse]:
    script = parse_script(f"#!/bin/bash\n{text}\n")
    return list(paths_of(script, values_of(script, {"HOME": "/h", "JOB": None}), "/w"))


def _found(text: str) -> set[tuple[str, str]]:
    return {(use.use.value, use.path) for use in _uses(text)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("python train.py --data d/x.csv", {("program", "/w/train.py"), ("input", "/w/d/x.csv")}),
        ("./solver --config=$HOME/c.yaml", {("program", "/w/solver"), ("input", "/h/c.yaml")}),
        ("x --output_dir out --ckpt-dir ck", {("output folder", "/w/out"), ("checkpoint folder", "/w/ck")}),
        ("x > a/b.log 2> /dev/null", {("redirected output", "/w/a/b.log")}),
        ("x < in.dat", {("input", "/w/in.dat")}),
        ("apptainer run i.sif python a.py --data /inside", {("container image", "/w/i.sif")}),
        ("cd sub/\npython a.py", {("folder", "/w/sub"), ("program", "/w/sub/a.py")}),
        ("cd $JOB\npython a.py", set()),
        ("cd /x || exit 1\n./y", {("folder", "/x"), ("program", "/x/y")}),
        ("//x/y > //z", {("program", "/x/y"), ("redirected output", "/z")}),
        ("Rscript --vanilla a.R", {("program", "/w/a.R")}),
        ("sed -n ${SLURM_ARRAY_TASK_ID}p list.txt", {("list", "/w/list.txt")}),
        ('F=$(sed -n "${SLURM_ARRAY_TASK_ID}p" list.txt)', {("list", "/w/list.txt")}),
        ("python a.py hydra.run.dir=runs/1", {("program", "/w/a.py"), ("output folder", "/w/runs/1")}),
    ],
)
def test_paths_and_their_use(text: str, found: set[tuple[str, str]]) -> None:
    assert _found(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "x --dataset imdb",  # a name on a hub
        "x --model_name_or_path meta-llama/Llama-2-7b",
        "x --data s3://bucket/a.csv",
        "x --data 'a/*.csv'",
        "x --data $JOB/a.csv",
        "x --input=$JOB",
        "echo --data a.csv",
        "x --lr 0.1 --name a.csv",
    ],
)
def test_what_is_not_certainly_a_path_is_left_out(text: str) -> None:
    assert not [use for use in _uses(text) if use.use is Use.INPUT]


def test_what_the_script_makes_before_is_marked() -> None:
    uses = _uses("mkdir -p out\nx --output_dir out/a\ncp b c.csv\nx --data c.csv\nx --data d.csv")
    assert {use.path: use.is_made for use in uses} == {"/w/out/a": True, "/w/c.csv": True, "/w/d.csv": False}
