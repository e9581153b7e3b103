"""Slurm's own daemons, and all daemons of a cluster with the files that they read."""

import secrets

from . import configuration, database, munge, packages
from .configuration import NODES, Settings
from .daemons import Daemon


def prepare(settings: Settings) -> None:
    """Make the folders and write every file."""
    layout, password = settings.layout, secrets.token_hex(16)
    layout.make(NODES)
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
    """All daemons of the cluster."""
    daemons = [munge.munged(settings.layout), slurmctld(settings)]
    if settings.accounting:
        daemons += [database.mariadbd(settings.layout, settings.slot.database_port), slurmdbd(settings)]
    return daemons + [slurmd(settings, node) for node in NODES]


def slurmdbd(settings: Settings) -> Daemon:
    """The accounting daemon."""
    return Daemon("slurmdbd", (packages.program("slurmdbd"), "-D"), settings.layout)


def slurmctld(settings: Settings) -> Daemon:
    """The controller."""
    return Daemon("slurmctld", (packages.program("slurmctld"), "-D"), settings.layout)


def slurmd(settings: Settings, node: str) -> Daemon:
    """One node."""
    argv = (packages.program("slurmd"), "-D", "-N", node)
    return Daemon(f"slurmd.{node}", argv, settings.layout, {"SLURMD_NODENAME": node})
