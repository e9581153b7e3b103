"""Jobs of a real Ray that were recorded, if they lie beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

RAY_RECORDINGS = Path(__file__).resolve().parents[2].with_name("shared") / "data" / "ray"


class RecordedJob(NamedTuple):
    """The answer about a job, and its log."""

    answer: dict[str, Any]
    path: Path
    log: str


def recorded(name: str) -> RecordedJob:
    path = RAY_RECORDINGS / f"{name}.log"
    answer = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return RecordedJob(answer, path, path.read_text(encoding="utf-8"))
