"""The files and folders of one cluster."""

from pathlib import Path

from .errors import PrivateSlurmError

# A Unix socket's path may have 107 characters; the longest is slurmstepd's, in a node's spool folder.
LONGEST_FOLDER = 107 - len("/spool/n1/n1_67108863.4294967291")


class Layout:
    """The paths of one cluster, all below one folder."""

    def __init__(self, folder: Path) -> None:
        """Name the paths without making any."""
        self.folder = folder
        self.slurm_conf = folder / "slurm.conf"  # the value of SLURM_CONF
        self.description = folder / "cluster.json"  # the settings, for processes that attach to the cluster
        self.owner = folder / "owner.lock"  # locked by the cluster's owner
        self.munge = folder / "munge"  # the files of the cluster's own munged
        self.munge_key = self.munge / "key"  # the secret that the cluster's daemons and clients share
        self.munge_socket = self.munge / "socket"  # which every user must be able to reach
        self.cgroup_mount = folder / "cgroup"  # what Slurm takes for the cgroup mount point
        self.logs = folder / "log"  # the daemons' logs and output
        self.run = folder / "run"  # one PID file per running daemon
        self.state = folder / "state"  # what slurmctld restores after a restart
        self.database = folder / "database"  # MariaDB's data, socket, temporary files and initial statements

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
