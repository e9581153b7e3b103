"""What jobmon answers to a command line: help, or one line that says what is wrong with it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobmon.cli import COMMANDS, FURTHER
from jobmon.parser import ALIASES
from jobmon_core.store.jobs import JobStore
from tests.support.job_records import RUNNING, job_of
from tests.support.shell import Shell, complaint

_DISCORD = "https://discord.com/api/webhooks/123456789012345678/" + "a" * 68


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_help_with_an_example_that_fits_80_columns(shell: Shell, verb: str) -> None:
    done = shell.jobmon(verb, "--help", COLUMNS="200")
    shown = done.stdout + done.stderr
    assert done.returncode == 0
    assert "examples:" in shown
    assert f"  jobmon {ALIASES.get(verb, verb)}" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_the_help_of_jobmon_names_every_verb_and_an_example(shell: Shell) -> None:
    done = shell.jobmon("--help", COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert all(f"\n  {verb} " in done.stdout for verb in COMMANDS.keys() - FURTHER)
    assert f"further: {', '.join(FURTHER)}" in " ".join(done.stdout.split())
    assert "examples:" in done.stdout


@pytest.mark.parametrize("verb", ["", *COMMANDS])
def test_help_fits_a_narrow_terminal_but_for_usage_and_examples(shell: Shell, verb: str) -> None:
    done = shell.jobmon(*filter(None, (verb, "--help")), COLUMNS="40")
    _usage, _, text = (done.stdout + done.stderr).partition("examples:")[0].partition("\n\n")
    assert max(map(len, text.splitlines())) <= 40


def test_help_of_a_command_is_what_its_option_prints(shell: Shell) -> None:
    assert shell.jobmon("help", "status").stdout == shell.jobmon("status", "--help").stdout
    assert shell.jobmon("help").stdout == shell.jobmon("--help").stdout
    of_action = shell.jobmon("help", "patterns", "list").stdout
    assert of_action == shell.jobmon("patterns", "list", "--help").stdout
    assert of_action.startswith("usage: jobmon patterns list")
    assert shell.jobmon("help", "group", "submit").stdout.startswith("usage: jobmon group submit")
    of_run = shell.jobmon("help", "run", "true")
    assert (of_run.returncode, of_run.stdout) == (2, "")
    assert of_run.stderr == "jobmon: unexpected argument 'true'; see `jobmon help run`\n"


def test_without_a_command_the_commands_are_listed(shell: Shell) -> None:
    done = shell.jobmon()
    assert (done.returncode, done.stdout) == (2, "")
    assert "\n  submit " in done.stderr
    assert done.stderr.endswith("\njobmon: no command given\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("JobmonError('no')", 1),
        ("KeyboardInterrupt", 130),
        ("PermissionError(13, 'Permission denied', '/locked/state')", 74),
        ("ValueError", 70),
    ],
)
def test_what_a_command_printed_before_it_failed_is_not_lost(error: str, code: int, tmp_path: Path) -> None:
    program = f"""
import os
from jobmon.errors import JobmonError, run_guarded

def command():
    print("first result")
    raise {error}

os._exit(run_guarded(command))
"""
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    argv = [sys.executable, "-c", program]
    environment = {**buffered, "TMPDIR": str(tmp_path)}  # of the report of an internal error
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (code, "first result\n")
    assert done.stderr.startswith("jobmon: ")


def test_in_a_folder_that_was_removed_the_user_is_told_to_change_it(shell: Shell) -> None:
    done = shell.line("/bin/mkdir gone; cd gone; /bin/rmdir ../gone; jobmon check job.sh")
    assert (done.returncode, done.stdout) == (74, "")
    assert done.stderr.splitlines()[-1] == (
        "jobmon: the current folder has been removed: change to another, e.g. `cd`"
    )


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_is_told(shell: Shell, option: str) -> None:
    done = shell.jobmon(option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("jobmon ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bogus",), "unknown command 'bogus'; `jobmon --help` lists the commands"),
        (("statsu",), "unknown command 'statsu'; did you mean 'status'?"),
        (("help", "statsu"), "unknown command 'statsu'; did you mean 'status'?"),
        (("version",), "unknown command 'version'; did you mean `jobmon --version`?"),
        (("ls",), "unknown command 'ls'; did you mean `jobmon status`?"),
        (("tail", "8123"), "unknown command 'tail'; did you mean `jobmon logs -f JOB`?"),
        (("logs", "1", "--all"), "unknown option --all; see `jobmon logs --help`"),
        (
            ("run", "--gpu-ids", "x", "--", "true"),
            "argument --gpu-ids: 'x' is not the number of a GPU; a command",
        ),
        (("--bogus",), "unknown option --bogus; see `jobmon --help`"),
        (("--verison",), "unknown option --verison (did you mean --version?); see `jobmon --help`"),
        (("watch",), "`jobmon watch --help`"),
        (
            ("watch", "abc"),
            "'abc' is not the id of one job; expected 12, 12_3 (array task) or 12+1 (het job component)",
        ),
        (("watch", "12_[1-3]"), "'12_[1-3]' is not the id of one job; 12 is that of the whole array"),
        (("watch", "-1"), "`jobmon watch --help`"),
        (("recover", "2"), "unexpected argument '2'; see `jobmon recover --help`"),
        (
            ("recover", "--quite"),
            "unknown option --quite (did you mean --quiet?); see `jobmon recover --help`",
        ),
        (("status", "--jso=x"), "unknown option --jso (did you mean --json?); see `jobmon status --help`"),
        (("patterns", "list", "--jsn"), "did you mean --json?); see `jobmon patterns list --help`"),
        (("inbox", "--port", "x"), "argument --port: 'x' is not a whole number from 0 to 65535"),
        (("inbox", "--port", "80999"), "argument --port: '80999' is not a whole number from 0 to 65535"),
        (("logs", "1", "2"), "unexpected argument '2'"),
        (("logs", "1", "--out", "--monitor"), "not allowed with argument"),
        (("status", "--since", "2"), "'2' is not a period; expected e.g. 90m, 36h, 2d or 1w"),
        (("status", "--limit", "-1"), "'-1' is not a whole number of 1 or more"),
        (("status", "--watch"), "--watch needs a terminal"),
        (("prune",), "name a job, or add --messages or --older-than"),
        (("patterns",), "required: list|check|test; see `jobmon patterns --help`"),
        (("watch",), "required: either JOB, or one of --pid, --pid-file and --process; see"),
        (
            ("submit", "--backend", "lsf", "x.sh"),
            "nothing was submitted: --backend takes one of slurm, local, pbs, ray, kubernetes, not 'lsf'",
        ),
        (("submit", "--backend"), "--backend takes one of slurm, local, pbs, ray, kubernetes, not ''"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(
    shell: Shell, arguments: tuple[str, ...], words: str
) -> None:
    done = shell.jobmon(*arguments)
    assert done.returncode == 2
    assert words in complaint(done)


@pytest.mark.parametrize("verb", ["show", "logs", "cancel"])
def test_a_job_that_is_not_known_is_told_in_one_line(shell: Shell, verb: str) -> None:
    done = shell.jobmon(verb, "4711")
    assert done.returncode == 1
    words = complaint(done)
    assert words.startswith(("job 4711 ", "no record of job 4711 "))
    assert "`jobmon status" in words


def test_without_sbatch_the_way_out_is_named_and_nothing_is_left(shell: Shell) -> None:
    done = shell.jobmon("submit", "train.sh")
    assert done.returncode == 127
    assert "nothing was submitted: sbatch: not found on PATH" in complaint(done)
    assert "--backend local" in done.stderr
    assert list(shell.state.rglob("*.json")) == []


def test_an_sbatch_that_can_not_be_run_is_told_with_its_reason(shell: Shell) -> None:
    shell.program("sbatch")
    (shell.programs / "sbatch").chmod(0o644)
    done = shell.jobmon("submit", "train.sh")
    assert done.returncode == 127
    assert "Permission denied" in complaint(done)


def test_without_slurm_a_job_can_not_be_looked_up_and_it_is_said_why(shell: Shell) -> None:
    done = shell.jobmon("watch", "4711")
    assert done.returncode == 69
    said = "job 4711 cannot be looked up now: scontrol: not found on PATH; run this on a host that has it"
    assert said in complaint(done)


def test_a_home_that_is_no_folder_is_told_and_nothing_is_submitted(shell: Shell) -> None:
    shell.program("sbatch", f"touch {shell.work}/submitted; echo Submitted batch job 1")
    done = shell.jobmon("submit", "x.sh", JOBMON_HOME="/dev/null/home")
    assert done.returncode == 78
    assert "/dev/null/home" in done.stderr
    assert not (shell.work / "submitted").exists()


@pytest.mark.parametrize("verb", ["status", "recover", "show 1", "logs 1", "cancel 1"])
def test_a_home_that_can_not_be_used_is_told_in_one_line(shell: Shell, verb: str) -> None:
    done = shell.jobmon(*verb.split(), JOBMON_HOME="/proc/home")
    assert done.returncode == 74
    assert complaint(done).startswith("/proc/home/state cannot be used: ")


def test_the_inbox_prints_its_urls_and_ends_quietly_at_ctrl_c(shell: Shell) -> None:
    code, screen = shell.talk(["inbox"], ("(Ctrl-C to stop)\n", "\x03"))
    assert code == 0
    urls = re.findall("^([a-z]+): http://127.0.0.1:[0-9]+/api/v10/webhooks/[0-9]+/", screen, re.MULTILINE)
    assert urls == ["success", "error"]
    assert screen.endswith("\n^C\njobmon: stopped; the two URLs no longer work\n")


def test_status_of_nothing_says_how_to_begin(shell: Shell) -> None:
    assert "`jobmon submit SCRIPT`" in shell.jobmon("status").stdout
    assert json.loads(shell.jobmon("status", "--json").stdout) == []
    assert shell.jobmon("recover").stdout == "nothing to do: no jobs are being watched\n"


@pytest.mark.parametrize("command", ["status --json", "--help", "status --help", "--version"])
def test_a_reader_who_leaves_early_is_no_fault(shell: Shell, command: str) -> None:
    done = shell.line(f"jobmon {command} | head -0")
    assert done.returncode in (0, 141)
    assert done.stderr == ""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_fault(shell: Shell, closed: str) -> None:
    assert shell.line(f"jobmon status {closed}").returncode == 0


def test_a_full_disk_behind_stdout_is_told(shell: Shell) -> None:
    done = shell.line("jobmon status >/dev/full")
    assert done.returncode == 74
    assert complaint(done) == "the output cannot be written: No space left on device"


def test_init_writes_a_file_that_only_its_owner_can_read_and_shows_no_secret(shell: Shell) -> None:
    done = shell.jobmon("init", stdin=f"{_DISCORD}\n {_DISCORD} \n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "a" * 68 not in done.stdout
    assert "`jobmon test-discord`" in done.stdout
    config = shell.home / "config.json"
    assert config.stat().st_mode & 0o777 == 0o600
    assert json.loads(config.read_text())["discord"]["error_webhook"] == _DISCORD


@pytest.mark.parametrize("stdin", ["", f"{_DISCORD}\n"])
def test_init_without_two_urls_explains_how_to_make_them(shell: Shell, stdin: str) -> None:
    done = shell.jobmon("init", stdin=stdin)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("jobmon: nothing was written: give two webhook URLs on stdin, ")
    assert "Integrations > Webhooks.\n  2. New Webhook." in done.stderr
    assert not (shell.home / "config.json").exists()


def test_init_refuses_what_is_no_webhook_and_keeps_the_old_configuration(shell: Shell) -> None:
    shell.jobmon("init", stdin=f"{_DISCORD}\n{_DISCORD}\n")
    before = (shell.home / "config.json").read_bytes()
    done = shell.jobmon("init", stdin="https://example.org/a\nhttp://discord.com/api/webhooks/1/tok3n\n")
    assert (done.returncode, done.stdout) == (78, "")
    assert done.stderr.startswith("jobmon: the input is not usable:\n  - success webhook: not a webhook URL")
    assert "\n  - error webhook: plain http shows the token" in done.stderr
    assert "tok3n" not in done.stderr
    assert (shell.home / "config.json").read_bytes() == before


def test_init_replaces_webhooks_wherever_they_were_kept_and_leaves_the_rest(shell: Shell) -> None:
    secret = shell.home / "url"
    secret.write_text(_DISCORD.replace("a", "b"))
    (shell.home / "config.json").write_text(
        json.dumps({"poll": {"running_s": 45}, "discord": {"error_webhook_file": "url"}})
    )
    assert shell.jobmon("init", stdin=f"{_DISCORD}\n{_DISCORD}\n").returncode == 0
    assert json.loads((shell.home / "config.json").read_text()) == {
        "poll": {"running_s": 45},
        "discord": {"success_webhook": _DISCORD, "error_webhook": _DISCORD},
    }


def test_without_webhooks_the_channels_fail_and_it_is_said_what_to_do(shell: Shell) -> None:
    done = shell.jobmon("test-discord")
    assert done.returncode == 1
    assert done.stdout.count("\n  No channel is configured for these messages.\n  Run `jobmon init`.") == 2


def test_the_jobs_for_completion_are_the_ids_of_the_state_files_and_their_simple_names(shell: Shell) -> None:
    (shell.state / "slurm-7-20260101T000000.json").write_text("")
    for job_id, name in ((12, "train-a.sh"), (13, "two words"), (14, "$(reboot)")):
        JobStore(shell.state).save(job_of(RUNNING, job_id=job_id, name=name))
    assert shell.jobmon("completion", "jobs").stdout == "14\n13\n12\n7\ntrain-a.sh\n"
    assert shell.jobmon("completion", "jobs", JOBMON_HOME=str(shell.work / "none")).stdout == ""
    assert not (shell.work / "none").exists()


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_a_shell(shell: Shell, name: str) -> None:
    done = shell.jobmon("completion", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"written by `jobmon completion {name}`" in done.stdout


def test_long_messages_are_broken_at_spaces_on_a_terminal(shell: Shell) -> None:
    shell.program("sbatch", "echo Submitted; exit 3")
    code, screen = shell.talk(["submit", "job.sh", "--gres=gpu:1", "--sentinel"])
    assert code == 3
    warning = "jobmon: passed to job.sh, not to sbatch: --gres (for sbatch, put it before the\n  script)"
    assert warning in screen
