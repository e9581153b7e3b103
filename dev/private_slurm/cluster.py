"""A private cluster: start, stop, and failures on request."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Self

from . import abandoned, cgroups, database, packages, processes, services
from .configuration import NODES, Settings
from .errors import PrivateSlurmError
from .layout import Layout
from .slots import Lease
from .waiting import until

KEEP = "JOBMON_KEEP_SLURM"
DESCRIPTION = "JOBMON_PRIVATE_SLURM"
USABLE = ("idle", "mixed", "allocated")


class Cluster:
    """A private Slurm, running between ``start`` and ``stop``, or within a ``with`` block.

    ``Cluster.attach(os.environ["JOBMON_PRIVATE_SLURM"])`` returns the same handle for a cluster that another
    process such as ``dev/with-slurm`` started; that process stops it.

    A given folder must be new or empty. Other users can use the cluster only if they may enter the folders
    above it.
    """

    nodes = NODES

    def __init__(
        self, folder: Path | None = None, *, accounting: bool = True, min_job_age: int | None = None
    ) -> None:
        """Configure a cluster; ``start`` creates it."""
        self.accounting = accounting
        # Tests requeue jobs that have ended, after their messages; a busy machine takes its time until then.
        # Without accounting, tests wait until jobs are forgotten; Slurm advises at least 2 s.
        self._min_job_age = min_job_age or (180 if accounting else 2)
        self._given_folder = folder
        self._settings: Settings | None = None
        self._lease: Lease | None = None
        self._ownership: IO[str] | None = None

    @classmethod
    def attach(cls, path: Path | str) -> Self:
        """Return a handle for a running cluster, from its description file.

        Raises:
            PrivateSlurmError: the file does not exist or is not a description.
        """
        settings = Settings.read(Path(path))
        cluster = cls(accounting=settings.accounting)
        cluster._settings = settings
        return cluster

    @property
    def settings(self) -> Settings:
        """The decisions made at the start.

        Raises:
            PrivateSlurmError: the cluster is not running.
        """
        if self._settings is None:
            raise PrivateSlurmError("this private Slurm is not running")
        return self._settings

    @property
    def folder(self) -> Path:
        """The folder of all the cluster's files; the logs are in ``log``."""
        return self.settings.layout.folder

    @property
    def name(self) -> str:
        """The cluster's name in Slurm."""
        return self.settings.name

    @property
    def has_cgroup_memory(self) -> bool:
        """Whether a job that uses too much memory ends OUT_OF_MEMORY on this machine."""
        return self.settings.cgroup_memory

    @property
    def env(self) -> dict[str, str]:
        """The environment variables for using this cluster."""
        layout = self.settings.layout
        return {"SLURM_CONF": str(layout.slurm_conf), DESCRIPTION: str(layout.description)}

    def __enter__(self) -> Self:
        """Start the cluster."""
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop the cluster."""
        self.stop()

    def start(self) -> None:
        """Start the daemons and wait until jobs can run on all nodes.

        Raises:
            PrivateSlurmError: the cluster is already running, a package cannot be installed, the folder is
                unusable, no ports are free, or a daemon did not start.
        """
        if self._settings:
            raise PrivateSlurmError("this private Slurm is already running")
        packages.install_missing()
        abandoned.sweep()
        try:
            self._settings = self._decide()
            self._set_up(self._settings)
        except BaseException:
            self.stop()
            raise

    def _decide(self) -> Settings:
        """Choose a folder, ports and a name that no other cluster has."""
        folder = self._given_folder.resolve() if self._given_folder else abandoned.new_folder()
        layout = Layout(folder)
        layout.claim()
        self._lease = Lease.take()
        return Settings(
            name=f"jobmon{secrets.token_hex(4)}",
            layout=layout,
            ports=self._lease.ports,
            accounting=self.accounting,
            cgroup_memory=cgroups.can_limit_memory(),
            min_job_age=self._min_job_age,
        )

    def _set_up(self, settings: Settings) -> None:
        """Start each daemon as soon as the daemons that it needs respond."""
        settings.write()
        self._ownership = abandoned.lock(settings.layout)
        services.prepare(settings)
        services.munged(settings).start()
        if self.accounting:
            database.mariadbd(settings.layout, settings.ports.database).start()
        if not until(settings.layout.munge_socket.exists, 60):
            raise PrivateSlurmError("munged did not start (waited 60 s)")
        if self.accounting:
            self.start_accounting()
        self.start_controller()
        for node in NODES:
            services.slurmd(settings, node).start()
        for node in NODES:
            self._await_node(node)

    def stop(self) -> None:
        """End every process of the cluster, and remove its folder unless JOBMON_KEEP_SLURM=1."""
        try:
            if self._settings:
                self._erase(self._settings)
        finally:
            if self._lease:
                self._lease.release()
            if self._ownership:
                self._ownership.close()
            self._settings = self._lease = self._ownership = None

    def _erase(self, settings: Settings) -> None:
        processes.kill_cluster(settings)
        for daemon in services.every(settings):
            daemon.forget()
        if os.environ.get(KEEP) == "1":
            settings.layout.owner.unlink(missing_ok=True)
            print(f"the private Slurm's files are in {settings.layout.folder}", file=sys.stderr)
        else:
            shutil.rmtree(settings.layout.folder, ignore_errors=True)

    def start_controller(self) -> None:
        """Start slurmctld and wait until it responds."""
        services.slurmctld(self.settings).start()

    def stop_controller(self) -> None:
        """Stop slurmctld, so that connections are refused."""
        services.slurmctld(self.settings).stop()

    def freeze_controller(self) -> None:
        """Suspend slurmctld, so that connections succeed but get no response."""
        services.slurmctld(self.settings).signal(signal.SIGSTOP)

    def thaw_controller(self) -> None:
        """Resume a suspended slurmctld."""
        services.slurmctld(self.settings).signal(signal.SIGCONT)

    def start_accounting(self) -> None:
        """Start slurmdbd and wait until it responds."""
        services.slurmdbd(self.settings).start()

    def stop_accounting(self) -> None:
        """Stop slurmdbd."""
        services.slurmdbd(self.settings).stop()

    def kill_node(self, node: str) -> None:
        """Kill a node's slurmd and all its jobs, as a power cut does, and have slurmctld notice that."""
        processes.kill_node(self.settings, node)
        services.slurmd(self.settings, node).forget()
        self._output("scontrol", "update", f"nodename={node}", "state=down", "reason=Not responding")

    def revive_node(self, node: str) -> None:
        """Start a node's slurmd again and wait until it accepts jobs."""
        services.slurmd(self.settings, node).start()
        self._await_node(node)

    def node_state(self, node: str) -> str:
        """Return the state from sinfo: idle, mixed, down ...; a trailing star means "not responding"."""
        return self._output("sinfo", "-h", "-N", "-n", node, "-o", "%T").partition("\n")[0]

    def _await_node(self, node: str) -> None:
        daemon = services.slurmd(self.settings, node)
        until(lambda: self.node_state(node) in USABLE or not daemon.process(), 120, pause=0.1)
        if (state := self.node_state(node)) not in USABLE:
            log = self.settings.layout.slurmd_log(node).read_text(errors="replace")[-1500:]
            raise PrivateSlurmError(f"node {node} did not start, its state is {state}: {log}")

    def _output(self, program: str, *arguments: str) -> str:
        """Return the output of a Slurm command, empty if it fails."""
        argv = [packages.program(program), *arguments]
        done = subprocess.run(argv, env=self.env, capture_output=True, text=True, check=False, timeout=120)
        return done.stdout
