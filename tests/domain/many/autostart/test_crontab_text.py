from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.many.autostart.command import (
    AutostartCommand,
    AutostartUnavailable,
    cron_lines,
    marker_for,
    our_lines,
    scrontab_lines,
    with_lines,
    without_lines,
)

MARKER = marker_for("/home/me/jobmon")
COMMAND = AutostartCommand(
    ("/opt/bin/jobmon",), {"JOBMON_HOME": "/home/me/jobmon", "PATH": "/opt/slurm/bin:/bin"}, MARKER
)
LINES = cron_lines(COMMAND)
Crontab = st.text(st.characters(codec="utf-8") | st.sampled_from("\n#* %"))


def command(program: str, **environment: str) -> AutostartCommand:
    return AutostartCommand((program,), environment, MARKER)


def test_cron_runs_recover_at_boot_and_every_ten_minutes() -> None:
    command = (
        "/usr/bin/env JOBMON_HOME=/home/me/jobmon PATH=/opt/slurm/bin:/bin /opt/bin/jobmon recover --quiet"
    )
    assert list(LINES) == [f"{when} {command} # {MARKER}" for when in ("@reboot", "*/10 * * * *")]


@given(Crontab)
def test_adding_and_removing_the_lines_preserves_every_other_byte(text: str) -> None:
    assert without_lines(with_lines(text, LINES, MARKER), MARKER) == text


@given(Crontab)
def test_adding_the_lines_is_idempotent(text: str) -> None:
    once = with_lines(text, LINES, MARKER)
    assert with_lines(once, LINES, MARKER) == once
    assert our_lines(once, MARKER) == list(LINES)


def test_lines_that_the_user_moved_stay_where_they_are() -> None:
    text = f"MAILTO=me\n{LINES[0]}\n0 1 * * * backup\n{LINES[1]}\n"
    assert with_lines(text, LINES, MARKER) == text
    assert without_lines(text, MARKER) == "MAILTO=me\n0 1 * * * backup\n"


def test_lines_of_an_older_installation_are_replaced() -> None:
    old = f"0 * * * * /old/jobmon recover # {MARKER}\n0 1 * * * backup\n"
    assert with_lines(old, LINES, MARKER) == "".join(f"{line}\n" for line in LINES) + "0 1 * * * backup\n"


def test_two_homes_keep_their_lines_apart() -> None:
    other = marker_for("/home/me/other")
    both = with_lines(with_lines("", LINES, MARKER), cron_lines(AutostartCommand(("/j",), {}, other)), other)
    assert our_lines(without_lines(both, other), MARKER) == list(LINES)


@pytest.mark.parametrize(
    "path", ["/a b/jobmon", "/it's/jobmon", '/"q"/$HOME/`x`/jobmon', "/100%/jobmon", "/#/é"]
)
def test_a_shell_parses_the_line_into_the_same_arguments(path: str) -> None:
    line = cron_lines(command(path, JOBMON_HOME=path))[0]
    as_cron_passes_it = line.removeprefix("@reboot ").replace(r"\%", "%")
    argv = shlex.split(as_cron_passes_it, comments=True)
    assert argv == ["/usr/bin/env", f"JOBMON_HOME={path}", path, "recover", "--quiet"]
    printed = subprocess.run(
        ["/bin/sh", "-c", as_cron_passes_it.replace("/usr/bin/env", "printf '%s\\n'", 1)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.split("\n")[:-1] == argv[1:]


def test_every_percent_sign_is_escaped() -> None:
    line = cron_lines(command("/100%/jobmon"))[0]
    assert line.count("%") == line.count(r"\%") == 1


@pytest.mark.parametrize("path", ["/a\nb", "/a\\b", "/a\x1bb", "/a\rb"])
def test_characters_that_a_crontab_cannot_hold_are_refused(path: str) -> None:
    with pytest.raises(AutostartUnavailable):
        cron_lines(command(path))


def test_the_scrontab_job_stays_with_its_monitors_and_writes_no_output_file() -> None:
    option, line = scrontab_lines(COMMAND)
    assert option == f"#SCRON --job-name={MARKER} --output=/dev/null"
    assert line.endswith(f" recover --quiet --stay # {MARKER}")
    assert without_lines(with_lines("x\n", (option, line), MARKER), MARKER) == "x\n"
