"""The part of ``jobmon init`` that connects a phone."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import stdout_console
from jobmon.commands.test_alerts import send_samples
from jobmon.errors import interrupted
from jobmon.views.qr_code import qr_lines
from jobmon.views.terminal import has_unicode
from jobmon_core.app.channels.phone import CHANNEL, set_up_phone

if TYPE_CHECKING:
    from jobmon_core.context import Context

PHONE = """\
Messages reach a phone without an account through ntfy (https://ntfy.sh), which shows whatever is sent to a
topic. The name of the topic is the only password: keep it, and the code below, to yourself."""
STEPS = (
    "1. On the phone, install the app ntfy, or do without: the page works in a browser too.",
    "2. Scan the code, or subscribe to the topic in the app:",
)
SHORT = (
    "Because others run the server, messages to this channel say only which job ended and how. With "
    '"details": "full", they also contain the cause and log lines.'
)


def connect_phone(ctx: Context) -> int:
    """Make the topic, unless there is one, show it, and send examples; return the exit code."""
    console = stdout_console()
    topic = set_up_phone(ctx)
    print(*console.prose(PHONE), "", sep="\n")
    code = qr_lines(topic.url, colour=console.colour, ascii_only=not has_unicode(os.environ))
    print(*(code or console.prose("(For a QR code here, run `pip install 'jobmon[alerts]'`.)")), "", sep="\n")
    print(*(line for step in STEPS for line in console.prose(step, hanging="   ")), sep="\n")
    print(
        f"     topic   {topic.topic}",
        f"     server  {topic.server}",
        f"     page    {topic.url}",
        "",
        sep="\n",
    )
    print(*console.prose(SHORT), "", sep="\n")
    saved = "Saved as" if topic.is_new else "This is"
    print(*console.prose(f"{saved} channel {CHANNEL!r} in {ctx.home.config}."), sep="\n", flush=True)
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            input("Press Enter when the phone shows the topic; then examples are sent. ")
        except (KeyboardInterrupt, EOFError):
            return interrupted("no examples were sent; `jobmon test-alerts phone` sends them")
    return send_samples(ctx, (CHANNEL,))
