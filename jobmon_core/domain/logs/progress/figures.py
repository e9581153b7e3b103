"""Progress, shares and losses as short texts."""

from __future__ import annotations

from jobmon_core.domain.humanize import number, plural
from jobmon_core.domain.logs.progress.model import Progress

_TIMES = {"step_time_s": "step time", "latency_s": "latency"}  # metrics that jobmon itself reads
_TOKENS = "tokens_per_s"


def percentage(fraction: float, decimals: int = 1) -> str:
    """Return e.g. ``67.3%``; ``100%`` only for all of it."""
    if fraction >= 1:
        return "100%"
    return f"{min(fraction, 1 - 10 ** -(decimals + 2)):.{decimals}%}"


def loss(value: float | None) -> str:
    """Return a loss in few characters: ``0.3451``, ``1.2e-06``, ``nan``."""
    if value is None:
        return ""
    text = f"{value:.4g}"
    return text if len(text) <= len("-0.3451") else f"{value:.1e}"


def metrics(progress: Progress) -> list[str]:
    """Return the further metrics: ``step time 52.3 ms``, ``accuracy 0.91``."""
    return [_metric(name, value) for name, value in progress.metrics.items()]


def last_figures(progress: Progress) -> str:
    """Return the loss and the user's own metrics, e.g. ``loss 0.412, accuracy 0.93``."""
    own = [_metric(name, value) for name, value in progress.metrics.items() if name not in (*_TIMES, _TOKENS)]
    return ", ".join([f"loss {loss(progress.loss)}", *own] if progress.loss is not None else own)


def _metric(name: str, value: float) -> str:
    if name in _TIMES and 0 < value < 1:
        return f"{_TIMES[name]} {value * 1000:.3g} ms"
    if name in _TIMES:
        return f"{_TIMES[name]} {value:.3g} s"
    if name == _TOKENS:
        return f"{number(round(value))} tokens/s"
    return f"{name} {number(value) if float(value).is_integer() else loss(value)}"


def units(progress: Progress) -> str:
    """Return e.g. ``67,300/100,000 steps`` or ``67,300 steps``."""
    if progress.unclear:
        return f"not clear: {', '.join(progress.unclear)}"
    total = f"/{number(progress.total)}" if progress.total else ""
    unit = progress.unit if progress.current == 1 and not total else plural(progress.unit)
    return f"{number(progress.current)}{total} {unit}".rstrip()


def position(progress: Progress) -> str:
    """Return e.g. ``step 1,200 of 5,000`` or ``42%``."""
    if progress.unit == "%":
        return f"{number(progress.current)}%"
    total = f" of {number(progress.total)}" if progress.total else ""
    return f"{progress.unit} {number(progress.current)}{total}"


def done(progress: Progress) -> str:
    """Return e.g. ``67.3% (67,300/100,000 steps)``."""
    if progress.fraction is None:
        return units(progress)
    share = percentage(progress.fraction)
    return share if progress.unit == "%" else f"{share} ({units(progress)})"


def share(progress: Progress) -> str:
    """Return e.g. ``67.3%``; without a total, what is finished."""
    return units(progress) if progress.fraction is None else percentage(progress.fraction)


def batch(progress: Progress) -> str:
    """Return e.g. ``batch 300/1,000``, unless `units` counts that."""
    if progress.batch is None or not progress.batches or progress.batch == progress.current:
        return ""
    return f"batch {number(progress.batch)}/{number(progress.batches)}"


def epoch(progress: Progress) -> str:
    """Return e.g. ``epoch 3/4``, unless `units` counts that."""
    if progress.epoch is None or progress.unit == "epoch":
        return ""
    return f"epoch {number(progress.epoch)}" + (f"/{number(progress.epochs)}" if progress.epochs else "")
