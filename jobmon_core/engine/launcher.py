"""Starting monitors: the command's side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyWatched, StorageFailed
from jobmon_core.engine.handshake import BUSY, READY
from jobmon_core.engine.standby import Standby

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.store.home import Home


class Launcher:
    """Starts monitors for the jobs of one home."""

    def __init__(self, home: Home, standby: Standby | None = None) -> None:
        """Start the first monitor from ``standby`` where there is one, others from copies of their own."""
        self._home = home
        self._standby = standby

    def start(self, job_ids: Sequence[str]) -> tuple[str, ...]:
        """Start one monitor for those of these jobs that nobody holds (their state files are written).

        Returns:
            The jobs that the new monitor holds; it leaves the others to who has them.

        Raises:
            AlreadyWatched: other monitors hold all of them.
            StorageFailed: the monitor could not start; says why.
        """
        word = ""
        if self._standby and self._standby.waits:
            word = self._standby.send(self._home.root, job_ids)
        # one that was killed meanwhile, by a Ctrl-C say, gave no word: a fresh one does it
        word = word or Standby().send(self._home.root, job_ids)
        if word == BUSY:
            raise AlreadyWatched("other monitors have taken them up")
        if not word.startswith(READY):
            raise StorageFailed(f"the monitor did not start: {word or 'no word from it'}")
        return tuple(word.removeprefix(READY).split())
