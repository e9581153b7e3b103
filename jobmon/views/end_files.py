"""What the files of an ended task show: its outputs, its results, its diagnostics; as rows and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.domain.diagnosis.model import DAMAGED_OUTPUTS, INCOMPLETE, MISSING_OUTPUTS, NAN_LOSS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.diagnosis.model import Diagnosis

_QUOTE = "| "
_DOUBTS = {  # by cause
    INCOMPLETE: "not all was processed",
    MISSING_OUTPUTS: "outputs are missing",
    DAMAGED_OUTPUTS: "an output is damaged",
    NAN_LOSS: "its last loss is NaN",
}


def why_doubtful(found: Diagnosis | None) -> str:
    """Return why a success is doubtful, in a few words."""
    return _DOUBTS.get((found and found.cause) or "", "the log ends in a failure")


def end_rows(found: Diagnosis) -> Iterator[tuple[str, str]]:
    """Yield the rows of ``jobmon show``."""
    if found.outputs:
        yield "verified" if found.outputs_verified else "outputs", found.outputs
    for quote in found.results:
        yield "result", f"{quote.name}:"
        yield from (("result", f"{_QUOTE}{line}") for line in quote.text.split("\n"))
    if found.bundle:
        yield "bundle", found.bundle


def end_json(found: Diagnosis | None) -> dict[str, Any]:
    """Return the documented keys of a task; what is not known is null."""
    return {
        "outputs": (found and found.outputs) or None,
        "outputs_verified": bool(found and found.outputs_verified),
        "results": [{"name": quote.name, "text": quote.text} for quote in found.results] if found else [],
        "diagnostics": (found and found.bundle) or None,
    }
