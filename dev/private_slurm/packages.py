"""Install Debian's packages of Slurm, MariaDB and munge if they are missing."""

import fcntl
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import PrivateSlurmError

PACKAGES = {
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "slurmdbd": "slurmdbd",
    "sbatch": "slurm-client",
    "sacctmgr": "slurm-client",
    "munged": "munge",
    "mariadbd": "mariadb-server",
    "mariadb-install-db": "mariadb-server",
}
SEARCH_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"  # Debian's folders for daemons, which PATH may lack
PAUSES = (0, 3, 6, 12)  # seconds before each attempt
QUIET = {"DEBIAN_FRONTEND": "noninteractive", "PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8"}
APT = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300")


def program(name: str) -> str:
    """Return the full path of an installed program.

    Raises:
        PrivateSlurmError: it is not installed.
    """
    path = _find(name)
    if path is None:
        raise PrivateSlurmError(f"{name} is not installed")
    return path


def _find(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=SEARCH_PATH)


def install_missing() -> None:
    """Install the missing packages; silent and quick when none is missing.

    Raises:
        PrivateSlurmError: the installation failed, or this user is not root.
    """
    if not _missing():
        return
    if os.geteuid() != 0:
        raise PrivateSlurmError(f"not installed: {' '.join(_missing())}; install them, or run once as root")
    with _one_at_a_time():
        if _missing():
            _install(_missing())


def _missing() -> list[str]:
    """Return the packages whose programs are missing."""
    return sorted({package for name, package in PACKAGES.items() if _find(name) is None})


def _install(names: list[str]) -> None:
    """Download and install; retry after a pause, because the network or another apt may have interfered."""
    print(f"installing {' '.join(names)} ...", file=sys.stderr)
    output = ""
    for pause in PAUSES:
        time.sleep(pause)
        _run("dpkg", "--configure", "-a")  # completes an interrupted installation
        _run(*APT, "update")
        output = _run(*APT, "install", "--no-install-recommends", *names)
        if not _missing():
            return
    raise PrivateSlurmError(f"apt-get could not install {' '.join(names)}:\n{output[-3000:]}")


def _run(*argv: str) -> str:
    """Run apt or dpkg without questions and return its output; the caller checks which programs exist."""
    done = subprocess.run(
        argv,
        env={**os.environ, **QUIET},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=1800,
    )
    return done.stdout


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Wait for another process's installation; apt's own locks do not cover ``update``."""
    descriptor = os.open("/var/lib/dpkg", os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
