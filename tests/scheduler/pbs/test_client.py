"""What jobmon reads from the commands of PBS, which run here as real programs."""

from __future__ import annotations

import re
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import JobRow, NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.pbs import record, values
from jobmon_core.scheduler.pbs.client import PbsScheduler
from jobmon_core.scheduler.pbs.listing import defect_of, read_listing
from jobmon_core.scheduler.pbs.record import Record, read_json, read_text, rows_of
from jobmon_core.system.runner import Runner
from tests.support.fake_pbs import RECORDINGS, FakePbs, PbsRunner, ended_job, pbs_job
from tests.support.fake_runner import FakeRunner, said

needs_recordings = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="the recorded answers of OpenPBS are not on this machine"
)
# pbs_resources(7B): a limit on memory that no recorded job had
DOCUMENTED = {"Resource_List.mem"}
HISTORY_OFF = "qstat: PBS is not configured to maintain job history 0.pbs1\n"


@pytest.fixture
def scheduler(pbs: FakePbs) -> PbsScheduler:  # noqa: ARG001 - its commands are on PATH
    return PbsScheduler(Runner())


def rows(scheduler: PbsScheduler, job_ids: Collection[int]) -> tuple[JobRow, ...]:
    answer = scheduler.ask_queue("me")
    assert isinstance(answer, str)
    return scheduler.read_queue(answer, job_ids)


def test_one_listing_shows_all_jobs_of_the_user(pbs: FakePbs, scheduler: PbsScheduler) -> None:
    pbs.put({"1.pbs1": pbs_job(), "2.pbs1": pbs_job("Q"), "3.pbs1": pbs_job(user="other")})
    found = rows(scheduler, (1, 2, 3))
    assert [(row.ref.job_id, row.state) for row in found] == [(1, JobState.RUNNING), (2, JobState.PENDING)]
    assert pbs.calls() == [["qstat", "-t", "-s", "-u", "me"]]


@pytest.mark.parametrize(
    ("letter", "raw_state"),
    [
        *[("Q", "PENDING"), ("H", "PENDING (held)"), ("W", "PENDING (waits for its time)")],
        *[("T", "PENDING (in transit)"), ("R", "RUNNING"), ("S", "SUSPENDED"), ("E", "COMPLETING")],
        ("Z", "UNKNOWN (PBS: Z)"),
    ],
)
def test_each_letter_has_its_state(
    pbs: FakePbs, scheduler: PbsScheduler, letter: str, raw_state: str
) -> None:
    pbs.put({"1.pbs1": pbs_job(letter)})
    (row,) = rows(scheduler, (1,))
    assert row.raw_state == raw_state
    assert row.state.is_alive


@pytest.mark.parametrize("letter", ["F", "C", "X"])
def test_an_ended_job_in_a_listing_is_left_out(letter: str) -> None:
    line = f"7.pbs1          me       workq    train         --    1   1    --    -- {letter} 00:00\n"
    assert read_listing(line, (7,)) == ()


def test_the_wide_columns_of_torque_are_read() -> None:
    text = (
        "\nhead.cluster: \n"
        "Job ID             Username    Queue    Jobname    SessID  NDS   TSK   Memory   Time    S  Time\n"
        "------------------ ----------- -------- ---------- ------ ----- ------ ------ --------- - --------\n"
        "512.head.cluster   me          batch    train       31012     1      4    8gb  24:00:00 R 01:02:03\n"
    )
    assert defect_of(text) == ""
    (row,) = read_listing(text, (512,))
    assert row.state is JobState.RUNNING


def test_waiting_subjobs_share_a_row_as_in_slurm(pbs: FakePbs, scheduler: PbsScheduler) -> None:
    subjobs = {f"5[{index}].pbs1": pbs_job("Q") for index in range(1, 6)}
    pbs.put({"5[].pbs1": pbs_job("B"), **subjobs, "5[2].pbs1": pbs_job()})
    running, waiting = rows(scheduler, (5,))
    assert running.ref == JobRef(5, 2)
    assert str(waiting.pending_indices) == "1,3-5"


@pytest.mark.parametrize("fault", ["down", "half", "forbidden"])
def test_a_listing_that_is_no_answer_is_unreachable(
    pbs: FakePbs, scheduler: PbsScheduler, fault: str
) -> None:
    pbs.put({"1.pbs1": pbs_job()})
    pbs.fail(fault)
    assert isinstance(scheduler.ask_queue("me"), Unreachable)


@pytest.mark.parametrize("fault", ["down", "half", "empty", "forbidden"])
def test_a_record_that_is_no_answer_is_unreachable(pbs: FakePbs, scheduler: PbsScheduler, fault: str) -> None:
    pbs.put({"1.pbs1": ended_job(0)})
    pbs.fail(fault)
    assert isinstance(scheduler.ask_record(1), Unreachable)


def test_a_server_that_hangs_is_unreachable(pbs: FakePbs) -> None:
    pbs.fail("hung")
    assert isinstance(PbsScheduler(PbsRunner(pbs)).ask_record(1), Unreachable)


def test_has_finished_without_a_record_is_no_end() -> None:
    runner = FakeRunner().on("qstat", "-x", answers=[said("garbage")])
    runner.on("qstat", "-f", answers=[said("", "qstat: 1.pbs1 Job has finished, use -x", 35)])
    assert isinstance(PbsScheduler(runner).ask_record(1), Unreachable)


def test_only_a_sentence_about_this_job_says_that_it_is_unknown() -> None:
    runner = FakeRunner().on("qstat", answers=[said("{}", "qstat: Unknown Job Id 12.pbs1\n", 153)])
    assert isinstance(PbsScheduler(runner).ask_record(1), Unreachable)
    assert isinstance(PbsScheduler(runner).ask_record(12), Unreachable)  # no sentence about the array 12[]


def test_a_job_without_history_is_unknown_and_says_why(pbs: FakePbs, scheduler: PbsScheduler) -> None:
    pbs.put({"1.pbs1": ended_job(0)})
    pbs.keep_history(on=False)
    answer = scheduler.ask_record(1)
    assert isinstance(answer, NotListed)
    assert "job_history_enable" in answer.why


def test_torque_is_read_without_its_xml() -> None:
    text = "Job Id: 1.pbs1\n    Job_Name = train\n    job_state = C\n    Exit_status = 3\n\n"
    runner = FakeRunner().on("qstat", "-x", "-f", "-F", answers=[said("", "usage: qstat [-f]\n", 2)])
    runner.on("qstat", "-x", "-f", "1", answers=[said("<Data></Data>")])
    runner.on("qstat", "-f", answers=[said(text)])
    answer = PbsScheduler(runner).ask_record(1)
    assert isinstance(answer, tuple)
    (row,) = answer
    assert (row.state, row.exit_code) == (JobState.FAILED, 3)


def test_each_query_of_a_record_names_one_job(pbs: FakePbs, scheduler: PbsScheduler) -> None:
    pbs.put({"1.pbs1": pbs_job()})
    scheduler.ask_record(1)
    assert pbs.calls() == [["qstat", "-x", "-f", "-F", "json", "1"]]


def test_the_logs_of_an_array_are_templates(pbs: FakePbs, scheduler: PbsScheduler) -> None:
    path = "pbs1:/home/me/100%/train.o5.^array_index^"
    pbs.put({"5[].pbs1": pbs_job("B", Output_Path=path, Join_Path="oe"), "5[1].pbs1": pbs_job()})
    scheduler.ask_record(5)
    template = "/home/me/100%%/train.o5.%a"
    assert scheduler.ask_log_templates(5) == LogPaths(template, template)


def test_a_folder_as_output_holds_a_file_named_by_the_job() -> None:
    job = Record("7.pbs1", {"Output_Path": "pbs1:/logs/", "Error_Path": "pbs1:/logs/"})
    assert record.log_paths(job) == ("/logs/7.pbs1.OU", "/logs/7.pbs1.ER")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"Jobs": 3}', '{"Jobs": {"1.pbs1": []}}', "nonsense\n\n"])
def test_nothing_makes_the_parsers_raise(text: str) -> None:
    assert not rows_of(read_json(text) or (), 1)
    assert not rows_of(read_text(text), 1)


@pytest.mark.parametrize(("text", "size"), [("100b", 100), ("4GB", 2**32), ("2mw", 2**24), ("3 kb", None)])
def test_a_size_may_be_in_words_of_eight_bytes(text: str, size: int | None) -> None:
    assert values.size_bytes(text) == size


def test_times_sizes_and_usage_are_read() -> None:
    used = {"mem": "2048kb", "cput": "00:01:30", "walltime": "01:00:00"}
    asked = {"mem": "1gb", "walltime": "02:00:00", "ncpus": 4, "nodect": 2}
    job = ended_job(0, resources_used=used, Resource_List=asked, exec_host="n1/0*2+n2/0*2")
    (row,) = rows_of((Record("1.pbs1", dict(record._flat(job))),), 1)  # noqa: SLF001 - the JSON is tested above
    assert (row.nodes, row.limit_s, row.submit_s) == ("n1,n2", 7200, 1795333821)
    assert (row.usage.max_rss_bytes, row.usage.requested_bytes) == (2048 * 1024, 2**30)
    assert (row.usage.cpu_s, row.usage.run_s, row.usage.cpus, row.usage.nodes) == (90, 3600, 4, 2)


@pytest.mark.parametrize(
    ("status", "fields", "state"),
    [
        (-27, {}, JobState.OUT_OF_MEMORY),
        (-25, {}, JobState.FAILED),
        (-3, {}, JobState.LAUNCH_FAILED),
        (-20, {}, JobState.NODE_FAIL),
        (265, {}, JobState.FAILED),
        # before 22.05.11, PBS itself ended a job at its walltime with 271
        (
            271,
            {"resources_used": {"walltime": "00:01:01"}, "Resource_List": {"walltime": "00:01:00"}},
            JobState.TIMEOUT,
        ),
        (0, {"substate": 91, "comment": "Job run at x and terminated by me@pbs1"}, JobState.CANCELLED),
    ],
)
def test_each_exit_status_has_its_state(status: int, fields: dict[str, object], state: JobState) -> None:
    (row,) = rows_of((Record("1.pbs1", dict(record._flat(ended_job(status, **fields)))),), 1)  # noqa: SLF001
    assert row.state is state


@needs_recordings
def test_every_field_that_is_read_exists_in_a_recording() -> None:
    source = Path(record.__file__).read_text()
    read = set(re.findall(r'fields(?:\.get\(|\[)"([\w.]+)"', source))
    read |= set(re.findall(r'_log_path\(record, "(\w+)"', source))
    recorded: set[str] = set()
    for path in RECORDINGS.glob("*.json"):
        for each in read_json(path.read_text()) or ():
            recorded |= {*each.fields, *(name.partition(".")[0] for name in each.fields)}
    assert len(read) > 20
    assert read - recorded == DOCUMENTED


@needs_recordings
def test_the_recorded_text_says_what_the_recorded_json_does() -> None:
    by_text = rows_of(read_text((RECORDINGS / "fin_wall.txt").read_text()), 9)
    by_json = rows_of(read_json((RECORDINGS / "fin_wall.json").read_text()) or (), 9)
    assert by_text == by_json
    assert by_text[0].state is JobState.TIMEOUT


@needs_recordings
def test_a_recorded_body_without_jobs_proves_nothing() -> None:
    body = (RECORDINGS / "server_down.json").read_text()
    runner = FakeRunner().on("qstat", answers=[said(body, "Connection refused\n", 255)])
    assert isinstance(PbsScheduler(runner).ask_record(1), Unreachable)
    runner = FakeRunner().on("qstat", answers=[said(body, HISTORY_OFF)])
    assert isinstance(PbsScheduler(runner).ask_record(1), Unreachable)


def test_one_look_at_200_jobs_takes_at_most_100_ms_of_cpu(pbs: FakePbs) -> None:
    pbs.put({f"{number}.pbs1": pbs_job() for number in range(1, 201)})
    scheduler = PbsScheduler(PbsRunner(pbs))
    text = scheduler.ask_queue("me")
    assert isinstance(text, str)
    spent = []
    for _ in range(5):
        before_s = time.process_time()
        assert len(scheduler.read_queue(text, range(1, 201))) == 200
        spent.append(time.process_time() - before_s)
    assert min(spent) <= 0.1
