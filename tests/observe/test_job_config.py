from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.job.job_settings import Done, ErrorPattern, JobSettings, TrackSettings
from jobmon_core.domain.logs.progress.log.formats import UNITS, Role
from jobmon_core.observe.job_config import parse_yaml, read_job_config
from jobmon_core.observe.progress.load import user_formats

WHOLE = r"""
# the settings of one job
job:
  name: "reindex_v3"
  num_workers: 6
  gpu_ids: [0, 1]
  total_items: 250_000

paths:
  output_dir: "/scratch/reindex/out"
  log_dir: logs/%j
  checkpoint_dir: ~/checkpoints

patterns:
  output: "shard_*.jsonl"
  logs: "rank_*.log"
  checkpoints: "step_*.pt"

monitoring:
  check_interval: 15
  launch_timeout: 90
  stall_timeout: 6e2
  slowdown_percent: 30
  min_growth_rate: 1024
  stacks: on_stall
  on_notice: SIGUSR1

progress: {every: 2h}

results: [metrics.csv, "eval/%j/*.json"]

expected:
  outputs: 6

progress_patterns:
  documents: 'indexed (\d+) of (\d+) documents '
  speed: '(\d+\.?\d*) docs/s'

error_patterns:
  - pattern: '(index is full|shard lost)'
    severity: 'critical'
  - pattern: 'retrying'
    severity: 'warning'
  - pattern: "quota"

alerts:
  email:
    enabled: true
    address: "me@example.com"
    smtp_server: "smtp.example.com"
    smtp_port: 587
  slack:
    enabled: yes
    webhook: "https://hooks.slack.com/services/T/B/sEcReT"
  terminal:
    enabled: true
    refresh_rate: 1  # seconds
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "jobmon.yaml"


def faults(file: Path) -> list[str]:
    with pytest.raises(ConfigInvalid) as caught:
        read_job_config(file)
    assert caught.value.source == str(file)
    return list(caught.value.faults)


def test_every_key_is_read(file: Path) -> None:
    file.write_text(WHOLE)
    settings, unused, *_ = read_job_config(file)
    assert settings == JobSettings(
        source=str(file),
        name="reindex_v3",
        num_workers=6,
        gpu_ids=(0, 1),
        total_items=250_000,
        output_dir="/scratch/reindex/out",
        log_dir=f"{file.parent}/logs/%j",
        checkpoint_dir=str(Path("~/checkpoints").expanduser()),
        output_pattern="shard_*.jsonl",
        log_pattern="rank_*.log",
        checkpoint_pattern="step_*.pt",
        results=(f"{file.parent}/metrics.csv", f"{file.parent}/eval/%j/*.json"),
        expected_outputs=6,
        min_growth_bytes=1024.0,
        progress_patterns={
            "documents": r"indexed (\d+) of (\d+) documents ",
            "speed": r"(\d+\.?\d*) docs/s",
        },
        error_patterns=(
            ErrorPattern("(index is full|shard lost)"),
            ErrorPattern("retrying", is_warning=True),
            ErrorPattern("quota"),
        ),
        check_interval_s=15.0,
        launch_timeout_s=90.0,
        progress_every_s=7200.0,
        stall_timeout_s=600.0,
        slowdown_percent=30.0,
        stacks_on_stall=True,
        on_notice="SIGUSR1",
    )
    assert {"alerts.email", "alerts.slack", "alerts.terminal"} <= set(unused)


def test_the_note_names_what_is_not_used_and_shows_no_webhook(file: Path) -> None:
    file.write_text(WHOLE)
    config = read_job_config(file)
    assert (
        config.note
        == f"{file}: not used here, but in config.json: alerts.email, alerts.slack, alerts.terminal"
    )
    assert "sEcReT" not in repr(config)
    file.write_text("job: {num_workers: 2}")
    assert read_job_config(file).note == ""


def test_a_progress_pattern_that_may_be_meant_as_a_count_gets_a_note(file: Path) -> None:
    file.write_text(
        "progress_patterns:\n  documents: 'did (\\d+)'\n  my_loss: 'l (\\d+)'\n  a: 'a (\\d+)/(\\d+)'\n"
        "  accuracy: 'acc (\\d+)'\n  named: 'x (?P<recall>\\d+)'\n"
    )
    note = read_job_config(file).note
    assert note.startswith(
        f"{file}: progress_patterns: documents: shown as a metric; the name of a count con"
    )
    for word, unit in UNITS.items():  # each is known where the patterns are used
        assert word in note
        (known,) = user_formats({f"x_{word}": r"x (\d+)"})
        assert (known.role, known.unit) == (Role.MAIN, unit)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "job:\n", "paths:\n  log_dir:\n", "{}"])
def test_a_file_or_a_key_without_a_value_says_nothing(file: Path, text: str) -> None:
    file.write_text(text)
    assert read_job_config(file).settings == JobSettings(source=str(file))


def test_all_faults_are_reported_at_once_with_their_places(file: Path) -> None:
    file.write_text(r"""
total_item: 5
path: {log_dir: x}
job: {num_wokers: 2, total_items: many, gpu_ids: [a], num_workers: 0, name: [x]}
monitoring: {slowdown_percent: 99.5, stall_timeout: [1], on_notice: SIGKILL}
patterns: {logs: "a\nb"}
progress_patterns: {a: '([', b: 'x', c: '(\d*)', d: 3, e: '(a)(b)(c)',
  f: '(?P<A>a)(?P<B>b)(?P<C>c)(?P<D>d)(?P<E>e)(?P<F>f)(?P<G>g)(?P<H>h)(?P<I>i)'}
error_patterns:
  - {patern: x, severity: fatal}
  - 3
alerts: {slack: {webhok: "https://hooks.slack.com/services/T/B/sEcReT"}, pager: 1}
""")
    found = faults(file)
    assert "sEcReT" not in str(found)
    assert sorted(found) == [
        "alerts.pager: unknown key",
        "alerts.slack.webhok: unknown key; did you mean webhook?",
        "error_patterns[0].patern: unknown key; did you mean pattern?",
        "error_patterns[0].pattern: missing",
        "error_patterns[0].severity: expected one of critical, error, warning, found 'fatal'",
        "error_patterns[1]: expected an object, found a number",
        "job.gpu_ids: expected a list of whole numbers from 0, e.g. [0, 1]",
        "job.name: expected a string, found a list",
        "job.num_wokers: unknown key; did you mean num_workers?",
        "job.num_workers: must be at least 1, found 0",
        "job.total_items: expected a number, found a string",
        "monitoring.on_notice: expected one of SIGUSR1, SIGUSR2, SIGTERM, SIGHUP, found 'SIGKILL'",
        "monitoring.slowdown_percent: must be at most 99, found 99.5",
        "monitoring.stall_timeout: expected a number, found a list",
        "path: unknown key; did you mean paths?",
        r"patterns.logs: contains a control character: 'a\nb'",
        "progress_patterns.a: not a valid regex: missing ]: [",
        r"progress_patterns.b: the regex needs a group around the number, e.g. step (\d+)/(\d+)",
        "progress_patterns.c: the regex matches an empty line; it must require some text",
        "progress_patterns.d: expected a string, found a number",
        "progress_patterns.e: the regex has more than 2 groups (number, total); write others (?:...)",
        "progress_patterns.f: the regex has more than 8 groups; write others (?:...)",
        "total_item: unknown key; did you mean job.total_items?",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("job: a: b", "not valid YAML: line 1, column 7: mapping values are not allowed here"),
        ("job:\n\tname: x", "line 2, column 1: while scanning for the next token.*; indent with spaces"),
        (r'p: "(\d+)"', "line 1, column 7: .*unknown escape character 'd'; put a regex in single quotes"),
        ("a: 'open\nb: 1", "line 2, column 5: while scanning a quoted scalar, .*unexpected end"),
        ("job:\n  name: x\n  name: y", "not usable: line 3: the key 'name' occurs twice"),
        ("job: &a {name: x}\npaths: *a", r"not usable: line 2: aliases \(\*name\) are not supported"),
        ("job: !!python/object:os.system x", r"not usable: line 1: tags \(!name\) are not supported"),
        ("? [a]\n: 1", "not usable: line 1: a key must be a text"),
        ("a: 1\n---\nb: 2", "not usable: line 2: a second document begins"),
        ("a: 1\nb: \0", "not valid YAML: line 2: special characters are not allowed"),
        (r'a: "\UFFFFFFFF"', "not usable: .*"),
        ("[" * 30_000, "not usable: lists or objects are nested too deeply"),
        ("- 1", "expected an object, found a list"),
        ("#" * 70_000, "the file is larger than 64 KiB, too large for a job configuration"),
    ],
)
def test_a_text_that_is_no_job_configuration_is_one_fault(file: Path, text: str, fault: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigInvalid, match=fault):
        read_job_config(file)


def test_what_is_no_readable_file_is_refused(tmp_path: Path) -> None:
    binary, pipe = tmp_path / "binary", tmp_path / "pipe"
    binary.write_bytes(b"job: \xff")
    os.mkfifo(pipe)
    assert faults(binary) == ["the file is not UTF-8: invalid start byte at byte 5"]
    assert faults(pipe) == ["the file is a pipe, which stores nothing"]
    assert faults(tmp_path) == ["the file is a folder"]
    assert faults(tmp_path / "none") == ["the file does not exist"]


def test_a_file_that_grows_to_gigabytes_is_refused_at_its_first_alias(file: Path) -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    file.write_text("\n".join(["a0: &a0 [x]", *levels]))
    assert faults(file) == ["not usable: line 2: aliases (*name) are not supported; repeat the value"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("12:30", "12:30"),
        ("2026-01-02", "2026-01-02"),
        ("true", True),
        ("010", 10),
        ("1_000", 1000),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("'5'", "5"),
        ("1.2.3", "1.2.3"),
        ("9" * 5000, float("inf")),
    ],
)
def test_a_text_without_quotes_is_read_as_yaml_1_2_does(text: str, value: object) -> None:
    assert parse_yaml(f"a: {text}\non: {{}}") == {"a": value, "on": {}}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner), max_leaves=8
)
KEYS = st.sampled_from([
    *("job", "paths", "patterns", "monitoring", "progress_patterns", "error_patterns", "alerts", "email"),
    *("name", "num_workers", "gpu_ids", "total_items", "log_dir", "logs", "stall_timeout", "pattern"),
    *("restart", "mode", "on", "max", "delay", "resume_arg", "again_on_exit", "grow", "stop_on_stall"),
])  # fmt: skip
CONFIGS = st.recursive(
    VALUES,
    lambda inner: st.dictionaries(KEYS, inner, max_size=5) | st.lists(inner, max_size=3),
    max_leaves=20,
)


@given(CONFIGS)
def test_no_value_raises_anything_but_the_error_with_all_faults(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    import yaml

    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(yaml.safe_dump(value).encode("utf-8", errors="surrogatepass"))
    _read(file)


@given(st.binary() | st.text(alphabet="aj:- \n\"'{}[]&*!|>%\\Ux0#,?~\t1e.").map(str.encode))
def test_no_text_raises_anything_but_the_error_with_all_faults(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.yaml"
    file.write_bytes(content)
    _read(file)


def _read(file: Path) -> None:
    try:
        read_job_config(file)
    except ConfigInvalid as invalid:
        assert invalid.faults  # noqa: PT017 - a valid file is as good


def test_a_monitor_loads_no_yaml() -> None:
    code = "import sys, jobmon_core.monitor.main, jobmon_core.monitor.wiring; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_what_shows_that_a_job_is_done_is_read(file: Path) -> None:
    file.write_text("done: {marker: out/DONE, log: '^all \\d+ done', artifact: /abs/r*.csv}")
    done = Done(f"{file.parent}/out/DONE", r"^all \d+ done", "/abs/r*.csv")
    assert read_job_config(file).settings.done == done


@pytest.mark.parametrize(
    ("done", "fault"),
    [
        ("{}", "done: expected marker (a file), log (a regex) or artifact"),
        ("{log: '('}", "done.log: not a valid regex"),
        ("{log: '.*'}", "done.log: the regex matches an empty line"),
        ("{market: x}", "done.market"),
        ("7", "done"),
    ],
)
def test_a_wrong_description_of_done_is_refused(file: Path, done: str, fault: str) -> None:
    file.write_text(f"done: {done}\n")
    with pytest.raises(ConfigInvalid) as refused:
        read_job_config(file)
    assert any(fault in each for each in refused.value.faults), refused.value.faults


def test_where_a_tracker_writes_is_read(file: Path) -> None:
    file.write_text(
        "track: {tensorboard: runs/%j, mlflow: 'sqlite:///mlflow.db', wandb: ~/w, metrics: [acc], loss: l}"
    )
    track = read_job_config(file).settings.track
    places = {
        "tensorboard": f"{file.parent}/runs/%j",
        "wandb": str(Path("~/w").expanduser()),
        "mlflow": f"{file.parent}/mlflow.db",
    }
    assert track == TrackSettings(places, ("acc",), "l")


@pytest.mark.parametrize(
    ("track", "fault"),
    [
        ("{}", "track: expected the folder or file of a tracker (tensorboard, wandb"),
        ("{mlflow: 'http://ml:5000'}", "track.mlflow: expected a file or a folder"),
        ("{tensorbord: runs}", "track.tensorbord"),
        ("{tensorboard: 7}", "track.tensorboard"),
        ("{metrics: acc}", "track.metrics: expected a list"),
        ("runs", "track: expected an object"),
    ],
)
def test_a_wrong_description_of_a_tracker_is_refused(file: Path, track: str, fault: str) -> None:
    file.write_text(f"track: {track}\n")
    with pytest.raises(ConfigInvalid) as refused:
        read_job_config(file)
    assert any(fault in each for each in refused.value.faults), refused.value.faults
