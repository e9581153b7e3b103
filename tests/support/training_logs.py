"""Logs of made-up trainings, as the frameworks print them."""

from __future__ import annotations


def bar(n: int, total: int, label: str = "", *, elapsed_s: int | None = None, rest: str = "") -> str:
    """Return one update of a tqdm bar that takes half a second for each step."""
    elapsed_s = n // 2 if elapsed_s is None else elapsed_s
    head = f"{label}: " if label else ""
    blocks = "█" * (n * 10 // total)
    times = f"{_clock(elapsed_s)}<{_clock((total - n) // 2)}"
    return f"\r{head}{n * 100 // total:3}%|{blocks:10}| {n}/{total} [{times},  2.00it/s{rest}]"


def _clock(seconds: int) -> str:
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute:02}:{second:02}"


def bars(start: int, stop: int, step: int, total: int, label: str = "", *, rest: str = "") -> str:
    """Return updates of a bar from ``start`` to ``stop``, both included."""
    return "".join(bar(n, total, label, rest=rest) for n in range(start, stop + 1, step))
