"""What Slurm 22.05 answers about a site, and what older and newer ones may: every parser is total."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.before.pending.model import (
    Dependency,
    License,
    Limit,
    PendingFacts,
    PendingRequest,
    QueuePlace,
)
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm.commands import SEP, fields_of
from jobmon_core.scheduler.slurm.pending import ask_pending
from jobmon_core.scheduler.slurm.site_records import (
    gpus_of,
    place_of,
    read_dependencies,
    read_jobs,
    read_licenses,
    read_limits,
    read_nodes,
    read_partitions,
    read_reservations,
)
from tests.support.fake_runner import FakeRunner, said

MIB = 1024**2
NODE = (
    "NodeName=n4 Arch=x86_64 CoresPerSocket=1  CPUAlloc=16 CPUEfctv=62 CPUTot=64 CPULoad=8.28 "
    "AvailableFeatures=(null) ActiveFeatures=a100,ib Gres=gpu:a100:4(S:0-1) GresDrain=N/A "
    "GresUsed=gpu:a100:3(IDX:0-2) OS=Linux 6.18 #1 SMP RealMemory=131072 AllocMem=65536 FreeMem=1 "
    "State=MIXED+DRAIN ThreadsPerCore=1 Partitions=doomed CfgTRES=cpu=64 "
    "Reason=bad disk, a=b [root@1795623471] Comment=my comment Extra=x y"
)
PARTITION = (
    "PartitionName=low AllowQos=ALL QoS=N/A DefaultTime=NONE MaxNodes=UNLIMITED MaxTime=1-00:00:00 "
    "Nodes=n[5-6] State=UP TotalCPUs=64 TotalNodes=2\n"
)
RESERVATION = (
    "ReservationName=weekly StartTime=1795627071 EndTime=1795634271 Duration=02:00:00 Nodes=n5 NodeCnt=1 "
    "Flags=MAINT,IGNORE_JOBS,SPEC_NODES TRES=cpu=64 Users=root,anna Accounts=(null) State=INACTIVE\n"
)
LIMITS = (
    "Current Association Manager state\nAssociation Records\n"
    "ClusterName=c Account=lab UserName= Partition= GrpJobs=N(1) GrpTRES=cpu=N(0),mem=2048(1024) MaxJobs=\n"
    "ClusterName=c Account=lab UserName=anna(1001) Partition= GrpJobs=5(2) MaxWallPJ=60 MaxTRESPJ=node=4\n"
    "ClusterName=c Account=lab UserName=otto(1002) Partition= GrpJobs=7(7)\n"
    "ClusterName=c Account=other UserName=anna(1001) Partition= GrpJobs=9(9)\n"
    "QOS Records\n"
    "QOS=long(2) GrpJobs=N(1) GrpTRES=cpu=100(1),gres/gpu=8(8) Account Limits= lab={MaxJobsPA=3(1)} "
    "User Limits= 1001={MaxJobsPU=1(1) MaxTRESPU=cpu=N(1)} 1002={MaxJobsPU=1(0)}\n"
)


OLD, NEW = fields_of((25, 11)), fields_of((26, 5))


def job_row(names: Sequence[str] = OLD, **fields: str) -> str:
    known = {"JobArrayID": "12", "State": "PENDING", "Reason": "Resources", "Partition": "main,low"}
    known |= {"PriorityLong": "100", "SubmitTime": "10", "StartTime": "N/A", "NumNodes": "1", "NumCPUs": "8"}
    known |= fields
    return SEP.join(known.get(name, "(null)") for name in names) + SEP + "\n"


class TestJob:
    def test_a_row_has_the_request(self) -> None:
        tres = "cpu=8,mem=64G,node=2,billing=8,gres/gpu=4,gres/gpu:a100=4"
        row = job_row(NumNodes="2", **{"tres-alloc": tres}, OverSubscribe="NO", Name="train")
        (job,) = read_jobs(row, OLD)
        assert job.request == PendingRequest(2, 8, 64 * 1024 * MIB, 4, "a100", is_exclusive=True)
        assert (job.name, job.partitions, job.priority, job.expected_start_s) == (
            "train",
            ("main", "low"),
            100,
            None,
        )

    @pytest.mark.parametrize(
        ("kind", "is_exclusive"),
        [("NO", False), ("NODE", True), ("TOPO", True), ("USER", False), ("MCS", False)],
    )
    def test_since_26_05_a_column_of_its_own_says_whether_a_job_wants_whole_nodes(
        self, kind: str, *, is_exclusive: bool
    ) -> None:
        (job,) = read_jobs(job_row(NEW, OverSubscribe="NO", Exclusive=kind), NEW)
        assert job.request
        assert job.request.is_exclusive is is_exclusive
        assert ("Exclusive" in OLD, "OverSubscribe" in NEW) == (False, False)

    def test_gpus_that_accounting_does_not_count_come_from_the_request_for_each_node(self) -> None:
        (job,) = read_jobs(job_row(NumNodes="2", **{"tres-per-node": "gres:gpu:h100:4"}), OLD)
        assert job.request
        assert (job.request.gpus, job.request.gpu_type) == (8, "h100")

    def test_pending_tasks_of_an_array_are_one_row(self) -> None:
        (job,) = read_jobs(job_row(JobArrayID="12_[2-9%3]"), OLD)
        assert (str(job.pending_indices), job.at_once, job.ref) == ("2-9", 3, JobRef(12))

    def test_a_name_with_newlines_costs_no_row(self) -> None:
        assert len(read_jobs(job_row(Name="a\nb") + job_row(), OLD)) == 2


class TestParsers:
    def test_a_node_has_its_use_and_the_reason_of_its_drain(self) -> None:
        (node,) = read_nodes(NODE + "\n")
        assert (node.name, node.state, node.why) == ("n4", "MIXED+DRAIN", "bad disk, a=b")
        assert (node.cpus, node.used_cpus) == (62, 16)
        assert (node.memory, node.used_memory) == (131072 * MIB, 65536 * MIB)
        assert (node.gpus, node.used_gpus, node.features) == ({"a100": 4}, {"a100": 3}, ("a100", "ib"))

    def test_a_partition_has_its_limits(self) -> None:
        (low,) = read_partitions(PARTITION)
        assert (low.state, low.nodes, low.total_nodes) == ("UP", "n[5-6]", 2)
        assert (low.max_nodes, low.max_time_s, low.qos) == (None, 86_400, "")

    def test_a_reservation_for_maintenance_is_one(self) -> None:
        (weekly,) = read_reservations(RESERVATION)
        assert (weekly.start_s, weekly.end_s, weekly.nodes) == (1795627071, 1795634271, "n5")
        assert weekly.is_maintenance
        assert read_reservations("No reservations in the system\n") == ()

    def test_only_limits_that_are_set_and_apply_to_the_user_count(self) -> None:
        assert read_limits(LIMITS, "anna", 1001, "lab") == (
            Limit("Account lab", "GrpTRES", "mem", 2048, 1024),
            Limit("User anna of account lab", "GrpJobs", "", 5, 2),
            Limit("User anna of account lab", "MaxWallPJ", "", 60),
            Limit("User anna of account lab", "MaxTRESPJ", "node", 4),
            Limit("QOS long", "GrpTRES", "cpu", 100, 1),
            Limit("QOS long", "GrpTRES", "gres/gpu", 8, 8),
            Limit("QOS long", "MaxJobsPA", "", 3, 1),
            Limit("QOS long", "MaxJobsPU", "", 1, 1),
        )

    def test_licences_that_the_job_asks_for_are_found(self) -> None:
        text = "LicenseName=matlab Total=5 Used=4 Free=1 Remote=no\nLicenseName=ansys Total=1 Used=1 Free=0\n"
        assert read_licenses(text, "matlab:2") == (License("matlab", 5, 1),)

    def test_conditions_of_a_dependency_are_split(self) -> None:
        text = (
            "afterok:1005(unfulfilled),afterany:7_*(failed)?aftercorr:8_3(unfulfilled),singleton(unfulfilled)"
        )
        assert read_dependencies(text) == (
            Dependency("afterok", "1005"),
            Dependency("afterany", "7", is_failed=True),
            Dependency("aftercorr", "8_3"),
            Dependency("singleton"),
        )
        assert [each.job for each in read_dependencies("after:7+30(unfulfilled)")] == ["7"]

    @pytest.mark.parametrize(
        ("text", "gpus"),
        [
            ("gpu:4", {"": 4}),
            ("gpu:a100:4(S:0-1),gpu:h100:2(S:1)", {"a100": 4, "h100": 2}),
            ("gpu:(null):0(IDX:N/A)", {"": 0}),
            ("gres/gpu:a100_3g.20gb:2,mps:100", {"a100_3g.20gb": 2}),
            ("mygpu:3", {}),
        ],
    )
    def test_gpus_are_counted_by_type(self, text: str, gpus: dict[str, int]) -> None:
        assert gpus_of(text) == gpus

    @given(st.text(alphabet=f"ab=,:()[]{{}} \n|{SEP}NJobGrpTRESgpu0159%_") | st.text())
    def test_no_text_makes_a_parser_fail(self, text: str) -> None:
        for line in (text, f"NodeName={text}", f"QOS={text}", f"ReservationName={text}", job_row(Name=text)):
            read_jobs(line, OLD)
            read_nodes(line)
            read_partitions(line)
            read_reservations(line)
            read_limits(line, "anna", 1001, "lab")
            read_licenses(line, text)
            read_dependencies(line)
            gpus_of(line)


class TestPlace:
    ROWS = (
        "20|300|PENDING|Priority\n"
        "21|300|PENDING|JobHeldUser\n"
        "8_[1-5]|100|PENDING|Resources\n"
        "12|100|PENDING|Priority\n"
        "13|100|PENDING|Priority\n"
        "22|0|PENDING|Priority\n"
        "damaged\n"
    )

    def test_jobs_that_can_start_count_by_priority_then_by_age(self) -> None:
        (job,) = read_jobs(job_row(), OLD)
        assert place_of(job, self.ROWS) == QueuePlace(ahead=2, others=3)

    def test_a_job_without_a_priority_has_no_place(self) -> None:
        (job,) = read_jobs(job_row(PriorityLong="N/A"), OLD)
        assert place_of(job, self.ROWS) is None


class TestQueries:
    def ask(self, runner: FakeRunner) -> PendingFacts | NotListed | Unreachable:
        return ask_pending(runner, JobRef(12), "")

    def test_only_what_the_reason_needs_is_asked(self) -> None:
        runner = FakeRunner().on("squeue", answers=[said(job_row(Reason="JobHeldUser", Partition="low"))])
        runner.on("scontrol", answers=[said(PARTITION)])
        facts = self.ask(runner)
        assert isinstance(facts, PendingFacts)
        assert [argv[0] for argv in runner.asked] == ["squeue", "squeue", "scontrol"]
        assert runner.asked[0] == ("squeue", "--version")  # of the program, no query
        assert "-j" in runner.asked[1]

    def test_a_job_that_runs_costs_one_query(self) -> None:
        runner = FakeRunner().on("squeue", answers=[said(job_row(State="RUNNING", Reason="None"))])
        facts = self.ask(runner)
        assert isinstance(facts, PendingFacts)
        assert facts.job.state is JobState.RUNNING
        assert len(runner.asked) == 2  # the other one asks for the version of the program

    def test_the_version_decides_on_the_column_that_tells_of_whole_nodes(self) -> None:
        runner = FakeRunner().on("squeue", answers=[said(job_row(NEW, Exclusive="NODE", State="RUNNING"))])
        runner.on("squeue", "--version", answers=[said("slurm 26.05.5\n")])
        facts = self.ask(runner)
        assert isinstance(facts, PendingFacts)
        assert facts.job.request
        assert facts.job.request.is_exclusive
        assert "Exclusive:" in runner.asked[1][-1]

    def test_what_is_refused_is_not_available_and_the_rest_is_told_all_the_same(self) -> None:
        runner = FakeRunner().on("squeue", answers=[said(job_row())])
        runner.on("scontrol", answers=[said("", "slurm_load: Access/permission denied", 1)])
        facts = self.ask(runner)
        assert isinstance(facts, PendingFacts)
        assert facts.nodes is None
        assert facts.reservations == ()
        assert {*facts.unavailable} == {"scontrol: slurm_load: Access/permission denied"}

    def test_silence_is_no_answer_and_an_unknown_job_is_not_listed(self) -> None:
        silent = FakeRunner().on("squeue", answers=[said("", "Unable to contact slurm controller", 1)])
        assert isinstance(self.ask(silent), Unreachable)
        gone = FakeRunner().on("squeue", answers=[said("", "Invalid job id specified", 1)])
        assert self.ask(gone) == NotListed()
        assert isinstance(self.ask(FakeRunner()), Unreachable)

    def test_a_het_job_is_explained_by_its_first_component_or_the_one_that_is_named(self) -> None:
        rows = job_row(JobArrayID="12+1", Reason="JobHeldUser") + job_row(JobArrayID="12+0", Reason="None")
        runner = FakeRunner().on("squeue", answers=[said(rows)]).on("scontrol", answers=[said(PARTITION)])
        facts = [ask_pending(runner, ref, "") for ref in (JobRef(12), JobRef(12, component=1))]
        assert [each.job.ref.component for each in facts if isinstance(each, PendingFacts)] == [0, 1]
        assert [each.also_pending for each in facts if isinstance(each, PendingFacts)] == [0, 0]

    def test_an_array_is_explained_by_its_pending_tasks(self) -> None:
        rows = job_row(JobArrayID="12_1", State="RUNNING") + job_row(JobArrayID="12_[3-9%1]", Reason="None")
        runner = FakeRunner().on("squeue", answers=[said(rows)]).on("scontrol", answers=[said(PARTITION)])
        facts = self.ask(runner)
        assert isinstance(facts, PendingFacts)
        assert (str(facts.job.pending_indices), facts.running, facts.also_pending) == ("3-9", 1, 0)
