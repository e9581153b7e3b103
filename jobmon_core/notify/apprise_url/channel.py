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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Receipt, Tone
from jobmon_core.notify.base import AttemptResult
from jobmon_core.notify.http_channel import DEAD, LATER, REFUSED, TEST_AGAIN, Service, interpret
from jobmon_core.notify.plain_text import PlainText
from jobmon_core.system.http import HttpResponse, recorded_results

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.apprise_url.settings import AppriseSettings
    from jobmon_core.system.http import SendResult

_MAX_TITLE = 200
_MAX_BODY = 3500  # most services take 4000 characters or more; Apprise shortens it for the others
_MAX_PLAIN = 500
_KINDS = {Tone.SUCCESS: "success", Tone.FAILURE: "failure", Tone.ATTENTION: "warning"}
_FIX = f"Check the URL with the `apprise` command, on a machine of your own. {TEST_AGAIN}"


@dataclass(frozen=True, slots=True)
class AppriseChannel:
    """One URL of Apprise."""

    settings: AppriseSettings

    @property
    def name(self) -> str:
        """The word "Apprise" and the scheme."""
        return f"Apprise ({self.settings.scheme}://)"

    def deliver(self, entry: OutboxEntry) -> AttemptResult:
        """Make one attempt to send a message."""
        try:
            import apprise
        except ImportError:
            advice = f"Run `pip install 'jobmon[alerts]'` in jobmon's environment. {TEST_AGAIN}"
            return AttemptResult(Receipt(DEAD, "Apprise is not installed"), advice)
        logging.getLogger("apprise").disabled = True  # its messages quote the URL
        target = apprise.Apprise(asset=apprise.AppriseAsset(app_id="jobmon", async_mode=False))
        if not target.add(self.settings.url):
            why = f"Apprise does not know this kind of URL ({self.settings.scheme}://), or a part is missing"
            return AttemptResult(Receipt(DEAD, why), _FIX)
        for server in target:  # whatever the URL asks for: one request, and its answer is the verdict
            server.retry, server.redirects = 0, False
            server.overflow_mode = apprise.OverflowMode.TRUNCATE
        message = PlainText.of(entry)
        text = message.body(_MAX_PLAIN if entry.plain else _MAX_BODY)
        title = message.lead(_MAX_TITLE)
        with recorded_results(self.settings.scheme) as results:
            is_sent = target.notify(
                body=text or title,
                title=title if text else "",
                notify_type=_KINDS.get(entry.message.tone, "info"),
                body_format=apprise.NotifyFormat.TEXT,
            )
        if is_sent:
            return AttemptResult(Receipt(DeliveryOutcome.DELIVERED))
        return self._failed(results)

    def _failed(self, results: list[SendResult]) -> AttemptResult:
        """Return the verdict on the last request that failed."""
        scheme = self.settings.scheme
        failed = [each for each in results if not (isinstance(each, HttpResponse) and each.is_success)]
        if failed:
            return interpret(failed[-1], Service(scheme, _FIX), self.settings.secrets)
        if results:
            why = f"{scheme}: the service answered, but Apprise says that it did not take the message"
            return AttemptResult(Receipt(REFUSED, why), _FIX)
        why = f"{scheme}: Apprise could not send it"
        return AttemptResult(Receipt(LATER, why, for_all=True), _FIX)
