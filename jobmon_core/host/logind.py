"""logind's configuration and the session of this process, read from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDERS = ("etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd", "lib/systemd")


class Logind:
    """The files below ``root``. Not a dataclass, whose definition would delay `jobmon submit`."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Set up without any I/O."""
        self.root = root

    def cgroups(self) -> str:
        """Return ``/proc/self/cgroup``."""
        return _text(self.root / "proc/self/cgroup")

    def lingers(self, user: str) -> bool:
        """Whether the user's systemd keeps running after logout (`loginctl enable-linger`)."""
        return (self.root / "var/lib/systemd/linger" / user).exists()

    def settings(self) -> Iterator[str]:
        """Yield the texts of logind.conf and its drop-ins; a later one overrides the earlier."""
        folders = [self.root / folder for folder in _FOLDERS]
        main = (folder / "logind.conf" for folder in folders)
        yield _text(next((path for path in main if path.exists()), folders[0]))
        # of drop-ins with the same name, systemd reads the one in the first folder
        drop_ins: dict[str, Path] = {}
        for folder in reversed(folders):
            drop_ins |= {path.name: path for path in (folder / "logind.conf.d").glob("*.conf")}
        for name in sorted(drop_ins):
            yield _text(drop_ins[name])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
