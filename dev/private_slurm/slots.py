"""A range of ports and of job ids that no other private cluster on this machine uses."""

import socket
from contextlib import ExitStack
from dataclasses import dataclass

from .errors import PrivateSlurmError

FIRST_PORT = 20000  # below the range that the kernel hands out by itself
PORTS = 16
SLOTS = 700
FIRST_JOB = 1000
JOBS = 90_000  # 700 slots of them stay below Slurm's greatest job id


@dataclass(frozen=True)
class Slot:
    """One range, by its number."""

    number: int

    @property
    def lease_port(self) -> int:
        """Held by the owner for the cluster's life, so that two starts can't take one slot."""
        return FIRST_PORT + self.number * PORTS

    @property
    def controller_port(self) -> int:
        """Where slurmctld listens."""
        return self.lease_port + 1

    @property
    def accounting_port(self) -> int:
        """Where slurmdbd listens."""
        return self.lease_port + 2

    @property
    def database_port(self) -> int:
        """Where MariaDB listens."""
        return self.lease_port + 3

    @property
    def first_node_port(self) -> int:
        """Where the first slurmd listens; the others follow."""
        return self.lease_port + 4

    @property
    def first_job(self) -> int:
        """The first job id: cgroups of nodes of the same name in two clusters differ by job id only."""
        return FIRST_JOB + self.number * JOBS

    @property
    def last_job(self) -> int:
        """The last job id."""
        return self.first_job + JOBS - 1

    def is_free(self) -> bool:
        """Whether every port but the lease can be bound, which an abandoned daemon would prevent."""
        with ExitStack() as probes:
            return all(_bind(port, probes) for port in range(self.controller_port, self.lease_port + PORTS))


@dataclass(frozen=True)
class Lease:
    """A slot that is ours until the socket is closed, by us or by our end."""

    slot: Slot
    holder: socket.socket

    @classmethod
    def take(cls) -> "Lease":
        """Take any free slot."""
        for slot in map(Slot, range(SLOTS)):
            holder = ExitStack()
            lease = _bind(slot.lease_port, holder)
            if lease and slot.is_free():
                holder.pop_all()
                return cls(slot, lease)
            holder.close()
        raise PrivateSlurmError("no free range of ports on this machine")

    def give_back(self) -> None:
        """Let others have the slot."""
        self.holder.close()


def _bind(port: int, keeper: ExitStack) -> socket.socket | None:
    """A socket bound to the port of this machine, or None when it is taken."""
    holder = keeper.enter_context(socket.socket())
    # Daemons bind this way too: a port with nothing but old connections in TIME_WAIT is free.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind(("", port))
        holder.listen()
    except OSError:
        return None
    return holder
