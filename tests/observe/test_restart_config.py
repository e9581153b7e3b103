"""The section ``restart`` of a job configuration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.job.job_settings import RestartMode, RestartSettings
from jobmon_core.observe.job_config import read_job_config
from tests.support.blocking_files import STRANGER

WHOLE = """
restart:
  mode: on
  on: [preempted, node, nccl_timeout]
  max: {preempted: 200, crash: 0}
  max_restarts: 12
  delay: [30, 900]
  resume_arg: "--resume '{path}'"
  never_on_exit: [2, 93]
  again_on_exit: [75]
  grow: {memory: 1.5, time: 2}
  set_aside: true
  stop_on_stall: 1800
  current_script: true
"""
DELAYS = "expected the first delay and the longest in seconds, from 1 to 604800, e.g. [60, 3600]"
ONLY_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files to another user")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobmon.yaml"


def restart_of(file: Path, text: str) -> RestartSettings | None:
    file.write_text(text)
    return read_job_config(file).settings.restart


def test_every_key_about_restarts_is_read(file: Path) -> None:
    assert restart_of(file, WHOLE) == RestartSettings(
        mode=RestartMode.ON,
        on=("preempted", "node", "nccl_timeout"),
        max_restarts=12,
        budgets={"preempted": 200, "crash": 0},
        delay_s=30.0,
        max_delay_s=900.0,
        resume_arg="--resume '{path}'",
        never_on_exit=(2, 93),
        again_on_exit=(75,),
        grow_memory=1.5,
        grow_time=2.0,
        set_aside=True,
        stall_is_failure_s=1800.0,
        current_script=True,
    )


def test_without_a_mode_the_section_turns_nothing_on(file: Path) -> None:
    assert restart_of(file, "restart: {max_restarts: 3}") == RestartSettings(max_restarts=3)
    assert restart_of(file, "restart:\njob: {name: x}") is None


def test_an_exit_code_that_the_user_names_replaces_a_default_of_the_other_list(file: Path) -> None:
    again = restart_of(file, "restart: {again_on_exit: [93]}")
    assert again == RestartSettings(never_on_exit=(), again_on_exit=(93,))
    never = restart_of(file, "restart: {never_on_exit: [85]}")
    assert never == RestartSettings(never_on_exit=(85,), again_on_exit=(75, 99))


def test_all_faults_about_restarts_are_reported_at_once(file: Path) -> None:
    file.write_text(r"""
max_restart: 3
restart:
  mode: yes
  on: [prempted, "a b"]
  max: {preempt: 1, node: -1, time: many}
  max_retries: 3
  delay: [3600, 60]
  resume_arg: "--resume {pth}"
  never_on_exit: [7, 93]
  again_on_exit: [7]
  grow: {mem: 1.5, time: 0.5}
  set_aside: 1
  stop_on_stall: 5
""")
    with pytest.raises(ConfigInvalid) as caught:
        read_job_config(file)
    assert sorted(caught.value.faults) == [
        "max_restart: unknown key; did you mean restart.max_restarts?",
        "restart.again_on_exit: 7 is in never_on_exit, too",
        f"restart.delay: {DELAYS}",
        "restart.grow.mem: unknown key; did you mean memory?",
        "restart.grow.time: must be at least 1, found 0.5",
        "restart.max.node: must be at least 0, found -1",
        "restart.max.preempt: unknown key; did you mean preempted?",
        "restart.max.time: expected a number, found a string",
        "restart.max_retries: unknown key; did you mean max_restarts?",
        "restart.mode: expected one of off, observe, on, found 'yes'",
        "restart.on: expected names of causes, e.g. [preempted, node, time], found 'a b'",
        "restart.on: unknown cause 'prempted'; did you mean preempted?",
        "restart.resume_arg: only {path} is replaced, not {pth}",
        "restart.set_aside: expected true or false, found a number",
        "restart.stop_on_stall: must be at least 60, found 5",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (r'resume_arg: "a\nb"', r"contains a control character: 'a\\nb'"),
        ('resume_arg: "--resume \'{path}"', "not a list of words: No closing quotation"),
        ("delay: 60", r"restart.delay: expected a list, found a number$"),
        ("delay: [60]", "expected the first delay and the longest"),
        ("delay: [true, 60]", "expected the first delay and the longest"),
        ("again_on_exit: [0]", "expected a list of exit codes from 1 to 255"),
        ("again_on_exit: [137.5]", "expected a list of exit codes from 1 to 255"),
        ("max_restarts: 100000", "must be at most 1000"),
    ],
)
def test_a_value_that_can_mean_nothing_is_refused(file: Path, text: str, fault: str) -> None:
    file.write_text(f"restart:\n  {text}\n")
    with pytest.raises(ConfigInvalid, match=fault):
        read_job_config(file)


@ONLY_ROOT
@pytest.mark.parametrize("mode", ["on", "observe"])
def test_a_file_of_another_user_turns_no_restarts_on_but_its_other_words_count(file: Path, mode: str) -> None:
    file.write_text(f"restart: {{mode: {mode}, max_restarts: 3}}\njob: {{total_items: 9}}")
    os.chown(file, STRANGER, -1)
    config = read_job_config(file)  # as for a file that --job-config names
    assert config.settings.restart == RestartSettings(max_restarts=3)
    assert config.settings.total_items == 9
    assert config.note == (
        f"{file}: restart.mode is ignored: the file belongs to user {STRANGER}, and only you turn restarts "
        "on for your jobs, e.g. with --restart"
    )


@ONLY_ROOT
def test_a_foreign_file_that_turns_restarts_off_needs_no_word(file: Path) -> None:
    file.write_text("restart: {mode: off, max_restarts: 3}")
    os.chown(file, STRANGER, -1)
    assert read_job_config(file).note == ""


@ONLY_ROOT
def test_a_link_of_the_scripts_owner_to_a_file_of_the_user_turns_no_restarts_on(tmp_path: Path) -> None:
    own, shared = tmp_path / "own.yaml", tmp_path / "shared"
    own.write_text("restart: {mode: on}")
    shared.mkdir()
    link = shared / "jobmon.yaml"
    link.symlink_to(own)
    for each in (shared, link):
        os.chown(each, STRANGER, -1, follow_symlinks=False)
    config = read_job_config(link)
    assert config.settings.restart == RestartSettings()
    assert "restart.mode is ignored" in config.note
    assert read_job_config(own).settings.restart == RestartSettings(mode=RestartMode.ON)
