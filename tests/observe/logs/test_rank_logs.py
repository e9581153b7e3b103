from __future__ import annotations

import json
import os
import pwd
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.job.own_files import Origin, OwnFiles
from jobmon_core.observe.logs.rank_logs import rank_logs, read_error_file, read_rank_log

JOB = 8123


def put(path: Path, modified: int = 1000, text: str = "text\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (modified, modified))
    return path


def found(folder: Path, job_id: int | None = JOB, texts: Sequence[str] = ()) -> list[str]:
    main = put(folder / f"slurm-{JOB}.out")
    return [str(Path(path).relative_to(folder)) for path in rank_logs([str(main)], job_id, texts)]


@pytest.mark.parametrize(
    "name",
    ["slurm-8123_0.err", "train-8123-rank3.log", "log_8123_1.out", "out.8123.3", "train.o8123",
     "8123-0.err.gz", "rank0-8123"],
)  # fmt: skip
def test_a_log_next_to_the_main_log_with_the_job_id_is_found(tmp_path: Path, name: str) -> None:
    put(tmp_path / name)
    assert found(tmp_path) == [name]


@pytest.mark.parametrize(
    "name",
    ["slurm-81230_0.err", "slurm-18123.err", "other.err", "run_8123.py", "conf-8123.yaml", "core.8123"],
)
def test_logs_of_other_jobs_and_other_files_are_not_found(tmp_path: Path, name: str) -> None:
    put(tmp_path / name)
    assert found(tmp_path) == []


def test_the_index_of_an_array_task_is_not_taken_for_a_small_job_id(tmp_path: Path) -> None:
    main = put(tmp_path / "slurm-1.out")
    put(tmp_path / "slurm-91000_1.out")
    rank = put(tmp_path / "slurm-1_91000.out")
    assert rank_logs([str(main)], 1, []) == (str(rank),)


@pytest.mark.parametrize("name", ["eval-step-8123.txt", "epoch_8123.log", "ckpt8123.out", "tcp-port8123.err"])
def test_a_number_that_counts_something_else_is_no_job_id(tmp_path: Path, name: str) -> None:
    put(tmp_path / name)
    assert found(tmp_path) == []


def test_a_job_may_be_named_like_a_counter(tmp_path: Path) -> None:
    main = put(tmp_path / "step-8123.out")
    rank = put(tmp_path / "step-8123-rank1.err")
    put(tmp_path / "step-81234.err")
    assert rank_logs([str(main)], JOB, []) == (str(rank),)


def test_only_files_of_the_run_are_found_however_they_are_named(tmp_path: Path) -> None:
    main = put(tmp_path / "slurm-8123.out", 2000)
    old_run = tmp_path / "old" / "none_abc"
    put(old_run / "attempt_0" / "0" / "error.json", 900)
    for name, modified in (("a", 900), ("b", 1500), ("c", 2500)):
        put(tmp_path / f"slurm-8123_{name}.err", modified)
        put(tmp_path / "8123" / f"{name}.err", modified)
    texts = [f"log directory set to: {old_run}"]
    paths = rank_logs([str(main)], JOB, texts, OwnFiles(1000.0, 2000.0, Origin.FOUND))
    assert [str(Path(path).relative_to(tmp_path)) for path in paths] == ["8123/b.err", "slurm-8123_b.err"]


def test_without_a_job_id_no_names_are_searched(tmp_path: Path) -> None:
    put(tmp_path / "slurm-8123_0.err")
    assert found(tmp_path, job_id=None) == []


def test_the_main_logs_are_not_found_under_another_name(tmp_path: Path) -> None:
    out, err = put(tmp_path / "slurm-8123.out"), put(tmp_path / "slurm-8123.err")
    (tmp_path / "slurm-8123.log").hardlink_to(out)
    (tmp_path / "link").symlink_to(err)
    assert rank_logs([str(out), str(tmp_path / "link")], JOB, []) == ()


def test_logs_in_a_folder_of_the_job_are_found_four_levels_deep(tmp_path: Path) -> None:
    folder = tmp_path / "8123_torchelastic"
    put(folder / "none_x" / "attempt_0" / "3" / "stderr.log", 3)
    put(folder / "rank1.err", 2)
    put(folder / "none_x" / "attempt_0" / "1" / "error.json", 1)
    put(folder / "config.json")
    put(folder / "a" / "b" / "c" / "d" / "too_deep.log")
    put(tmp_path / "81234" / "stderr.log")
    assert found(tmp_path) == [
        "8123_torchelastic/none_x/attempt_0/1/error.json",
        "8123_torchelastic/rank1.err",
        "8123_torchelastic/none_x/attempt_0/3/stderr.log",
    ]


def test_all_logs_in_a_folder_of_the_job_with_its_main_logs_are_found(tmp_path: Path) -> None:
    main = put(tmp_path / "8123" / "train.out")
    rank = put(tmp_path / "8123" / "ranks" / "0.err")
    assert rank_logs([str(main)], JOB, []) == (str(rank),)


def test_the_file_modified_last_comes_last(tmp_path: Path) -> None:
    for rank, modified in enumerate((30, 10, 20)):
        put(tmp_path / f"slurm-8123_{rank}.err", modified)
    assert found(tmp_path) == ["slurm-8123_1.err", "slurm-8123_2.err", "slurm-8123_0.err"]


def test_empty_files_are_skipped(tmp_path: Path) -> None:
    put(tmp_path / "slurm-8123_0.err", text="")
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [
        "[0]:   error_file: {}/attempt_0/1/error.json",
        "INFO:torch.distributed.elastic:Setting worker1 reply file to: {}/attempt_0/1/error.json",
        "I0501 22:05:19.414000 1396 torch/api.py:881] log directory set to: {}",
    ],
)
def test_torchrun_files_are_found_by_the_paths_it_prints(tmp_path: Path, line: str) -> None:
    run = tmp_path / "elsewhere" / "none_abc"
    put(run / "attempt_0" / "0" / "stderr.log", 2)
    put(run / "attempt_0" / "1" / "error.json", 1)
    put(run / "attempt_0" / "1" / "secrets.txt", 1)
    put(run / "notes.log")
    assert found(tmp_path, None, [line.format(run)]) == [
        "elsewhere/none_abc/attempt_0/1/error.json",
        "elsewhere/none_abc/attempt_0/0/stderr.log",
    ]


def test_relative_paths_start_in_the_folder_of_the_main_log(tmp_path: Path) -> None:
    put(tmp_path / "logs" / "attempt_0" / "0" / "stdout.log")
    assert found(tmp_path, None, ["log directory set to: logs"]) == ["logs/attempt_0/0/stdout.log"]


def test_only_the_newest_attempt_with_output_counts(tmp_path: Path) -> None:
    for run in (tmp_path / "8123" / "none_a", tmp_path / "elsewhere"):
        put(run / "attempt_2" / "0" / "stderr.log")
        put(run / "attempt_10" / "0" / "stderr.log")
        put(run / "attempt_11" / "0" / "stderr.log", text="")
    assert found(tmp_path, texts=[f"log directory set to: {tmp_path / 'elsewhere'}"]) == [
        "8123/none_a/attempt_10/0/stderr.log",
        "elsewhere/attempt_10/0/stderr.log",
    ]


def test_an_error_file_at_a_path_of_the_user_is_found(tmp_path: Path) -> None:
    path = put(tmp_path / "elsewhere" / "error.json")
    assert found(tmp_path, None, [f"  error_file: {path}"]) == ["elsewhere/error.json"]


def test_only_torchrun_files_are_read_from_printed_paths(tmp_path: Path) -> None:
    secret = put(tmp_path / "id_rsa")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "error.json").symlink_to(secret)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "error.json")
    named = [secret, tmp_path / "link" / "error.json", tmp_path / "pipe" / "error.json", "/dev/zero", "<N/A>"]
    texts = [f"{words}: {path}" for path in named for words in ("error_file", "log directory set to")]
    assert found(tmp_path, None, texts) == []


def test_files_of_other_users_are_skipped(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(put(tmp_path / "slurm-8123_0.err"), pwd.getpwnam("nobody").pw_uid, -1)
    assert found(tmp_path) == []


def test_links_and_pipes_are_skipped(tmp_path: Path) -> None:
    folder = tmp_path / "8123"
    folder.mkdir()
    (folder / "again").symlink_to(folder)
    (folder / "a.log").symlink_to(folder / "a.log")
    (folder / "zero.log").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "slurm-8123_0.err")
    (tmp_path / "8123-link").symlink_to("/")
    assert found(tmp_path) == []


def test_a_folder_without_permission_counts_as_empty(tmp_path: Path) -> None:
    put(tmp_path / "8123" / "rank.log")
    main = put(tmp_path / "slurm-8123.out")
    (tmp_path / "8123").chmod(0)
    # root may read everything: look with the eyes of somebody else
    somebody = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
    before = os.geteuid()
    os.seteuid(somebody)
    try:
        paths = rank_logs([str(main)], JOB, [])
    finally:
        os.seteuid(before)
        (tmp_path / "8123").chmod(0o700)
    assert paths == ()


def test_of_a_thousand_ranks_the_most_relevant_files_are_selected(tmp_path: Path) -> None:
    for rank in range(200):
        put(tmp_path / "8123" / f"{rank}.err", 1000 + rank)
    put(tmp_path / "8123" / "attempt_0" / "7" / "error.json", 1100)
    names = found(tmp_path)
    assert len(names) == 64
    assert {"8123/0.err", "8123/199.err", "8123/attempt_0/7/error.json"} <= set(names)


def test_a_rank_log_and_a_torchrun_record_are_both_read(tmp_path: Path) -> None:
    record = put(tmp_path / "0" / "error.json", text='{"message": "ValueError: bad"}')
    assert read_rank_log(str(record)).texts == ("ValueError: bad",)
    assert read_rank_log(str(put(tmp_path / "0" / "stderr.log"))).texts == ("text",)
    half = put(tmp_path / "1" / "error.json", text='{"message": "Val')
    assert read_rank_log(str(half)).texts == ('{"message": "Val',)


@settings(deadline=None, max_examples=50)  # the machine may be busy
@given(st.lists(st.text(max_size=20)), st.one_of(st.none(), st.integers()), st.lists(st.text(max_size=40)))
def test_no_text_and_no_path_raises(logs: list[str], job_id: int | None, texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [f"{folder}/logs/{name}" for name in logs]  # one may be empty, which is the folder itself
        hostile = [f"{words}: {text}" for text in texts for words in ("log directory set to", "error_file")]
        hostile += [f"error_file: {text}/error.json" for text in texts]
        assert rank_logs(paths, job_id, hostile) == ()


CALLSTACK = (
    "Traceback (most recent call last):\n"
    '  File "train.py", line 3, in main\n'
    "    raise ValueError(bad)\n"
    "ValueError: bad\n"
)


def lines_of(folder: Path, record: object) -> tuple[str, ...] | None:
    path = folder / "error.json"
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    found = read_error_file(str(path))
    return found.texts if found else None


def test_the_traceback_of_a_worker_is_read_as_lines(tmp_path: Path) -> None:
    record = {
        "message": {
            "message": "ValueError: bad",
            "extraInfo": {"py_callstack": CALLSTACK, "timestamp": "1700000000"},
            "errorCode": 1,
        }
    }
    assert lines_of(tmp_path, record) == tuple(CALLSTACK.splitlines())


def test_a_message_missing_from_the_traceback_follows_it(tmp_path: Path) -> None:
    record = {"message": {"message": "Signal 11", "extraInfo": {"py_callstack": CALLSTACK}}}
    found = lines_of(tmp_path, record)
    assert found
    assert (found[0], found[-1]) == ("Traceback (most recent call last):", "Signal 11")


@pytest.mark.parametrize(
    "record",
    [
        {"message": "ValueError: bad"},
        {"message": {"message": "ValueError: bad"}},
        {"message": {"message": "ValueError: bad", "extraInfo": None}},
        {"message": {"extraInfo": {"py_callstack": "ValueError: bad"}, "message": 3}},
        '"ValueError: bad"',
    ],
)
def test_a_message_without_traceback_is_read_in_every_known_form(tmp_path: Path, record: object) -> None:
    assert lines_of(tmp_path, record) == ("ValueError: bad",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[1, 2]",
        "{}",
        '{"message": {}}',
        '{"message": "\\u0000\\n "}',
        "[" * 100_000,
        "9" * 5000,
        json.dumps({"message": "x" * 2**20}),
    ],
    ids=range(10),
)
def test_an_empty_or_invalid_record_gives_no_excerpt(tmp_path: Path, text: str) -> None:
    assert lines_of(tmp_path, text) is None


def test_the_text_of_a_record_is_cleaned_like_a_log(tmp_path: Path) -> None:
    assert lines_of(tmp_path, '{"message": "\\u001b[31mbad\\u001b[0m\\u0000 \\ud800"}') == ("bad ?",)


def test_a_pipe_and_a_missing_file_give_no_excerpt(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "error.json")
    assert read_error_file(str(tmp_path / "error.json")) is None
    assert read_error_file(str(tmp_path / "gone" / "error.json")) is None


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.text(), st.integers()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["message", "extraInfo", "py_callstack", "x"]), inner, max_size=3),
    ),
)


@settings(deadline=None)  # the machine may be busy
@given(st.one_of(st.binary(), JSON.map(lambda record: json.dumps(record).encode())))
def test_no_record_raises(data: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        found = read_error_file(file.name)
    assert found is None or any(found.texts)
