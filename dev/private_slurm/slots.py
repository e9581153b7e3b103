"""A range of ports that no other private cluster on this machine uses."""

import socket
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from .errors import PrivateSlurmError

FIRST_PORT = 20000  # below the range from which the kernel assigns ports
PORTS = 16
SLOTS = 700


class Ports(NamedTuple):
    """The ports of one cluster; nodes use ``first_node`` and the following ones."""

    lease: int  # bound by the owner while the cluster runs, so that no other cluster takes the range
    controller: int
    accounting: int
    database: int
    first_node: int


@dataclass(frozen=True)
class Lease:
    """A range of ports, reserved until the socket is closed or this process ends."""

    ports: Ports
    holder: socket.socket

    @classmethod
    def take(cls) -> "Lease":
        """Reserve the first free range.

        Raises:
            PrivateSlurmError: all ranges are in use.
        """
        for first in range(FIRST_PORT, FIRST_PORT + SLOTS * PORTS, PORTS):
            with ExitStack() as sockets:
                holder = _bind(first, sockets)
                # Daemons of an abandoned cluster may still use the other ports.
                if holder and all(_bind(port, sockets) for port in range(first + 1, first + PORTS)):
                    reserved = holder.dup()
                    return cls(Ports(*range(first, first + len(Ports._fields))), reserved)
        raise PrivateSlurmError("no free range of ports on this machine")

    def release(self) -> None:
        """Make the range available to other clusters."""
        self.holder.close()


def _bind(port: int, sockets: ExitStack) -> socket.socket | None:
    """Return a socket that listens on the port, or None when the port is in use."""
    holder = sockets.enter_context(socket.socket())
    # As daemons do: a port with nothing but old connections in TIME_WAIT is free.
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        holder.bind(("", port))
        holder.listen()
    except OSError:
        return None
    return holder
