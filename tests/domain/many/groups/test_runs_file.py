"""A file of runs: what its values mean, and what is wrong with it."""

from __future__ import annotations

import pytest

from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.many.groups.model import PlannedRun
from jobmon_core.domain.many.groups.runs_file import parse_runs
from jobmon_core.domain.slurm.job_ids import JobRef


@pytest.mark.parametrize(
    ("value", "run"),
    [
        ("eval.sbatch", PlannedRun("eval.sbatch")),
        ("eval.sbatch --epoch 'a b'", PlannedRun("eval.sbatch", ("--epoch", "a b"))),
        ("--gres=gpu:1 -J x e.sh -J y", PlannedRun("e.sh", ("-J", "y"), ("--gres=gpu:1", "-J", "x"))),
        (["eval.sbatch", "--lr", 1e-05, 3], PlannedRun("eval.sbatch", ("--lr", "1e-05", "3"))),
        ("-n 2 --wrap 'python a.py'", PlannedRun("", (), ("-n", "2", "--wrap", "python a.py"))),
        ("-- e.sh", PlannedRun("e.sh")),
        ("8b.sbatch", PlannedRun("8b.sbatch")),
        (12345690, JobRef(12345690)),
        ("12_3", JobRef(12, task=3)),
        ("12+1", JobRef(12, component=1)),
    ],
)
def test_a_value_is_what_follows_jobmon_submit_or_a_job_id(value: object, run: PlannedRun | JobRef) -> None:
    name = "r8_lr1e-5/capitalization/epoch0"
    assert parse_runs({name: value}, "runs.yaml") == {name: run}
    assert parse_runs({"runs": {name: value}, "about": "static"}, "runs.yaml") == {name: run}


def test_every_fault_is_named_at_once() -> None:
    data = {
        "empty": None,
        "yes": True,
        "quote": "e.sh 'x",
        "nested": {"script": "e.sh"},
        "options": "--gres=gpu:1",
        "unclear": "--site-option x e.sh",
        "a\nb": "e.sh",
        "first": 12,
        "second": "12",
        "good": "e.sh",
    }
    with pytest.raises(ConfigInvalid) as raised:
        parse_runs(data, "runs.yaml")
    assert [fault.partition(":")[0] for fault in raised.value.faults] == [
        *("empty", "yes", "quote", "nested", "options", "unclear", "a\nb", "second")
    ]
    assert raised.value.faults[-1] == "second: job 12 is the run first already"


@pytest.mark.parametrize("data", [None, [], {}, "e.sh", {"runs": {}}])
def test_a_file_without_runs_is_refused(data: object) -> None:
    with pytest.raises(ConfigInvalid, match="must map names of runs"):
        parse_runs(data, "runs.yaml")
