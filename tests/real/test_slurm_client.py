"""The Slurm client on the real Slurm."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from private_slurm import Cluster

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder
from jobmon_core.scheduler.slurm.submit import SlurmSubmitter
from jobmon_core.system.runner import Runner
from tests.recordings.record import AWKWARD_NAME
from tests.support.waiting import eventually

NAMES = [AWKWARD_NAME, "a\nb", "a|b=c 'd' %j %% \\ ü", "JobState=COMPLETED ExitCode=0:0"]


@dataclass
class Session:
    """A client and its output."""

    slurm: SlurmScheduler
    submitter: SlurmSubmitter
    work: Path
    out: Path
    jobs: list[Submitted] = field(default_factory=list)

    def submit(self, *arguments: str) -> Submission:
        return self.submitter.submit(["-D", str(self.work), *arguments], self.jobs.append)

    def job(self, *arguments: str) -> int:
        submission = self.submit(*arguments)
        assert submission.job is not None, self.out.read_text()
        return submission.job.ref.job_id

    def rows(self, job_id: int) -> tuple[JobRow, ...]:
        reply = self.slurm.ask_queue(str(os.getuid()))
        assert isinstance(reply, str), reply
        return self.slurm.read_queue(reply, [job_id])

    def records(self, job_id: int) -> tuple[JobRow, ...]:
        answer = self.slurm.ask_record(job_id)
        assert isinstance(answer, tuple), answer
        return answer

    def accounting(self, job_id: int) -> tuple[JobRow, ...]:
        reply = self.slurm.ask_accounting([job_id])
        assert isinstance(reply, str), reply
        return self.slurm.read_accounting(reply, job_id)

    def becomes(self, job_id: int, *states: JobState) -> tuple[JobRow, ...]:
        eventually(lambda: {row.state for row in self.rows(job_id)} == set(states))
        return self.rows(job_id)


def open_session(
    tmp_path: Path,
    is_known: Callable[[JobRef], bool] = lambda _ref: False,
    tell: Callable[[str], None] = lambda _text: None,
) -> Iterator[Session]:
    out = tmp_path / "out"
    with out.open("wb") as file:
        programs = Runner(stdout_fd=file.fileno(), stderr_fd=file.fileno())
        slurm = SlurmScheduler(programs)
        finder = SubmissionFinder(lambda _cluster: slurm.sessions(), is_known, tell)
        submitter = SlurmSubmitter(programs, lambda: finder)
        yield Session(slurm, submitter, tmp_path, out)


@pytest.fixture(autouse=True)
def _on_the_cluster(slurm: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    yield from open_session(tmp_path)


def accounted(session: Session, job_id: int, state: JobState) -> JobRow:
    eventually(lambda: {row.state for row in session.accounting(job_id)} == {state})
    return session.accounting(job_id)[-1]


@pytest.mark.parametrize("name", NAMES)
def test_squeue_scontrol_and_sacct_agree_on_a_job_of_any_name(session: Session, name: str) -> None:
    job_id = session.job("-J", name, "--wrap", "exit 137", "--mem=70M")
    (row,) = session.becomes(job_id, JobState.FAILED)
    (record,) = session.records(job_id)
    entry = accounted(session, job_id, JobState.FAILED)
    assert record.name == name
    assert entry.name == name.replace('"', "`")
    assert (record.exit_code, entry.exit_code) == (137, 9)
    assert row.submit_s == record.submit_s == entry.submit_s
    assert row.end_s == record.end_s == entry.end_s
    assert record.requested_bytes == entry.usage.requested_bytes == 70 << 20
    assert record.stdout == str(session.work / f"slurm-{job_id}.out")


def test_the_queue_can_be_queried_by_user_name(session: Session) -> None:
    job_id = session.job("-H", "--wrap", "true")
    reply = session.slurm.ask_queue("root" if os.getuid() == 0 else os.environ["USER"])
    assert isinstance(reply, str)
    assert session.slurm.read_queue(reply, [job_id])


def test_environment_variables_of_slurm_commands_do_not_change_answers(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = session.job("-H", "--wrap", "true")
    before = session.rows(job_id), session.records(job_id)
    for name, value in {
        "SQUEUE_USERS": "nobody",
        "SQUEUE_STATES": "RUNNING",
        "SQUEUE_ARRAY": "1",
        "SQUEUE_FORMAT": "%j",
        "SLURM_CLUSTERS": "nowhere",
        "SLURM_TIME_FORMAT": "relative",
        "LC_ALL": "de_DE.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)
    assert (session.rows(job_id), session.records(job_id)) == before


def test_an_array_from_pending_to_its_last_task(session: Session) -> None:
    job_id = session.job("-a", "1-3", "--begin", "now+1hour", "--wrap", "exit $SLURM_ARRAY_TASK_ID")
    (waiting,) = session.rows(job_id)
    assert waiting.pending_indices is not None
    assert [*waiting.pending_indices] == [1, 2, 3]
    subprocess.run(["scontrol", "update", f"jobid={job_id}", "starttime=now"], check=True)  # noqa: S607
    # collected over several polls, as slurmctld may forget the first task before the last one ends
    ended: set[JobRow] = set()
    codes: dict[int | None, int | None] = {}

    def all_ended() -> bool:
        ended.update(row for row in session.rows(job_id) if row.state is JobState.FAILED)
        codes.update(
            {
                record.ref.task: record.exit_code
                for record in session.records(job_id)
                if not record.state.is_alive
            }
        )
        return len(codes) == len({row.ref for row in ended}) == 3

    eventually(all_ended)
    assert codes == {1: 1, 2: 2, 3: 3}
    assert {row.ref for row in ended} == {JobRef(job_id, task) for task in (1, 2, 3)}
    assert job_id in {row.raw_job_id for row in ended}, "the last task has the array's own id"

    def recorded() -> dict[int | None, int | None]:
        return {
            row.ref.task: row.exit_code for row in session.accounting(job_id) if row.state is JobState.FAILED
        }

    eventually(lambda: recorded() == {1: 1, 2: 2, 3: 3})
    log = str(session.work / "slurm-%A_%a.out")
    assert session.slurm.ask_log_templates(job_id) == LogPaths(log, log)


def test_a_requeued_job_has_two_runs(session: Session) -> None:
    job_id = session.job("--wrap", "sleep 300")
    session.becomes(job_id, JobState.RUNNING)
    subprocess.run(["scontrol", "requeue", str(job_id)], check=True)  # noqa: S607
    session.becomes(job_id, JobState.PENDING)
    runs = [JobState.REQUEUED, JobState.PENDING]
    eventually(lambda: [row.state for row in session.accounting(job_id)] == runs)
    assert [record.restarts for record in session.records(job_id)] == [1]
    subprocess.run(["scancel", str(job_id)], check=True)  # noqa: S607
    eventually(lambda: session.accounting(job_id)[-1].cancelled_by == os.getuid())


def test_any_job_submitted_with_quiet_is_found(tmp_path: Path) -> None:
    known: set[JobRef] = set()
    for session in open_session(tmp_path, lambda ref: ref in known):
        for arguments in ((), ("--parsable",), ("-a", "1-2"), ("-n1", ":", "-n1")):
            submission = session.submit("-Q", "-H", *arguments, "--wrap", "true")
            assert submission.job is not None, arguments
            assert session.rows(submission.job.ref.job_id), arguments
            assert submission.job.ref not in known
            known.add(submission.job.ref)
        assert len(known) == 4
        assert session.out.read_bytes() == b""


def test_sbatch_wait_reports_the_job_at_once_and_the_exit_code_at_the_end(session: Session) -> None:
    seen: list[JobState] = []

    def on_job(job: Submitted) -> None:
        seen.extend(row.state for row in session.rows(job.ref.job_id))
        (session.work / "go").touch()

    script = ["-D", str(session.work), "--wait", "--wrap", "until [ -e go ]; do sleep 0.5; done; exit 3"]
    submission = session.submitter.submit(script, on_job)
    assert submission.exit_code == 3
    assert seen
    assert seen[0] in (JobState.PENDING, JobState.RUNNING)


def test_a_job_does_not_inherit_the_webhook(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOBMON_ERROR_WEBHOOK", "https://secret.example")
    job_id = session.job("--wrap", "echo [$JOBMON_ERROR_WEBHOOK]")
    session.becomes(job_id, JobState.COMPLETED)
    assert (session.work / f"slurm-{job_id}.out").read_text() == "[]\n"


def test_a_test_only_submission_creates_no_job(session: Session) -> None:
    assert session.submit("--test-only", "--wrap", "true") == Submission(0, None)
    assert "to start at" in session.out.read_text()


def test_an_unknown_job_is_not_listed(session: Session) -> None:
    assert session.slurm.ask_record(179_999) == NotListed()
    assert session.slurm.script_of(179_999) == ""
    assert session.accounting(179_999) == ()


def test_the_script_of_a_job_and_the_cluster_name_are_returned(session: Session, slurm: Cluster) -> None:
    job_id = session.job("-H", "--wrap", "echo hello from here")
    assert "echo hello from here" in session.slurm.script_of(job_id)
    assert session.slurm.cluster_name() == slurm.name


def test_another_cluster_is_queried_by_its_name(session: Session, slurm: Cluster) -> None:
    named = SlurmScheduler(Runner(), slurm.name)
    submission = session.submit("-M", slurm.name, "-H", "--wrap", "true")
    assert submission.job is not None
    assert submission.job.cluster == slurm.name
    job_id = submission.job.ref.job_id
    reply, accounting = named.ask_queue(str(os.getuid())), named.ask_accounting([job_id])
    assert isinstance(reply, str)
    assert isinstance(accounting, str)
    assert named.read_queue(reply, [job_id]) == session.rows(job_id)
    assert named.ask_record(job_id) == session.slurm.ask_record(job_id)
    unknown = SlurmScheduler(Runner(), "nowhere").ask_queue(str(os.getuid()))
    assert isinstance(unknown, Unreachable)


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """The function that resumes a suspended controller of a separate cluster."""
    with Cluster(accounting=False) as cluster:
        for name, value in cluster.env.items():
            monkeypatch.setenv(name, value)
        cluster.freeze_controller()
        yield cluster.thaw_controller
        cluster.thaw_controller()


def test_a_job_accepted_by_a_hanging_controller_is_found(tmp_path: Path, frozen: Callable[[], None]) -> None:
    # the controller resumes once sbatch has timed out, and then serves the pending request
    for session in open_session(tmp_path, tell=lambda _text: frozen()):
        submission = session.submit("-H", "--wrap", "true")
        assert submission.exit_code == 1
        assert "Socket timed out" in session.out.read_text()
        assert submission.job is not None, submission.note
        assert "do not submit it again" in submission.note
        assert [job.ref for job in session.jobs] == [submission.job.ref]
        assert session.rows(submission.job.ref.job_id)[0].reason == "JobHeldUser"


@pytest.mark.usefixtures("frozen")
def test_a_hanging_controller_is_unreachable(session: Session) -> None:
    for answer in (session.slurm.ask_queue(str(os.getuid())), session.slurm.ask_record(1)):
        assert isinstance(answer, Unreachable)
        assert "timed out" in answer.why


def test_disabled_accounting_is_recognized(
    session: Session, slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = Path(slurm.env["SLURM_CONF"]).read_text().splitlines(keepends=True)
    conf = tmp_path / "slurm.conf"
    conf.write_text("".join(line for line in lines if not line.startswith("AccountingStorage")))
    monkeypatch.setenv("SLURM_CONF", str(conf))
    assert session.slurm.ask_accounting([1]) == Disabled()
