from __future__ import annotations

import os
import signal
import stat
from pathlib import Path

import pytest

from jobmon_core.domain.slurm.states import JobState
from tests.scheduler.local.bench import REPOSITORY, Bench
from tests.support.waiting import eventually


@pytest.mark.parametrize("code", [1, 3, 127, 137, 255])
def test_an_exit_code_is_told_as_it_was(bench: Bench, code: int) -> None:
    record = bench.finish("--wrap", f"exit {code}")

    assert (record.state, record.exit_code, record.signal) == (JobState.FAILED, code, None)
    assert record.reason == "NonZeroExitCode"


def test_a_job_that_ends_well_is_completed_and_measured(bench: Bench) -> None:
    job_id = bench.start("--wrap", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")

    (record,) = bench.ends(job_id)
    (row,) = bench.accounting(job_id)

    assert (record.state, record.exit_code, record.reason) == (JobState.COMPLETED, 0, "")
    assert row.usage.cpu_s is not None
    assert row.usage.cpu_s > 0
    assert row.usage.max_rss_bytes is not None
    assert 2**20 < row.usage.max_rss_bytes < 2**30
    assert row.elapsed_s is not None
    assert row.start_s is not None
    assert row.submit_s is not None
    assert row.submit_s <= row.start_s


@pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM", "HUP"])
def test_a_signal_is_told_by_its_number(bench: Bench, name: str) -> None:
    record = bench.finish("--wrap", f"kill -{name} $$")

    assert (record.state, record.exit_code) == (JobState.FAILED, 0)
    assert record.signal == signal.Signals[f"SIG{name}"]
    assert record.reason.startswith(f"RaisedSignal:{record.signal}(")


def test_a_time_limit_ends_the_job_and_the_log_says_so(bench: Bench) -> None:
    record = bench.finish("-t", "0:01", "-e", "err.txt", "--wrap", "sleep 1000")

    assert (record.state, record.reason, record.limit_s) == (JobState.TIMEOUT, "TimeLimit", 1)
    host = os.uname().nodename.split(".", 1)[0]
    said = (bench.work / "err.txt").read_text(encoding="utf-8")
    assert said.startswith(f"slurmstepd: error: *** JOB 1 ON {host} CANCELLED AT 2")
    assert said.endswith(" DUE TO TIME LIMIT ***\n")


def test_a_job_that_ignores_sigterm_is_killed_after_the_wait(bench: Bench) -> None:
    record = bench.finish("-t", "0:03", "--wrap", "trap '' TERM; while :; do sleep 0.05; done")

    assert (record.state, record.signal) == (JobState.TIMEOUT, signal.SIGKILL)


def test_a_script_that_is_ended_does_not_go_on_to_its_next_command(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        record = bench.finish("-t", "0:01", "--wrap", f"sleep 1000; touch went-on-{name}")
        assert record.state is JobState.TIMEOUT

    assert not list(bench.work.glob("went-on-*"))


def test_a_job_may_clean_up_when_its_time_is_over(bench: Bench) -> None:
    record = bench.finish("-t", "0:03", "--wrap", "trap 'echo saved; exit 0' TERM; sleep 1000 & wait")

    assert (record.state, record.exit_code, record.signal) == (JobState.TIMEOUT, 0, None)
    assert bench.says("slurm-1.out", "saved")


def test_sigterm_to_the_shepherd_cancels_and_names_who_sent_it(bench: Bench) -> None:
    job_id = bench.start("--wrap", "echo up; sleep 1000")
    eventually(lambda: bench.says("slurm-1.out", "up"))

    os.kill(bench.supervisor(job_id), signal.SIGTERM)

    (record,) = bench.ends(job_id)
    (row,) = bench.accounting(job_id)
    (listed,) = bench.queue(job_id)
    assert (record.state, listed.state, listed.raw_state) == (
        JobState.CANCELLED,
        JobState.CANCELLED,
        "CANCELLED",
    )
    assert (row.raw_state, row.cancelled_by) == (f"CANCELLED by {os.getuid()}", os.getuid())
    assert bench.says("slurm-1.out", "CANCELLED AT 2")
    assert not bench.says("slurm-1.out", "DUE TO")


def test_nothing_that_the_script_started_outlives_it(bench: Bench) -> None:
    stray = "setsid sleep 1000 & echo $! > own-session; timeout 1000 sleep 1000 & echo $! > own-group"
    record = bench.finish("--wrap", f"{stray}; (sleep 1000 & echo $! > orphan)")

    assert record.state is JobState.COMPLETED
    for name in ("own-session", "own-group", "orphan"):
        pid = (bench.work / name).read_text(encoding="utf-8").strip()
        assert not Path("/proc", pid).exists()


def test_the_tasks_of_an_array_run_one_by_one_and_end_each_in_its_own_way(bench: Bench) -> None:
    script = """
        echo "$SLURM_ARRAY_JOB_ID $SLURM_ARRAY_TASK_COUNT $SLURM_ARRAY_TASK_MIN-$SLURM_ARRAY_TASK_MAX"
        mkdir alone || exit 99
        case $SLURM_ARRAY_TASK_ID in 1) code=0;; 3) code=7;; 5) kill -9 $$;; 7) sleep 1000;; esac
        rmdir alone; exit $code"""
    job_id = bench.start("-a", "1-9:2%1", "-t", "0:03", "--wrap", script.replace("kill", "rmdir alone; kill"))

    records = bench.ends(job_id)

    assert bench.says("slurm-1_9.out", "1 5 1-9")
    assert [record.ref.task for record in records] == [1, 3, 5, 7, 9]
    states = [record.state for record in records[:4]]
    assert states == [JobState.COMPLETED, JobState.FAILED, JobState.FAILED, JobState.TIMEOUT]
    assert [record.exit_code for record in records[:2]] == [0, 7]
    assert records[4].exit_code == 99  # the task that ran out of time left its mark


def test_tasks_that_wait_are_listed_as_pending_indices(bench: Bench) -> None:
    job_id = bench.start("-a", "1,4-6", "--wrap", "while [ ! -e go ]; do sleep 0.05; done")
    eventually(lambda: any(row.ref.task == 1 for row in bench.queue(job_id)))

    rows = bench.queue(job_id)

    running = [row for row in rows if row.pending_indices is None]
    (pending,) = [row for row in rows if row.pending_indices is not None]
    assert [(row.ref.task, row.state) for row in running] == [(1, JobState.RUNNING)]
    assert (str(pending.pending_indices), pending.state, pending.ref.task) == ("4-6", JobState.PENDING, None)
    (bench.work / "go").touch()
    assert {record.state for record in bench.ends(job_id)} == {JobState.COMPLETED}


def test_cancelling_an_array_ends_the_running_task_and_those_that_wait(bench: Bench) -> None:
    job_id = bench.start("-a", "1-3", "--wrap", "echo up; sleep 1000")
    eventually(lambda: bench.says("slurm-1_1.out", "up"))

    os.kill(bench.supervisor(job_id), signal.SIGTERM)
    eventually(lambda: bench.has_ended(job_id))

    ran, rest = sorted(bench.accounting(job_id), key=lambda row: row.pending_indices is not None)
    assert (ran.ref.task, ran.state) == (1, JobState.CANCELLED)
    assert (str(rest.pending_indices), rest.raw_state) == ("2-3", f"CANCELLED by {os.getuid()}")
    assert [row.pending_indices for row in bench.queue(job_id)] == [None, None]
    assert not (bench.work / "slurm-1_2.out").exists()


def test_each_task_of_an_array_has_a_number_of_its_own_and_the_last_the_arrays(bench: Bench) -> None:
    job_id = bench.start("-a", "1-3", "-o", "%j.out", "--wrap", "echo $SLURM_JOB_ID")

    own = [record.raw_job_id for record in bench.ends(job_id)]

    assert own == [2, 3, 1]
    assert [(bench.work / f"{number}.out").read_text(encoding="utf-8") for number in own] == [
        "2\n",
        "3\n",
        "1\n",
    ]
    assert bench.is_unknown(2)
    assert bench.start("--wrap", "true") == 4


def test_output_goes_where_the_patterns_say_and_missing_folders_are_made(bench: Bench) -> None:
    bench.finish("-J", "n", "-o", "a/%x-%j/%%.out", "-e", "b/%4A.err", "--wrap", "echo out; echo err >&2")

    assert (bench.work / "a/n-1/%.out").read_text(encoding="utf-8") == "out\n"
    assert (bench.work / "b/0001.err").read_text(encoding="utf-8") == "err\n"


def test_stderr_joins_stdout_in_order_unless_told_otherwise(bench: Bench) -> None:
    bench.finish("--wrap", "echo 1; echo 2 >&2; echo 3")

    assert (bench.work / "slurm-1.out").read_text(encoding="utf-8") == "1\n2\n3\n"


@pytest.mark.parametrize(("mode", "text"), [("append", "old\nnew\n"), ("truncate", "new\n")])
def test_the_open_mode_is_honoured(bench: Bench, mode: str, text: str) -> None:
    (bench.work / "log").write_text("old\n", encoding="utf-8")

    bench.finish("-o", "log", "--open-mode", mode, "--wrap", "echo new")

    assert (bench.work / "log").read_text(encoding="utf-8") == text


def test_output_that_cannot_be_opened_is_a_launch_failure_as_in_slurm(bench: Bench) -> None:
    (bench.work / "taken").mkdir()

    record = bench.finish("-o", "taken", "--wrap", "touch ran")

    assert (record.state, record.exit_code, record.signal) == (JobState.FAILED, 0, 53)
    assert record.reason == f"JobLaunchFailure: could not open {bench.work}/taken: Is a directory"
    assert not (bench.work / "ran").exists()


def test_input_comes_from_the_file_named_else_there_is_none(bench: Bench) -> None:
    (bench.work / "in").write_text("fed\n", encoding="utf-8")

    bench.finish("--wrap", "cat; echo end")
    bench.finish("-i", "in", "--wrap", "cat")

    assert (bench.work / "slurm-1.out").read_text(encoding="utf-8") == "end\n"
    assert (bench.work / "slurm-2.out").read_text(encoding="utf-8") == "fed\n"


def test_a_missing_interpreter_fails_in_slurmstepds_words(bench: Bench) -> None:
    record = bench.finish(bench.script("#!/no/such/thing\n"))

    assert (record.state, record.exit_code) == (JobState.FAILED, 2)
    words = "slurmstepd: error: execve(): bad interpreter(/no/such/thing): No such file or directory"
    assert bench.says("slurm-1.out", words)


def test_a_missing_work_folder_is_told_and_replaced_as_in_slurm(bench: Bench) -> None:
    log = str(bench.work / "log")
    record = bench.finish("-D", "/no/such/dir", "-o", log, "--wrap", "pwd")

    assert record.state is JobState.COMPLETED
    assert bench.says(
        "log", "couldn't chdir to `/no/such/dir': No such file or directory: going to /tmp instead"
    )
    assert bench.says("log", "\n/tmp\n")


def test_a_script_gets_its_arguments_and_runs_in_the_work_folder(bench: Bench) -> None:
    (bench.work / "sub").mkdir()
    script = bench.script('#!/bin/sh\nprintf "%s|" "$#" "$@" "$PWD" "$SLURM_SUBMIT_DIR"\n')

    record = bench.finish("-D", "sub", script, "-t", "a b", "", "$x")

    assert bench.says("sub/slurm-1.out", f"4|-t|a b||$x|{bench.work}/sub|{bench.work}|")
    assert record.workdir == f"{bench.work}/sub"
    assert record.command == f"{script} -t a b  $x"


@pytest.mark.parametrize("name", ["a b", "a|b", "a'b\"c", "a\nb", "100%", "été-日本", "$(id)", "a;b", "-x"])
def test_names_may_hold_anything_that_a_file_name_may(bench: Bench, name: str) -> None:
    folder = bench.work / name
    folder.mkdir()
    script = folder / f"{name}.sh"
    script.write_text('#!/bin/sh\nprintf "%s" "$SLURM_JOB_NAME" "$1"\n', encoding="utf-8")

    record = bench.finish("-J", name, "-o", str(bench.work / "%x.txt"), str(script), name)

    assert record.name == name
    assert (bench.work / f"{name}.txt").read_text(encoding="utf-8") == name * 2
    assert bench.accounting(1)[0].name == name


def test_a_file_name_that_is_no_text_is_kept(bench: Bench) -> None:
    script = bench.work / os.fsdecode(b"\xff.sh")
    script.write_bytes(b'#!/bin/sh\necho "$1"\n')

    record = bench.finish("-o", os.fsdecode(b"\xfe.out"), str(script), os.fsdecode(b"\xfd"))

    assert record.name == os.fsdecode(b"\xff.sh")
    assert Path(os.fsdecode(b"\xfe.out")).read_bytes() == b"\xfd\n"


def test_the_users_umask_holds_for_the_job_but_not_for_jobmons_own_files(bench: Bench) -> None:
    assert bench.run("-o", "made/log", "--wrap", "umask; touch file", umask=0o027).returncode == 0
    bench.ends(1)

    assert bench.says("made/log", "0027")
    modes = {name: stat.S_IMODE((bench.work / name).stat().st_mode) for name in ("made", "made/log", "file")}
    assert modes == {"made": 0o750, "made/log": 0o640, "file": 0o640}
    own = [path for path in bench.folder(1).path.iterdir() if path.name != "slurm_script"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in own} == {0o600}
    assert stat.S_IMODE(bench.folder(1).path.stat().st_mode) == 0o700


def test_the_job_has_the_users_environment_and_slurms_variables_of_its_own(bench: Bench) -> None:
    script = 'echo "$MINE|$SLURM_NTASKS|$SLURM_JOB_ID|$PYTHONPATH|$LC_ALL|$SLURM_JOB_NAME|$ENVIRONMENT"'
    submission = ("-J", "n", "--wrap", script)
    done = bench.run(*submission, MINE="a\nb", SLURM_NTASKS="64", SLURM_JOB_ID="99", LC_ALL="C")
    assert done.returncode == 0
    bench.ends(1)

    said = (bench.work / "slurm-1.out").read_text(encoding="utf-8")
    assert said == f"a\nb||1|{REPOSITORY}|C|n|BATCH\n"


def test_export_limits_what_the_job_sees(bench: Bench) -> None:
    show = 'echo "$A|$B|$C|${HOME:+home}|${PATH:+path}|$SLURM_JOB_ID"'
    for export in ("NONE", "A,C=3", "ALL,C=3"):
        assert bench.run(f"--export={export}", "--wrap", show, A="1", B="2").returncode == 0
    for job_id in (1, 2, 3):
        bench.ends(job_id)

    said = [(bench.work / f"slurm-{job_id}.out").read_text(encoding="utf-8") for job_id in (1, 2, 3)]
    assert said == ["|||home|path|1\n", "1||3|home|path|2\n", "1|2|3|home|path|3\n"]


def test_a_job_sees_no_signal_blocked_or_ignored_although_nohup_started_it(bench: Bench) -> None:
    assert bench.run("--wrap", "grep -E 'Sig(Blk|Ign)' /proc/self/status", before="nohup").returncode == 0
    bench.ends(1)

    lines = (bench.work / "slurm-1.out").read_text(encoding="utf-8").split()
    # 32 and 33 are the C library's own: it lets no program set them, so they come down from whoever ran this
    masks = [int(mask, 16) & ~(0b11 << 31) for mask in lines[1::2]]
    assert (lines[::2], masks) == (["SigBlk:", "SigIgn:"], [0, 0])


def test_a_job_inherits_no_descriptor_but_its_three(bench: Bench) -> None:
    bench.finish("--wrap", "exec ls /proc/self/fd")

    assert bench.says("slurm-1.out", "0\n1\n2\n3\n")  # 3 is the folder that ls reads
    assert not bench.says("slurm-1.out", "4\n")
