"""Which files and which Python environment a script names."""

from __future__ import annotations

import pytest

from jobmon_core.domain.many.provenance.compare import kind_of, new_kinds
from jobmon_core.domain.many.provenance.script_references import (
    exported,
    loaded_modules,
    named_files,
    python_prefix,
    variable_digests,
    without_hidden,
    without_values,
)

VARIABLES = {
    "HOME": "/home/me",
    "CONDA_EXE": "/opt/conda/bin/conda",
    "DATA": "/data",
    "SLURM_SUBMIT_DIR": "/s",
}


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("python -u train.py --config conf/a.yaml", ["/w/train.py", "/w/conf/a.yaml"]),
        ("srun bash ./run.sh > out.log", ["/w/run.sh"]),
        ("python ~/tools/prep.py --set=$DATA/x.json", ["/home/me/tools/prep.py", "/data/x.json"]),
        ('cd "$SLURM_SUBMIT_DIR"; python "$SLURM_SUBMIT_DIR/a.py"', ["/s/a.py"]),
        ("python $WHO_KNOWS/train.py", []),
        ("# python old.py", []),
        ("python -m package.module; echo train.python v1.2", []),
        ("python ../up.py; python ../up.py", ["/up.py"]),
    ],
)
def test_code_and_settings_are_found(line: str, files: list[str]) -> None:
    assert named_files(f"#!/bin/bash\n{line}\n", "/w", VARIABLES) == files


@pytest.mark.parametrize(
    ("text", "active", "prefix"),
    [
        ("source venv/bin/activate\npython a.py", {}, "/w/venv"),
        (". ~/envs/x/bin/activate && python a.py", {"VIRTUAL_ENV": "/other"}, "/home/me/envs/x"),
        ("conda activate jax\n", {}, "/opt/conda/envs/jax"),
        ("source activate /envs/e\n", {}, "/envs/e"),
        ("conda activate base\n", {}, "/opt/conda"),
        ("srun /envs/p/bin/python3.11 a.py", {}, "/envs/p"),
        ("/usr/bin/python3 a.py", {"CONDA_PREFIX": "/c"}, "/c"),
        ("# source venv/bin/activate\npython a.py", {"VIRTUAL_ENV": "/v"}, "/v"),
        ("source $SECRET/bin/activate", {}, ""),
        ("python a.py", {}, ""),
    ],
)
def test_the_environment_is_that_of_the_script_before_the_active_one(
    text: str, active: dict[str, str], prefix: str
) -> None:
    assert python_prefix(text, "/w", {**VARIABLES, **active}) == prefix


def test_the_working_directory_is_that_of_the_job_not_that_of_the_submitting_shell() -> None:
    assert named_files("python $PWD/a.py", "/w", {**VARIABLES, "PWD": "/shell"}) == ["/w/a.py"]


def test_of_variables_only_names_and_short_digests_are_kept_and_only_of_those_that_matter() -> None:
    found = variable_digests(
        {"API_TOKEN": "hunter2", "SSH_TTY": "/dev/pts/1", "SLURM_JOB_ID": "1", "SLURM_CONF": "/c", "PWD": "/"}
    )
    assert set(found) == {"API_TOKEN", "SLURM_CONF"}
    assert all(len(value) == 8 for value in found.values())


def test_modules_are_none_where_there_is_no_module_system() -> None:
    assert loaded_modules({"LOADEDMODULES": "gcc/12:cuda/12.1:"}) == ("gcc/12", "cuda/12.1")
    assert loaded_modules({"MODULEPATH": "/m"}) == ()
    assert loaded_modules({}) is None


def test_lines_that_differ_in_numbers_paths_and_times_are_of_one_kind() -> None:
    good = ["Nov 24 10:00:01 epoch 1/30 loss 0.5 lr=2e-5", "saved /out/8101/ckpt-5.pt", " 12%|#2   | 1/8",
            "worker a3f9c21d4 on n1 ready"]  # fmt: skip
    new = ["Wed Nov 25 09:12:44 epoch 29/30 loss 0.125 lr=1e-6", "saved /out/8123/ckpt-77.pt",
           " 99%|#########9| 8/8", "worker 77ab12cd0 on n17 ready", "NaN in gradient of layer 3",
           "NaN in gradient of layer 9", "12 34 56"]  # fmt: skip
    assert new_kinds(new, good, 10) == (["NaN in gradient of layer 3"], 0)
    assert new_kinds(["one a", "two b", "three c"], [], 2) == (["one a", "two b"], 1)
    assert kind_of("=" * 10_000) == ""


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("--export=ALL,MY_PIN=hunter2,LR=1 a.sh", "--export=ALL,MY_PIN=[hidden],LR=[hidden] a.sh"),
        ("--export ALL,A='hunter,hunter2',B a.sh", "--export ALL,A=[hidden],B a.sh"),
        ("--export=A='hunter2,x a.sh", "--export=A=[hidden] a.sh"),
        ('--exp=A=x"1,hunter2",B=2 a.sh', "--exp=A=[hidden],B=[hidden] a.sh"),
        ("--export=NONE -J x a.sh", "--export=NONE -J x a.sh"),
        ("--comment=hunter2 a.sh", "--comment=[hidden] a.sh"),
        ("-t 5 --comment hunter2 a.sh", "-t 5 --comment [hidden] a.sh"),
        ("--export-file=env a.sh --export=A=1", "--export-file=env a.sh --export=A=1"),
    ],
)
def test_the_values_that_a_command_line_exports_and_its_comment_are_not_kept(words: str, kept: str) -> None:
    assert " ".join(without_values(words.split(" "))) == kept


def test_what_was_hidden_can_be_told_from_what_was_kept() -> None:
    words = ["--export", "ALL,A=1", "-t", "5", "--comment=x", "--export=B"]
    assert exported([*words, "a.sh"]) == {"A": "1"}
    kept = without_values(words)
    assert without_hidden(kept) == (["-t", "5", "--export=B"], {"export", "comment"})
