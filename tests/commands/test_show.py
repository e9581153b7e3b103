"""``jobmon show`` in a shell."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jobmon_core.store.jobs import JobStore
from tests.support.job_records import NOW_S, RUNNING, failed, job_of, succeeded
from tests.support.shell import Shell, complaint


@pytest.fixture
def shell(shell: Shell) -> Shell:
    """A shell of a user with an array and two other jobs."""
    store = JobStore(shell.state)
    array = replace(job_of(succeeded("1"), failed("2"), name="sweep"), array_indices="1-2", concluded_s=NOW_S)
    store.save(array)
    store.save(replace(job_of(RUNNING, job_id=13), registered_s=NOW_S + 1))
    store.save(replace(job_of(RUNNING, job_id=14), registered_s=NOW_S + 2))
    return shell


def test_several_jobs_by_id_name_or_as_the_latest_are_shown_with_a_line_between(shell: Shell) -> None:
    shown = shell.jobmon("show", "12_2", "train", "latest").stdout
    assert [part.splitlines()[0] for part in shown.split("\n\n") if part[0].isdigit()] == [
        "12 sweep",
        "12_2: FAILED, exit code 1",
        "12: the whole job",
        "14 train",
        "14 train",
    ]


def test_tasks_as_squeue_lists_them_are_shown_one_by_one(shell: Shell) -> None:
    by_list, by_name = shell.jobmon("show", "12_[1-2]"), shell.jobmon("show", "12_1", "12_2")
    assert (by_list.returncode, by_list.stdout) == (0, by_name.stdout)


def test_an_sluid_is_told_from_a_name(shell: Shell) -> None:
    done = shell.jobmon("show", "sEKNKTV3WPV500")
    assert done.returncode == 1
    assert "an SLUID, and jobmon knows jobs by their ids: `sacct -X -o JobID,SLUID`" in done.stderr


def test_only_failed_tasks_are_shown_unless_all_are_asked_for(shell: Shell) -> None:
    assert "12_1: COMPLETED" not in shell.jobmon("show", "12").stdout
    assert "12_1: COMPLETED" in shell.jobmon("show", "12", "--all").stdout


def test_json_is_an_object_for_one_job_and_a_list_for_several(shell: Shell) -> None:
    assert json.loads(shell.jobmon("show", "13", "--json").stdout)["job_id"] == "13"
    assert [each["job_id"] for each in json.loads(shell.jobmon("show", "13", "12", "--json").stdout)] == [
        "13",
        "12",
    ]


def test_the_help_documents_every_key_of_the_json(shell: Shell) -> None:
    documented = shell.jobmon("show", "--help").stdout
    shown = json.loads(shell.jobmon("show", "12", "--json").stdout)
    own = set(shown) - set(json.loads(shell.jobmon("status", "12", "--json").stdout)[0])
    assert [key for key in (*own, *shown["tasks"][0]) if key not in documented] == []


def test_an_unknown_job_does_not_hide_the_others(shell: Shell) -> None:
    done = shell.jobmon("show", "4711", "13")
    assert done.returncode == 1
    assert done.stdout.startswith("13 train\n")
    assert "no record of job 4711 (never watched, or forgotten)" in done.stderr
    assert "did you mean 'sweep'" in complaint(shell.jobmon("show", "swep"))
