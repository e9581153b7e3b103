"""Passes each message to every open `jobmon top`, which rings the terminal's bell and shows one line.

The messages go into a small file in jobmon's home that `top` reads again when it has changed. A message is
delivered once it is in the file, also if no `top` is open: the next one shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome, Level, Receipt
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.notify.clean_text import one_line
from jobmon_core.notify.json_form import append, keep_last, records
from jobmon_core.notify.plain_text import fit
from jobmon_core.system.files import make_folder

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry

FEED = "state/terminal.jsonl"  # in jobmon's home
REFRESH_S = 2.0  # of `jobmon top`, unless the user sets another
_MIN_REFRESH_S, _MAX_REFRESH_S = 0.5, 60
_MAX_TITLE = 300
_KEPT, _MAX_BYTES = 50, 65_536  # the last lines that are kept when the file is larger


class TerminalLine(NamedTuple):
    """One message in an open `top`."""

    id: str
    created_s: int  # Unix seconds
    level: Level
    text: str


class Terminal(NamedTuple):
    """The file of one home."""

    path: str
    refresh_s: float = REFRESH_S  # seconds between two looks of `jobmon top`

    @property
    def name(self) -> str:
        """What gets the messages."""
        return "terminal (an open `jobmon top`)"

    @property
    def fingerprint(self) -> str:
        """The path: it is no secret."""
        return f"terminal {self.path}"

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Do as `Channel.deliver`, with the title alone."""
        message, path = entry.message, Path(self.path)
        record = {
            "id": message.id,
            "created_at": message.created_s,
            "level": message.level.value,
            "title": fit(one_line(message.title), _MAX_TITLE),
        }
        try:
            make_folder(path.parent)
            append(path, record, is_repeat=entry.maybe_delivered)
            keep_last(path, _KEPT, _MAX_BYTES)
        except StorageFailed as error:
            advice = "Check jobmon's home (`jobmon where`). Messages about jobs are retried automatically."
            return Receipt(DeliveryOutcome.TRY_AGAIN, str(error), for_all=True, advice=advice)
        return ACCEPTED


def parse(section: Section) -> Terminal:
    """Read one channel."""
    refresh_s = section.number("refresh_rate", REFRESH_S, _MIN_REFRESH_S, _MAX_REFRESH_S)
    return Terminal(section.beside(FEED), refresh_s)


def read_lines(content: bytes) -> list[TerminalLine]:
    """Return the messages in the content of the file, oldest first."""
    lines = []
    for record in records(content):
        created_s, text = record.get("created_at"), record.get("title")
        if isinstance(created_s, int) and isinstance(text, str):
            level = record.get("level")
            known = Level.WARNING
            if level in tuple(Level):
                known = Level(level)
            lines.append(TerminalLine(str(record.get("id")), created_s, known, text))
    return lines
