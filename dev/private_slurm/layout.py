"""Where everything of one cluster lies."""

from dataclasses import dataclass
from pathlib import Path

from .errors import PrivateSlurmError

# A Unix socket's path may hold 107 characters; the longest here is slurmstepd's, in a node's spool folder.
LONGEST_FOLDER = 107 - len("/spool/n1/n1_67108863.4294967291")


@dataclass(frozen=True)
class Layout:
    """The files and folders of one cluster, all below one folder."""

    folder: Path

    @property
    def slurm_conf(self) -> Path:
        """The file that SLURM_CONF names."""
        return self.folder / "slurm.conf"

    @property
    def description(self) -> Path:
        """What another process needs to attach to the running cluster."""
        return self.folder / "cluster.json"

    @property
    def owner(self) -> Path:
        """Which process answers for the cluster, to tell an abandoned one."""
        return self.folder / "owner"

    @property
    def munge_socket(self) -> Path:
        """Where the cluster's own munged listens."""
        return self.folder / "munge" / "socket"

    @property
    def logs(self) -> Path:
        """What the daemons say."""
        return self.folder / "log"

    @property
    def run(self) -> Path:
        """One file per running daemon with its process's identity."""
        return self.folder / "run"

    @property
    def state(self) -> Path:
        """What slurmctld remembers across a restart."""
        return self.folder / "state"

    @property
    def database(self) -> Path:
        """MariaDB's data, socket and first statements."""
        return self.folder / "database"

    def spool(self, node: str) -> Path:
        """Where one node keeps its jobs' scripts and sockets."""
        return self.folder / "spool" / node

    def slurmd_log(self, node: str) -> Path:
        """The log that a node's slurmd and all its slurmstepds keep open."""
        return self.logs / f"slurmd.{node}.log"

    def claim(self) -> None:
        """Make the folder, unless it holds something: all in it will be removed with the cluster."""
        if len(str(self.folder)) > LONGEST_FOLDER:
            raise PrivateSlurmError(f"the path is too long for Unix sockets: {self.folder}")
        self.folder.mkdir(parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise PrivateSlurmError(f"the folder is not empty: {self.folder}")

    def make(self, nodes: tuple[str, ...]) -> None:
        """Create what is below; every user must be able to reach the munge socket and slurm.conf."""
        for path in (self.folder, self.munge_socket.parent, self.folder / "spool"):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(0o755)
        for path in (self.logs, self.run, self.state, self.database, *map(self.spool, nodes)):
            path.mkdir(mode=0o755, exist_ok=True)
