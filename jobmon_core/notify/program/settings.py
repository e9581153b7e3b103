"""The settings of a program that runs for each message or change: its command line."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section


class ProgramSettings(NamedTuple):
    """A program and its arguments. No shell runs it."""

    argv: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> ProgramSettings:
        """Split a command line at its white space as a shell would; quotes and backslashes count.

        Raises:
            ValueError: it names no program, or not by an absolute path, or a quote is not closed.
        """
        import shlex  # few users have such a program

        try:
            argv = tuple(shlex.split(text))
        except ValueError as error:
            raise ValueError(f"not a command line: {error}") from error
        if not argv or not argv[0].startswith("/"):
            raise ValueError("expected the absolute path of a program, then its arguments")
        return cls(argv)

    @property
    def fingerprint(self) -> str:
        """The program and a checksum of the command line: an argument may be a secret."""
        return f"program {self.argv[0]} ({zlib.crc32(repr(self.argv).encode()):08x})"


def parse_channel(section: Section) -> ProgramSettings | None:
    """Read one named channel; report faults to ``section``, and return None if there is one."""
    command = section.verbatim("command", required=True)
    try:
        return ProgramSettings.parse(command) if command else None
    except ValueError as error:
        section.fault("command", str(error))
        return None
