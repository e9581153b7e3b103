"""How patient jobmon is: every wait that a decision depends on, in seconds."""

from __future__ import annotations

from dataclasses import dataclass

_ACCOUNTING_WAITS_S = (2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)


@dataclass(frozen=True, slots=True)
class Policy:
    """The waits of the core. The defaults suit a production cluster; tests shorten them."""

    running_s: float = 30.0  # between looks at a running job
    pending_s: float = 60.0  # between looks at a waiting one
    accounting_grace_s: float = 30.0  # from its end: how long a known one waits for accounting's details
    deadline_s: float = 600.0  # how long all witnesses may be silent before the outcome is called unknown
    unreachable_deadline_s: float = 86_400.0  # likewise, where accounting does not answer at all
    vanished_s: float = 120.0  # how long a task that its array lost is looked for
    warn_stale_s: float = 1800.0  # how long the scheduler may not answer before its user is told; 0: never
    array_messages: str = "digest"  # or "each": one message a task

    @property
    def recheck_s(self) -> float:
        """How long an end that may be undone by a requeue has to last before it counts."""
        return self.running_s

    def accounting_wait_s(self, asked: int) -> float:
        """Return the wait before accounting is asked for the ``asked + 1``-th time."""
        return _ACCOUNTING_WAITS_S[min(asked, len(_ACCOUNTING_WAITS_S) - 1)]
