"""The section ``profiles`` of the configuration: clusters with a jobmon of their own, reached by ssh."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.node.hosts.settings import Host, check_destination, check_name

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

PROGRAM = "jobmon"
BATCH, INTERACTIVE = "batch", "interactive"
_MAX_ANSWERS = 8  # kept for each profile
MAX_CHARS = 250_000  # of them all
MAX_MEMORY_BYTES = 4 << 20  # a character may take twelve


class Profile(NamedTuple):
    """A cluster with a jobmon of its own."""

    host: Host  # its name is that of the profile
    command: str = PROGRAM  # a line of the shell there, which the arguments follow
    home: str = ""  # of jobmon, there; empty: as jobmon itself finds it
    auth: str = BATCH  # whether a command may log in, or only the user (`jobmon connect`)


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """What a command printed on the cluster, and when (Unix seconds)."""

    text: str
    at_s: float


@dataclass(frozen=True, slots=True)
class ProfileMemory:
    """What is remembered of a profile, for when its cluster cannot be reached."""

    reached_s: float = 0.0  # Unix seconds; 0: never
    answers: dict[str, PastAnswer] = field(default_factory=dict)  # of the command line, oldest first

    def with_answer(self, command: str, answer: PastAnswer) -> ProfileMemory:
        """Return the memory with a further answer, and without the oldest ones."""
        kept = {key: past for key, past in self.answers.items() if key != command} | {command: answer}
        while len(kept) > _MAX_ANSWERS or sum(len(past.text) for past in kept.values()) > MAX_CHARS:
            del kept[next(iter(kept))]
        return ProfileMemory(answer.at_s, kept)


def parse_profiles(section: Section) -> dict[str, Profile]:
    """Read ``{name: {host: destination, command: line, home: path, auth: kind}}``; no key is required."""
    profiles = {}
    for name, entry in section.sections():
        check_name(entry, name)
        host = Host(name, entry.text("host") or name)
        check_destination(entry, "host", host)
        command, home = entry.text("command") or PROGRAM, entry.text("home")
        for key, text in (("command", command), ("home", home)):
            if not text.isprintable():
                entry.fault(key, "expected one line of printable text")
        auth = entry.choice("auth", (BATCH, INTERACTIVE), BATCH)
        entry.close()
        profiles[name] = Profile(host, command, home, auth)
    return profiles
