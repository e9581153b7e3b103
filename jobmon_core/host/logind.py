"""What systemd's logind does to a user's processes at logout, from its files: no program is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOLDERS = ("etc/systemd", "run/systemd", "usr/local/lib/systemd", "usr/lib/systemd", "lib/systemd")


class Logind:
    """The files below ``root``: the machine's own, or a test's. No dataclass: making one takes its time."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Read below ``root``."""
        self.root = root

    def cgroups(self) -> str:
        """Return what the kernel says of the groups that this process is in."""
        return _text(self.root / "proc/self/cgroup")

    def lingers(self, user: str) -> bool:
        """Tell whether a user's systemd stays when the user is logged out: `loginctl enable-linger`."""
        return (self.root / "var/lib/systemd/linger" / user).exists()

    def settings(self) -> Iterator[str]:
        """Yield the texts of logind.conf and its drop-ins; a later one overrides those before it."""
        folders = [self.root / folder for folder in _FOLDERS]
        main = (folder / "logind.conf" for folder in folders)
        yield _text(next((path for path in main if path.exists()), folders[0]))
        # of the drop-ins with one name the first folder's counts
        drop_ins: dict[str, Path] = {}
        for folder in reversed(folders):
            drop_ins |= {path.name: path for path in (folder / "logind.conf.d").glob("*.conf")}
        for name in sorted(drop_ins):
            yield _text(drop_ins[name])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not there, or not for us to read: it says nothing
