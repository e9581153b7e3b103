"""``jobmon init``."""

from __future__ import annotations

import getpass
import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

from jobmon.cli import main
from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    jobmon_command,
    open_context,
    print_lines,
    stdout_console,
)
from jobmon.errors import interrupted, say
from jobmon.views.console import has_unicode, qr_lines
from jobmon.views.text_width import fill
from jobmon_core.app import setup
from jobmon_core.app.autostart import Autostart
from jobmon_core.app.recover import RecoverJobs
from jobmon_core.domain.channels import DeliveryOutcome
from jobmon_core.domain.errors import CommandBusy
from jobmon_core.domain.humanize import count
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from jobmon_core.context import Context

_MAX_COLUMNS = 80
WHAT = """\
jobmon posts one message when a job ends: to one Discord channel if the job
succeeded, to another one if it did not. It needs a webhook URL for each of the
two channels. For one channel, give the same URL twice (Enter repeats it).
"""
HOW_TO = """\
To make a webhook, in Discord:
  1. Right-click the channel > Edit Channel > Integrations > Webhooks.
  2. New Webhook.
  3. Copy Webhook URL.
It needs the permission Manage Webhooks; without it, there is no Integrations.
"""
PRIVACY = """\
A webhook URL is a password: it is not shown while you paste it, and jobmon
keeps it in a file that only you can read.
"""
PHONE = """\
Messages reach a phone without an account through ntfy (https://ntfy.sh), which shows whatever is sent to a
topic. The name of the topic is the only password: keep it, and its QR code, to yourself."""
STEPS = (
    "1. On the phone, install the app ntfy, or do without: the page works in a browser too.",
    "2. Scan the code, or subscribe to the topic in the app:",
)
WITHOUT_CODE = (STEPS[0], "2. In the app, subscribe to the topic:")
SHORT = (
    "Because others run the server, messages to this channel say only which job ended and how. With "
    '"details": "full", they also contain the cause and log lines.'
)
DESCRIPTION = f"{WHAT}\n{HOW_TO}\n{PRIVACY}\nOn a pipe, give both URLs, one per line."
EPILOG = "examples:\n  jobmon init\n  jobmon init < two-webhook-urls.txt\n  jobmon init --phone"


def add_arguments(parser: Parser) -> None:
    add_flags(
        parser,
        phone="instead, make a secret ntfy topic for a phone, show it as a QR code, and send examples to it",
        no_check="do not ask Discord whether it knows the webhooks",
    )


def run(options: Options) -> int:
    """Return 1 if the pipe lacks a URL, 130 after Ctrl-C."""
    ctx = open_context()
    if options.phone:
        code = _connect_phone(ctx)
        _send_undelivered(ctx)
        return code
    if not sys.stdin.isatty():
        return _read_pipe(ctx)
    exists = bool(setup.existing_config(ctx))  # reports an unusable file before the user types anything
    _tell(f"{WHAT}\n{HOW_TO}\n{PRIVACY}", "")
    file = f"The file is {ctx.home.config}"
    kept = ""
    if exists:
        kept = "; it exists, and its other settings are kept"
    _tell(f"{file}{kept}. Ctrl-C quits and saves nothing.", "")
    try:
        checks = not options.no_check
        success = _ask_url("1 of 2: URL for successes", checks=checks)
        error = _ask_url("2 of 2: URL for everything else (Enter: the same)", success, checks=checks)
    except (KeyboardInterrupt, EOFError):
        return interrupted("stopped; nothing was saved")
    _save(ctx, success, error)
    _tell("", f"Saved in {ctx.home.config}.")
    for name in setup.overriding_variables(ctx):
        say(f"${name} is set, and takes precedence over what was saved")
    _send_undelivered(ctx)
    _offer_more(ctx)
    return 0


def _read_pipe(ctx: Context) -> int:
    success, error = sys.stdin.readline().strip(), sys.stdin.readline().strip()
    if not success or not error:
        say("nothing was written: give two webhook URLs on stdin, one a line, or run it on a terminal")
        _tell(f"{WHAT}\n{HOW_TO}")
        return 1
    exists = bool(setup.existing_config(ctx))
    _save(ctx, success, error)
    done = "wrote"
    if exists:
        done = "replaced the webhooks and kept the other settings in"
    print(f"{done} {ctx.home.config}; `jobmon test-discord` tests the webhooks")
    _send_undelivered(ctx)
    return 0


def _offer_more(ctx: Context) -> None:
    if _agrees("Post a test message to each channel now?", default=True):
        main(["test-discord"])
    _offer_autostart(Autostart.of(ctx, jobmon_command()))
    _tell("", "Ready: use `jobmon submit SCRIPT` in place of `sbatch SCRIPT`.")


def _offer_autostart(autostart: Autostart) -> None:
    statuses = autostart.statuses()
    if active := [status.method.value for status in statuses if status.is_active]:
        _tell(f"Lost monitors are restarted automatically ({', '.join(active)}).")
    elif not any(status.is_usable for status in statuses):
        _tell(
            "After a reboot of this machine, run `jobmon recover`: it cannot be run automatically here "
            "(`jobmon where` says why)."
        )
    elif _agrees("Restart lost monitors automatically, e.g. after a reboot?", default=False):
        main(["recover", "--install"])


def _ask_url(question: str, default: str = "", *, checks: bool) -> str:
    """Ask until Discord does not refuse the URL, or the user keeps it anyway."""
    pasted = ""
    while True:
        url = pasted or getpass.getpass(_prompt(f"{question}:")).strip()
        pasted = ""
        if not url and default:
            return default
        if fault := setup.webhook_fault(url):
            _detail(f"{fault}. Paste only the URL; Ctrl-C stops, and saves nothing.")
        elif not checks or _passes_check(url):
            return url
        else:
            answer = _choice("Keep this URL anyway?", default="n", accepts_url=True)
            if answer == "y":
                return url
            pasted = answer
            if answer == "n":
                pasted = ""


def _passes_check(url: str) -> bool:
    """Ask Discord whether it knows the webhook, and print the answer."""
    _detail("asking Discord ...")
    receipt, name = setup.check_webhook(url)
    is_refused = receipt.outcome is DeliveryOutcome.CHANNEL_DEAD
    if is_refused:
        _detail(receipt.why)
    elif receipt.why:
        _detail(f"not checked: {receipt.why}")
        _detail("It is kept; `jobmon test-discord` shows later whether messages reach Discord.")
    else:
        named = ""
        if name:
            named = f' as "{name}"'
        _detail(f"works: Discord knows it{named}")
    return not is_refused


def _save(ctx: Context, success: str, error: str) -> None:
    setup.configure(ctx, success, error)
    if problem := setup.lock_problem(ctx.home.root):
        say(problem)


def _send_undelivered(ctx: Context) -> None:
    try:
        results = RecoverJobs(ctx, MonitorStarter(ctx)).send_given_up()
        jobs = [each.subject for each in results if each.is_changed]
    except CommandBusy:
        say("another command is restarting monitors; `jobmon recover` later sends the undelivered messages")
        return
    if jobs:
        console = stdout_console()
        title = f"Sending the undelivered messages of {count(len(jobs), 'job')}:"
        print(*console.prose(title), *(console.line(f"  {job}") for job in jobs), sep="\n", flush=True)


def _agrees(question: str, *, default: bool) -> bool:
    try:
        return _choice(question, default="y" if default else "n") == "y"
    except EOFError:  # the terminal was closed
        return False


def _choice(question: str, *, default: str, accepts_url: bool = False) -> str:
    """Return ``y``, ``n`` or, with ``accepts_url``, what looks like a URL: so nothing typed is shown."""
    choices = "[y/N]"
    if default == "y":
        choices = "[Y/n]"
    while True:
        answer = getpass.getpass(_prompt(f"{question} {choices}")).strip()
        if accepts_url and "/" in answer:
            return answer
        choice = answer.lower() or default
        if choice in ("y", "yes", "n", "no"):
            _detail("yes" if choice.startswith("y") else "no")
            return choice[0]
        say(f"please answer y or n{', or paste another URL' if accepts_url else ''}")


def _detail(text: str) -> None:
    print(textwrap.indent(fill(text, _columns() - 3), "   "), file=sys.stderr, flush=True)


def _prompt(text: str) -> str:
    return f"{fill(text, _columns() - 1)} "


def _tell(*texts: str) -> None:
    """Print texts, wrapped, on stderr, because stdout is for results."""
    for text in texts:
        print(fill(text, _columns()), file=sys.stderr, flush=True)


def _columns() -> int:
    return min(shutil.get_terminal_size().columns, _MAX_COLUMNS)


def _connect_phone(ctx: Context) -> int:
    """Make the topic, unless there is one, show it, and send examples."""
    from jobmon.commands.test import send_samples
    from jobmon_core.app.setup import CHANNEL, set_up_phone

    console = stdout_console()
    topic = set_up_phone(ctx)
    print_lines([*console.prose(PHONE), ""])
    code = qr_lines(topic.url, colour=console.colour, ascii_only=not has_unicode(os.environ))
    print_lines([*(code or console.prose("(For a QR code here, run `pip install 'jobmon[alerts]'`.)")), ""])
    for step in STEPS if code else WITHOUT_CODE:
        print_lines(console.prose(step, hanging="   "))
    places = {"topic": topic.topic, "server": topic.server, "page": topic.url}
    print_lines([*(f"     {name:<7} {place}" for name, place in places.items()), ""])
    print_lines([*console.prose(SHORT), ""])
    saved = "This is"
    if topic.is_new:
        saved = "Saved as"
    print(*console.prose(f"{saved} channel {CHANNEL!r} in {ctx.home.config}."), sep="\n", flush=True)
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            input("Press Enter when the phone shows the topic; then examples are sent. ")
        except (KeyboardInterrupt, EOFError):
            return interrupted("no examples were sent; `jobmon test phone` sends them")
    exit_code = send_samples(ctx, (CHANNEL,))
    if exit_code:
        undo = f'to undo this, remove {CHANNEL!r} from "channels" in {ctx.home.config}'
        say(f"the channel stays configured; `jobmon test {CHANNEL}` tries it again; {undo}")
    return exit_code
