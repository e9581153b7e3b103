"""Sends the messages of an outbox: each attempt is saved before it is made, and its result after it.

Before its first attempt, mutes, quiet hours and limits may hold a message; see `domain.delivery.plan`.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.channels import DeliveryOutcome, Receipt
from jobmon_core.domain.delivery.digests import digest_message
from jobmon_core.domain.delivery.outbox import (
    OutboxEntry,
    apply_receipt,
    mark_attempt,
    reopened,
    route_to,
    unconfirmed_until_s,
)
from jobmon_core.domain.delivery.plan import Situation, targets_of
from jobmon_core.domain.delivery.reminders import after_ack, reminder, takeover
from jobmon_core.domain.delivery.send_queue import DIGEST_TIMEOUT_S, Turn
from jobmon_core.domain.errors import ConfigInvalid, StorageFailed
from jobmon_core.system.helper import Helper, HelperFailed, HelperRaised
from jobmon_core.system.process import die_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobmon_core.context import Context
    from jobmon_core.domain.config import Config
    from jobmon_core.domain.delivery.alert_settings import AlertSettings
    from jobmon_core.domain.delivery.outbox import Message
    from jobmon_core.domain.delivery.routing import ConfiguredChannel
    from jobmon_core.domain.delivery.send_queue import Entry as QueueEntry
    from jobmon_core.store.channels import AlertFiles, ChannelFiles
    from jobmon_core.system.clock import Clock

    Save = Callable[[OutboxEntry], None]

_ATTEMPT_TIMEOUT_S = 60.0
_CONFIG_RECHECK_S, _CONFIG_DEADLINE_S = 30.0, 86_400.0


@dataclass(frozen=True, slots=True)
class Outbox:
    """Routes and sends messages. It reads the configuration each time, so a change takes effect at once."""

    configuration: Callable[[], Config]
    send: Callable[[ConfiguredChannel, OutboxEntry], Receipt]
    helper: Helper
    clock: Clock
    files: ChannelFiles
    alerts: AlertFiles | None = None  # None: nothing holds or limits messages
    state_id: str = ""  # of the job; empty: the messages are about no single job
    groups: Callable[[Message], tuple[str, ...]] = lambda _message: ()  # those that a message is about
    check_owner: Callable[[], None] = lambda: None  # raises an exception if others may send these messages

    def deliver(self, entry: OutboxEntry, save: Save) -> tuple[OutboxEntry, ...]:
        """Route a new entry to its channels, or make one attempt to send an entry that has a channel.

        It waits while older messages of other jobs are queued for the same channel; meanwhile another monitor
        may send it in a digest. ``save`` makes the entry durable before an attempt and before a digest can
        include it; if it raises, or ``check_owner`` does, no attempt was made. Returns the entries that
        replace it.
        """
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            return (self._await_valid_config(entry, error),)
        groups = self.groups(entry.message) if any(rule.groups for rule in config.routes) else ()
        routed = config.channels_of(entry.message, groups)
        observer = next((each for each in config.programs if each.name == entry.channel), None)
        if observer:
            return self._run_program(observer, entry, save)
        if not entry.channel or not routed:
            return _route(entry, config, routed)
        if not config.attach:
            entry = replace(entry, message=replace(entry.message, attachment=""))
        channel = config.channel(entry.channel)
        if channel is not None:
            return self._admit_and_send(channel, entry, save, config, routed)
        why = f"channel {entry.channel!r} is no longer configured; add it again and run `jobmon recover`"
        gone = replace(entry, given_up=why, fingerprint="")
        # nobody misses the message on a channel that the user removed once another channel has it
        return self._with_takeover(gone, routed, config)[1:] or (gone,)

    def _admit_and_send(
        self,
        channel: ConfiguredChannel,
        entry: OutboxEntry,
        save: Save,
        config: Config,
        routed: tuple[ConfiguredChannel, ...],
    ) -> tuple[OutboxEntry, ...]:
        now_s = self.clock.now()
        if self.alerts and entry.is_fresh:
            entry = self._admit(self.alerts, entry, channel.channel.fingerprint, config.alerts, now_s)
            if not entry.is_open or entry.next_try_s > now_s:
                return (entry,)
        digest_from = 0
        if channel.shares_digests:
            digest_from = config.digest_from
        entry = self._deliver_to(channel, entry, save, digest_from)
        if self.state_id or self.alerts is None:  # only messages about jobs can be acknowledged
            next_one = reminder(entry, config.alerts.reminder_s, self.clock.now())
            if next_one:
                return (entry, next_one)
        return self._with_takeover(entry, routed, config)

    def _admit(
        self, files: AlertFiles, entry: OutboxEntry, fingerprint: str, settings: AlertSettings, now_s: float
    ) -> OutboxEntry:
        """Return the entry of a message that nobody sent yet.

        It is to be sent, held, or closed: a digest lists it, or it is a reminder that was acknowledged.
        """
        user, message = files.user(), entry.message
        if entry.reminders:
            entry = after_ack(entry, user.acks.get(self.state_id), now_s)
            if not entry.is_open or entry.next_try_s > now_s:
                return entry
        muted_until_s = None
        if user.mutes:
            targets = targets_of(self.state_id, self.groups(message), message.kind)
            muted_until_s = user.muted_until_s(targets, now_s)
        is_limited = muted_until_s is not None or settings.limits_messages
        if not (is_limited or files.has_history(fingerprint)):
            return replace(entry, held="", held_until_s=None)
        local = time.localtime(now_s)
        situation = Situation(
            level=message.level,
            subject=f"{self.state_id} {message.ref} {message.kind}",
            now_s=now_s,
            minute=60 * local.tm_hour + local.tm_min,
            muted_until_s=muted_until_s,
        )
        return files.admit(fingerprint, entry, situation, settings)

    def _run_program(
        self, program: ConfiguredChannel, entry: OutboxEntry, save: Save
    ) -> tuple[OutboxEntry, ...]:
        entry = self._deliver_to(
            program, replace(entry, message=replace(entry.message, digestible=False)), save, 0
        )
        if entry.message.changes and entry.delivered_s:
            return ()
        return (entry,)

    def _with_takeover(
        self, entry: OutboxEntry, routed: tuple[ConfiguredChannel, ...], config: Config
    ) -> tuple[OutboxEntry, ...]:
        if not entry.given_up or entry.message.changes:  # a change of state is for a program alone
            return (entry,)
        working = [
            channel
            for channel in config.channels
            if channel.notifies and not self.files.why_dead(channel.channel.fingerprint)
        ]
        other = takeover(entry, routed, working)
        if other:
            return (replace(entry, told_on=other.channel), other)
        return (entry,)

    def _deliver_to(
        self, channel: ConfiguredChannel, entry: OutboxEntry, save: Save, digest_from: int
    ) -> OutboxEntry:
        fingerprint, queues = channel.channel.fingerprint, self.files
        if digest_from and entry.message.digestible and not queues.can_agree(fingerprint):
            digest_from = 0
        if entry.offered_s is not None and entry.fingerprint not in ("", fingerprint):
            # the channel's settings have changed since the offer, so that it is in another queue
            entry = queues.withdraw_offer(entry.fingerprint, entry)
        why = queues.why_dead(fingerprint)
        if not why or entry.offered_s is not None:  # a digest may have delivered what was offered
            turn = self._request_turn(fingerprint, entry, save, digest_from)
            entry = turn.entry
            if turn.again_s is not None:
                return replace(entry, next_try_s=turn.again_s)
        began_s = self.clock.now()
        attempt = replace(mark_attempt(entry, began_s), fingerprint=fingerprint)
        if why:
            return replace(attempt, attempt_since_s=None, given_up=why, channel_was_dead=True)
        save(attempt)
        taken = queues.take_offers(fingerprint, entry, began_s, digest_from) if digest_from else ()
        self.check_owner()  # last, since a file server may have hung in any of these steps
        receipt = self._attempt(channel, attempt, taken)
        if receipt.outcome is DeliveryOutcome.CHANNEL_DEAD:
            with suppress(StorageFailed):  # without the mark, the next message finds out again
                queues.mark_dead(fingerprint, receipt.why)
        ended = apply_receipt(attempt, receipt, self.clock.now())
        queues.record_result(
            fingerprint, ended, receipt, self.clock.now(), began_s=began_s, digest_from=digest_from
        )
        return ended

    def _request_turn(self, fingerprint: str, entry: OutboxEntry, save: Save, digest_from: int) -> Turn:
        now_s = self.clock.now()
        if (again_s := unconfirmed_until_s(entry, now_s)) is not None:
            return Turn(entry, again_s)
        turn = self.files.request_turn(fingerprint, entry, now_s, digest_from)
        if not turn.may_offer:
            return turn
        offered = replace(turn.entry, offered_s=now_s, fingerprint=fingerprint)
        save(offered)  # first, since from then on other monitors may send it
        self.files.add_offer(fingerprint, offered)
        return Turn(offered, turn.again_s)

    def _await_valid_config(self, entry: OutboxEntry, error: ConfigInvalid) -> OutboxEntry:
        """Retry for up to a day: the user may be editing the file, or its file server may be down."""
        now_s = self.clock.now()
        if now_s - entry.message.created_s < _CONFIG_DEADLINE_S:
            next_try_s = now_s + _CONFIG_RECHECK_S
            return replace(entry, next_try_s=next_try_s, problem="the configuration is invalid")
        why = f"the configuration is invalid: {'; '.join(error.faults)}; fix it and run `jobmon recover`"
        return replace(entry, given_up=why, fingerprint="")

    def _attempt(
        self, channel: ConfiguredChannel, entry: OutboxEntry, taken: tuple[QueueEntry, ...]
    ) -> Receipt:
        """Send a message, or a digest of it and the offers that were taken."""
        monitor_pid = os.getpid()
        if taken:
            entry = replace(entry, message=digest_message(entry.message, taken))

        def send() -> Receipt:
            # a surviving child could send after the next monitor has sent a repeat
            die_with_parent(monitor_pid)
            return self.send(channel, entry)

        try:
            return self.helper.run(Receipt, send, DIGEST_TIMEOUT_S if taken else _ATTEMPT_TIMEOUT_S)
        except HelperRaised as error:
            # the plain form may work although the full one cannot even be built
            return Receipt(DeliveryOutcome.REFUSED_BODY, f"internal error: {error}")
        except HelperFailed as error:
            return Receipt(DeliveryOutcome.MAYBE_DELIVERED, f"the attempt was interrupted: {error}")


def new_outbox(
    ctx: Context, close_fds: Iterable[int], check_owner: Callable[[], None], state_id: str = ""
) -> Outbox:
    """Return the outbox of a job; with an empty ``state_id``, of messages about no single job.

    Child processes close the descriptors ``close_fds``. ``check_owner`` is called before each attempt.
    """

    def send(channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        return channel.channel.deliver(entry)

    from jobmon_core.store.group_files import groups_of_job, groups_of_message

    def groups(message: Message) -> tuple[str, ...]:
        if state_id:
            return groups_of_job(ctx.groups, state_id)
        return groups_of_message(ctx.groups, message.id)

    return Outbox(
        ctx.configuration,
        send,
        Helper(close_fds),
        ctx.clock,
        ctx.channel_files,
        ctx.alerts,
        state_id,
        groups,
        check_owner,
    )


def _route(
    entry: OutboxEntry, config: Config, routed: tuple[ConfiguredChannel, ...]
) -> tuple[OutboxEntry, ...]:
    # an entry of version 0.1 that was attempted has its channel already, see `route_to`
    programs = () if entry.attempts else route_to(entry, (program.name for program in config.programs))
    if entry.message.changes:
        return programs  # none if the user has just removed the last program
    if not routed:
        why = f"no {entry.message.route} webhook is configured; after `jobmon init` run `jobmon recover`"
        return (replace(entry, given_up=why, fingerprint=""), *(() if entry.channel else programs))
    return (*route_to(entry, (channel.name for channel in routed)), *programs)


def reopen_all(
    outbox: tuple[OutboxEntry, ...], config: Config, files: ChannelFiles
) -> tuple[OutboxEntry, ...]:
    """Return an outbox in which the given-up messages that can be sent now are open.

    If a channel gets its message again, the one that took over from it does not get it, too.
    """
    after = tuple(reopen(entry, config, files) for entry in outbox)
    again = {entry.key for before, entry in zip(outbox, after, strict=True) if entry != before}
    return tuple(
        before if before.instead_of and (before.message.id, before.instead_of) in again else entry
        for before, entry in zip(outbox, after, strict=True)
    )


def reopen(entry: OutboxEntry, config: Config, files: ChannelFiles) -> OutboxEntry:
    """Reopen a given-up message if its channel was configured or changed since, or works again."""
    if not entry.given_up:
        return entry
    if entry.channel:
        channels = [channel for channel in config.channels if channel.name == entry.channel]
    else:
        channels = list(config.channels_of(entry.message))
    is_unchanged = any(channel.channel.fingerprint == entry.fingerprint for channel in channels)
    works_again = entry.channel_was_dead and not files.why_dead(entry.fingerprint)
    if not channels or (is_unchanged and not works_again):
        return entry
    return reopened(entry)
