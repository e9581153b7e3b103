"""What holds for everything that reads output of Slurm: no exception, no invented row, no lost row."""

from __future__ import annotations

import re

from jobmon_core.domain.before.batch_script.activation import activations_of
from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.paths import paths_of
from jobmon_core.domain.before.batch_script.programs import programs_of
from jobmon_core.domain.before.batch_script.python_source import read_source
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.before.batch_script.variables import unguarded_uses, values_of
from jobmon_core.domain.before.checks.check_all import check_all
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.before.checks.node_script import node_script
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.many.autostart.logind_rules import in_session, kills_at_logout
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.log_paths import PathContext, expand
from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, Unreachable
from jobmon_core.domain.slurm.sbatch_options import directive_words, script_directives
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.scheduler.records import from_answer
from jobmon_core.scheduler.slurm import sbatch_output, values
from jobmon_core.scheduler.slurm.client import SlurmScheduler
from jobmon_core.scheduler.slurm.commands import QUEUE_COLUMNS, SEP
from tests.support.fake_runner import FakeRunner, said

_MAX_IDS = 12  # of one answer to look for
_MAX_TASKS = 4_000_001  # the limit of Slurm's MaxArraySize
_MAX_REASON = 400  # characters
_OVER = (Phase.FINISHING, Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)


def _slurm(text: str, code: int = 0) -> SlurmScheduler:
    """Return a Slurm whose commands all print ``text``."""
    runner = FakeRunner()
    for program in ("squeue", "sacct", "scontrol"):
        runner.on(program, answers=[said(text, "", code)])
    return SlurmScheduler(runner)


def _ids(text: str) -> list[int]:
    ids = (int(number) for number in re.findall(r"^[ ]*(\d{1,10})", text, re.MULTILINE | re.ASCII))
    return [*dict.fromkeys(ids)][:_MAX_IDS]


def batch_script(data: bytes) -> None:
    """Any batch script has commands, programs, paths and variables, and can be judged."""
    text = data.decode("utf-8", "replace")
    script = parse_script(text)
    lines = text.count("\n") + 1
    assert all(1 <= command.line <= lines for command in script.commands)
    values = values_of(script, {"HOME": "/home/me", "SLURM_JOB_ID": None})
    programs = tuple(programs_of(script, values))
    uses = tuple(paths_of(script, values, "/work"))
    assert all(use.path.startswith("/") for use in uses)
    list(unguarded_uses(script))
    list(activations_of(script, values))
    read_source(text)
    facts = Facts(
        read_request(["job.sh"], {}, text),
        script,
        values=values,
        programs=programs,
        uses=uses,
        folder="/work",
    )
    for item in check_all(facts):
        assert item.text
        assert bool(item.advice) or item.severity in (Severity.INFO, Severity.UNKNOWN)
    assert node_script(facts).text.startswith("#!")


def squeue(data: bytes) -> None:
    """Any output of squeue is an answer or an error, and each row occurs in it."""
    text = data.decode("utf-8", "replace")
    answer = _slurm(text).ask_queue("0")
    if isinstance(answer, Unreachable):
        assert text, "an empty answer means no jobs"
        assert 0 < len(answer.why) < _MAX_REASON
        return
    assert answer == text
    lines = [line.split("|", QUEUE_COLUMNS - 1) for line in text.split("\n")]
    shown = 0
    for job_id in _ids(text):
        rows = _slurm("").read_queue(text, [job_id])
        of_job = [line for line in lines if line[0].startswith(str(job_id)) and len(line) == QUEUE_COLUMNS]
        for row in rows:
            shown += 1
            assert row.ref.job_id == job_id
            assert any(
                (row.raw_state, row.nodes, row.reason) == (line[4], line[9], line[10]) for line in of_job
            )
            assert row.pending_indices is None or len(row.pending_indices) <= _MAX_TASKS
            assert row.end_s is None or row.state.phase in _OVER
        assert len(rows) <= len(of_job)
    assert shown <= len(lines)


def sacct(data: bytes) -> None:
    """Any output of sacct is an answer or an error, and each row occurs in it, oldest first."""
    text = data.decode("utf-8", "replace")
    answer = _slurm(text).ask_accounting([7])
    assert isinstance(answer, str | Disabled | Unreachable)
    assert not isinstance(answer, Unreachable) or len(answer.why) < _MAX_REASON
    for job_id in _ids(text):
        rows = _slurm("").read_accounting(text, job_id)
        assert len(rows) <= sum(line.startswith(str(job_id)) for line in text.split("\n")[1:])
        assert [row.submit_s or 0 for row in rows] == sorted(row.submit_s or 0 for row in rows)
        for row in rows:
            assert row.ref.job_id == job_id
            assert {row.raw_state, row.name, row.workdir} == {each for each in _texts(row) if each in text}


def _texts(row: JobRow) -> set[str]:
    return {row.raw_state, row.name, row.workdir}


def scontrol(data: bytes) -> None:
    """Any output of scontrol is records that occur in it or an error, never an unknown job."""
    text = data.decode("utf-8", "replace")
    answer = _slurm(text).ask_record(7)
    assert not isinstance(answer, NotListed), "scontrol reports that on stderr, with an exit code"
    if isinstance(answer, Unreachable):
        assert 0 < len(answer.why) < _MAX_REASON
        return
    assert 0 < len(answer) <= text.count("JobId=")
    for record in answer:
        assert all(each in text for each in _texts(record))
        assert record.raw_job_id is None or f"JobId={record.raw_job_id} " in re.sub("=0+(?=[0-9])", "=", text)
        assert record.end_s is None or record.state.phase in _OVER


def other_answers(data: bytes) -> None:
    """Any output of other Slurm commands is read without an exception."""
    text = data.decode("utf-8", "replace")
    slurm = _slurm(text)
    name = slurm.cluster_name()
    assert name in text
    assert name.split() == [name][: len(name)]
    templates = slurm.ask_log_templates(7)
    assert templates is None or SEP in text
    sessions = slurm.sessions()
    assert isinstance(sessions, tuple)
    assert all(str(each.session) in text for each in sessions)
    assert slurm.script_of(7) == text
    assert slurm.ask_queue("0") is not None
    failed = _slurm(text, 1)
    assert isinstance(failed.ask_queue("0"), Unreachable)
    assert isinstance(failed.ask_record(7), Unreachable)
    assert isinstance(failed.ask_accounting([7]), Unreachable)


def sbatch(data: bytes) -> None:
    """No output of sbatch gives a job id that does not occur in it."""
    text = data.decode("utf-8", "replace")
    for coloured in text.split("\n"):
        line = re.sub(r"\x1b\[[0-9;:]*[A-Za-z]", "", coloured)
        for job in sbatch_output.announced_jobs([coloured]):
            assert job.ref.key == ""
            assert str(job.ref.job_id) in line
            assert job.cluster in line
            assert re.search(r"batch job|^\d+(;\S+)?$", line.strip(), re.ASCII | re.IGNORECASE)
    assert not sbatch_output.may_have_been_accepted(0, text)
    assert not sbatch_output.submitted_without_id(1, text or "x", "", [])


def names(data: bytes) -> None:
    """Any text is a job id that survives formatting, or is refused; numbers are bounded."""
    text = data.decode("utf-8", "replace")
    for item in {text, *text.split("\n")[:8]}:
        try:
            ref = JobRef.parse(item)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 - users see this text
        else:
            assert JobRef.parse(str(ref)) == ref
        for part in (values.listed_id(item), values.array_part(7, item)):
            tasks = part[1] if part else None
            assert tasks is None or len(tasks) <= _MAX_TASKS
            assert tasks is None or all(span[-1] < _MAX_TASKS for span in tasks.spans)
            assert tasks is None or IndexSet.parse(str(tasks)) == tasks
        for read in (values.number, values.unix_time, values.limit_s, values.duration_s, values.size_bytes):
            assert (read(item) or 0) >= 0
        assert len(values.exit_pair(item)) == 2


def script(data: bytes) -> None:
    """Any text is read as a script, a path template and a file of logind."""
    text = data.decode("utf-8", "replace")
    directives = script_directives(text)
    assert all(letter in text for value in directives.values() for letter in value)
    assert sum(len(word) for words in directive_words(text) for word in words) <= len(text)
    context = PathContext(7, 7, 1, "me", "name", "n1", 0)
    path = expand(text, context)
    assert len(path) <= 10 * len(text) + 10
    in_session(text)
    kills_at_logout([text, text], "me")


def local(data: bytes) -> None:
    """Any saved answer of the local scheduler gives only rows of the requested job."""
    text = data.decode("utf-8", "replace")
    for job_id in (7, 12):
        for row in from_answer(text, [job_id]):
            assert row.as_queue_row().ref.job_id == job_id
            assert isinstance(row.as_queue_row(), JobRow)
