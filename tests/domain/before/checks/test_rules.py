"""Rules about what no script shows: space, earlier jobs, the set-up of jobmon, Slurm's answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.paths import PathUse, Use
from jobmon_core.domain.before.batch_script.programs import programs_of
from jobmon_core.domain.before.batch_script.python_source import PythonSource
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.before.checks.facts import (
    Facts,
    PathFact,
    PathKind,
    PythonFact,
    Quota,
    Setup,
    SubmissionAnswer,
)
from jobmon_core.domain.before.checks.rules import (
    folders,
    gpus,
    inputs,
    past,
    safety,
    script,
    setup,
    shell,
)
from jobmon_core.domain.before.pending.model import Partition
from jobmon_core.domain.finding import Finding, Severity, failed, passed, warned, worst
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_settings import JobSettings

_GIB = 1024**3
_FULL = Disk(900 * _GIB, 1000 * _GIB, 9_000_000, 10_000_000)
_RUN = HistoryRecord(8123, 1, 1.0, state="COMPLETED", started_s=1, run_s=3600.0, limit_s=7200)
_FAILED = _RUN._replace(state="FAILED", outcome="failure")
_TIMED_OUT = _FAILED._replace(state="TIMEOUT", run_s=7200.0)


def _facts(*options: str, **known: object) -> Facts:
    text = "#!/bin/bash\n./solver --output_dir /out\n"
    return replace(Facts(read_request([*options, "job.sh"], {}, text), parse_script(text)), **known)  # type: ignore[arg-type] # fields by name


@pytest.mark.parametrize(
    ("room", "status"),
    [
        (_FULL, Severity.INFO),
        (replace(_FULL, free_bytes=9 * _GIB), Severity.WARNING),
        (replace(_FULL, free_bytes=190 * _GIB), Severity.WARNING),  # 19 %
        (replace(_FULL, free_bytes=210 * _GIB), Severity.INFO),
        (
            replace(_FULL, free_bytes=800 * _GIB, total_bytes=100_000 * _GIB),
            Severity.INFO,
        ),  # little, but a lot
        (replace(_FULL, free_bytes=_GIB // 2), Severity.CRITICAL),
        (replace(_FULL, free_inodes=0), Severity.CRITICAL),
        (replace(_FULL, free_inodes=500_000), Severity.WARNING),
        (replace(_FULL, total_inodes=0), Severity.INFO),
        (None, Severity.UNKNOWN),
    ],
)
def test_bytes_and_inodes_of_the_file_system(room: Disk | None, status: Severity) -> None:
    assert folders.room(_facts(room=room)).severity is status


@pytest.mark.parametrize(
    ("quota", "status"),
    [
        (Quota(10 * _GIB, 100 * _GIB, 10, 1000), Severity.INFO),
        (Quota(95 * _GIB, 100 * _GIB, 10, 1000), Severity.WARNING),
        (Quota(100 * _GIB, 100 * _GIB, 10, 1000), Severity.CRITICAL),
        (Quota(10 * _GIB, None, 1000, 1000), Severity.CRITICAL),
        (Quota(10 * _GIB, None, 10, None), Severity.INFO),
    ],
)
def test_the_quota_of_the_user(quota: Quota, status: Severity) -> None:
    assert folders.room(_facts(room=_FULL, quota=quota)).severity is status


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            "accelerate launch --num_processes=8 t.py",
            "line 2: accelerate starts 8 workers per node, but the job asks for 4 GPUs per node",
        ),
        ("python t.py", "but the job asks for 4 GPUs per node"),
        (
            "export CUDA_VISIBLE_DEVICES=5\npython t.py",
            "CUDA_VISIBLE_DEVICES=5, but the job has 4 GPUs per node, numbered from 0",
        ),
    ],
)
def test_the_gpus_of_each_node_are_not_called_those_of_the_job(lines: str, text: str) -> None:
    of_job = f"#!/bin/bash\n{lines}\n"
    script_ = parse_script(of_job)
    request = read_request(["--nodes=2", "--gres=gpu:4", "job.sh"], {}, of_job)
    programs = tuple(programs_of(script_, {}))
    python = tuple(PythonFact(each, "python", source=PythonSource()) for each in programs)
    facts = Facts(request, script_, programs=programs, python=python)
    assert text in " ".join(rule(facts).text for rule in (gpus.workers, gpus.gpu_ids))


def test_an_output_folder_of_the_job_configuration_that_is_a_file() -> None:
    item = folders.output_folders(_facts(output_dir="/out", paths={"/out": PathFact("/out", PathKind.FILE)}))
    assert item.severity is Severity.CRITICAL
    assert item.text == "jobmon.yaml: /out is a file, not a folder"


def test_a_folder_that_cannot_be_looked_into_is_not_called_empty() -> None:
    item = folders.earlier_outputs(_facts(output_dir="/locked/out"))
    assert item.severity is Severity.UNKNOWN
    assert "/locked/out" in item.text


def test_paths_below_a_folder_that_cannot_be_searched_are_not_called_usable() -> None:
    uses = (PathUse(Use.INPUT, "/locked/a.csv", 2), PathUse(Use.OUTPUT_FOLDER, "/locked/out", 2))
    for rule in (inputs.inputs, folders.output_folders):
        item = rule(_facts(uses=uses))
        assert (item.severity, "no permission" in item.text) == (Severity.UNKNOWN, True)


def test_a_long_option_of_the_interpreter_is_not_set_e() -> None:
    statuses = []
    for option in ("--noprofile", "-e"):
        script_ = parse_script(f"#!/bin/bash {option}\n./solver\n./report\necho end\n")
        facts = replace(_facts(), script=script_, programs=tuple(programs_of(script_, {})))
        statuses.append(shell.exit_status(facts).severity)
    assert statuses == [Severity.WARNING, Severity.INFO]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (PathKind.FOLDER, "/s is a folder, not a script"),
        (PathKind.OTHER, "/s is a pipe or a device, not a script"),
        (PathKind.UNKNOWN, "/s cannot be looked at"),
    ],
)
def test_a_script_that_is_no_file(kind: PathKind, text: str) -> None:
    assert script.script(_facts(script_file=PathFact("/s", kind))).text == text


def test_the_advice_on_a_signal_keeps_its_time() -> None:
    text = "#!/bin/bash\ntrap 'save' USR1\n./solver &\nwait\n"
    facts = Facts(read_request(["--signal=USR1@120", "job.sh"], {}, text), parse_script(text))
    assert safety.signals(facts).advice == "Use --signal=B:USR1@120."


@pytest.mark.parametrize("trap", ["USR1", "SIGUSR1", "10"])
@pytest.mark.parametrize("signal", ["B:USR1", "B:SIGUSR1@60", "B:10@60"])
def test_a_signal_and_its_trap_may_be_written_as_a_name_or_a_number(trap: str, signal: str) -> None:
    text = f"#!/bin/bash\ntrap 'save' {trap}\n./solver &\nwait\n"
    facts = Facts(read_request([f"--signal={signal}", "job.sh"], {}, text), parse_script(text))
    assert safety.signals(facts).severity is Severity.INFO


@pytest.mark.parametrize(
    ("limit", "run", "status", "text"),
    [
        ("120", _RUN, Severity.INFO, "the longest completed run, 8123, took 1h"),
        ("60", _RUN, Severity.WARNING, "8123 took 1h, and the time limit is 1h"),
        ("120", _TIMED_OUT, Severity.WARNING, "8123, reached its time limit of at most 2h"),
        ("180", _TIMED_OUT, Severity.INFO, "this one requests 3h"),
        ("120", _FAILED._replace(cause="cuda_oom.fragments"), Severity.WARNING, "ran out of GPU memory"),
        ("120", _FAILED._replace(state="OUT_OF_MEMORY"), Severity.WARNING, "ran out of memory"),
        ("120", _FAILED, Severity.INFO, "8123, ended FAILED"),
    ],
)
def test_earlier_jobs_of_the_script(limit: str, run: HistoryRecord, status: Severity, text: str) -> None:
    item = past.past_runs(_facts("-t", limit, alike=(run,)))
    assert item.severity is status
    assert text in item.text


def test_an_empty_list_is_to_be_filled() -> None:
    uses = (PathUse(Use.LIST, "/w/list.txt", 2),)
    paths = {"/w/list.txt": PathFact("/w/list.txt", PathKind.FILE, lines=0)}
    item = inputs.split(_facts("--array=1-3", uses=uses, paths=paths))
    assert (item.severity, item.advice) == (Severity.CRITICAL, "Write one line for each task into it.")
    unread = {"/w/list.txt": PathFact("/w/list.txt", PathKind.FILE)}
    assert inputs.split(_facts("--array=1-3", uses=uses, paths=unread)).severity is Severity.UNKNOWN


def test_a_large_first_run_is_advised_to_begin_small() -> None:
    assert "small part" in past.past_runs(_facts("--gres=gpu:8", "-t", "24:00:00")).advice
    assert past.past_runs(_facts("-t", "10")).advice == ""


def test_checkpoints_that_are_too_rare_for_the_time_limit() -> None:
    interval_s = 4 * 3600.0
    assert safety.checkpoints(_facts("-t", "6:00:00", saves_every_s=interval_s)).severity is Severity.WARNING
    enough = _facts("-t", "24:00:00", saves_every_s=interval_s, checkpoint_dir="/c")
    assert safety.checkpoints(enough).severity is Severity.INFO


def test_a_job_of_the_same_script_that_writes_to_the_same_folder() -> None:
    assert safety.running(_facts()).severity is Severity.INFO
    assert safety.running(_facts(running=("8123",))).severity is Severity.INFO


@pytest.mark.parametrize(
    ("known", "status"),
    [
        (Setup(("success", "error")), Severity.INFO),
        (Setup(("error",)), Severity.WARNING),
        (Setup(fault="config.json is not usable"), Severity.CRITICAL),
    ],
)
def test_somebody_gets_the_messages(known: Setup, status: Severity) -> None:
    assert setup.channels(_facts(setup=known)).severity is status


@pytest.mark.parametrize(
    ("options", "resumes"),
    [
        ("--resume", True),
        ("--resume_from_checkpoint=last", True),
        ("--overwrite_output_dir", True),
        ("trainer.ckpt_path=a.ckpt", True),
        ("--load out/iter_5", True),
        ("-cpi state.cpt", True),
        ("--resume False", False),
        ("resume=null", False),
        ("--no-resume", False),
        ("--dataloader 4", False),
        ("--load_in_8bit", False),
        ("--input data/restart/download.csv", False),
    ],
)
def test_a_program_resumes_by_the_name_of_an_option_that_is_not_off(options: str, *, resumes: bool) -> None:
    text = f"#!/bin/bash\n./solver --output_dir /out {options}\n"
    parsed = parse_script(text)
    programs, folder = tuple(programs_of(parsed, {})), PathFact("/out", PathKind.FOLDER, entries=3)
    uses = (PathUse(Use.OUTPUT_FOLDER, "/out", 2, "./solver"),)
    item = folders.earlier_outputs(_facts(programs=programs, uses=uses, paths={"/out": folder}))
    assert (item.severity is Severity.INFO) is resumes, item


def test_patterns_of_the_job_configuration() -> None:
    assert setup.patterns(_facts()).severity is Severity.UNKNOWN
    said = JobSettings("/w/jobmon.yaml", total_items=5)
    assert setup.patterns(_facts(settings=said)).text == (
        "/w/jobmon.yaml has no pattern of outputs: jobmon uses its own"
    )
    whole = setup.patterns(_facts(settings=replace(said, expected_outputs=2)))
    assert (whole.severity, whole.advice) == (Severity.INFO, "")


def test_the_monitor_cannot_be_restarted_where_nothing_can_be_installed() -> None:
    item = setup.monitor_returns(_facts("-t", "3-0", setup=Setup(can_return=False)))
    assert (item.severity, "--install" in item.advice) == (Severity.WARNING, False)


def test_what_sbatch_says_about_an_accepted_job_is_passed_on() -> None:
    answer = SubmissionAnswer(True, "sbatch accepts the job", remark="Warning: setting nnodes to 4")
    warning = script.test_only(_facts(test_only=answer))
    assert (warning.severity, "setting nnodes to 4" in warning.text) == (Severity.WARNING, True)
    told = script.test_only(_facts(test_only=answer._replace(remark="5 hours left")))
    assert (told.severity, "5 hours left" in told.text) == (Severity.INFO, True)


def test_whether_the_progress_of_earlier_runs_could_be_read() -> None:
    assert setup.progress(_facts()).severity is Severity.UNKNOWN
    unread = setup.progress(_facts(alike=(_RUN,)))
    assert unread.text == "jobmon could not read the progress of any earlier run"
    assert "jobmon.yaml" in unread.advice
    read = setup.progress(_facts(alike=(_RUN._replace(done=3.0),)))
    assert (read.severity, read.advice) == (Severity.INFO, "")


def test_the_monitor_of_a_long_job_is_restarted_by_something() -> None:
    assert setup.monitor_returns(_facts("-t", "10")).severity is Severity.INFO
    assert setup.monitor_returns(_facts("-t", "3-0")).severity is Severity.WARNING
    assert (
        setup.monitor_returns(_facts("-t", "3-0", setup=Setup(returns_by="cron"))).severity is Severity.INFO
    )


@pytest.mark.parametrize(
    ("options", "partition", "is_long"),
    [
        (("--time=UNLIMITED",), None, True),
        (("-t", "0"), Partition("main", 3600), True),
        ((), Partition("main", 3 * 86_400), True),  # the partition's limit is the default
        ((), Partition("main", 3 * 86_400, 3600), False),
        ((), Partition("main"), True),  # neither has a limit
        ((), None, False),  # not known, e.g. a local job
        (("-t", "soon"), Partition("main"), False),  # sbatch refuses it
    ],
)
def test_a_job_without_a_time_limit_of_its_own_may_be_long(
    options: tuple[str, ...], partition: Partition | None, *, is_long: bool
) -> None:
    facts = _facts(*options, partition=partition)
    assert (setup.monitor_returns(facts).severity is Severity.WARNING) == is_long
    saves = replace(facts, saves_every_s=40 * 3600.0, checkpoint_dir="/c")
    assert (safety.checkpoints(saves).severity is Severity.UNKNOWN) == (not is_long)


@pytest.mark.parametrize(
    ("limit", "partition", "status"),
    [
        ("2:00:00", Partition("main", 3600, None, "UP"), Severity.CRITICAL),
        ("0:30:00", Partition("main", 3600, None, "UP"), Severity.INFO),
        ("2:00:00", Partition("main", None, None, "UP"), Severity.INFO),
        ("2:00:00", Partition("main", None, None, "DRAIN"), Severity.WARNING),
        ("2:00:00", None, Severity.UNKNOWN),
        ("UNLIMITED", Partition("main", 3600, None, "UP"), Severity.CRITICAL),
        ("UNLIMITED", Partition("main", None, None, "UP"), Severity.INFO),
    ],
)
def test_the_time_limit_against_the_partition(
    limit: str, partition: Partition | None, status: Severity
) -> None:
    assert script.time_limit(_facts("-t", limit, partition=partition)).severity is status


def test_what_sbatch_answers() -> None:
    refused = script.test_only(_facts(test_only=SubmissionAnswer(False, "Invalid account")))
    assert refused.severity is Severity.CRITICAL
    assert refused.advice.endswith("sbatch refuses such a job, or it never starts.")  # by EnforcePartLimits
    silent = script.test_only(_facts(test_only=SubmissionAnswer(None, "no answer")))
    assert silent.severity is Severity.WARNING  # "no problem found, you can submit it" would be false
    later = SubmissionAnswer(True, "sbatch accepts the job", 11_000, "n17", "main")
    assert script.test_only(_facts(now_s=200.0, test_only=later)).text.endswith("it could start in 3h on n17")
    never = later._replace(starts_s=20_000_000_000)  # behind a job without a time limit
    assert script.test_only(_facts(now_s=200.0, test_only=never)).text.endswith(
        "accepts the job; Slurm has no estimate of its start"
    )


@pytest.mark.parametrize(
    ("items", "code"),
    [
        ((), 0),
        ((passed("b"),), 0),
        ((warned("b", "c"),), 1),
        ((warned("b", "c"), failed("b", "c")), 2),
    ],
)
def test_the_exit_code(items: tuple[Finding, ...], code: int) -> None:
    assert worst(items) == code


@pytest.mark.parametrize(
    ("limit", "interval_s", "status"),
    [
        ("1:00:00", 3000.0, Severity.WARNING),
        ("1:00:00", 1800.0, Severity.INFO),
        ("UNLIMITED", 9e9, Severity.INFO),
        ("1:00:00", None, Severity.UNKNOWN),
    ],
)
def test_an_attempt_must_save_before_its_time_limit(
    limit: str, interval_s: float | None, status: Severity
) -> None:
    assert safety.saves(_facts("-t", limit, saves_every_s=interval_s)).severity is status


def test_on_this_machine_a_folder_in_tmp_is_found_by_the_next_attempt() -> None:
    facts = _facts(checkpoint_dir="/tmp/ckpt", folder="/home/me")
    assert safety.folder(facts).severity is Severity.WARNING
    assert safety.folder(replace(facts, folder="/tmp/run")).severity is Severity.INFO
    assert safety.folder(replace(facts, is_slurm=False)).severity is Severity.UNKNOWN
