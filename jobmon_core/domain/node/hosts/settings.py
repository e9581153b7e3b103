"""The section ``hosts`` of the configuration."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.config_section import Section

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
# what ssh takes as a destination; it must not begin like an option
_DESTINATION = re.compile(r"[A-Za-z0-9_][^\s'\"\\;&|<>$`]{0,254}")


class Host(NamedTuple):
    """A host that is reached by ssh."""

    name: str  # as the user calls it
    destination: str  # for ssh: a Host of ~/.ssh/config, or user@host
    data: str = ""  # whose free space matters; empty: the home directory


def parse_hosts(section: Section) -> dict[str, Host]:
    """Read ``{name: {ssh: destination, data: folder}}``; both keys may be missing."""
    hosts = {}
    for name, entry in section.sections():
        check_name(entry, name)
        host = Host(name, entry.text("ssh") or name, entry.text("data"))
        check_destination(entry, "ssh", host)
        if host.data and not host.data.startswith(("/", "~")):
            entry.fault("data", f"expected a path on the host that begins with / or ~, found {host.data!r}")
        entry.close()
        hosts[name] = host
    return hosts


def check_name(entry: Section, name: str) -> None:
    """Report a name that cannot be typed or be part of a file's name."""
    if not _NAME.fullmatch(name):
        entry.fault("", "the name has 1 to 63 letters, digits, - . or _ and begins with a letter or digit")


def check_destination(entry: Section, key: str, host: Host) -> None:
    """Report a destination that ssh or a shell would take for something else."""
    if not _DESTINATION.fullmatch(host.destination):
        entry.fault(key, "expected a Host of ~/.ssh/config, or user@host")


POD = "pod/"  # how the destination of a pod begins: pod/CONTEXT/NAMESPACE/NAME, without CONTEXT in a cluster


def exec_words(pod: str) -> tuple[str, ...]:
    """Return the command of kubectl that begins one in a pod, a destination that begins with `POD`."""
    service, _, name = pod.removeprefix(POD).rpartition("/")
    context, _, namespace = service.rpartition("/")
    where = (*(("--context", context) if context else ()), *(("-n", namespace) if namespace else ()))
    return ("kubectl", *where, "exec", "-i", name)


def find_host(hosts: Mapping[str, Host], name: str) -> Host:
    """Return a host by its name; one that is not configured is a destination that ssh itself knows.

    Raises:
        ValueError: it cannot be a destination of ssh.
    """
    if name in hosts:
        return hosts[name]
    if not _DESTINATION.fullmatch(name):
        raise ValueError(f"{name!r} is not a host: name one of `hosts` in config.json, or one that ssh knows")
    return Host(name, name)
