"""The demo: submit two examples through jobmon, wait for both messages, show them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from jobmon.views.console import Console
from jobmon.views.discord_preview import discord_preview
from jobmon_core.app.setup import configure, open_inbox
from jobmon_core.context import Context

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SCRIPTS = ("train.sbatch", "out_of_memory.sbatch")
TIMEOUT_S = 300.0


def main(backend: str) -> int:
    """Run the demo on one backend; return 0 if both messages arrived."""
    with tempfile.TemporaryDirectory(prefix="jobmon-demo-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        environment = {**os.environ, "JOBMON_HOME": str(folder / "home"), "EXAMPLES": str(EXAMPLES)}
        return _demonstrate(backend, folder, environment)


def _demonstrate(backend: str, folder: Path, environment: Mapping[str, str]) -> int:
    ctx = Context.open(environment)
    with open_inbox(0) as inbox:
        print("This demo submits a job that succeeds and one that fails.")
        print("A local inbox receives their messages instead of Discord.\n")
        configure(ctx, inbox.success_url, inbox.error_url)
        _poll_often(ctx.home.config)
        for script in SCRIPTS:
            _jobmon(["submit", "--backend", backend, str(EXAMPLES / script)], folder, environment)
        _jobmon(["status"], folder, environment)
        print("\nWaiting for both jobs to end and for their messages (about 30 s) ...", flush=True)
        messages = inbox.wait_for(len(SCRIPTS), TIMEOUT_S)
        for message in messages:
            console = Console(min(100, shutil.get_terminal_size().columns), sys.stdout.isatty())
            preview = discord_preview(message.payload, message.at_s, console)
            print(f"\nMessage in the {message.route} channel:\n\n{preview}")
        _until_idle(folder)
        print("\nThe jobs have ended, and so have their monitors:\n")
        _jobmon(["status"], folder, environment)
    if len(messages) < len(SCRIPTS):
        missing = len(SCRIPTS) - len(messages)
        print(f"demo: {missing} messages did not arrive within {TIMEOUT_S:.0f} s", file=sys.stderr)
        return 1
    print("\nNext: `dev/with-slurm bash` to try jobmon here, or install it (README.md), run `jobmon init`")
    print("for your own Discord channels, and use `jobmon submit` instead of sbatch.")
    return 0


def _poll_often(config: Path) -> None:
    """Set the shortest poll intervals, so that the demo is quick."""
    text = config.read_text(encoding="utf-8").rstrip().removesuffix("}").rstrip()
    config.write_text(
        f'{text},\n  "poll": {{"running_s": 5, "pending_s": 5}},\n  "messages": {{"card": "off"}}\n}}\n',
        encoding="utf-8",
    )


def _jobmon(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Run jobmon as a user does, and show the command."""
    shown = [Path(part).name if part.startswith("/") else part for part in arguments]
    print(f"$ jobmon {' '.join(shown)}", flush=True)
    subprocess.run([sys.executable, "-m", "jobmon", *arguments], cwd=folder, env=environment, check=True)


def _until_idle(folder: Path) -> None:
    """Wait until the monitors have ended, which they do after the last message."""
    deadline_s = time.monotonic() + 30
    while time.monotonic() < deadline_s and any((folder / "home/state/monitors").glob("*.owner")):
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
