"""`jobmon where`: one screen for a bug report, whatever is broken; it shows no secret and creates nothing."""

from __future__ import annotations

import json

from tests.support.shell import Shell

_URL = "https://discord.com/api/webhooks/123456789012345678/Sup3r-Secret_t0ken"
_NAMES = "jobmon Python host Slurm home config backend channels patterns state filesystem autostart"


def _where(shell: Shell, **environment: str) -> dict[str, str]:
    done = shell.jobmon("where", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "t0ken" not in done.stdout
    return {line[:10].strip(): line[11:] for line in done.stdout.splitlines()}


def _configure(shell: Shell, text: str) -> None:
    (shell.home / "config.json").write_text(text)
    (shell.home / "config.json").chmod(0o600)


def test_a_new_user_sees_what_is_missing_and_nothing_is_created(shell: Shell) -> None:
    home = shell.work / "home"
    said = _where(shell, JOBMON_HOME=str(home))
    assert " ".join(said) == _NAMES
    assert said["home"] == f"{home} (from $JOBMON_HOME)"
    assert said["config"] == f"{home}/config.json does not exist; `jobmon init` writes it"
    assert said["channels"] == "success: none; error: none"
    assert said["Slurm"] == "sbatch: not found on PATH"
    assert "not exist" in said["state"]
    assert not home.exists()


def test_versions_and_settings_are_shown_without_secrets(shell: Shell) -> None:
    shell.program("sbatch", "echo slurm 22.05.8")
    _configure(shell, json.dumps({"discord": {"error_webhook": _URL}, "backend": "local"}))
    (shell.work / "slurm.conf").touch()
    conf = f"{shell.work}/slurm.conf"
    said = _where(shell, JOBMON_SUCCESS_WEBHOOK=_URL, SLURM_CONF=conf)
    assert said["Slurm"] == f"slurm 22.05.8, {shell.programs}, SLURM_CONF={conf}"
    assert said["backend"] == "local"
    assert said["channels"] == (
        "success: Discord (discord.com …5678); error: Discord (discord.com …5678) "
        "($JOBMON_SUCCESS_WEBHOOK set)"
    )
    assert said["state"] == f"{shell.home}/state: 0 jobs"


def test_what_is_broken_is_shown_with_its_fault(shell: Shell) -> None:
    _configure(shell, json.dumps({"dicsord": {}, "discord": {"error_webhook": f"{_URL}/slack"}}))
    (shell.home / "patterns.json").write_text("{")
    (shell.state / "slurm-12-x.json").write_text("{")
    (shell.state / "slurm-12-x.json").chmod(0o600)
    said = _where(shell)
    assert "dicsord: unknown key; did you mean discord?" in said["config"]
    assert (said["backend"], said["channels"]) == ("see config", "see config")
    assert said["patterns"] == f"{shell.home}/patterns.json: 1 fault"
    assert said["state"].endswith("0 jobs, 1 file unreadable")


def test_a_machine_that_cannot_restart_monitors_by_itself_is_not_told_to_install_that(shell: Shell) -> None:
    for program in ("crontab", "systemctl", "scrontab"):
        shell.program(program, "exit 1")
    autostart = _where(shell)["autostart"]
    assert autostart.startswith("none: run `jobmon recover` after a reboot; nothing here can run")
    assert "--install" not in autostart
