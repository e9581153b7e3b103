"""What ``jobmon why`` says, by the facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobmon_core.domain.before.pending.explain import explain, place_text
from jobmon_core.domain.before.pending.model import (
    Category,
    Dependency,
    License,
    Limit,
    Node,
    Partition,
    PendingFacts,
    PendingJob,
    PendingRequest,
    QueuePlace,
    Reservation,
)
from jobmon_core.domain.finding import Finding
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.states import JobState

NOW_S = 1_000_000
HOUR_S = 3600
GIB = 1024**3
JOB = PendingJob(
    ref=JobRef(12),
    state=JobState.PENDING,
    raw_state="PENDING",
    partitions=("gpu",),
    request=PendingRequest(nodes=1, cpus=8, memory=64 * GIB, gpus=4),
)
NODE = Node("n1", "MIXED", cpus=64, memory=512 * GIB, gpus={"a100": 8})
MAINTENANCE = Reservation("weekly", NOW_S + 62 * HOUR_S, NOW_S + 70 * HOUR_S, "n[1-2]", is_maintenance=True)


def explained(
    reason: str,
    job: dict[str, Any] | None = None,
    **facts: Any,  # noqa: ANN401 - fields of PendingFacts
) -> Finding:
    """Explain a job with a reason; times are hours from now."""
    pending = replace(JOB, reason=reason, **(job or {}))
    return explain(PendingFacts(pending, **facts), NOW_S, lambda at_s: f"{(at_s - NOW_S) / HOUR_S:g}h")


def nodes(*used_gpus: int, features: tuple[str, ...] = ()) -> tuple[Node, ...]:
    """Return nodes with 8 GPUs each, of which jobs use so many."""
    return tuple(
        replace(NODE, name=f"n{number}", used_gpus={"a100": used}, features=features)
        for number, used in enumerate(used_gpus, 1)
    )


class TestResources:
    def test_what_others_use_is_counted(self) -> None:
        found = explained("Resources", nodes=nodes(6, 8))
        assert found.text == "waits: the resources that it asks for are not free"
        assert found.evidence == (
            "It asks for 1 node with 4 GPUs, 8 CPUs and 64.0 GiB of memory.",
            (
                "Of 2 usable nodes in partition gpu, none have that free now; free: 2 of 16 GPUs, "
                "128 of 128 CPUs, 1.0 TiB of 1.0 TiB of memory."
            ),
        )

    def test_what_no_node_has_never_comes(self) -> None:
        found = explained("Resources", {"request": PendingRequest(gpus=16)}, nodes=nodes(0, 0))
        assert found.text == "will not start: partition gpu does not have what it asks for"
        assert "none have that at all" in found.evidence[1]
        assert "scancel 12" in found.advice

    def test_gpus_of_another_type_do_not_count(self) -> None:
        wanted = {"request": PendingRequest(gpus=1, gpu_type="h100")}
        assert explained("Resources", wanted, nodes=nodes(0)).text.startswith("will not start")

    def test_nodes_that_are_drained_are_named_if_the_job_needs_them(self) -> None:
        drained = replace(NODE, name="n2", state="IDLE+DRAIN", why="bad disk")
        found = explained("Resources", {"request": PendingRequest(nodes=2)}, nodes=(NODE, drained))
        assert found.text == "waits: too many nodes of partition gpu are down, drained or not responding"
        assert found.evidence[-1] == "n2 is drained: bad disk."

    @pytest.mark.parametrize(
        ("state", "text"),
        [
            ("IDLE+NOT_RESPONDING", "not responding"),  # 25.05
            ("IDLE*", "not responding"),
            ("IDLE*+CLOUD", "not responding"),  # the star belongs to the base state
            ("DOWN*+CLOUD", "down"),
            ("IDLE*+DRAIN", "drained"),
        ],
    )
    def test_a_node_that_does_not_respond_is_not_usable(self, state: str, text: str) -> None:
        silent = replace(NODE, name="n2", state=state)
        found = explained("Resources", {"request": PendingRequest(nodes=2)}, nodes=(NODE, silent))
        assert "Of 1 usable node in partition gpu" in found.evidence[1]
        assert found.evidence[-1] == f"n2 is {text}."

    @pytest.mark.parametrize(("number", "more"), [(4, "1 more node takes"), (5, "2 more nodes take")])
    def test_of_many_unusable_nodes_the_first_are_named(self, number: int, more: str) -> None:
        drained = tuple(replace(NODE, name=f"n{index}", state="DOWN") for index in range(number))
        found = explained("Resources", nodes=drained)
        assert found.evidence[-2:] == (
            "n2 is down.",
            f"{more} no jobs: `sinfo -R` lists those that are down or drained.",
        )

    def test_a_job_that_wants_a_whole_node_needs_an_idle_one(self) -> None:
        busy = replace(NODE, used_cpus=1)
        wanted = {"request": PendingRequest(is_exclusive=True)}
        assert "none have that free now" in explained("Resources", wanted, nodes=(busy,)).evidence[1]
        assert "1 has that free now" in explained("Resources", wanted, nodes=(NODE,)).evidence[1]

    def test_without_the_nodes_only_the_request_is_shown(self) -> None:
        assert len(explained("Resources").evidence) == 1


class TestReservations:
    REASON = "ReqNodeNotAvail, Reserved for maintenance"

    def test_a_shorter_limit_lets_it_start_before_a_maintenance(self) -> None:
        found = explained(
            self.REASON, {"limit_s": 72 * HOUR_S}, nodes=nodes(0, 0), reservations=(MAINTENANCE,)
        )
        assert (found.id, found.text) == (
            Category.RESERVATION,
            "waits: a maintenance reservation takes nodes that it needs",
        )
        assert found.evidence == (
            (
                "Maintenance reservation weekly takes all nodes it could use (62h to 70h), "
                "and its time limit is 3d."
            ),
        )
        assert found.advice == (
            "With a time limit of 2d 13h or less (`scontrol update jobid=12 timelimit=2-13:00:00`), it could "
            "start before the maintenance reservation."
        )

    def test_a_maintenance_behind_the_end_of_the_job_is_no_obstacle(self) -> None:
        facts: dict[str, Any] = {"nodes": nodes(8, 8), "reservations": (MAINTENANCE,)}
        assert "weekly" not in " ".join(explained("Resources", {"limit_s": 60 * HOUR_S}, **facts).evidence)
        assert "weekly" in " ".join(explained("Resources", {"limit_s": 63 * HOUR_S}, **facts).evidence)

    def test_no_limit_helps_before_a_reservation_that_is_active_or_is_near(self) -> None:
        for start_s in (NOW_S - 10, NOW_S + 300):
            active = replace(MAINTENANCE, start_s=start_s)
            found = explained(self.REASON, nodes=nodes(0), reservations=(active,))
            assert "timelimit" not in found.advice

    def test_a_reservation_of_other_nodes_or_of_the_past_says_nothing(self) -> None:
        for other in (replace(MAINTENANCE, nodes="m[1-9]"), replace(MAINTENANCE, start_s=1, end_s=2)):
            assert explained("Priority", nodes=nodes(0), reservations=(other,)).evidence[1:] == ()

    def test_a_part_of_the_nodes_is_named(self) -> None:
        part = replace(MAINTENANCE, nodes="n1")
        found = explained("Priority", nodes=nodes(0, 0), reservations=(part,))
        assert found.evidence[-1].startswith(
            "Maintenance reservation weekly takes n1 (62h to 70h), and it has no time"
        )
        assert "weekly" not in found.advice

    def test_its_own_reservation_has_a_time(self) -> None:
        found = explained("Reservation", {"reservation": "weekly"}, reservations=(MAINTENANCE,))
        assert found.text == "waits for its reservation weekly"
        assert found.evidence == ("The reservation lasts from 62h to 70h.",)


class TestConditions:
    def test_a_dependency_names_the_other_job_and_its_state(self) -> None:
        other = Dependency("afterok", "7", job_name="prepare", job_state="PENDING")
        found = explained("Dependency", dependencies=(other, Dependency("singleton")))
        assert found.evidence == (
            "It starts once job 7 (prepare) has ended successfully (afterok); that job is PENDING.",
            "It starts after all earlier jobs of the same name and user (singleton).",
        )
        assert found.advice.startswith(
            "`jobmon why 7` explains why job 7 is pending. To drop the condition: "
        )
        active = (Dependency("afterok", "7", job_state="RUNNING"),)
        running = explained("Dependency", dependencies=active)
        assert running.advice.startswith("No action is needed")

    def test_a_dependency_that_cannot_be_met_says_what_became_of_the_other_job(self) -> None:
        other = Dependency("afterok", "7", is_failed=True, job_name="prepare", job_state="FAILED")
        found = explained("DependencyNeverSatisfied", dependencies=(other,))
        assert found.evidence[0].endswith("(afterok), which can no longer happen; that job is FAILED.")
        assert found.text == "will never start: its dependency can no longer be met"

    def test_a_begin_time_is_shown_with_the_way_to_lift_it(self) -> None:
        found = explained("BeginTime", {"eligible_s": NOW_S + HOUR_S})
        assert found.evidence == ("The earliest start: 1h.",)
        assert "`scontrol update jobid=12 starttime=now`" in found.advice

    def test_licences_are_counted(self) -> None:
        found = explained("Licenses", {"licenses": "matlab:2"}, licenses=(License("matlab", 10, 1),))
        assert found.evidence == ("It asks for the licences matlab:2.", "Of matlab, 1 of 10 are free.")

    def test_the_limit_of_an_array_names_the_array(self) -> None:
        tasks = {"pending_indices": IndexSet.parse("2-9"), "at_once": 2}
        found = explained("JobArrayTaskLimit", tasks, running=2)
        assert found.evidence == ("The array may run 2 tasks at a time (%2); now running: 2.",)
        assert "`scontrol update jobid=12 arraytaskthrottle=...`" in found.advice

    def test_features_that_no_node_has_are_beside_those_that_exist(self) -> None:
        facts = nodes(0, features=("a100", "nvlink"))
        found = explained("BadConstraints", {"features": "h100"}, nodes=facts)
        assert found.evidence[1:3] == (
            "It asks for nodes with the features h100.",
            "The features of the nodes in partition gpu: a100, nvlink.",
        )


class TestHetJobs:
    def test_the_first_component_stands_for_all_in_commands(self) -> None:
        found = explained("JobHeldUser", {"ref": JobRef(12, component=1)})
        assert found.advice == "Release it with `scontrol release 12`."


class TestPartitions:
    @pytest.mark.parametrize(
        ("reason", "partition", "text"),
        [
            ("PartitionDown", Partition("gpu", state="DOWN"), "Partition gpu is DOWN."),
            (
                "PartitionTimeLimit",
                Partition("gpu", state="UP", max_time_s=HOUR_S),
                "Partition gpu allows 1h; its time limit is 2h.",
            ),
            (
                "PartitionNodeLimit",
                Partition("gpu", state="UP", total_nodes=3, max_nodes=8),
                "Partition gpu allows 3 nodes; it asks for 4.",
            ),
        ],
    )
    def test_what_a_partition_refuses_is_named(self, reason: str, partition: Partition, text: str) -> None:
        job = {"limit_s": 2 * HOUR_S, "request": PendingRequest(nodes=4)}
        found = explained(reason, job, partitions=(partition,))
        assert (found.id, found.evidence) == (Category.PARTITION, (text,))


class TestLimits:
    @pytest.mark.parametrize(
        ("reason", "limit", "text"),
        [
            (
                "QOSMaxJobsPerUserLimit",
                Limit("QOS long", "MaxJobsPU", "", 1, 1),
                "QOS long allows at most 1 running job per user (MaxJobsPU); counted now: 1 running job.",
            ),
            (
                "QOSMaxGRESPerUser",
                Limit("QOS long", "MaxTRESPU", "gres/gpu", 8, 8),
                "QOS long allows at most 8 GPUs per user (MaxTRESPU); counted now: 8 GPUs.",
            ),
            (
                "AssocGrpMemLimit",
                Limit("Account lab", "GrpTRES", "mem", 1024, 1000),
                "Account lab allows at most 1.0 GiB in all (GrpTRES); counted now: 1000.0 MiB.",
            ),
            (
                "QOSMaxWallDurationPerJobLimit",
                Limit("QOS long", "MaxWallPJ", "", 60),
                "QOS long allows at most 1h of run time per job (MaxWallPJ).",
            ),
            (
                "AssocGrpCPUMinutesLimit",
                Limit("Account lab", "GrpTRESMins", "cpu", 600, 600),
                (
                    "Account lab allows at most 600 CPU minutes in all (GrpTRESMins); "
                    "counted now: 600 CPU minutes."
                ),
            ),
            (
                "QOSMinGRES",
                Limit("QOS long", "MinTRESPJ", "gres/gpu", 1),
                "QOS long requires at least 1 GPU per job (MinTRESPJ).",
            ),
        ],
    )
    def test_the_limit_of_the_reason_is_shown_with_its_use(
        self, reason: str, limit: Limit, text: str
    ) -> None:
        others = (
            Limit("QOS long", "GrpJobs", "", 5, 5),
            Limit("Account lab", "MaxTRESPJ", "cpu", 5),
            Limit("User me of account lab", "GrpTRES", "cpu", 5, 5),
        )
        assert explained(reason, limits=(*others, limit)).evidence == (text,)

    def test_without_any_limit_the_problem_remains(self) -> None:
        assert explained("QOSGrpNodeLimit").text == "waits: all jobs of its QOS together reached a limit"


class TestPlace:
    @pytest.mark.parametrize(
        ("place", "text"),
        [
            (QueuePlace(0, 0), "No other job waits in partition gpu."),
            (QueuePlace(1, 1), "The only other job that waits in partition gpu comes before it."),
            (QueuePlace(0, 11), "It is the first of the 12 jobs that wait in partition gpu."),
            (QueuePlace(3, 11), "3 of the 11 other jobs that wait in partition gpu come before it."),
        ],
    )
    def test_the_place_is_a_sentence(self, place: QueuePlace, text: str) -> None:
        assert place_text(PendingFacts(JOB, place=place)) == text


@pytest.mark.parametrize("reason", ["", "None", "SomethingNew", "JobHeldUser", "Prolog", "InvalidAccount"])
def test_every_reason_is_explained_without_further_facts(reason: str) -> None:
    found = explained(reason)
    assert found.text
    assert "JOBID" not in found.advice
