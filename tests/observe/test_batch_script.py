"""What is at the paths of a script, and the environments that it activates."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from jobmon_core.domain.before.batch_script.activation import Activation, Kind
from jobmon_core.domain.before.checks.facts import PathKind, Quota
from jobmon_core.observe.batch_script import (
    conda_environment,
    existing_folder,
    look_at,
    missing_packages,
    read_quota,
    read_text,
    venv_of,
)
from jobmon_core.system.runner import Runner

_HEAD = "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace\n"


def test_files_folders_and_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3")
    found = look_at(str(tmp_path / "a"), counts_lines=True)
    assert (found.kind, found.can_read, found.can_run, found.size_bytes, found.lines) == (
        PathKind.FILE,
        True,
        False,
        5,
        3,
    )
    folder = look_at(str(tmp_path))
    assert (folder.kind, folder.can_write, folder.entries) == (PathKind.FOLDER, True, 1)
    missing = look_at(str(tmp_path / "b" / "c"))
    assert (missing.kind, missing.above, missing.can_write_above) == (PathKind.MISSING, str(tmp_path), True)
    assert look_at(str(tmp_path / "a" / "c")).kind is PathKind.MISSING
    assert look_at(f"{tmp_path}/a/").kind is PathKind.MISSING
    assert look_at("/a\0b").kind is PathKind.UNKNOWN
    assert look_at("/a\0b/c").above == "/"


def test_two_slashes_at_the_beginning_are_one() -> None:
    found = look_at("//none/train.py")
    assert (found.kind, found.above.rstrip("/")) == (PathKind.MISSING, "")


def test_a_pipe_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert look_at(str(tmp_path / "pipe"), counts_lines=True).kind is PathKind.OTHER
    assert read_text(str(tmp_path / "pipe")) is None


def test_the_room_of_a_folder_that_does_not_exist_is_that_above_it(tmp_path: Path) -> None:
    assert existing_folder(str(tmp_path / "no" / "such")) == str(tmp_path)
    assert existing_folder(str(tmp_path)) == str(tmp_path)


def test_packages_are_looked_for_and_not_run(tmp_path: Path) -> None:
    (tmp_path / "harmful.py").write_text("open('was_run', 'w')\n")
    names = ("json", "harmful", "no_such_package")
    assert missing_packages(Runner(), sys.executable, [str(tmp_path)], names) == ("no_such_package",)
    assert not (tmp_path / "was_run").exists()
    assert missing_packages(Runner(), "/no/such/python", [], names) is None


def test_a_venv_is_known_by_its_activate(tmp_path: Path) -> None:
    activation = Activation(Kind.VENV, 2, "venv")
    assert "is not a virtual environment" in venv_of(activation, str(tmp_path)).problem
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "activate").touch()
    assert "is broken" in venv_of(activation, str(tmp_path)).problem
    (tmp_path / "venv" / "bin" / "python").symlink_to(sys.executable)
    assert venv_of(activation, str(tmp_path)).python == str(tmp_path / "venv/bin/python")


@pytest.mark.parametrize("name", ["llm", "base"])
def test_conda_environments_are_found_by_name(tmp_path: Path, name: str) -> None:
    base = tmp_path / "miniconda3"
    for folder in (base, base / "envs" / "llm"):
        (folder / "conda-meta").mkdir(parents=True)
    found = conda_environment(Activation(Kind.CONDA, 2, name), [], {"HOME": str(tmp_path)})
    assert found.python.endswith("/bin/python")
    missing = conda_environment(Activation(Kind.CONDA, 2, "lmm"), [], {"HOME": str(tmp_path)})
    assert missing.problem == f"conda has no environment lmm in {base / 'envs'}"


def test_the_script_that_sets_up_conda_tells_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "sw" / "envs" / "llm" / "conda-meta").mkdir(parents=True)
    activation = Activation(Kind.CONDA, 2, "llm")
    setup = Activation(Kind.CONDA_SETUP, 1, "~/sw/etc/profile.d/conda.sh")
    found = conda_environment(activation, [setup], {"HOME": str(tmp_path)})
    assert found.python == str(tmp_path / "sw/envs/llm/bin/python")
    of_system = Activation(Kind.CONDA_SETUP, 1, "/etc/profile.d/conda.sh")
    assert not conda_environment(activation, [of_system], {"HOME": str(tmp_path)}).is_known


def test_without_a_conda_or_with_own_folders_nobody_can_tell(tmp_path: Path) -> None:
    activation = Activation(Kind.CONDA, 2, "llm")
    assert not conda_environment(activation, [], {"HOME": str(tmp_path)}).is_known
    (tmp_path / "miniconda3" / "conda-meta").mkdir(parents=True)
    (tmp_path / ".condarc").write_text("envs_dirs:\n  - /scratch/envs\n")
    assert not conda_environment(activation, [], {"HOME": str(tmp_path)}).is_known


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("Disk quotas for user ada (uid 1001): none\n", None),
        (
            f"Disk quotas for user ada:\n{_HEAD}nfs:/home 1048576* 900000 1048576 1795625866 5 0 100 0\n",
            Quota(2**30, 2**30, 5, 100),
        ),
        (
            "     /lustre       4       0       0       -       1       0       0       -\n",
            Quota(4096, None, 1, None),
        ),
        ("quota: Mountpoint (or device) / not found or has no quota enabled.\n", None),
    ],
)
def test_quotas_as_the_tools_print_them(text: str, quota: Quota | None) -> None:
    assert read_quota(text) == quota
