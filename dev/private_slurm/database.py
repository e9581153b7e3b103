"""MariaDB with its own data folder, copied from a template that is made once."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from . import packages
from .daemons import Daemon
from .errors import PrivateSlurmError
from .layout import Layout

# Small files, no waiting for the disk: the data is deleted with the cluster.
OPTIONS = (
    "--no-defaults",
    "--user=root",
    "--skip-name-resolve",
    "--innodb-log-file-size=4M",
    "--innodb-undo-tablespaces=0",
    "--innodb-buffer-pool-size=64M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--innodb-lock-wait-timeout=900",
    "--loose-innodb-snapshot-isolation=OFF",  # of MariaDB 11.6 and newer: slurmdbd expects none
)


def mariadbd(layout: Layout, port: int) -> Daemon:
    """Return the daemon."""
    folder = layout.database
    options = (
        f"--tmpdir={folder}",  # every starting mariadbd deletes the temporary tables of all others in it
        f"--datadir={folder / 'data'}",
        f"--socket={folder / 'socket'}",
        f"--pid-file={folder / 'pid'}",
        f"--init-file={folder / 'init.sql'}",
        "--bind-address=127.0.0.1",
        f"--port={port}",
    )
    return Daemon("mariadbd", (packages.program("mariadbd"), *OPTIONS, *options), layout, port=port)


def prepare(layout: Layout, sql: str) -> None:
    """Create the data folder and the file with the initial statements."""
    layout.database.chmod(0o700)
    shutil.copytree(_template(), layout.database / "data")
    (layout.database / "init.sql").write_text(sql)


def _template() -> Path:
    """Return a fresh data folder, made on first use for each version of MariaDB."""
    version = _output(packages.program("mariadbd"), "--no-defaults", "--version")
    template = _cache() / hashlib.sha256(f"{version}{OPTIONS}".encode()).hexdigest()[:16]
    if not template.is_dir():
        _make(template)
    return template


def _cache() -> Path:
    """Return a folder that only this user may write to, because root's MariaDB trusts its files.

    Raises:
        PrivateSlurmError: another user owns the folder or may write to it.
    """
    base = os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / ".cache"
    folder = Path(base) / "jobmon-private-slurm"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PrivateSlurmError(f"{folder} must belong to this user and be writable by no other user")
    return folder


def _make(template: Path) -> None:
    """Make the template in a temporary folder and rename it, because two processes may make it at once."""
    install = packages.program("mariadb-install-db")
    with tempfile.TemporaryDirectory(
        prefix="making-", dir=template.parent, ignore_cleanup_errors=True
    ) as name:
        data = Path(name, "data")
        # --force: without it, this machine's name must resolve.
        _output(install, *OPTIONS, "--force", "--skip-test-db", f"--tmpdir={name}", f"--datadir={data}")
        try:
            data.rename(template)
        except OSError:
            if not template.is_dir():  # otherwise another process was quicker
                raise


def _output(*argv: str) -> str:
    """Run a program of MariaDB and return its output."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise PrivateSlurmError(f"{argv[0]} failed: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout
