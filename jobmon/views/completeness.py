"""Whether the files of a folder are complete, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import fields, iso, known_fields, span
from jobmon_core.domain.artifacts.completeness import Depth, is_unfinished_copy
from jobmon_core.domain.humanize import count, listed, size

if TYPE_CHECKING:
    from jobmon.views.console import Console, Lines, Rows
    from jobmon.views.model import Json
    from jobmon_core.domain.artifacts.completeness import Completeness, Difference


_MAX_NAMED = 5
_MAX_LISTED = 1_000  # in JSON
_COMPARED = {Depth.COUNT: "same names", Depth.SIZE: "same sizes", Depth.SHA256: "same contents"}


def completeness_lines(found: Completeness, console: Console) -> Lines:
    """Yield the verdict with a summary, then what is missing, wrong or not certain."""
    verdict, style = "not certain", Style.ATTENTION
    if found.is_complete:
        verdict, style = "complete", Style.GOOD
    elif found.is_incomplete:
        verdict, style = "incomplete", Style.BAD
    yield from console.headed(f"{verdict}: {_summary(found)}", style)
    for label, text in _details(found):
        yield from console.prose(f"{label}: {text}", indent="  ", hanging="    ")


def _summary(found: Completeness) -> str:
    if found.problem:
        return found.problem
    text = f"{found.folder} has {count(found.count, 'file')}, {size(found.size_bytes)}"
    if found.source_count is not None:
        there = found.source_count - len(found.missing)
        text = f"{found.folder} has {there:,} of the {count(found.source_count, 'file')} of {found.source}"
        if found.is_complete:
            text += f", {_COMPARED[found.depth]}"
    if found.expected_records is not None:
        text += f", {found.records or 0:,} of {count(found.expected_records, 'record')}"
    return text


def _details(found: Completeness) -> Rows:
    if found.missing:
        yield "missing", f"{count(len(found.missing), 'file')}: {listed(found.missing, _MAX_NAMED)}"
    known = {f"{found.folder}/{each.name}" for each in found.different}
    damaged = [check for check in found.damaged if check.path not in known]
    texts = {"different": [_difference(each) for each in found.different]}
    for label, checks in {"damaged": damaged, "not readable": found.unreadable}.items():
        texts[label] = [f"{check.path.removeprefix(f'{found.folder}/')} {check.why}" for check in checks]
    for label, all_of_them in texts.items():
        yield from ((label, text) for text in all_of_them[:_MAX_NAMED])
        if len(all_of_them) > _MAX_NAMED:
            yield label, count(len(all_of_them) - _MAX_NAMED, "more file")
    yield from _remarks(found)


def _remarks(found: Completeness) -> Rows:
    copies = [name for name in found.extra if is_unfinished_copy(name)]
    extra = [name for name in found.extra if not is_unfinished_copy(name)]
    if copies:
        yield "unfinished", f"{listed(copies, _MAX_NAMED)}: a copy is running or was interrupted"
    if extra:
        yield "extra", f"{count(len(extra), 'file')} not in the source: {listed(extra, _MAX_NAMED)}"
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


def completeness_json(found: Completeness, job_id: str | None = None) -> Json:
    """Return the documented keys of ``jobmon verify --json``; lists hold at most 1,000 entries."""
    different, damaged = found.different[:_MAX_LISTED], found.damaged[:_MAX_LISTED]
    of_difference = ("name", "size_bytes", "expected_bytes")
    return {
        "job_id": job_id,
        **fields(found, "folder", "size_bytes", "not_checked", "records", "expected_records"),
        **fields(found, complete="is_complete", files="count", expected_files="source_count"),
        **known_fields(found, "problem", against="source"),
        "compared": found.depth.value if found.source else None,
        "missing": list(found.missing[:_MAX_LISTED]),
        "extra": list(found.extra[:_MAX_LISTED]),
        "different": [
            fields(each, *of_difference, stopped="is_stopped") | {"modified": iso(each.modified_s)}
            for each in different
        ],
        "damaged": [
            fields(check, "path", "verdict", "why") | known_fields(check, "format") for check in damaged
        ],
        "unreadable": [fields(check, "path", "why") for check in found.unreadable[:_MAX_LISTED]],
        "odd_values": [fields(check, "path", "note") for check in found.odd[:_MAX_LISTED]],
        "all_listed": not found.is_partial,
    }
