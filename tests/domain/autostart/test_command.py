from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.autostart.command import (
    AutostartCommand,
    AutostartMethod,
    AutostartUnavailable,
    MethodStatus,
    best_method,
    exported_env,
    marker_for,
    omitted_secrets,
)
from jobmon_core.domain.autostart.crontab_text import (
    cron_lines,
    our_lines,
    scrontab_lines,
    with_lines,
    without_lines,
)
from jobmon_core.domain.autostart.systemd_units import unit_files

MARK = marker_for("/home/me/jobmon")
ERRAND = AutostartCommand(
    ("/opt/bin/jobmon",), {"JOBMON_HOME": "/home/me/jobmon", "PATH": "/opt/slurm/bin:/bin"}, MARK
)
LINES = cron_lines(ERRAND)
Crontab = st.text(st.characters(codec="utf-8") | st.sampled_from("\n#* %"))


def command(program: str, **environment: str) -> AutostartCommand:
    return AutostartCommand((program,), environment, MARK)


def test_cron_starts_it_at_boot_and_every_ten_minutes() -> None:
    command = (
        "/usr/bin/env JOBMON_HOME=/home/me/jobmon PATH=/opt/slurm/bin:/bin /opt/bin/jobmon recover --quiet"
    )
    assert list(LINES) == [f"{when} {command} # {MARK}" for when in ("@reboot", "*/10 * * * *")]


@given(Crontab)
def test_what_is_put_in_and_taken_out_leaves_every_other_byte(text: str) -> None:
    assert without_lines(with_lines(text, LINES, MARK), MARK) == text


@given(Crontab)
def test_putting_in_twice_is_putting_in_once(text: str) -> None:
    once = with_lines(text, LINES, MARK)
    assert with_lines(once, LINES, MARK) == once
    assert our_lines(once, MARK) == list(LINES)


def test_lines_that_the_user_moved_stay_where_they_are() -> None:
    text = f"MAILTO=me\n{LINES[0]}\n0 1 * * * backup\n{LINES[1]}\n"
    assert with_lines(text, LINES, MARK) == text
    assert without_lines(text, MARK) == "MAILTO=me\n0 1 * * * backup\n"


def test_lines_of_an_older_installation_are_replaced() -> None:
    old = f"0 * * * * /old/jobmon recover # {MARK}\n0 1 * * * backup\n"
    assert with_lines(old, LINES, MARK) == "".join(f"{line}\n" for line in LINES) + "0 1 * * * backup\n"


def test_two_homes_do_not_touch_each_other() -> None:
    other = marker_for("/home/me/other")
    both = with_lines(with_lines("", LINES, MARK), cron_lines(AutostartCommand(("/j",), {}, other)), other)
    assert our_lines(without_lines(both, other), MARK) == list(LINES)


@pytest.mark.parametrize(
    "path", ["/a b/jobmon", "/it's/jobmon", '/"q"/$HOME/`x`/jobmon', "/100%/jobmon", "/#/é"]
)
def test_a_shell_reads_back_the_words_that_were_written(path: str) -> None:
    line = cron_lines(command(path, JOBMON_HOME=path))[0]
    as_cron_hands_it_over = line.removeprefix("@reboot ").replace(r"\%", "%")
    words = shlex.split(as_cron_hands_it_over, comments=True)
    assert words == ["/usr/bin/env", f"JOBMON_HOME={path}", path, "recover", "--quiet"]
    printed = subprocess.run(
        ["/bin/sh", "-c", as_cron_hands_it_over.replace("/usr/bin/env", "printf '%s\\n'", 1)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.split("\n")[:-1] == words[1:]


def test_no_percent_sign_is_left_to_cron() -> None:
    line = cron_lines(command("/100%/jobmon"))[0]
    assert line.count("%") == line.count(r"\%") == 1


@pytest.mark.parametrize("path", ["/a\nb", "/a\\b", "/a\x1bb", "/a\rb"])
def test_what_no_line_can_hold_is_refused(path: str) -> None:
    with pytest.raises(AutostartUnavailable):
        cron_lines(command(path))


def test_in_a_slurm_job_it_stays_as_long_as_its_monitors_and_writes_no_file() -> None:
    option, line = scrontab_lines(ERRAND)
    assert option == f"#SCRON --job-name={MARK} --output=/dev/null"
    assert line.endswith(f" recover --quiet --stay # {MARK}")
    assert without_lines(with_lines("x\n", (option, line), MARK), MARK) == "x\n"


def test_the_timer_leaves_alone_the_monitors_that_its_service_started() -> None:
    files = unit_files(ERRAND)
    assert set(files) == {f"{MARK}.service", f"{MARK}.timer"}
    assert "\nKillMode=process\n" in files[f"{MARK}.service"]
    assert "\nOnCalendar=*:0/10\n" in files[f"{MARK}.timer"]


def test_what_means_something_to_systemd_is_escaped() -> None:
    service = unit_files(command('/a b/%h/$HOME/"q"'))[f"{MARK}.service"]
    assert r'ExecStart=/usr/bin/env "/a b/%%h/$$HOME/\"q\"" recover --quiet' in service
    with pytest.raises(AutostartUnavailable):
        unit_files(command("/a\n[Service]"))


def test_the_cluster_the_home_and_the_way_out_are_carried_and_nothing_else() -> None:
    environment = {
        "SLURM_CONF": "/etc/slurm/other.conf",
        "https_proxy": "http://proxy:3128",
        "JOBMON_ERROR_WEBHOOK": "secret",
        "HOME": "/home/me",
        "PATH": "/long",
    }
    assert exported_env(environment, "/h", "/bin") == {
        "JOBMON_HOME": "/h",
        "SLURM_CONF": "/etc/slurm/other.conf",
        "https_proxy": "http://proxy:3128",
        "PATH": "/bin",
    }
    assert omitted_secrets(environment, ["JOBMON_ERROR_WEBHOOK"]) == ["JOBMON_ERROR_WEBHOOK"]


@pytest.mark.parametrize("proxy", ["http://me:hunter2@proxy:3128", "me:hunter2@proxy", "http://[::1:3128"])
def test_a_proxy_with_a_password_is_named_and_not_carried(proxy: str) -> None:
    assert "HTTPS_PROXY" not in exported_env({"HTTPS_PROXY": proxy}, "/h", "/bin")
    assert omitted_secrets({"HTTPS_PROXY": proxy}, []) == ["HTTPS_PROXY"]


@pytest.mark.parametrize(
    ("usable", "killed", "way"),
    [
        ("cron systemd scrontab", False, AutostartMethod.CRON),
        ("cron systemd scrontab", True, AutostartMethod.SYSTEMD),
        ("systemd scrontab", False, AutostartMethod.SYSTEMD),
        ("cron scrontab", True, AutostartMethod.CRON),
        ("scrontab", False, AutostartMethod.SCRONTAB),
        ("", False, None),
    ],
)
def test_the_way_that_needs_least_and_lasts_is_proposed(
    usable: str, way: AutostartMethod | None, *, killed: bool
) -> None:
    offers = [MethodStatus(each, "" if each in usable.split() else "not here") for each in AutostartMethod]
    assert best_method(offers, killed_at_logout=killed) is way
