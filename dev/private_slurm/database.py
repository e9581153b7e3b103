"""MariaDB with an own data folder, copied from a template that is made once."""

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

# Small files, and nothing waits for the disk: the data lives as long as the cluster.
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
)


def mariadbd(layout: Layout, port: int) -> Daemon:
    """The daemon."""
    folder = layout.database
    return Daemon(
        "mariadbd",
        (
            packages.program("mariadbd"),
            *OPTIONS,
            f"--datadir={folder / 'data'}",
            f"--socket={folder / 'socket'}",
            f"--pid-file={folder / 'pid'}",
            f"--init-file={folder / 'init.sql'}",
            "--bind-address=127.0.0.1",
            f"--port={port}",
        ),
        layout,
    )


def prepare(layout: Layout, sql: str) -> None:
    """Lay the data folder and the first statements ready."""
    layout.database.chmod(0o700)
    shutil.copytree(_template(), layout.database / "data")
    (layout.database / "init.sql").write_text(sql)


def _template() -> Path:
    """A fresh data folder, made on first use for each version of MariaDB."""
    version = _output(packages.program("mariadbd"), "--no-defaults", "--version")
    template = _cache() / hashlib.sha256(f"{version}{OPTIONS}".encode()).hexdigest()[:16]
    if not template.is_dir():
        _make(template)
    return template


def _cache() -> Path:
    """A folder of our own that nobody else may write to: what lies there is run by root."""
    base = os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / ".cache"
    folder = Path(base) / "jobmon-private-slurm"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise PrivateSlurmError(f"{folder} must belong to this user, and no other may write to it")
    return folder


def _make(template: Path) -> None:
    """Make the template beside its place and move it there whole: two may do so at once."""
    beside = Path(tempfile.mkdtemp(prefix="making-", dir=template.parent))
    try:
        data = beside / "data"
        # --force: it would otherwise insist on resolving this machine's name, which nobody will use.
        install = packages.program("mariadb-install-db")
        _output(install, *OPTIONS, "--force", "--skip-test-db", f"--datadir={data}")
        data.rename(template)
    except OSError:
        if not template.is_dir():  # else another was quicker: as good as ours
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _output(*argv: str) -> str:
    """Run a program of MariaDB's."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        raise PrivateSlurmError(f"{argv[0]} failed: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout
