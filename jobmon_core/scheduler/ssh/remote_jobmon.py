"""The line of shell that runs a jobmon on another machine; its exit code is that of ssh."""

from __future__ import annotations

import base64
import shlex
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.domain.node.hosts.profiles import Profile

NO_SCRIPT, NOT_FOUND = 252, 253  # exit codes that jobmon has not: of no batch script, and of no jobmon
_MAX_LINE = 120_000  # characters; the kernel takes 131,072 for one argument
# there is nothing to type for the command, whose end the machine notices only by that of its stdin
_END_WITH_CONNECTION = """\
exec 3<&0
(cat <&3; kill -TERM 0) >/dev/null 2>&1 &
watcher=$!
exec 3<&- </dev/null
"""
_END_WATCHER = "{ kill $watcher; wait $watcher; } 2>/dev/null\n"
# an unknown option or command, or no jobmon: which version is there? 255 would be an error of ssh
_END = """\
if [ $code = 2 ] || [ $code = 127 ]; then
  there=$(%(command)s --version 2>/dev/null </dev/null)
  case $code$there in
    127) exit %(not_found)d ;;
    2 | '2%(here)s' | 127*) ;;
    *) echo 'jobmon: %(name)s has '"$there"', and this machine %(here)s' >&2 ;;
  esac
fi
[ $code != 255 ] || code=254
exit $code
"""


class RemoteCommand(NamedTuple):
    """One command of a jobmon on another machine."""

    words: Sequence[str]
    variables: Mapping[str, str]
    ends_with_connection: bool = False  # it changes nothing, so it may be cut off
    stdin: bytes | None = b""  # all of its input; None: the user's own, as it arrives
    script: str = ""  # a batch script that must be there

    def line(self, profile: Profile, mark: str = "") -> str:
        """Return a line for any login shell; what it prints on stdout and stderr begins after the ``mark``.

        Without one, it is for a program that asks it on its stdin, or for a terminal.

        Raises:
            ValueError: the command is too long for one line.
        """
        variables = {**self.variables, "JOBMON_HOME": profile.home} if profile.home else self.variables
        run = f'{profile.command} "$@"\n'
        text = "".join(
            (
                "unset JOBMON_PROFILE\n",  # the same start-up files may serve both machines
                "PATH=$PATH:$HOME/.local/bin; export PATH\n",
                *(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items()),
                f"set -- {shlex.join(self.words)}\n",
                # what was printed before may not have ended its line
                *(self._marked(run, profile, mark) if mark else ("echo\n", run)),
            )
        )
        packed = base64.b64encode(text.encode(errors="surrogateescape")).decode()
        if len(packed) > _MAX_LINE:
            raise ValueError("the command line is too long")
        # of these characters, no shell takes one for its own: not csh, nor fish
        return f"exec /bin/sh -c 'eval \"$(echo $1 | base64 -d)\"' sh {packed}"

    def _marked(self, run: str, profile: Profile, mark: str) -> tuple[str, ...]:
        here = f"jobmon {__version__}"
        end = {"command": profile.command, "name": profile.host.name, "not_found": NOT_FOUND, "here": here}
        return (
            f"printf '\\n{mark}\\n'; printf '\\n{mark}\\n' >&2\n",
            f"[ -e {shlex.quote(self.script)} ] || exit {NO_SCRIPT}\n" if self.script else "",
            self._read_input(),
            f"{run}code=$?\n",
            _END_WATCHER if self.ends_with_connection and self.stdin == b"" else "",
            _END % end,
        )

    def _read_input(self) -> str:
        if self.stdin is None:
            return ""
        if not self.stdin:
            return _END_WITH_CONNECTION if self.ends_with_connection else "exec </dev/null\n"
        # a connection that breaks meanwhile must not submit half a script
        return (
            f'input=$(mktemp) && head -c {len(self.stdin)} >"$input" && exec <"$input" || exit 74\n'
            f'size=$(wc -c <"$input"); rm -f "$input"; [ "$size" -eq {len(self.stdin)} ] || exit 74\n'
        )
