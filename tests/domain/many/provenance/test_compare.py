"""What is named when two runs differ, and what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.many.provenance.compare import (
    Aspect,
    ComparedRun,
    changed_lines,
    compare,
    summary_line,
    unified,
)
from jobmon_core.domain.many.provenance.model import (
    GitState,
    PythonEnvironment,
    RunRecord,
    Script,
    ScriptKind,
    digest,
)


def script(text: str, path: str = "/w/train.sbatch") -> Script:
    return Script(ScriptKind.FILE, path, text, digest(text.encode()), len(text))


SCRIPT = script("#!/bin/sh\npython train.py\n")
GIT = GitState("/w", "a1b2c3d4e5", "main", ())
RECORD = RunRecord(
    1.0,
    ("-t", "60", "train.sbatch", "--lr", "2e-5"),
    folder="/w",
    script=SCRIPT,
    git=GIT,
    modules=("cuda/12.1",),
    python=PythonEnvironment("/envs/a", {"torch": "2.3.1", "numpy": "1.26"}),
    files={"/w/train.py": "1"},
    environment={"OMP_NUM_THREADS": "1", "LANG": "2"},
    scheduler_version="slurm 23.11.4",
)


def run(
    record: RunRecord | None, nodes: str = "n1", partition: str = "gpu", limit_s: int = 3600
) -> ComparedRun:
    task = Task("", nodes=nodes, limit_s=limit_s)
    return ComparedRun(WatchedJob("slurm-8123-x", 8123, 0.0, partition=partition), task, record)


RUN = run(RECORD)


def briefs(**changes: object) -> list[str]:
    new = run(replace(RECORD, **changes))  # type: ignore[arg-type]
    return [each.brief for each in compare(RUN, new, 3)]


def test_the_same_run_on_the_same_node_differs_in_nothing() -> None:
    assert compare(RUN, run(RECORD)) == ()
    assert summary_line("8101", ()) == "nothing that jobmon records since 8101 succeeded"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"script": script("#!/bin/sh\npython train.py -v\nsync\n")}, "train.sbatch (2 lines)"),
        ({"script": script("x", "/w/b.sh")}, "train.sbatch -> b.sh (2 lines)"),
        ({"script": replace(SCRIPT, path="/v/train.sbatch")},
         "script /w/train.sbatch -> /v/train.sbatch, with the same text"),
        ({"script": replace(script("secret"), text=None)}, "train.sbatch"),
        ({"arguments": ("-t", "60", "train.sbatch", "--lr", "2e-4")}, "arguments --lr 2e-5 -> --lr 2e-4"),
        ({"arguments": ("--time=90", "-N2", "train.sbatch", "--lr", "2e-5")},
         "options + --nodes 2, --time 60 -> 90"),
        ({"files": {"/w/train.py": "2", "/w/new.py": "1"}}, "train.py"),
        ({"git": replace(GIT, commit="9f8e7d6c5b")}, "commit a1b2c3d -> 9f8e7d6 (3 commits)"),
        ({"git": replace(GIT, commit="9f8e7d6c5b", branch="fix")},
         "commit a1b2c3d -> 9f8e7d6 (3 commits), branch main -> fix"),
        ({"git": replace(GIT, changed=("a.py",), changed_digest="5")}, "uncommitted changes: none -> a.py"),
        ({"modules": ("cuda/12.4",)}, "modules + cuda/12.4, - cuda/12.1"),
        ({"environment": {"OMP_NUM_THREADS": "9", "LANG": "2", "NEW": "1"}},
         "environment OMP_NUM_THREADS, + NEW"),
        ({"folder": "/v"}, "folder /w -> /v"),
        ({"scheduler_version": "slurm 24.05.1"}, "slurm 23.11.4 -> slurm 24.05.1"),
        ({"python": PythonEnvironment("/envs/a", {"torch": "2.4.0", "einops": "1"})},
         "torch 2.3.1 -> 2.4.0, + einops 1, - numpy 1.26"),
        ({"python": PythonEnvironment("/envs/b", {"torch": "2.3.1", "numpy": "1.26"})},
         "python /envs/a -> /envs/b"),
    ],
)  # fmt: skip
def test_each_aspect_is_named(changes: dict[str, object], expected: str) -> None:
    assert briefs(**changes) == [expected]


@pytest.mark.parametrize(
    "changes",
    [{"git": None}, {"modules": None}, {"python": None}, {"script": None}, {"environment": {}},
     {"scheduler_version": ""}, {"files": {}}, {"git": replace(GIT, changed=None)}],
)  # fmt: skip
def test_what_only_one_run_knows_is_no_difference(changes: dict[str, object]) -> None:
    assert briefs(**changes) == []


def test_without_a_record_places_and_limits_are_compared() -> None:
    other = run(None, "n2", "gpu-long", 7200)
    assert [each.brief for each in compare(RUN, other)] == [
        "partition gpu -> gpu-long", "time limit 1h -> 2h", "node n1 -> n2",
    ]  # fmt: skip


def test_the_command_of_a_wrapped_job_is_compared_as_a_script_not_as_an_option() -> None:
    old = replace(RECORD, arguments=("--wrap", "a"), script=replace(script("a", ""), kind=ScriptKind.WRAP))
    new = replace(RECORD, arguments=("--wrap", "b"), script=replace(script("b", ""), kind=ScriptKind.WRAP))
    (only,) = compare(run(old), run(new))
    assert (only.aspect, only.brief) == (Aspect.SCRIPT, "the command (1 line)")


def test_many_packages_are_counted_and_the_first_are_named() -> None:
    many = PythonEnvironment("/envs/a", {f"p{number}": "1" for number in range(60)})
    (found,) = compare(RUN, run(replace(RECORD, python=many)))
    assert found.brief == "62 packages: + p0 1, + p1 1, + p2 1, ..."
    assert len(found.lines) == 40


def test_the_line_of_a_message_names_the_first_five_and_is_short() -> None:
    changed = replace(
        RECORD,
        script=script("#!/bin/sh\npython train.py " + "x" * 500),
        git=replace(GIT, commit="9f8e7d6c5b"),
        arguments=("train.sbatch",),
        files={"/w/train.py": "2"},
        modules=(),
        folder="/v",
    )
    found = compare(RUN, run(changed, "n2"), 3)
    line = summary_line("8101", found)
    assert line == (
        "since 8101 succeeded: train.sbatch (1 line), arguments --lr 2e-5 -> none, options - --time 60, "
        "train.py, commit a1b2c3d -> 9f8e7d6 (3 commits) and 3 more"
    )
    only_node = compare(RUN, run(RECORD, "n2"))
    assert summary_line("8101", only_node) == "only the node n1 -> n2 since 8101 succeeded"


def test_lines_added_in_one_place_and_removed_in_another_count_each() -> None:
    assert changed_lines("a\nb\nc\n", "a\nX\nc\n") == 1
    assert changed_lines("a\nb\nc\n", "0\na\nb\n") == 2


def test_a_diff_of_long_texts_takes_no_time() -> None:
    old, new = "a\n" * 200_000, "b\n" * 200_001
    assert changed_lines(old, new) == 1
    assert unified(old, new, 40) == ("too long to be shown",)
    assert unified("1\n" * 90, "2\n" * 90, 40)[-1].startswith("... and ")
