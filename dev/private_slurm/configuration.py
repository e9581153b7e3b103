"""The settings of one cluster, and its configuration files as text."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from . import cgroups
from .errors import PrivateSlurmError
from .layout import Layout
from .slots import Ports

NODES = ("n1", "n2", "n3", "n4", "n5")
CPUS = 64  # however many exist, so that many sleeping jobs can run at once
MEMORY_MB = 131_072
GPUS = 4
YES_NO = {True: "yes", False: "no"}
# Slurm accepts any character devices: it counts them and sets CUDA_VISIBLE_DEVICES, but opens none.
GPU_FILES = "/dev/zero,/dev/full,/dev/null,/dev/random"
TYPED_NODE, GPU_TYPES = "n3", ("a100", "h100")  # two GPUs of each type; those of other nodes have none

# Preempted jobs and the node that tests kill are kept away from all other jobs.
PARTITIONS = (
    "PartitionName=main Nodes=n[1-3] Default=YES",
    "PartitionName=doomed Nodes=n4",
    "PartitionName=low Nodes=n5 PriorityTier=1 PreemptMode=REQUEUE",
    "PartitionName=lowcancel Nodes=n5 PriorityTier=1 PreemptMode=CANCEL",
    "PartitionName=high Nodes=n5 PriorityTier=10",
)
BILLED = f"PartitionName=billed Nodes={TYPED_NODE} TRESBillingWeights=CPU=1.0,GRES/gpu=10.0"


@dataclass(frozen=True)
class Settings:
    """The decisions made when a cluster starts."""

    name: str
    layout: Layout
    ports: Ports
    accounting: bool
    cgroup_memory: bool
    min_job_age: int  # seconds

    def write(self) -> None:
        """Write the description file."""
        self.layout.description.write_text(json.dumps({**vars(self), "layout": None}))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a description file, which lies in its cluster's folder.

        Raises:
            PrivateSlurmError: the file does not exist or is not a description.
        """
        try:
            values = json.loads(path.read_text())
            return cls(**{**values, "layout": Layout(path.parent), "ports": Ports(*values["ports"])})
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PrivateSlurmError(f"{path} is not the description of a private Slurm: {error!r}") from error


def slurm_conf(settings: Settings) -> str:
    """Return the cluster's slurm.conf."""
    parts = (_basics, _timing, _tracking, _accounting)
    lines = [f"{key}={value}" for part in parts for key, value in part(settings).items()]
    billed = (BILLED,) if settings.accounting else ()  # which alone counts GPUs
    return _text(*lines, *_nodes(settings.ports), *PARTITIONS, *billed)


def _basics(settings: Settings) -> Mapping[str, object]:
    layout = settings.layout
    return {
        "ClusterName": settings.name,
        "SlurmctldHost": "localhost(127.0.0.1)",
        "SlurmUser": "root",
        # A requeued job starts only after its credential has expired (default: 120 s).
        "AuthInfo": f"socket={layout.munge_socket},cred_expire=10",
        "SlurmctldPort": settings.ports.controller,
        "SlurmctldLogFile": layout.logs / "slurmctld.log",
        "SlurmctldPidFile": layout.state / "slurmctld.pid",
        "SlurmdLogFile": layout.slurmd_log("%n"),
        "SlurmdPidFile": layout.spool("%n") / "slurmd.pid",
        "SlurmdSpoolDir": layout.spool("%n"),
        "StateSaveLocation": layout.state,
        "FirstJobId": 1000,  # a job id is not a small number such as a count or an exit code
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
        # Only the backfill scheduler starts heterogeneous jobs.
        "SchedulerParameters": "sched_interval=1,bf_interval=2,bf_continue",
        "MinJobAge": settings.min_job_age,
        "KillWait": 5,
        "MessageTimeout": 10,
        # No node may fail because the machine is busy or stood still; `kill_node` says which has. A node that
        # misses the one question of a new slurmctld is asked again after 100 s; with N > 0, only after N/3 s.
        "SlurmdTimeout": 0,
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
        "AccountingStoragePort": settings.ports.accounting,
        "AccountingStoragePass": settings.layout.munge_socket,
        "AccountingStoreFlags": "job_comment,job_script,job_env",
        "AccountingStorageTRES": ",".join(("gres/gpu", *(f"gres/gpu:{each}" for each in GPU_TYPES))),
    }


def _nodes(ports: Ports) -> list[str]:
    shape = f"NodeHostname=localhost NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory={MEMORY_MB}"
    gpus = dict.fromkeys(NODES, f"gpu:{GPUS}")
    gpus[TYPED_NODE] = ",".join(f"gpu:{each}:{GPUS // len(GPU_TYPES)}" for each in GPU_TYPES)
    return [
        f"NodeName={node} Port={port} {shape} Gres={gpus[node]}"
        for port, node in enumerate(NODES, ports.first_node)
    ]


def slurmdbd_conf(settings: Settings, password: str) -> str:
    """Return the slurmdbd.conf, which only root may read."""
    layout, ports = settings.layout, settings.ports
    values = {
        "AuthType": "auth/munge",
        "AuthInfo": layout.munge_socket,
        "DbdHost": "localhost",
        "DbdAddr": "127.0.0.1",
        "DbdPort": ports.accounting,
        "SlurmUser": "root",
        "LogFile": layout.logs / "slurmdbd.log",
        "PidFile": layout.state / "slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "127.0.0.1",
        "StoragePort": ports.database,
        "StorageUser": "slurm",
        "StoragePass": password,
        "StorageLoc": "slurm",
    }
    return _text(*(f"{key}={value}" for key, value in values.items()))


def gres_conf() -> str:
    """Return the gres.conf with the devices that stand for GPUs."""
    files, each = GPU_FILES.split(","), GPUS // len(GPU_TYPES)
    return _text(
        f"NodeName={','.join(node for node in NODES if node != TYPED_NODE)} Name=gpu File={GPU_FILES}",
        *(
            f"NodeName={TYPED_NODE} Name=gpu Type={kind} File={','.join(files[place * each :][:each])}"
            for place, kind in enumerate(GPU_TYPES)
        ),
    )


def cgroup_conf(settings: Settings) -> str:
    """Return the cgroup.conf."""
    return _text(
        "CgroupPlugin=cgroup/v1",
        f"CgroupMountpoint={settings.layout.cgroup_mount}",
        f"ConstrainRAMSpace={YES_NO[settings.cgroup_memory]}",
        f"ConstrainSwapSpace={YES_NO[settings.cgroup_memory and cgroups.can_limit_swap()]}",
    )


def database_sql(password: str) -> str:
    """Return MariaDB's initial statements: slurmdbd's own database and user."""
    return _text(
        "CREATE DATABASE IF NOT EXISTS slurm;",
        f"CREATE OR REPLACE USER 'slurm'@'127.0.0.1' IDENTIFIED BY '{password}';",
        "GRANT ALL ON slurm.* TO 'slurm'@'127.0.0.1';",
    )


def _text(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)
