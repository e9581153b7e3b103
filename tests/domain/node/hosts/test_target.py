"""The words that describe a job on a host."""

from __future__ import annotations

import pytest

from jobmon_core.domain.node.hosts.model import HostTarget


def test_the_words_of_one_command_describe_one_job() -> None:
    words = ("tmux:train", "marker:/data/DONE", "log:~/a b:c.log")
    assert HostTarget.parse(["process:train.py --lr 1", "log:a"]) == HostTarget(
        process="train.py --lr 1", log="a"
    )
    target = HostTarget.parse(words)
    assert target == HostTarget(tmux="train", marker="/data/DONE", log="~/a b:c.log")
    assert target.words == words


def test_the_files_of_a_job_are_counted_only_beside_what_names_the_job() -> None:
    assert HostTarget.parse(["pid:7", "files:/data/out"]) == HostTarget(pid=7, files="/data/out")
    with pytest.raises(ValueError, match="name the job, too"):
        HostTarget.parse(["files:/data/out"])


@pytest.mark.parametrize(
    ("target", "argv", "name"),
    [
        (HostTarget(tmux="train", log="/x/a.log"), ("python", "b.py"), "train"),
        (HostTarget(pid=7, log="/x/run 7.log"), ("python", "b.py"), "run 7"),
        (HostTarget(pid=7, marker="/x/DONE"), ("/usr/bin/python3", "-u", "/x/b.py"), "b.py"),
        (HostTarget(pid=7), ("-bash",), "bash"),
        (HostTarget(marker="/x/DONE"), (), "DONE"),
    ],
)
def test_a_job_gets_a_name_that_its_user_knows(target: HostTarget, argv: tuple[str, ...], name: str) -> None:
    assert target.name(argv) == name


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (["8123"], "expected tmux:NAME, pid:N, process:TEXT, marker:FILE or log:FILE"),
        (["log:"], "expected tmux:NAME"),
        (["job:7"], "expected tmux:NAME"),
        (["pid:x"], "expected the number of a process"),
        (["pid:0"], "expected the number of a process"),
        (["pid:99999999"], "expected the number of a process"),
        (["log:/a", "log:/b"], "one log: at most"),
        (["tmux:a", "pid:7"], "one of tmux:, pid: and process:"),
        (["log:/a\n/b"], "control characters"),
    ],
)
def test_wrong_words_are_refused_with_what_was_expected(words: list[str], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        HostTarget.parse(words)


def test_a_word_names_a_session_a_window_or_a_pane_of_tmux() -> None:
    pane = ("train", "1", "0")
    named = ("train", "train:1", "train:1.0")
    assert all(HostTarget(tmux=text).is_pane(*pane) for text in named)
    others = ("trai", "train:2", "train:1.1", "other")
    assert not any(HostTarget(tmux=text).is_pane(*pane) for text in others)
