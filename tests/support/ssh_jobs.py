"""The jobs on a host behind a real sshd, as a monitor sees them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from jobmon_core.context import Context
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.records import StatusRow, from_answer
from jobmon_core.scheduler.ssh.client import SshScheduler
from jobmon_core.scheduler.ssh.jobs import HostJobs
from jobmon_core.scheduler.ssh.start import record_command, start_command
from tests.support.ssh_server import Box
from tests.support.waiting import eventually

# what the login shell of many users prints; and the boot id of a host that can be restarted in a test
BASHRC = """\
echo "Welcome to the box!"; echo "conda: environment base" >&2
export JOBMON_BOOT_ID_FILE=$HOME/boot_id JOBMON_HOSTNAME_FILE=$HOME/hostname
[ -e ~/uptime ] && export JOBMON_UPTIME_FILE=$HOME/uptime
[ -e ~/no-tmux ] && export PATH=$HOME/nobin:$PATH
"""
WAIT = "until [ -e ~/go ]; do sleep 0.5; done"


class Jobs:
    """The jobs on the host, as a monitor sees them."""

    def __init__(self, box: Box) -> None:
        self.box = box
        ctx = Context.open(os.environ)
        self.resources = ctx.backend_resources("ssh")
        self.scheduler = SshScheduler(self.resources, "box")

    def watch(self, *words: str) -> int:
        return HostJobs(self.resources, "box").register(shlex.join(words)).ref.job_id

    def run(self, script: str) -> int:
        jobs, command = HostJobs(self.resources, "box"), ("sh", "-c", script)
        number = record_command(jobs, command, "", "").ref.job_id
        assert start_command(jobs, number, command, "") == ""
        assert start_command(jobs, number, command, "") == ""  # after a cut connection, it is repeated
        return number

    def wrapper(self, number: int) -> int:
        """Return the PID of the wrapper of a command."""
        run_id = HostJobs(self.resources, "box").records.of(number).load().run_id
        return int(self.box.shell(f"cat ~/.local/state/jobmon/{run_id}/pid").split()[0])

    def rows(self) -> dict[int, StatusRow]:
        answer = self.scheduler.ask_queue("")
        assert not isinstance(answer, Unreachable), answer
        return {row.job_id: row for row in from_answer(answer, range(100))}

    def end_as(self, wanted: dict[int, tuple[str, int | None, int | None] | None]) -> None:
        """Wait until jobs have ended: their state, exit code and signal; None: gone, without an outcome."""

        def ends() -> bool:
            rows = self.rows()
            found = {
                number: (row.state, row.exit_code, row.signal) if (row := rows.get(number)) else None
                for number in wanted
            }
            return found == wanted

        eventually(ends, step_s=0.5)

    def log(self, number: int) -> str:
        row = self.scheduler.ask_record(number)
        assert isinstance(row, tuple)
        return Path(row[0].stdout).read_text()


def tmux(box: Box, name: str, command: str) -> None:
    box.shell(f"tmux new-session -d -s {name} {shlex.quote(command)}")
