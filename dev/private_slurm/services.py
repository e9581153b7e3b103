"""The daemons of a cluster, and the files that they read."""

import secrets

from . import cgroups, configuration, database, munge, packages
from .configuration import NODES, Settings
from .daemons import Daemon


def prepare(settings: Settings) -> None:
    """Create the folders, control groups and configuration files."""
    layout, password = settings.layout, secrets.token_hex(16)
    layout.make(NODES)
    if settings.cgroup_memory:
        cgroups.create(settings.name, layout.cgroup_mount)
    munge.write_key(layout)
    layout.slurm_conf.write_text(configuration.slurm_conf(settings))
    (layout.folder / "gres.conf").write_text(configuration.gres_conf())
    (layout.folder / "cgroup.conf").write_text(configuration.cgroup_conf(settings))
    if settings.accounting:
        database.prepare(layout, configuration.database_sql(password))
        secret = layout.folder / "slurmdbd.conf"
        secret.touch(mode=0o600)
        secret.write_text(configuration.slurmdbd_conf(settings, password))


def every(settings: Settings) -> list[Daemon]:
    """Return all daemons of the cluster."""
    daemons = [munge.munged(settings.layout), slurmctld(settings)]
    if settings.accounting:
        daemons += [database.mariadbd(settings.layout, settings.ports.database), slurmdbd(settings)]
    return daemons + [slurmd(settings, node) for node in NODES]


def slurmdbd(settings: Settings) -> Daemon:
    """Return the accounting daemon."""
    return Daemon("slurmdbd", (packages.program("slurmdbd"), "-D"), settings.layout)


def slurmctld(settings: Settings) -> Daemon:
    """Return the controller."""
    return Daemon("slurmctld", (packages.program("slurmctld"), "-D"), settings.layout)


def slurmd(settings: Settings, node: str) -> Daemon:
    """Return the daemon of one node."""
    argv = (packages.program("slurmd"), "-D", "-N", node)
    return Daemon(f"slurmd.{node}", argv, settings.layout, {"SLURMD_NODENAME": node})
