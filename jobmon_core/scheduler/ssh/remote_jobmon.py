"""The line of shell that runs a jobmon on another machine; its exit code is that of ssh."""

from __future__ import annotations

import base64
import shlex
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.node.hosts.profiles import Profile

NOT_FOUND = 253  # an exit code that jobmon has not: of no jobmon
_MAX_LINE = 120_000  # characters; the kernel takes 131,072 for one argument
# the same start-up files may serve both machines, and what they print may not end its line
_LINE = """\
unset JOBMON_PROFILE
PATH=$PATH:$HOME/.local/bin; export PATH
%(variables)sset -- %(words)s
echo; printf %%s '%(mark)s'%(mark_on_stderr)s
%(stdin)strap : INT
%(command)s "$@"
code=$?
%(end)s[ $code != 127 ] || %(command)s --version </dev/null >/dev/null 2>&1 || exit %(not_found)d
[ $code != 255 ] || code=254 # that of ssh
exit $code
"""
# nothing is typed for the command, so the end of its stdin is that of the connection
_END_WITH_CONNECTION = """\
exec 3<&0
(cat <&3; kill -TERM 0) >/dev/null 2>&1 &
watcher=$!
exec 3<&- </dev/null
"""
_END_WATCHER = "{ kill $watcher; wait $watcher; } 2>/dev/null\n"
# a connection that breaks meanwhile must not submit half a script
_READ_ALL = """\
input=$(mktemp) && head -c %(size)d >"$input" && exec <"$input" || exit 74
size=$(wc -c <"$input"); rm -f "$input"; [ "$size" -eq %(size)d ] || exit 74
"""


class RemoteCommand(NamedTuple):
    """One command of a jobmon on another machine."""

    words: Sequence[str]
    stdin: bytes | None = None  # all of its input; None: the user's own, as it arrives
    only_looks: bool = False  # it changes nothing, so it ends with the connection
    has_terminal: bool = False  # it runs on a terminal there, which is the user's
    has_colour: bool = True

    def line(self, profile: Profile, mark: str = "") -> str:
        """Return a line for any login shell; what it prints on stdout and stderr begins after the ``mark``.

        With a terminal, the mark is only on stdout; an empty one is nowhere.

        Raises:
            ValueError: the command is too long for one line.
        """
        watches = self.only_looks and self.stdin == b""
        stdin = "exec </dev/null\n" if self.stdin == b"" else ""
        if watches:
            stdin = _END_WITH_CONNECTION
        elif self.stdin:
            stdin = _READ_ALL % {"size": len(self.stdin)}
        variables = [f"JOBMON_HOME={shlex.quote(profile.home)}"] if profile.home else []
        variables += [] if self.has_colour else ["NO_COLOR=1"]
        text = _LINE % {
            "variables": "".join(f"export {each}\n" for each in variables),
            "words": shlex.join(self.words),
            "mark": mark,
            "mark_on_stderr": f"; printf '\\n%s' '{mark}' >&2" if mark and not self.has_terminal else "",
            "stdin": stdin,
            "command": profile.command,
            "end": _END_WATCHER if watches else "",
            "not_found": NOT_FOUND,
        }
        packed = base64.b64encode(text.encode(errors="surrogateescape")).decode()
        if len(packed) > _MAX_LINE:
            raise ValueError("the command line is too long")
        # of these characters, no shell takes one for its own: not csh, nor fish
        return f"exec /bin/sh -c 'eval \"$(echo $1 | base64 -d)\"' sh {packed}"
