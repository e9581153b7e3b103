"""Sends to any service that Apprise knows; the library is the optional extra ``jobmon[alerts]``.

It is imported at the first message, in the short-lived child that sends it: it takes 20 MB and 700 modules.
Apprise makes one attempt only: its own retries would repeat a 404 too, and ignore ``Retry-After``. The
verdict is jobmon's, from the responses that pass through requests; a service that does not use requests
gives only success or failure.

Source: Apprise's documentation ("Development API") and source, 1.11 to 2.3: an ``Apprise`` object per URL;
``notify`` returns something that is true only if all went well; ``body_format`` must be given, else plug-ins
that expect HTML get the text unescaped; a text that is too long is sent whole unless ``overflow_mode`` says
otherwise. A URL with several targets counts as one: if one of them fails, all of them get the repeat.
"""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.channels import ACCEPTED, Receipt, Tone
from jobmon_core.notify.http_channel import DEAD, LATER, REFUSED, TEST_AGAIN, Service, interpret
from jobmon_core.notify.plain_text import PlainText
from jobmon_core.notify.secret import fingerprint, long_enough

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.system.http import SendResult

_URL = re.compile(r"([a-z][a-z0-9+.-]{0,40})://\S+", re.IGNORECASE)
_DISCORD = re.compile(r"https?://[\w.]*discord(?:app)?\.com/api/webhooks/", re.IGNORECASE)
_MAX_TITLE = 200
_MAX_BODY = 3500  # most services take 4000 characters or more; Apprise shortens it for the others
_MAX_PLAIN = 500
_KINDS = {Tone.SUCCESS: "success", Tone.FAILURE: "failure", Tone.ATTENTION: "warning"}
_FIX = f"Check the URL with the `apprise` command, on a machine of your own. {TEST_AGAIN}"


class AppriseUrl(NamedTuple):
    """One URL, as Apprise defines it, which may hold secrets anywhere. ``repr`` does not show it."""

    url: str

    @property
    def scheme(self) -> str:
        """The part before ``://``, which names the service."""
        return self.url.partition("://")[0].lower()

    @property
    def name(self) -> str:
        """The word "Apprise" and the scheme."""
        return f"Apprise ({self.scheme}://)"

    @property
    def fingerprint(self) -> str:
        """The scheme and a checksum of the URL."""
        return fingerprint(f"apprise {self.scheme}", self.url)

    def __repr__(self) -> str:
        return f"AppriseUrl({self.scheme}://...)"

    def deliver(self, entry: OutboxEntry) -> Receipt:
        """Do as `Channel.deliver`."""
        from jobmon_core.system.http import recorded_results

        try:
            import apprise
        except ImportError:
            advice = f"Run `pip install 'jobmon[alerts]'` in jobmon's environment. {TEST_AGAIN}"
            return Receipt(DEAD, "Apprise is not installed", advice=advice)
        logging.getLogger("apprise").disabled = True  # its messages quote the URL
        target = apprise.Apprise(asset=apprise.AppriseAsset(app_id="jobmon", async_mode=False))
        if not target.add(self.url):
            why = f"Apprise does not know this kind of URL ({self.scheme}://), or a part is missing"
            return Receipt(DEAD, why, advice=_FIX)
        for server in target:  # whatever the URL asks for: one request, and its answer is the verdict
            server.retry, server.redirects = 0, False
            server.overflow_mode = apprise.OverflowMode.TRUNCATE
        message = PlainText.of(entry)
        text = message.body(_MAX_PLAIN if entry.plain else _MAX_BODY)
        title = message.lead(_MAX_TITLE)
        with recorded_results(self.scheme) as results:
            is_sent = target.notify(
                body=text or title,
                title=title if text else "",
                notify_type=_KINDS.get(entry.message.tone, "info"),
                body_format=apprise.NotifyFormat.TEXT,
            )
        if is_sent:
            return ACCEPTED
        return self._failed(results)

    def _failed(self, results: list[SendResult]) -> Receipt:
        from jobmon_core.system.http import HttpResponse

        scheme = self.scheme
        failed = [each for each in results if not (isinstance(each, HttpResponse) and each.is_success)]
        if failed:
            secrets = long_enough(*re.split(r"[/:@?&=,]+", self.url.partition("://")[2]))
            return interpret(failed[-1], Service(scheme, _FIX), secrets)
        if results:
            why = f"{scheme}: the service answered, but Apprise says that it did not take the message"
            return Receipt(REFUSED, why, advice=_FIX)
        why = f"{scheme}: Apprise could not send it"
        return Receipt(LATER, why, for_all=True, advice=_FIX)


def parse(section: Section) -> AppriseUrl | None:
    """Read one channel; Apprise itself checks the URL when it sends."""
    return section.secret("url", _parse_url, required=True)


def _parse_url(text: str) -> AppriseUrl:
    match = _URL.fullmatch(text)
    if match is None:
        raise ValueError("not a URL of Apprise, which looks like service://...")
    if match[1].lower() == "discord" or _DISCORD.match(text):
        raise ValueError(
            'jobmon sends to Discord itself, with its rate limits: set "type": "discord" and put the URL '
            "that Discord shows into `webhook`"
        )
    return AppriseUrl(text)
