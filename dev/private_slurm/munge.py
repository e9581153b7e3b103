"""The cluster's own munged, so that it neither shares nor changes anything on the machine."""

import secrets

from . import packages
from .daemons import Daemon
from .layout import Layout


def munged(layout: Layout) -> Daemon:
    """Return the daemon, with its own key and socket."""
    folder = layout.munge_socket.parent
    return Daemon(
        "munged",
        (
            packages.program("munged"),
            "--foreground",
            # The caller may choose a folder below one that a group may write to; only we can write the key.
            "--force",
            f"--key-file={folder / 'key'}",
            f"--socket={layout.munge_socket}",
            f"--pid-file={folder / 'pid'}",
            f"--log-file={folder / 'log'}",
            f"--seed-file={folder / 'seed'}",
        ),
        layout,
    )


def write_key(layout: Layout) -> None:
    """Create the secret that the cluster's daemons and clients share."""
    key = layout.munge_socket.parent / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
