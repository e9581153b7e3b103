"""``jobmon submit`` with a job configuration, on a machine without Slurm."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from jobmon_core.app.jobs.job_config import find_settings
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.store.jobs import JobStore
from tests.support.blocking_files import STRANGER
from tests.support.job_records import RUNNING, job_of
from tests.support.processes import in_a_copy
from tests.support.shell import Shell

CONFIG = "job: {num_workers: 4, total_items: 900}\npaths: {log_dir: logs}\nmonitoring: {stall_timeout: 300}\n"


@pytest.fixture
def sbatch(shell: Shell) -> Shell:
    """A shell whose sbatch says what it was given, and submits nothing."""
    shell.program("sbatch", 'echo "<$*>"; exit 3')
    return shell


def test_an_unusable_configuration_is_an_error_before_anything_is_submitted(sbatch: Shell) -> None:
    (sbatch.work / "mine.yaml").write_text("jbo: 1\npaths: 3\n")
    done = sbatch.jobmon("submit", "--job-config", "mine.yaml", "job.sh")
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.splitlines() == [
        f"jobmon: nothing was submitted: {sbatch.work}/mine.yaml is not usable:",
        "  - paths: expected an object, found a number",
        "  - jbo: unknown key; did you mean job?",
    ]


@pytest.mark.parametrize("option", [["--job-config"], ["--job-config="]])
def test_the_option_needs_a_path(sbatch: Shell, option: list[str]) -> None:
    done = sbatch.jobmon("submit", *option)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "jobmon: nothing was submitted: --job-config takes the path of a YAML file\n"


@pytest.mark.parametrize("option", ["--job-config=mine.yaml", "--job-config mine.yaml"])
def test_the_option_is_not_passed_to_sbatch_and_the_note_is_one_line(sbatch: Shell, option: str) -> None:
    (sbatch.work / "mine.yaml").write_text("job: {gpu_ids: [0]}\nalerts: {terminal: {enabled: true}}\n")
    done = sbatch.jobmon("submit", *option.split(), "-p", "x", "job.sh")
    assert (done.returncode, done.stdout) == (3, "<-p x job.sh>\n")
    note = f"jobmon: {sbatch.work}/mine.yaml: not used here, but in config.json: alerts.terminal\n"
    assert done.stderr == note


def test_the_option_after_the_script_is_pointed_out(sbatch: Shell) -> None:
    done = sbatch.jobmon("submit", "job.sh", "--job-config=x.yaml")
    assert "--job-config was not used by jobmon; put it first" in done.stderr


def test_faults_of_a_file_beside_the_script_are_warnings(sbatch: Shell) -> None:
    folder = sbatch.work / "sub"
    folder.mkdir()
    (folder / "jobmon.yaml").write_text("jbo: 1\n")
    done = sbatch.jobmon("submit", "-p", "x", "sub/job.sh", "a")
    assert (done.returncode, done.stdout) == (3, "<-p x sub/job.sh a>\n")
    assert done.stderr.splitlines() == [
        f"jobmon: {folder}/jobmon.yaml is not usable:",
        "  - jbo: unknown key; did you mean job?",
        "The job is watched without this file. Once it is right, `jobmon cancel JOB`, then",
        f"`jobmon watch JOB --job-config {folder}/jobmon.yaml` applies it.",
    ]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_a_file_beside_the_script_counts_only_if_it_is_the_users_or_the_scripts_owners(sbatch: Shell) -> None:
    script, config = sbatch.work / "job.sh", sbatch.work / "jobmon.yaml"
    script.write_text("#!/bin/bash\n")
    config.write_text("results: [/home/me/diary]\n")
    os.chown(config, STRANGER, -1)

    done = sbatch.jobmon("submit", "job.sh")
    assert (done.returncode, done.stdout) == (3, "<job.sh>\n")
    assert f"  - the file belongs to user {STRANGER}; beside a script, only a file of yours" in done.stderr
    checked = sbatch.jobmon("check", "job.sh")
    assert f"belongs to user {STRANGER}" in " ".join(checked.stdout.split())

    os.chown(script, STRANGER, -1)
    note = f"jobmon: {config} applies; it belongs to user {STRANGER}, the owner of the script\n"
    assert sbatch.jobmon("submit", "job.sh").stderr == note
    assert sbatch.jobmon("submit", "--job-config", "jobmon.yaml", "job.sh").stderr == ""

    os.chown(script, STRANGER + 1, -1)
    assert "only a file of yours" in sbatch.jobmon("submit", "job.sh").stderr


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")
def test_for_another_user_a_file_of_root_counts_and_a_strangers_does_not() -> None:
    with tempfile.TemporaryDirectory() as folder:  # where others may go, unlike pytest's
        own, strange = Path(folder, "own"), Path(folder, "strange")
        for each in (Path(folder), own, strange):
            each.mkdir(exist_ok=True)
            each.chmod(0o755)
        for each in (own, strange):
            (each / "job.sh").write_text("#!/bin/bash\n")
            (each / "jobmon.yaml").write_text("job: {total_items: 9}\n")
            (each / "jobmon.yaml").chmod(0o644)
        os.chown(strange / "jobmon.yaml", STRANGER, -1)

        find_settings(str(own / "job.sh"), print)  # loads what another user may be unable to load

        def find_both() -> None:
            told: list[str] = []
            found = find_settings(str(own / "job.sh"), told.append)
            assert found
            assert (found.total_items, told) == (9, [])
            with pytest.raises(ConfigInvalid, match=f"belongs to user {STRANGER};"):
                find_settings(str(strange / "job.sh"), told.append)

        in_a_copy(find_both, as_nobody=True)


def test_check_names_the_faults_of_a_file_beside_the_script(sbatch: Shell) -> None:
    (sbatch.work / "job.sh").write_text("#!/bin/bash\n")
    (sbatch.work / "jobmon.yaml").write_text("jbo: 1\n")
    shown = " ".join(sbatch.jobmon("check", "job.sh").stdout.split())
    assert "jobmon.yaml is not usable: jbo: unknown key; did you mean job?" in shown
    assert "The job will be watched without this file." in shown


def test_the_command_that_applies_a_corrected_file_names_the_backend_of_the_job(shell: Shell) -> None:
    (shell.work / "job.sh").write_text("#!/bin/bash\n")
    (shell.work / "jobmon.yaml").write_text("jbo: 1\n")
    command = f"`jobmon watch --backend local JOB --job-config {shell.work}/jobmon.yaml`"
    for words in (["submit", "--backend", "local", "job.sh"], ["run", "--", "bash", "job.sh"]):
        assert command in shell.jobmon(*words).stderr


@pytest.mark.parametrize("option", ["--job-config mine.yaml", "--total-items 9", "--output job.log"])
def test_watching_a_watched_job_says_how_its_options_are_applied(shell: Shell, option: str) -> None:
    (shell.work / "mine.yaml").write_text(CONFIG)
    JobStore(shell.state).save(job_of(RUNNING))
    refused, hint = shell.jobmon("watch", "12", *option.split()).stderr.splitlines()
    assert "the monitor of job 12 is dead" in refused
    assert hint == (
        "jobmon: the options of this command are not applied; to apply them, run `jobmon cancel 12`, "
        "then this command again"
    )
    assert shell.jobmon("watch", "12").stderr == f"{refused}\n"


@pytest.mark.parametrize("arguments", ["--wrap true", "--wrap true job.sh", "other/job.sh", "-V"])
def test_only_a_file_beside_the_submitted_script_counts(sbatch: Shell, arguments: str) -> None:
    (sbatch.work / "jobmon.yaml").write_text("jbo: 1\n")
    assert sbatch.jobmon("submit", *arguments.split()).stderr == ""


def test_no_yaml_library_is_loaded_without_a_file(sbatch: Shell) -> None:
    loaded = sbatch.jobmon("submit", "job.sh", PYTHONPROFILEIMPORTTIME="1").stderr
    assert "jobmon_core.app.jobs.job_config" in loaded
    assert "yaml" not in loaded
    assert "re2" not in loaded


def test_a_local_job_keeps_its_settings_and_show_prints_them(shell: Shell) -> None:
    (shell.work / "job.sh").write_text("#!/bin/bash\ntrue\n")
    (shell.work / "jobmon.yaml").write_text(CONFIG)
    done = shell.jobmon("submit", "--backend", "local", "job.sh")
    assert done.returncode == 0, done
    job_id = done.stdout.split()[-1]
    shown = json.loads(shell.jobmon("show", job_id, "--json").stdout)["settings"]
    assert shown["source"] == f"{shell.work}/jobmon.yaml"
    assert (shown["num_workers"], shown["total_items"], shown["stall_timeout_s"]) == (4, 900, 300.0)
    assert shown["log_dir"] == f"{shell.work}/logs"
    text = shell.jobmon("show", job_id).stdout
    assert f"settings  {shell.work}/jobmon.yaml\n" in text
    assert f"4 workers, 900 items, logs {shell.work}/logs/*.log, stall timeout 5m" in text
