"""Everything that reads text from outside, by name: real inputs, and a check of what must hold for any input.

A check takes any bytes and raises only on a defect. Both the tests in this folder and ``dev/fuzz`` use this
table.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry
from jobmon_core.domain.job.job_settings import ErrorPattern, JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, StateChange, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, Line
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.system.json_codec import to_json
from tests.fuzz import (
    artifact_targets,
    file_targets,
    log_targets,
    mcp_targets,
    message_targets,
    slurm_targets,
    table_targets,
    tracker_targets,
)
from tests.fuzz.choices import SECRET
from tests.support.batch_scripts import BAD, GOOD

_TESTS = Path(__file__).resolve().parents[1]
_ROOT = _TESTS.parent

Check = Callable[[bytes], None]
Seeds = Callable[[], tuple[bytes, ...]]


@dataclass(frozen=True)
class Target:
    """A reader or builder: its check, and the real inputs to mutate."""

    check: Check
    seeds: Seeds
    examples: int = 200  # in the tests

    @property
    def claim(self) -> str:
        """What holds for any input."""
        return (self.check.__doc__ or "").strip().rstrip(".")


def _recorded(*starts: str) -> Seeds:
    """Return the recorded answers of a real Slurm whose names start like this."""

    @cache
    def seeds() -> tuple[bytes, ...]:
        files = sorted((_TESTS / "recordings").glob("slurm-*/*.json"))
        matching = (file for file in files if file.name.startswith(starts))
        return tuple(json.loads(file.read_text("utf-8"))["stdout"].encode() for file in matching)

    return seeds


def _batch_scripts() -> tuple[bytes, ...]:
    cases = list(GOOD.values())[::3] + list(BAD.values())[::6]
    return tuple(f"{case.shebang}\n{case.script}".encode() for case in cases)


def _texts(*texts: str) -> Seeds:
    return lambda: tuple(text.encode() for text in texts)


def _choices() -> tuple[bytes, ...]:
    """Return inputs for targets that read choices: any bytes will do."""
    return (bytes(range(256)), bytes(200), b"\x03\x90" * 150, bytes(range(255, 0, -1)) * 2)


@cache
def _logs() -> tuple[bytes, ...]:
    found = tuple(path.read_bytes() for path in sorted((_TESTS / "diagnosis" / "logs").glob("*.log")))
    return (
        *found,
        b"50 %\r100 %\r\n\x1b[31mred\x1b[0m\xff\x00\nlast",
        gzip.compress(b"epoch 1\n" * 50, mtime=0),
    )


_FAILED = End(
    JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=137, started_s=1_795_248_000,
    ended_s=1_795_248_100, limit_s=3600, nodes="n1", why="slurmctld forgot it",
)  # fmt: skip
_MESSAGE = Message(
    "12/end", Route.ERROR, Tone.FAILURE, "train (12) failed", "", (Field("Job", "12"),), "It died.", ("boom",)
)


_SETTINGS = JobSettings(
    source="/w/jobmon.yaml", num_workers=2, gpu_ids=(0,), total_items=9, log_dir="/w/logs",
    progress_patterns={"items": "(.) of"}, error_patterns=(ErrorPattern("lost"),), stall_timeout_s=300.0,
)  # fmt: skip


@cache
def _states() -> tuple[bytes, ...]:
    diagnosis = Diagnosis(
        "cuda_oom", "Out of memory", "It.", "Less.", (Line("x", 3, "boom"),), confidence=0.9
    )
    history = (StateChange("PENDING", 1_795_247_000.0, "Priority"), StateChange("RUNNING", 1_795_248_000.0))
    task = Task(
        "", JobState.FAILED, "FAILED", raw_job_id=12, history=history, end=_FAILED, diagnosis=diagnosis
    )
    single = WatchedJob(
        file_targets.STATE_ID, 12, 1_795_247_000.0, cluster="big", user="me", name="train", tasks={"": task},
        answered_s=1_795_248_100.0, outbox=(OutboxEntry(_MESSAGE, attempts=2),), concluded_s=1_795_248_200.0,
    )  # fmt: skip
    array = WatchedJob(
        file_targets.STATE_ID, 12, 1_795_247_000.0, array_indices="1-9:2", pending_indices="5-9:2",
        stale_since_s=9e8,
        tasks={key: Task(key, JobState.RUNNING, start_s=1_795_248_000) for key in ("1", "3", "+1")},
        settings=_SETTINGS,
    )  # fmt: skip
    states = (json.dumps({"schema": 1, **to_json(job)}, indent=1).encode() for job in (single, array))
    return (*states, b"[" * 20_000, b'{"schema": 1, "tasks":' * 3000, b'{"schema": ' + b"9" * 5000 + b"}")


def _monitor_files() -> tuple[bytes, ...]:
    answer = {"asked_s": 1.0, "text": "7|7|", "about": [7], "wanted": {"7": 2.0}}
    owner = {"host": "login1", "boot_id": "x", "pid": 7, "start_ticks": 9}
    queue = {"shut_until_s": 1_800_000_100.0, "places": {"7/end": {"made_s": 7, "until_s": 1_800_000_200.0}}}
    notice = {"since_s": 1.0, "teller": "slurm-7-x"}
    return tuple(json.dumps(each).encode() for each in (answer, owner, queue, notice))


@cache
def _files() -> tuple[bytes, ...]:
    """Return files of each format, each after a byte that picks its name."""
    recorded = [path for path in sorted((_TESTS / "recordings" / "files").iterdir()) if path.suffix != ".py"]
    texts = (b'[{"a": [1, 2.5e3, null, "\\u00e9"]}, {}]', b'{"a": 1}\n{"a": 2}\n', b"a,b\n1,2\n3,4\n")
    packed = tuple(gzip.compress(text, mtime=0) for text in texts)
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a" * 120), io.BytesIO(b"x"))
    contents = (*(path.read_bytes() for path in recorded), *texts, *packed, tar.getvalue())
    named = (bytes([number]) + text for text in (*texts, *packed) for number in range(17))
    return (*(b"\0" + content for content in contents), *named)


def _configs() -> tuple[bytes, ...]:
    example = (_ROOT / "config.json.example").read_bytes()
    complete = {
        "discord": {"success_webhook": SECRET, "error_webhook_file": "hook", "mention_on_failure": ["<@1>"]},
        "poll": {"running_s": 30, "warn_stale_s": 0.0}, "accounting": {"grace_s": 30}, "backend": "local",
        "messages": {"array": "each"}, "heartbeat_url": "https://hc.example/ping/0123-4567",
    }  # fmt: skip
    invalid = json.dumps({"discord": SECRET, "backend": SECRET, "poll": {"running_s": SECRET}})
    return (
        example,
        json.dumps(complete).encode(),
        f"{invalid}\0{SECRET}".encode(),
        b'{"poll": {"running_s": 1e999}}',
    )


def _patterns() -> tuple[bytes, ...]:
    shipped = json.loads((_ROOT / "patterns" / "error_patterns.json").read_bytes())
    chunks = (shipped["rules"][start : start + 2] for start in range(0, len(shipped["rules"]), 97))
    real = tuple(json.dumps({"schema_version": 1, "rules": rules}).encode() for rules in chunks)
    deep = {**shipped["rules"][0], "regex": "(" * 900 + "boom" + ")" * 900, "examples": ["boom"]}
    loops = {**deep, "regex": r"(?i)(?:a|b{2,3}|[^x]\d*)+boom$"}
    costly = (json.dumps({"schema_version": 1, "rules": [rule]}).encode() for rule in (deep, loops))
    return (*real, *costly, b"[" * 20_000, b'{"schema_version": ' + b"1" * 5000 + b"}")


_SAVES = (
    "Saving model checkpoint to out/checkpoint-5\nsaved checkpoint from iteration 5 to '/w/a b'\n"
    "python train.py --output_dir /w/out --save-dir=ckpts hydra.run.dir=x\n"
)
_CRONTAB = (
    "\0" * 32 + "# m h dom mon dow command\nMAILTO=me\r\n0 1 * * *\tbackup '\\%H' # nightly \n\n@daily x"
)
_SCRIPT = (
    "#!/bin/bash\n#SBATCH -J 'a b' --output=%x-%j.%a.out -e \"x#y\"\n#SBATCH -Hooo.log\n[Login]\n"
    "# KillUserProcesses=no\nKillUserProcesses=yes\nKillOnlyUsers=me you\n#SBATCH hetjob\nsrun true\n"
)
_JOB_CONFIG = (
    "# job\njob: {name: 'a', num_workers: 2, gpu_ids: [0, 1], total_items: 1_000}\npaths:\n  log_dir: ~/x\n"
    "patterns: {logs: 'w_*.log'}\nmonitoring: {stall_timeout: 3e2, slowdown_percent: 20}\n"
    "progress_patterns:\n  items: '(.)/(.) items'\nerror_patterns:\n  - {pattern: lost, severity: warning}\n"
    f'alerts: {{slack: {{webhook: {SECRET}}}}}\n&a b: *a\n"\\x41": !!str |\n  text\n'
)
_REFUSED = json.dumps(
    {"code": 50035, "message": f"no {SECRET}", "errors": {"embeds": {"0": {"_errors": [{"message": "x"}]}}}}
)
_LOCAL = (
    '{"job_id": 7, "state": "RUNNING", "own_id": 7, "task": 1}\n'
    '{"job_id": 12, "state": "PENDING", "own_id": 12, "waiting": "1-9:2"}\n'
)
_NAMES = ("12", "12_3", "12+1", "12_[1-9:2,12%4]", "12.batch", "1-02:03:04", "1.50G", "mem=800M", "0:15")
_CALLS = {"py_callstack": 'Traceback\n  File "x"'}
_VERSION = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
_MCP = "\n".join(
    json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    for method, params in (
        ("initialize", {"protocolVersion": "2025-11-25"}), ("server/discover", _VERSION),
        ("tools/list", _VERSION),
        ("tools/call", {"name": "logs", "arguments": {"job": "12_7", "lines": 9}}),
        ("tools/call", {"name": "status", "arguments": {"jobs": ["12"], "state": "failed"}}),
        ("notifications/cancelled", {"requestId": 1}),
    )
)  # fmt: skip
_ERROR_FILE = json.dumps({"message": {"message": "RuntimeError: boom", "extraInfo": _CALLS}})

TARGETS: Mapping[str, Target] = {
    "squeue": Target(slurm_targets.squeue, _recorded("queue")),
    "sacct": Target(slurm_targets.sacct, _recorded("accounting")),
    "scontrol": Target(slurm_targets.scontrol, _recorded("record")),
    "queue_table": Target(table_targets.queue_table, _choices),
    "accounting_table": Target(table_targets.accounting_table, _choices),
    "record_table": Target(table_targets.record_table, _choices),
    "other_answers": Target(
        slurm_targets.other_answers, _recorded("templates", "sessions", "configuration", "script")
    ),
    "sbatch": Target(slurm_targets.sbatch, _recorded("sbatch")),
    "names": Target(slurm_targets.names, _texts(*_NAMES)),
    "script": Target(slurm_targets.script, _texts(_SCRIPT)),
    "batch_script": Target(slurm_targets.batch_script, _batch_scripts, examples=100),
    "local": Target(slurm_targets.local, _texts(_LOCAL)),
    "state": Target(file_targets.state, _states),
    "records": Target(file_targets.records, _monitor_files),
    "send_queue": Target(file_targets.send_queue, _monitor_files, examples=100),
    "config": Target(file_targets.config, _configs),
    "job_config": Target(file_targets.job_config, _texts(_JOB_CONFIG)),
    "patterns": Target(file_targets.patterns, _patterns, examples=100),
    "crontab": Target(file_targets.crontab, _texts(_CRONTAB)),
    "log": Target(log_targets.log, _logs),
    "packed_log": Target(log_targets.packed_log, _logs, examples=100),
    "error_file": Target(log_targets.error_file, _texts(_ERROR_FILE)),
    "diagnosis": Target(log_targets.diagnosis, _logs, examples=100),
    "mcp_lines": Target(mcp_targets.mcp_lines, _texts(_MCP, "[" * 900, _MCP.replace("\n", "\r\n"))),
    "mcp_text": Target(mcp_targets.mcp_text, _logs, examples=100),
    "message": Target(message_targets.message, _choices, examples=150),
    "discord_answer": Target(message_targets.discord_answer, _texts("\0" * 16 + _REFUSED)),
    "webhook": Target(
        message_targets.webhook, _texts(SECRET, "http://[::1]:80/api/v10/webhooks/1/a?thread_id=7")
    ),
    "heartbeat": Target(message_targets.heartbeat, _texts("https://hc.example/ping/0123-4567-89ab")),
    "secrets": Target(message_targets.secrets, _choices),
    "file_check": Target(artifact_targets.file_check, _files, examples=120),
    "checkpoints": Target(artifact_targets.checkpoints, _choices, examples=100),
    "saved_to": Target(artifact_targets.saved_to, _texts(_SAVES)),
    "compared": Target(artifact_targets.compared, _choices),
    "event_file": Target(tracker_targets.event_file, tracker_targets.event_seeds, examples=100),
    "wandb_file": Target(tracker_targets.wandb_file, tracker_targets.wandb_seeds, examples=100),
    "mlflow_database": Target(tracker_targets.mlflow_database, tracker_targets.mlflow_seeds, examples=60),
    "mlflow_files": Target(tracker_targets.mlflow_files, tracker_targets.mlflow_file_seeds, examples=60),
    "trackio_database": Target(tracker_targets.trackio_database, tracker_targets.trackio_seeds, examples=60),
    "inspect_log": Target(tracker_targets.inspect_log, tracker_targets.inspect_seeds, examples=100),
}
