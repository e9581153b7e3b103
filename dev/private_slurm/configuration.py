"""The configuration files of one cluster, as text."""

from collections.abc import Mapping
from dataclasses import dataclass

from .layout import Layout
from .slots import Slot

NODES = ("n1", "n2", "n3", "n4", "n5")
CPUS = 64  # claimed, not there: many jobs at once, most of them asleep
MEMORY_MB = 131_072
GPUS = 4
YES_NO = {True: "yes", False: "no"}
# Any character devices do: Slurm counts them and sets CUDA_VISIBLE_DEVICES; nobody opens them.
GPU_FILES = "/dev/zero,/dev/full,/dev/null,/dev/random"

# Preemption has a node of its own, and so has the node that tests kill; jobs elsewhere notice neither.
PARTITIONS = (
    "PartitionName=main Nodes=n[1-3] Default=YES",
    "PartitionName=doomed Nodes=n4",
    "PartitionName=low Nodes=n5 PriorityTier=1 PreemptMode=REQUEUE",
    "PartitionName=lowcancel Nodes=n5 PriorityTier=1 PreemptMode=CANCEL",
    "PartitionName=high Nodes=n5 PriorityTier=10",
)


@dataclass(frozen=True)
class Settings:
    """All that the files depend on."""

    name: str
    layout: Layout
    slot: Slot
    accounting: bool
    cgroup_memory: bool
    swap_limit: bool
    min_job_age: int

    @property
    def jobs(self) -> range:
        """The job ids of this cluster."""
        return range(self.slot.first_job, self.slot.last_job + 1)


def slurm_conf(settings: Settings) -> str:
    """The cluster's slurm.conf."""
    parts = (_basics, _timing, _tracking, _accounting)
    lines = [f"{key}={value}" for part in parts for key, value in part(settings).items()]
    return _text([*lines, *_nodes(settings.slot), *PARTITIONS])


def _basics(settings: Settings) -> Mapping[str, object]:
    layout, slot = settings.layout, settings.slot
    return {
        "ClusterName": settings.name,
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmUser": "root",
        # A requeued job waits for its credential's end (120 s as Slurm comes) before it starts again.
        "AuthInfo": f"socket={layout.munge_socket},cred_expire=10",
        "SlurmctldPort": slot.controller_port,
        "SlurmctldLogFile": layout.logs / "slurmctld.log",
        "SlurmctldPidFile": layout.state / "slurmctld.pid",
        "SlurmdLogFile": layout.slurmd_log("%n"),
        "SlurmdPidFile": layout.spool("%n") / "slurmd.pid",
        "SlurmdSpoolDir": layout.spool("%n"),
        "StateSaveLocation": layout.state,
        "FirstJobId": slot.first_job,
        "MaxJobId": slot.last_job,
        "SlurmdParameters": "config_overrides",
        "MailProg": "/bin/true",
        "MpiDefault": "none",
        "SwitchType": "switch/none",
        "GresTypes": "gpu",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_CPU_Memory",
        "DefMemPerCPU": MEMORY_MB // CPUS // 2,
        "PreemptType": "preempt/partition_prio",
        "PreemptMode": "REQUEUE",
    }


def _timing(settings: Settings) -> Mapping[str, object]:
    return {
        # Het jobs start by backfill only.
        "SchedulerParameters": "sched_interval=1,bf_interval=2,bf_continue",
        "MinJobAge": settings.min_job_age,
        "KillWait": 5,
        # 5 s would call a dead node DOWN after 18 s and not 27, but a busy machine answers later than that.
        "MessageTimeout": 10,
        "SlurmdTimeout": 10,
        "InactiveLimit": 0,
        "ReturnToService": 2,
        "RequeueExit": 77,
        "RequeueExitHold": 78,
    }


def _tracking(settings: Settings) -> Mapping[str, object]:
    kind = ("cgroup", "cgroup") if settings.cgroup_memory else ("linuxproc", "none")
    return {
        "ProctrackType": f"proctrack/{kind[0]}",
        "TaskPlugin": f"task/{kind[1]}",
        "JobAcctGatherType": "jobacct_gather/linux",
        "JobAcctGatherFrequency": "task=1",
    }


def _accounting(settings: Settings) -> Mapping[str, object]:
    if not settings.accounting:
        return {"AccountingStorageType": "accounting_storage/none"}
    return {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": "127.0.0.1",
        "AccountingStoragePort": settings.slot.accounting_port,
        "AccountingStoragePass": settings.layout.munge_socket,
        "AccountingStoreFlags": "job_comment,job_script,job_env",
        "AccountingStorageTRES": "gres/gpu",
    }


def _nodes(slot: Slot) -> list[str]:
    shape = f"NodeHostname=localhost NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory={MEMORY_MB} Gres=gpu:{GPUS}"
    ports = range(slot.first_node_port, slot.first_node_port + len(NODES))
    return [f"NodeName={node} Port={port} {shape}" for node, port in zip(NODES, ports, strict=True)]


def slurmdbd_conf(settings: Settings, password: str) -> str:
    """The slurmdbd.conf: root's eyes only, as Slurm insists."""
    layout, slot = settings.layout, settings.slot
    values = {
        "AuthType": "auth/munge",
        "AuthInfo": layout.munge_socket,
        "DbdHost": "localhost",
        "DbdAddr": "127.0.0.1",
        "DbdPort": slot.accounting_port,
        "SlurmUser": "root",
        "LogFile": layout.logs / "slurmdbd.log",
        "PidFile": layout.state / "slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "127.0.0.1",
        "StoragePort": slot.database_port,
        "StorageUser": "slurm",
        "StoragePass": password,
        "StorageLoc": "slurm",
    }
    return _text([f"{key}={value}" for key, value in values.items()])


def gres_conf() -> str:
    """The gres.conf: what stands for GPUs."""
    return _text([f"NodeName={','.join(NODES)} Name=gpu File={GPU_FILES}"])


def cgroup_conf(settings: Settings) -> str:
    """The cgroup.conf."""
    return _text(
        [
            "CgroupPlugin=cgroup/v1",
            "CgroupAutomount=no",
            f"ConstrainRAMSpace={YES_NO[settings.cgroup_memory]}",
            f"ConstrainSwapSpace={YES_NO[settings.cgroup_memory and settings.swap_limit]}",
        ]
    )


def database_sql(password: str) -> str:
    """What MariaDB does before it serves: slurmdbd's own database and user."""
    return _text(
        [
            "CREATE DATABASE IF NOT EXISTS slurm;",
            f"CREATE OR REPLACE USER 'slurm'@'127.0.0.1' IDENTIFIED BY '{password}';",
            "GRANT ALL ON slurm.* TO 'slurm'@'127.0.0.1';",
        ]
    )


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
