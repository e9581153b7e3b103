"""``jobmon why`` for jobs that wait for different reasons, on a cluster of their own."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from private_slurm import Cluster

from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.store.history.lines import append
from tests.support.fake_discord import FakeDiscord
from tests.support.user import User
from tests.support.waiting import eventually

pytestmark = pytest.mark.xdist_group("why")

# limits are enforced, and there are licences: not on the cluster that other tests share
_SITE = "AccountingStorageEnforce=limits\nLicenses=solver:1\n"


class Expected(NamedTuple):
    """What a job waits for, as Slurm and as jobmon say it."""

    reason: str
    category: str
    said: tuple[str, ...]  # in the text of the command


EXPECTED = {
    "resources": Expected(
        "Resources",
        "resources",
        (
            "the resources that it asks for are not free",
            "2 GPUs",
            "none have that free now",
            "0 of 4 GPUs",
            "It is the first of the 2 jobs|comes after it",
            "Slurm's estimate: ",
        ),
    ),
    "priority": Expected(
        "Priority",
        "priority",
        (
            "jobs with a higher priority come first",
            "The only other job that waits in partition doomed comes before it.",
        ),
    ),
    "held": Expected("JobHeldUser", "held", ("held by its user", "scontrol release")),
    "admin": Expected("JobHeldAdmin", "held", ("held by an administrator",)),
    "dependency": Expected(
        "Dependency",
        "dependency",
        ("(held) has ended successfully (afterok); that job is PENDING", "jobmon why"),
    ),
    "never": Expected(
        "DependencyNeverSatisfied", "dependency", ("will never start", "(fails) has", "that job is FAILED")
    ),
    "begin": Expected("BeginTime", "begin_time", ("The earliest start: ", "starttime=now")),
    "maintenance": Expected(
        "ReqNodeNotAvail, Reserved for maintenance",
        "reservation",
        (
            "a maintenance reservation takes nodes that it needs",
            "Maintenance reservation why-maintenance takes all nodes it could use (",
            "its time limit is 3h",
            "With a time limit of ",
            "timelimit=",
            "it could start before the maintenance reservation",
        ),
    ),
    "reserved": Expected(
        "Reservation",
        "reservation",
        ("waits for its reservation why-maintenance", "The reservation lasts from"),
    ),
    "limit": Expected(
        "QOSMaxJobsPerUserLimit",
        "limit",
        ("QOS why allows at most 1 running job per user (MaxJobsPU); counted now: 1 running job.",),
    ),
    "licences": Expected("Licenses", "licenses", ("Of solver, 0 of 1 are free.",)),
    "array": Expected("JobArrayTaskLimit", "array_limit", ("may run 1 task at a time (%1); now running: 1",)),
    "nodes": Expected("PartitionNodeLimit", "partition", ("Partition main allows 3 nodes; it asks for 99",)),
    "time": Expected(
        "PartitionTimeLimit", "partition", ("Partition why-short allows 10m; its time limit is 20m",)
    ),
    "drained": Expected(
        "ReqNodeNotAvail, UnavailableNodes:n3",
        "nodes",
        ("It asks for the nodes n3.", "n3 is drained: bad disk."),
    ),
}


class Waiting(NamedTuple):
    """The user, and the ids of the jobs that wait."""

    user: User
    jobs: dict[str, str]


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waiting]:
    """A user with one job for each reason, on a cluster with limits, licences and a maintenance ahead."""
    folder = tmp_path_factory.mktemp("why")
    with Cluster() as cluster, FakeDiscord() as discord:
        cluster.stop_controller()
        conf = cluster.folder / "slurm.conf"
        conf.write_text(_SITE + conf.read_text())
        cluster.start_controller()
        try:
            eventually(lambda: {cluster.node_state(node) for node in cluster.nodes} == {"idle"})
        except AssertionError as error:
            states = "\n".join(f"{node}: {cluster.node_state(node)}" for node in cluster.nodes)
            log = cluster.settings.layout.logs.joinpath("slurmctld.log").read_text(errors="replace")[-3000:]
            raise AssertionError(f"{states}\n{log}") from error
        user = User(folder, discord, {"PATH": os.environ["PATH"], **cluster.env})
        yield Waiting(user, _submit_all(user))
        user.leave()


def _submit_all(user: User) -> dict[str, str]:
    slurm = user.slurm
    slurm("sacctmgr", "-i", "add", "qos", "why", "set", "MaxJobsPerUser=1")
    slurm("sacctmgr", "-i", "modify", "user", "root", "set", "qos+=why")
    slurm("scontrol", "create", "partition=why-short", "nodes=n2", "maxtime=10", "state=up")
    slurm("scontrol", "update", "nodename=n3", "state=drain", "reason=bad disk")
    maintenance = ("starttime=now+1hour", "duration=120", "flags=maint,ignore_jobs", "nodes=n5", "users=root")
    slurm("scontrol", "create", "reservation", "reservationname=why-maintenance", *maintenance)
    jobs: dict[str, str] = {}

    def submit(name: str, *options: str, wrap: str = "sleep 600") -> str:
        submission = ("sbatch", "--parsable", "-J", name, "-o", "/dev/null", *options, "--wrap", wrap)
        jobs[name] = slurm(*submission).strip()
        return jobs[name]

    submit("big", "-p", "doomed", "--exclusive", "-t", "60")
    fails = submit("fails", wrap="exit 1")
    submit("resources", "-p", "doomed", "--gres=gpu:2", "-t", "30")
    submit("priority", "-p", "doomed", "--nice=100", "-t", "30")
    held = submit("held", "-H")
    submit("admin", "--begin=now+1hour")
    slurm("scontrol", "hold", jobs["admin"])
    submit("dependency", "-d", f"afterok:{held}")
    submit("never", "-d", f"afterok:{fails}")
    submit("begin", "--begin=now+90minutes")
    submit("maintenance", "-p", "low", "-t", "3:00:00")
    submit("reserved", "-p", "low", "--reservation=why-maintenance")
    submit("first", "--qos=why")
    submit("user", "-L", "solver")
    submit("array", "--array=1-4%1")
    submit("limit", "--qos=why")
    submit("licences", "-L", "solver")
    submit("nodes", "-N", "99")
    submit("time", "-p", "why-short", "-t", "20")
    submit("drained", "-w", "n3")
    waiting_for = {jobs[name]: expected.reason for name, expected in EXPECTED.items()}
    with suppress(AssertionError):  # the comparison below shows which reason is missing
        eventually(lambda: waiting_for.items() <= _reasons(user).items())
    found = _reasons(user)
    assert {job_id: found.get(job_id) for job_id in waiting_for} == waiting_for
    estimate = ("squeue", "-h", "-j", jobs["resources"], "-o", "%S")
    eventually(lambda: user.slurm(*estimate).strip() != "N/A")  # Slurm makes it some time after the reason
    return jobs


def _reasons(user: User) -> dict[str, str]:
    """Return the reason of each pending job; of an array, that of its pending tasks."""
    rows = (row.split("|", 1) for row in user.slurm("squeue", "-h", "-t", "PD", "-o", "%F|%r").splitlines())
    return {row[0]: row[1] for row in rows}


def test_each_reason_is_explained_with_evidence_and_what_to_do(waiting: Waiting) -> None:
    user, jobs = waiting
    for name, expected in EXPECTED.items():
        done = user.jobmon("why", jobs[name])
        assert (done.returncode, done.stderr) == (0, ""), name
        print(done.stdout)
        for text in expected.said:
            assert any(each in done.stdout for each in text.split("|")), (name, text, done.stdout)
        assert "Not available" not in done.stdout
        assert "JOBID" not in done.stdout


def test_programs_get_the_category_the_estimate_and_the_place(waiting: Waiting) -> None:
    user, jobs = waiting
    found = {
        name: _as_json(user, jobs[name]) for name in ("resources", "priority", "maintenance", "array", "big")
    }
    for name in ("resources", "priority", "maintenance", "array"):
        assert (found[name]["reason"], found[name]["category"]) == EXPECTED[name][:2]
    assert found["resources"]["expected_start_at"] > found["resources"]["submitted_at"]
    assert (found["priority"]["jobs_ahead"], found["priority"]["jobs_waiting"]) == (1, 1)
    assert found["array"]["pending_tasks"] == "2-4"
    assert found["array"]["job_id"] == jobs["array"]
    assert (found["big"]["is_pending"], found["big"]["category"]) == (False, None)
    assert "it is RUNNING" in found["big"]["problem"]


def test_a_node_that_kills_runs_is_named_before_the_job_starts_there(waiting: Waiting) -> None:
    user, jobs = waiting
    node, now_s = _as_json(user, jobs["resources"])["expected_nodes"], int(time.time())
    ok = HistoryRecord(1, 1, 1.0, outcome="success", ended_s=now_s - 900)
    good = [ok._replace(job_id=number, nodes=f"elsewhere{number % 20}") for number in range(60)]
    dead = ok._replace(outcome="failure", cause="gpu_hardware", nodes=node)
    append(
        user.home / "state" / "history", [*good, *(dead._replace(job_id=n) for n in (101, 102, 103))], "a", 1
    )
    assert _as_json(user, jobs["resources"])["suspect_nodes"] == [node]
    assert _as_json(user, jobs["maintenance"])["suspect_nodes"] == []
    text = " ".join(user.jobmon("why", jobs["resources"]).stdout.split())
    assert f"3 of 3 runs died on {node}, 0 of 60 elsewhere" in text
    advised = re.search(r"`(scontrol update jobid=\d+ excnodelist=\S+)`", text)
    assert advised
    user.slurm(*advised[1].split())
    assert f"ExcNodeList={node}" in user.slurm("scontrol", "show", "job", jobs["resources"])
    user.slurm("scontrol", "update", f"jobid={jobs['resources']}", "excnodelist=")


def test_the_advised_time_limit_lets_a_job_start_before_the_maintenance(waiting: Waiting) -> None:
    user, jobs = waiting
    advice = _as_json(user, jobs["maintenance"])["action"]
    command = re.search(r"`(scontrol update jobid=\d+ timelimit=[\d:-]+)`", advice)
    assert command, advice
    user.slurm(*command[1].split())
    user.in_state(jobs["maintenance"], "RUNNING")


def test_a_job_that_ended_is_one_sentence_and_the_wait_of_a_held_one_is_split(waiting: Waiting) -> None:
    user, jobs = waiting
    assert "it has ended: FAILED; `jobmon diagnose" in user.jobmon("why", jobs["fails"]).stdout
    job_id = user.submit("-H", "-J", "later", "--wrap", "true")
    user.watched_as(job_id, "PENDING")
    assert user.status(job_id)["pending_category"] == "held"
    assert "held by its user (JobHeldUser)" in user.jobmon("status").stdout
    before_s = time.time()
    user.slurm("scontrol", "release", str(job_id))
    after_s = time.time()
    user.told(job_id)
    (task,) = json.loads(user.jobmon("show", str(job_id), "--json").stdout)["tasks"]
    wait = task["wait"]
    submitted_s = task["started_at"] - wait["waited_s"]
    assert before_s - 1 <= submitted_s + wait["held_s"] <= after_s + 1
    assert wait["eligible_s"] == wait["waited_s"] - wait["held_s"]


def _as_json(user: User, job_id: str) -> dict[str, Any]:
    done = user.jobmon("why", job_id, "--json")
    assert done.returncode == 0, done
    return dict(json.loads(done.stdout))
