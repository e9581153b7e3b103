"""The section ``profiles`` of the configuration: clusters with a jobmon of their own, reached by ssh."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.node.hosts.settings import Host, check_destination, check_name

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

PROGRAM = "jobmon"
BATCH, INTERACTIVE = "batch", "interactive"


class Profile(NamedTuple):
    """A cluster with a jobmon of its own."""

    host: Host  # its name is that of the profile
    command: str = PROGRAM  # a line of the shell there, which the arguments follow
    home: str = ""  # of jobmon, there; empty: as jobmon itself finds it
    auth: str = BATCH  # whether a command may log in, or only the user (`jobmon connect`)


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
