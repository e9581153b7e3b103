"""The cluster's own munged, so that nothing on the machine is shared or changed."""

import secrets

from . import packages
from .daemons import Daemon
from .layout import Layout


def munged(layout: Layout) -> Daemon:
    """The daemon, with its own key and socket."""
    folder = layout.munge_socket.parent
    return Daemon(
        "munged",
        (
            packages.program("munged"),
            "--foreground",
            # A folder that a group may write to, above ours, is the caller's choice; the key is ours alone.
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
    """Make the secret that the cluster's daemons and clients share through munged."""
    key = layout.munge_socket.parent / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(1024))
