"""The files and folders of one cluster."""

from dataclasses import dataclass
from pathlib import Path

from .errors import PrivateSlurmError

# A Unix socket's path may have 107 characters; the longest is slurmstepd's, in a node's spool folder.
LONGEST_FOLDER = 107 - len("/spool/n1/n1_67108863.4294967291")


@dataclass(frozen=True)
class Layout:
    """The paths of one cluster, all below one folder."""

    folder: Path

    @property
    def slurm_conf(self) -> Path:
        """The value of SLURM_CONF."""
        return self.folder / "slurm.conf"

    @property
    def description(self) -> Path:
        """The settings, for processes that attach to the running cluster."""
        return self.folder / "cluster.json"

    @property
    def owner(self) -> Path:
        """The file that the cluster's owner locks."""
        return self.folder / "owner.lock"

    @property
    def munge(self) -> Path:
        """The files of the cluster's own munged."""
        return self.folder / "munge"

    @property
    def munge_key(self) -> Path:
        """The secret that the cluster's daemons and clients share."""
        return self.munge / "key"

    @property
    def munge_socket(self) -> Path:
        """The socket of munged, which every user must be able to reach."""
        return self.munge / "socket"

    @property
    def cgroup_mount(self) -> Path:
        """The folder that Slurm takes for the cgroup mount point."""
        return self.folder / "cgroup"

    @property
    def logs(self) -> Path:
        """The daemons' logs and output."""
        return self.folder / "log"

    @property
    def run(self) -> Path:
        """One PID file per running daemon."""
        return self.folder / "run"

    @property
    def state(self) -> Path:
        """The state that slurmctld restores after a restart."""
        return self.folder / "state"

    @property
    def database(self) -> Path:
        """MariaDB's data, socket, temporary files and initial statements."""
        return self.folder / "database"

    def spool(self, node: str) -> Path:
        """Return the folder for the scripts and sockets of a node's jobs."""
        return self.folder / "spool" / node

    def slurmd_log(self, node: str) -> Path:
        """Return the log that a node's slurmd and all its slurmstepds keep open."""
        return self.logs / f"slurmd.{node}.log"

    def claim(self) -> None:
        """Create the folder, which is removed with the cluster.

        Raises:
            PrivateSlurmError: it has files already, or its path is too long.
        """
        if len(str(self.folder)) > LONGEST_FOLDER:
            raise PrivateSlurmError(f"the path is too long for Unix sockets: {self.folder}")
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise PrivateSlurmError(f"the folder is not empty: {self.folder}")

    def make(self, nodes: tuple[str, ...]) -> None:
        """Create the folders below; every user must be able to reach the munge socket and slurm.conf."""
        for path in (self.folder, self.munge, self.folder / "spool"):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o755)
        for path in (self.logs, self.run, self.state, self.database, *map(self.spool, nodes)):
            path.mkdir(mode=0o755, exist_ok=True)
