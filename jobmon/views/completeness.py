"""Whether the files of a folder are complete, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.console import Style
from jobmon.views.model import iso, span
from jobmon_core.domain.artifacts.completeness import Depth, is_unfinished_copy
from jobmon_core.domain.humanize import count, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console
    from jobmon_core.domain.artifacts.completeness import Completeness, Difference

_MAX_NAMED = 5
_MAX_LISTED = 1_000  # in JSON
_COMPARED = {Depth.COUNT: "same names", Depth.SIZE: "same sizes", Depth.SHA256: "same contents"}


def completeness_lines(found: Completeness, console: Console) -> Iterator[str]:
    """Yield the verdict with a summary, then what is missing, wrong or not certain."""
    verdict = "complete" if found.is_complete else "incomplete" if found.is_incomplete else "not certain"
    first, *more = console.prose(f"{verdict}: {_summary(found)}", hanging="  ")
    style = Style.GOOD if found.is_complete else Style.BAD if found.is_incomplete else Style.ATTENTION
    yield console.styled(first, style)
    yield from more
    for label, text in _details(found):
        yield from console.prose(f"{label}: {text}", indent="  ", hanging="    ")


def _summary(found: Completeness) -> str:
    """Return e.g. ``/out has 2 files, 3.8 GiB``, or with a source ``/out has 2 of the 10 files of /src``."""
    if found.problem:
        return found.problem
    text = f"{found.folder} has {count(found.count, 'file')}, {size(found.size_bytes)}"
    if found.source_count is not None:
        there = found.source_count - len(found.missing)
        text = f"{found.folder} has {there:,} of the {count(found.source_count, 'file')} of {found.source}"
        text += f", {_COMPARED[found.depth]}" if found.is_complete else ""
    if found.expected_records is not None:
        text += f", {found.records or 0:,} of {count(found.expected_records, 'record')}"
    return text


def _details(found: Completeness) -> Iterator[tuple[str, str]]:
    if found.missing:
        yield "missing", f"{count(len(found.missing), 'file')}: {_names(found.missing)}"
    for each in found.different[:_MAX_NAMED]:
        yield "different", _difference(each)
    if len(found.different) > _MAX_NAMED:
        yield "different", count(len(found.different) - _MAX_NAMED, "more file")
    known = {f"{found.folder}/{each.name}" for each in found.different}
    damaged = [check for check in found.damaged if check.path not in known]
    for checks, label in ((damaged, "damaged"), (found.unreadable, "not readable")):
        for check in checks[:_MAX_NAMED]:
            name = check.path.removeprefix(f"{found.folder}/")
            yield label, f"{name} {check.why}"
        if len(checks) > _MAX_NAMED:
            yield label, count(len(checks) - _MAX_NAMED, "more file")
    yield from _remarks(found)


def _remarks(found: Completeness) -> Iterator[tuple[str, str]]:
    copies = [name for name in found.extra if is_unfinished_copy(name)]
    extra = [name for name in found.extra if not is_unfinished_copy(name)]
    if copies:
        yield "unfinished", f"{_names(copies)}: a copy is running or was interrupted"
    if extra:
        yield "extra", f"{count(len(extra), 'file')} not in the source: {_names(extra)}"
    for check in found.odd[:_MAX_NAMED]:
        yield "odd values", f"{check.path.removeprefix(f'{found.folder}/')}: {check.note}"
    if found.records_unknown:
        yield "records", f"those of {count(found.records_unknown, 'file')} cannot be counted"
    if found.is_partial:
        yield "not certain", "there are more files than jobmon checks"
    if found.not_checked and found.depth is not Depth.COUNT and found.source_count is None:
        yield "not checked", f"{count(found.not_checked, 'file')} in formats that jobmon cannot check"


def _difference(each: Difference) -> str:
    if each.size_bytes == each.expected_bytes:
        return f"{each.name} has different content"
    sizes = f"{size(each.size_bytes)} of {size(each.expected_bytes)}"
    if size(each.size_bytes) == size(each.expected_bytes):
        sizes = f"{each.size_bytes:,} of {each.expected_bytes:,} bytes"
    if each.is_stopped:
        return f"{each.name} has {sizes} and has not grown for {span(each.quiet_s)}: its copy stopped"
    return f"{each.name} has {sizes}{', still growing' if each.is_growing else ''}"


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED:,} more" if len(names) > _MAX_NAMED else ""
    return f"{', '.join(names[:_MAX_NAMED])}{more}"


def completeness_json(found: Completeness, job_id: str | None = None) -> dict[str, Any]:
    """Return the documented keys of ``jobmon verify --json``; lists hold at most 1,000 entries."""
    return {
        "job_id": job_id,
        "folder": found.folder,
        "complete": found.is_complete,
        "problem": found.problem or None,
        "files": found.count,
        "size_bytes": found.size_bytes,
        "against": found.source or None,
        "compared": found.depth.value if found.source else None,
        "expected_files": found.source_count,
        "missing": list(found.missing[:_MAX_LISTED]),
        "extra": list(found.extra[:_MAX_LISTED]),
        "different": [
            {
                "name": each.name,
                "size_bytes": each.size_bytes,
                "expected_bytes": each.expected_bytes,
                "modified": iso(each.modified_s),
                "stopped": each.is_stopped,
            }
            for each in found.different[:_MAX_LISTED]
        ],
        "damaged": [
            {
                "path": check.path,
                "format": check.format or None,
                "verdict": check.verdict.value,
                "why": check.why,
            }
            for check in found.damaged[:_MAX_LISTED]
        ],
        "unreadable": [{"path": check.path, "why": check.why} for check in found.unreadable[:_MAX_LISTED]],
        "odd_values": [{"path": check.path, "note": check.note} for check in found.odd[:_MAX_LISTED]],
        "not_checked": found.not_checked,
        "records": found.records,
        "expected_records": found.expected_records,
        "all_listed": not found.is_partial,
    }
