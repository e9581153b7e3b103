"""jobmon straight from a checkout: ``bin/jobmon``, and Python without the packages that jobmon needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from jobmon_core.store.jobs import JobStore
from tests.support.job_records import JOB
from tests.support.waiting import eventually

CHECKOUT = Path(__file__).resolve().parents[1]


def run(
    *argv: str, cwd: Path, path: str = "", environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    path = f"{path}:{os.environ['PATH']}" if path else os.environ["PATH"]
    environ = {**os.environ, "PATH": path, **environment}
    return subprocess.run(argv, cwd=cwd, env=environ, capture_output=True, text=True, check=False)


def test_adding_bin_to_the_path_is_enough_to_run_jobmon_from_a_checkout(tmp_path: Path) -> None:
    done = run("jobmon", "status", cwd=tmp_path, path=str(CHECKOUT / "bin"))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no jobs are being watched")


def test_bin_jobmon_works_through_a_link_and_adds_nothing_to_the_environment(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(CHECKOUT / "bin" / "jobmon")
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\nenv\n", encoding="utf-8")
    done = run(str(tmp_path / "link"), "submit", "--backend", "local", "--export=ALL", "job.sh", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    log = tmp_path / f"slurm-{done.stdout.split()[-1]}.out"
    eventually(lambda: log.exists() and "JOBMON_HOME" in log.read_text(encoding="utf-8"))
    assert "PYTHONPATH" not in log.read_text(encoding="utf-8")


def test_modules_in_the_current_folder_are_not_run(tmp_path: Path) -> None:
    for module in ("copy", "json", "jobmon"):
        (tmp_path / f"{module}.py").write_text(f"open('ran-{module}', 'w')\n", encoding="utf-8")
    done = run(str(CHECKOUT / "bin" / "jobmon"), "status", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(tmp_path.glob("ran-*")) == []


def test_libraries_of_the_users_programs_do_not_replace_those_of_jobmon(tmp_path: Path) -> None:
    """`module load` often sets PYTHONPATH; a monitor died of another `requests`."""
    for module in ("yaml", "tabulate", "filelock", "requests"):
        (tmp_path / f"{module}.py").write_text(f"raise SystemExit('ran {module}')\n", encoding="utf-8")
    (tmp_path / "job.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "jobmon.yaml").write_text("job: {total_items: 3}\n", encoding="utf-8")
    user = {"PYTHONPATH": f"{tmp_path}:/nowhere"}
    jobmon = str(CHECKOUT / "bin" / "jobmon")
    done = run(jobmon, "submit", "--backend", "local", "job.sh", cwd=tmp_path, environment=user)
    assert (done.returncode, "ran " in done.stderr) == (0, False), done.stderr
    ended = run(jobmon, "wait", done.stdout.split()[-1], "--for", "300s", cwd=tmp_path, environment=user)
    assert re.search(r"COMPLETED after \d+s\n\Z", ended.stdout), ended.stdout
    tested = run(jobmon, "test", cwd=tmp_path, environment=user)
    assert "ran " not in tested.stderr


def test_a_missing_package_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    JobStore(tmp_path / "state").save(JOB)
    home = {"JOBMON_HOME": str(tmp_path)}
    done = run(sys.executable, "-S", "-m", "jobmon", "status", "--all", cwd=CHECKOUT, environment=home)
    assert done.returncode == 78
    assert done.stderr == (
        f"jobmon: the Python package tabulate is missing; `{CHECKOUT}/dev/setup-venv` installs it\n"
    )
