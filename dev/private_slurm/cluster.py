"""The cluster as its users see it."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

from . import abandoned, cgroups, database, description, munge, packages, processes, services, traces
from .configuration import NODES, Settings
from .errors import PrivateSlurmError
from .layout import Layout
from .slots import Lease
from .waiting import require

KEEP = "JOBMON_KEEP_SLURM"
DESCRIPTION = "JOBMON_PRIVATE_SLURM"
USABLE = ("idle", "mixed", "allocated")


class Cluster:
    """A private Slurm, running between ``start`` and ``stop``, or within a ``with`` block.

    ``Cluster.attach(os.environ["JOBMON_PRIVATE_SLURM"])`` gives the same handle on one that another process
    started, such as ``dev/with-slurm``; that process will stop it.

    A folder of the caller's must be new or empty; other users can use the cluster only if they may enter the
    folders above it.
    """

    nodes = NODES

    def __init__(
        self, folder: Path | None = None, *, accounting: bool = True, min_job_age: int | None = None
    ) -> None:
        """Plan a cluster; nothing is made before ``start``."""
        self.accounting = accounting
        # Without accounting, tests want ended jobs to be forgotten soon; Slurm advises no less than 2 s.
        self._min_job_age = min_job_age or (15 if accounting else 2)
        self._wanted_folder = folder
        self._settings: Settings | None = None
        self._lease: Lease | None = None

    @classmethod
    def attach(cls, path: Path | str) -> Self:
        """A handle on a running cluster, from its description file."""
        settings = description.read(Path(path))
        cluster = cls(accounting=settings.accounting)
        cluster._settings = settings
        return cluster

    @property
    def settings(self) -> Settings:
        """What was decided at the start."""
        if self._settings is None:
            raise PrivateSlurmError("this private Slurm is not running")
        return self._settings

    @property
    def folder(self) -> Path:
        """Where everything of the cluster lies; the logs are in ``log``."""
        return self.settings.layout.folder

    @property
    def name(self) -> str:
        """The cluster's name in Slurm."""
        return self.settings.name

    @property
    def has_cgroup_memory(self) -> bool:
        """Whether a job that takes too much memory ends OUT_OF_MEMORY on this machine."""
        return self.settings.cgroup_memory

    @property
    def env(self) -> dict[str, str]:
        """What a child's environment needs to use this cluster."""
        layout = self.settings.layout
        return {"SLURM_CONF": str(layout.slurm_conf), DESCRIPTION: str(layout.description)}

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Bring it up and wait until jobs can run on all nodes."""
        if self._settings:
            raise PrivateSlurmError("this private Slurm is running already")
        packages.install_missing()
        abandoned.sweep()
        try:
            self._settings = self._decide()
            self._set_up(self._settings)
        except BaseException:
            self.stop()
            raise

    def _decide(self) -> Settings:
        """Settle on names and numbers that no other cluster has."""
        folder = self._wanted_folder.resolve() if self._wanted_folder else abandoned.new_folder()
        layout = Layout(folder)
        layout.claim()
        self._lease = Lease.take()
        slot = self._lease.slot
        return Settings(
            name=f"jobmon{slot.number}x{secrets.token_hex(3)}",
            layout=layout,
            slot=slot,
            accounting=self.accounting,
            cgroup_memory=cgroups.have_memory(),
            swap_limit=cgroups.have_swap_limit(),
            min_job_age=self._min_job_age,
        )

    def _set_up(self, settings: Settings) -> None:
        """Start each daemon as soon as those that it needs answer."""
        description.write(settings)
        abandoned.note_owner(settings.layout)
        services.prepare(settings)
        munged = munge.munged(settings.layout)
        munged.start()
        if self.accounting:
            mariadbd = database.mariadbd(settings.layout, settings.slot.database_port)
            mariadbd.start()
            mariadbd.await_port(settings.slot.database_port)
        require(settings.layout.munge_socket.exists, 10, "munged did not start")
        if self.accounting:
            self.start_accounting()
        self.start_controller()
        for node in NODES:
            services.slurmd(settings, node).start()
        for node in NODES:
            self._await_node(node)

    def stop(self) -> None:
        """End every process of the cluster and remove its folder, unless JOBMON_KEEP_SLURM=1."""
        try:
            if self._settings:
                self._erase(self._settings)
        finally:
            if self._lease:
                self._lease.give_back()
            self._settings = self._lease = None

    def _erase(self, settings: Settings) -> None:
        traces.erase(settings)
        for daemon in services.every(settings):
            daemon.forget()
        if os.environ.get(KEEP) == "1":
            settings.layout.owner.unlink(missing_ok=True)
            print(f"the private Slurm's files are in {settings.layout.folder}", file=sys.stderr)
        else:
            shutil.rmtree(settings.layout.folder, ignore_errors=True)

    def start_controller(self) -> None:
        """Start slurmctld and wait until it answers."""
        daemon = services.slurmctld(self.settings)
        daemon.start()
        daemon.await_port(self.settings.slot.controller_port)

    def stop_controller(self) -> None:
        """Stop slurmctld: connections are refused then."""
        services.slurmctld(self.settings).stop()

    def freeze_controller(self) -> None:
        """Let slurmctld hang: connections succeed, answers never come."""
        services.slurmctld(self.settings).signal(signal.SIGSTOP)

    def thaw_controller(self) -> None:
        """Let a frozen slurmctld go on."""
        services.slurmctld(self.settings).signal(signal.SIGCONT)

    def start_accounting(self) -> None:
        """Start slurmdbd and wait until it answers."""
        daemon = services.slurmdbd(self.settings)
        daemon.start()
        daemon.await_port(self.settings.slot.accounting_port)

    def stop_accounting(self) -> None:
        """Stop slurmdbd."""
        services.slurmdbd(self.settings).stop()

    def kill_node(self, node: str) -> None:
        """Kill a node's slurmd and all its jobs, as a power cut would; slurmctld calls it DOWN soon after."""
        processes.kill_all(lambda: traces.of_node(self.settings, node))
        services.slurmd(self.settings, node).forget()

    def revive_node(self, node: str) -> None:
        """Start a node's slurmd again and wait until it takes jobs."""
        services.slurmd(self.settings, node).start()
        self._await_node(node)

    def node_state(self, node: str) -> str:
        """The node's state as sinfo puts it: idle, mixed, down ...; a star at the end means silent."""
        return self._ask("sinfo", "-h", "-N", "-n", node, "-o", "%T").partition("\n")[0]

    def _await_node(self, node: str) -> None:
        otherwise = f"node {node} did not come up; see {self.settings.layout.slurmd_log(node)}"
        require(lambda: self.node_state(node) in USABLE, 60, otherwise)

    def _ask(self, program: str, *arguments: str) -> str:
        """What one of Slurm's clients says; nothing when it fails."""
        argv = [packages.program(program), *arguments]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False, timeout=120)
        return done.stdout
