"""The daemons of a cluster except MariaDB, and the files that they read."""

import secrets
from pathlib import Path

from . import cgroups, configuration, database, packages
from .configuration import NODES, Settings
from .daemons import Daemon


def prepare(settings: Settings) -> None:
    """Create the folders, control groups and configuration files."""
    layout, password = settings.layout, secrets.token_hex(16)
    layout.make(NODES)
    if settings.cgroup_memory:
        cgroups.create(settings.name, layout.cgroup_mount)
    _write_secret(layout.munge_key, secrets.token_bytes(1024))
    layout.slurm_conf.write_text(configuration.slurm_conf(settings))
    (layout.folder / "gres.conf").write_text(configuration.gres_conf())
    (layout.folder / "cgroup.conf").write_text(configuration.cgroup_conf(settings))
    if settings.accounting:
        database.prepare(layout, configuration.database_sql(password))
        conf = configuration.slurmdbd_conf(settings, password)
        _write_secret(layout.folder / "slurmdbd.conf", conf.encode())


def _write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def every(settings: Settings) -> list[Daemon]:
    """Return all daemons of the cluster."""
    daemons = [munged(settings), slurmctld(settings)]
    if settings.accounting:
        daemons += [database.mariadbd(settings.layout, settings.ports.database), slurmdbd(settings)]
    return daemons + [slurmd(settings, node) for node in NODES]


def munged(settings: Settings) -> Daemon:
    """Return the cluster's own munged, which neither shares nor changes anything on the machine."""
    layout, folder = settings.layout, settings.layout.munge
    # --force: the caller may choose a folder below one that a group may write to; only we can write the key.
    files = (f"--key-file={layout.munge_key}", f"--socket={layout.munge_socket}")
    own = (f"--{name}-file={folder / name}" for name in ("pid", "log", "seed"))
    return Daemon("munged", (packages.program("munged"), "--foreground", "--force", *files, *own), layout)


def slurmdbd(settings: Settings) -> Daemon:
    """Return the accounting daemon."""
    argv = (packages.program("slurmdbd"), "-D")
    return Daemon("slurmdbd", argv, settings.layout, port=settings.ports.accounting)


def slurmctld(settings: Settings) -> Daemon:
    """Return the controller."""
    argv = (packages.program("slurmctld"), "-D")
    return Daemon("slurmctld", argv, settings.layout, port=settings.ports.controller)


def slurmd(settings: Settings, node: str) -> Daemon:
    """Return the daemon of one node."""
    argv = (packages.program("slurmd"), "-D", "-N", node)
    return Daemon(f"slurmd.{node}", argv, settings.layout, {"SLURMD_NODENAME": node})
