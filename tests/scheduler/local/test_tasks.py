from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from jobmon_core.domain.slurm.states import JobState
from tests.scheduler.local.harness import REPOSITORY, LocalHarness
from tests.support.waiting import eventually


@pytest.mark.parametrize("code", [1, 3, 127, 137, 255])
def test_an_exit_code_is_recorded_unchanged(local: LocalHarness, code: int) -> None:
    record = local.finish("--wrap", f"exit {code}")

    assert (record.state, record.exit_code, record.signal) == (JobState.FAILED, code, None)
    assert record.reason == "NonZeroExitCode"


def test_a_job_that_ends_well_is_completed_and_measured(local: LocalHarness) -> None:
    loop = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"
    job_id = local.start("--wrap", f"{loop}; zeros=$(printf %064000000d 0)")

    (record,) = local.ends(job_id)
    (row,) = local.accounting(job_id)

    assert (record.state, record.exit_code, record.reason) == (JobState.COMPLETED, 0, "")
    assert row.usage.cpu_s is not None
    assert row.usage.cpu_s > 0
    assert row.usage.max_rss_bytes is not None
    assert 64_000_000 < row.usage.max_rss_bytes < 2**30
    assert row.elapsed_s is not None
    assert row.start_s is not None
    assert row.submit_s is not None
    assert row.submit_s <= row.start_s


def test_the_peak_memory_of_a_small_program_is_left_out_and_not_that_of_its_supervisor(
    local: LocalHarness,
) -> None:
    job_id = local.start("--wrap", "exec sleep 0.1")

    local.ends(job_id)
    (row,) = local.accounting(job_id)

    assert row.usage.max_rss_bytes is None


@pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM", "HUP"])
def test_a_signal_is_recorded_by_its_number(local: LocalHarness, name: str) -> None:
    record = local.finish("--wrap", f"kill -{name} $$")

    assert (record.state, record.exit_code) == (JobState.FAILED, 0)
    assert record.signal == signal.Signals[f"SIG{name}"]
    assert record.reason.startswith(f"RaisedSignal:{record.signal}(")


def test_a_time_limit_ends_the_job_and_the_log_says_so(local: LocalHarness) -> None:
    record = local.finish("-t", "0:01", "-e", "err.txt", "--wrap", "sleep 1000")

    assert (record.state, record.reason, record.limit_s) == (JobState.TIMEOUT, "TimeLimit", 1)
    host = os.uname().nodename.split(".", 1)[0]
    said = (local.work / "err.txt").read_text(encoding="utf-8")
    assert said.startswith(f"jobmon: *** JOB 1 ON {host} CANCELLED AT 2")
    assert said.endswith(" DUE TO TIME LIMIT ***\n")


def test_a_job_may_clean_up_when_its_time_is_over(local: LocalHarness) -> None:
    record = local.finish("-t", "0:10", "--wrap", "trap 'echo saved; exit 0' TERM; sleep 1000 & wait")

    assert (record.state, record.exit_code, record.signal) == (JobState.TIMEOUT, 0, None)
    assert local.says("slurm-1.out", "saved")


def test_sigterm_to_the_supervisor_cancels_the_job_and_records_the_sender(local: LocalHarness) -> None:
    job_id = local.start("--wrap", "echo up; sleep 1000")
    eventually(lambda: local.says("slurm-1.out", "up"))

    os.kill(local.supervisor(job_id), signal.SIGTERM)

    (record,) = local.ends(job_id)
    (row,) = local.accounting(job_id)
    (listed,) = local.queue(job_id)
    assert (record.state, listed.state, listed.raw_state) == (
        JobState.CANCELLED,
        JobState.CANCELLED,
        "CANCELLED",
    )
    assert (row.raw_state, row.cancelled_by) == (f"CANCELLED by {os.getuid()}", os.getuid())
    assert local.says("slurm-1.out", "CANCELLED AT 2")
    assert not local.says("slurm-1.out", "DUE TO")


def test_the_tasks_of_an_array_run_one_by_one_and_end_each_in_its_own_way(local: LocalHarness) -> None:
    script = """
        echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN-$SLURM_ARRAY_TASK_MAX"
        mkdir alone || exit 99
        case $SLURM_ARRAY_TASK_ID in 1) code=0;; 3) code=7;; 5) kill -9 $$;; 7) sleep 1000;; esac
        rmdir alone; exit $code"""
    job_id = local.start("-a", "1-9:2%1", "-t", "0:15", "--wrap", script.replace("kill", "rmdir alone; kill"))

    records = local.ends(job_id)

    assert local.says("slurm-1_9.out", "1 5 1-9")
    assert [record.ref.task for record in records] == [1, 3, 5, 7, 9]
    states = [record.state for record in records[:4]]
    assert states == [JobState.COMPLETED, JobState.FAILED, JobState.FAILED, JobState.TIMEOUT]
    assert [record.exit_code for record in records[:2]] == [0, 7]
    assert records[4].exit_code == 99  # the task that ran out of time left its mark


def test_tasks_that_wait_are_listed_as_pending_indices(local: LocalHarness) -> None:
    job_id = local.start("-a", "1,4-6", "--wrap", "while [ ! -e go ]; do sleep 0.05; done")
    eventually(lambda: any(row.ref.task == 1 for row in local.queue(job_id)))

    rows = local.queue(job_id)

    running = [row for row in rows if row.pending_indices is None]
    (pending,) = [row for row in rows if row.pending_indices is not None]
    assert [(row.ref.task, row.state) for row in running] == [(1, JobState.RUNNING)]
    assert (str(pending.pending_indices), pending.state, pending.ref.task) == ("4-6", JobState.PENDING, None)
    (local.work / "go").touch()
    assert {record.state for record in local.ends(job_id)} == {JobState.COMPLETED}


def test_cancelling_an_array_ends_the_running_task_and_those_that_wait(local: LocalHarness) -> None:
    job_id = local.start("-a", "1-3", "--wrap", "echo up; sleep 1000")
    eventually(lambda: local.says("slurm-1_1.out", "up"))

    os.kill(local.supervisor(job_id), signal.SIGTERM)
    eventually(lambda: local.has_ended(job_id))

    ran, rest = sorted(local.accounting(job_id), key=lambda row: row.pending_indices is not None)
    assert (ran.ref.task, ran.state) == (1, JobState.CANCELLED)
    assert (str(rest.pending_indices), rest.raw_state) == ("2-3", f"CANCELLED by {os.getuid()}")
    assert [row.pending_indices for row in local.queue(job_id)] == [None, None]
    assert not (local.work / "slurm-1_2.out").exists()


def test_each_task_of_an_array_has_a_number_of_its_own_and_the_last_the_arrays(local: LocalHarness) -> None:
    job_id = local.start("-a", "1-3", "-o", "%j.out", "--wrap", "echo $SLURM_JOB_ID")

    own = [record.raw_job_id for record in local.ends(job_id)]

    assert own == [2, 3, 1]
    assert [(local.work / f"{number}.out").read_text(encoding="utf-8") for number in own] == [
        "2\n",
        "3\n",
        "1\n",
    ]
    assert local.is_unknown(2)
    assert local.start("--wrap", "true") == 4


def test_a_missing_interpreter_gives_slurms_error(local: LocalHarness) -> None:
    record = local.finish(local.script("#!/no/such/thing\n"))

    assert (record.state, record.exit_code) == (JobState.FAILED, 2)
    words = "jobmon: execve(): bad interpreter(/no/such/thing): No such file or directory"
    assert local.says("slurm-1.out", words)


def test_a_missing_working_directory_is_a_launch_failure(local: LocalHarness) -> None:
    log = str(local.work / "log")
    record = local.finish("-D", "/no/such/dir", "-o", log, "--wrap", "pwd")

    assert (record.state, record.signal) == (JobState.FAILED, 53)
    assert record.reason == "JobLaunchFailure: could not open /no/such/dir: No such file or directory"


def test_a_script_gets_its_arguments_and_runs_in_the_work_folder(local: LocalHarness) -> None:
    (local.work / "sub").mkdir()
    script = local.script('#!/bin/sh\nprintf "%s|" "$#" "$@" "$PWD" "$SLURM_SUBMIT_DIR"\n')

    record = local.finish("-D", "sub", script, "-t", "a b", "", "$x")

    assert local.says("sub/slurm-1.out", f"4|-t|a b||$x|{local.work}/sub|{local.work}|")
    assert record.workdir == f"{local.work}/sub"
    assert record.command == f"{script} -t 'a b' '' '$x'"


@pytest.mark.parametrize("name", ["a b", "a|b", "a'b\"c", "a\nb", "100%", "été-日本", "$(id)", "a;b", "-x"])
def test_names_may_hold_anything_that_a_file_name_may(local: LocalHarness, name: str) -> None:
    folder = local.work / name
    folder.mkdir()
    script = folder / f"{name}.sh"
    script.write_text('#!/bin/sh\nprintf "%s" "$SLURM_JOB_NAME" "$1"\n', encoding="utf-8")

    record = local.finish("-J", name, "-o", str(local.work / "%x.txt"), str(script), name)

    assert record.name == name
    assert (local.work / f"{name}.txt").read_text(encoding="utf-8") == name * 2
    assert local.accounting(1)[0].name == name


def test_a_file_name_that_is_not_utf8_is_kept(local: LocalHarness) -> None:
    script = local.work / os.fsdecode(b"\xff.sh")
    script.write_bytes(b'#!/bin/sh\necho "$1"\n')

    record = local.finish("-o", os.fsdecode(b"\xfe.out"), str(script), os.fsdecode(b"\xfd"))

    assert record.name == os.fsdecode(b"\xff.sh")
    assert Path(os.fsdecode(b"\xfe.out")).read_bytes() == b"\xfd\n"


def test_the_users_umask_holds_for_the_job_but_not_for_jobmons_own_files(local: LocalHarness) -> None:
    assert local.run("-o", "made/log", "--wrap", "umask; touch file", umask=0o027).returncode == 0
    local.ends(1)

    assert local.says("made/log", "0027")
    modes = {name: stat.S_IMODE((local.work / name).stat().st_mode) for name in ("made", "made/log", "file")}
    assert modes == {"made": 0o750, "made/log": 0o640, "file": 0o640}
    own = [path for path in local.folder(1).path.iterdir() if path.name != "slurm_script"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in own} == {0o600}
    assert stat.S_IMODE(local.folder(1).path.stat().st_mode) == 0o700


def test_the_job_has_the_users_environment_and_slurms_variables_of_its_own(local: LocalHarness) -> None:
    script = 'echo "$MINE|$SLURM_NTASKS|$SLURM_JOB_ID|$PYTHONPATH|$LC_ALL|$SLURM_JOB_NAME|$ENVIRONMENT"'
    submission = ("-J", "n", "--wrap", script)
    done = local.run(*submission, MINE="a\nb", SLURM_NTASKS="64", SLURM_JOB_ID="99", LC_ALL="C")
    assert done.returncode == 0
    local.ends(1)

    said = (local.work / "slurm-1.out").read_text(encoding="utf-8")
    assert said == f"a\nb||1|{REPOSITORY}|C|n|BATCH\n"


def test_export_limits_what_the_job_sees(local: LocalHarness) -> None:
    show = 'echo "$A|$B|$C|${HOME:+home}|${PATH:+path}|$SLURM_JOB_ID"'
    for export in ("NONE", "A,C=3", "ALL,C=3"):
        assert local.run(f"--export={export}", "--wrap", show, A="1", B="2").returncode == 0
    for job_id in (1, 2, 3):
        local.ends(job_id)

    said = [(local.work / f"slurm-{job_id}.out").read_text(encoding="utf-8") for job_id in (1, 2, 3)]
    assert said == ["|||home|path|1\n", "1||3|home|path|2\n", "1|2|3|home|path|3\n"]


def test_output_goes_where_the_patterns_say_and_missing_folders_are_made(local: LocalHarness) -> None:
    local.finish("-J", "n", "-o", "a/%x-%j/%%.out", "-e", "b/%4A.err", "--wrap", "echo out; echo err >&2")

    assert (local.work / "a/n-1/%.out").read_text(encoding="utf-8") == "out\n"
    assert (local.work / "b/0001.err").read_text(encoding="utf-8") == "err\n"


def test_stderr_joins_stdout_in_order_by_default(local: LocalHarness) -> None:
    local.finish("--wrap", "echo 1; echo 2 >&2; echo 3")

    assert (local.work / "slurm-1.out").read_text(encoding="utf-8") == "1\n2\n3\n"


@pytest.mark.parametrize(("mode", "text"), [("append", "old\nnew\n"), ("truncate", "new\n")])
def test_the_open_mode_is_honoured(local: LocalHarness, mode: str, text: str) -> None:
    (local.work / "log").write_text("old\n", encoding="utf-8")

    local.finish("-o", "log", "--open-mode", mode, "--wrap", "echo new")

    assert (local.work / "log").read_text(encoding="utf-8") == text


def test_output_that_cannot_be_opened_is_a_launch_failure_as_in_slurm(local: LocalHarness) -> None:
    (local.work / "taken").mkdir()

    record = local.finish("-o", "taken", "--wrap", "touch ran")

    assert (record.state, record.exit_code, record.signal) == (JobState.FAILED, 0, 53)
    assert record.reason == f"JobLaunchFailure: could not open {local.work}/taken: Is a directory"
    assert not (local.work / "ran").exists()


def test_stdin_is_the_given_file_or_empty(local: LocalHarness) -> None:
    (local.work / "in").write_text("fed\n", encoding="utf-8")

    local.finish("--wrap", "cat; echo end")
    local.finish("-i", "in", "--wrap", "cat")

    assert (local.work / "slurm-1.out").read_text(encoding="utf-8") == "end\n"
    assert (local.work / "slurm-2.out").read_text(encoding="utf-8") == "fed\n"


def test_a_job_inherits_no_descriptor_but_its_three(local: LocalHarness) -> None:
    local.finish("--wrap", "exec ls /proc/self/fd")

    assert local.says("slurm-1.out", "0\n1\n2\n3\n")  # 3 is the folder that ls reads
    assert not local.says("slurm-1.out", "4\n")
