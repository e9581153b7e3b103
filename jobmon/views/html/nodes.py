"""The page of the nodes: what each partition has free now, and what the user's runs took on each node."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon.views.history import NO_RUNS, total_columns
from jobmon.views.html import parts
from jobmon.views.report.history import columns_table
from jobmon.views.report.page import moment, prose
from jobmon_core.domain.humanize import count
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines
    from jobmon_core.app.web.partitions import FreeNow
    from jobmon_core.domain.before.pending.partitions import PartitionUse
    from jobmon_core.domain.job.history.nodes import SuspectNode
    from jobmon_core.domain.job.history.totals import RunTotals

_COLUMNS = ("Partition", "Nodes idle", "GPUs free", "CPUs free", "States of its nodes")
_UP = "up"
_CAUTION = (
    "A job may still wait where something is free: for its limits, a reservation, or jobs with a higher "
    "priority. <code>jobmon why JOB</code> tells."
)


class NodesPage(NamedTuple):
    """The user's runs of so many days by node, and what is free."""

    totals: Sequence[RunTotals]
    suspects: Sequence[SuspectNode]
    days: float
    free: FreeNow
    now_s: float


def nodes_html(page: NodesPage, visitor: parts.Visitor) -> str:
    """Return the page."""
    return parts.site_page("Nodes", "Nodes", _main(page), visitor)


def _main(page: NodesPage) -> Lines:
    yield parts.heading("Nodes")
    if suspects := page.suspects:
        yield from parts.section("Better avoided", len(suspects), _suspects(suspects), "suspects")
    number = len(page.free.partitions) or None
    yield from parts.section("Partitions", number, _free(page), "partitions")
    yield from _own(page, f"Your runs of the last {page.days:.0f} days, by node")


def _suspects(suspects: Sequence[SuspectNode]) -> Lines:
    yield '<ul class="findings">'
    for each in suspects:
        tone, sign, word = ("warn", "▲", "Slow") if each.slowdown else ("bad", "✕", "Kills runs")
        yield (
            f'<li class="{tone}"><b aria-hidden="true">{sign}</b><span class="unseen">{word}: </span>'
            f'<p class="who">{in_html(each.node)}</p><div><p>{in_html(each.sentence)}</p>'
            f'<p class="advice">{prose(each.advice)}</p></div></li>'
        )
    yield "</ul>"


def _free(page: NodesPage) -> Lines:
    free = page.free
    if free.why_not:
        yield (
            '<p class="notice"><b aria-hidden="true">!</b> What is free is not known: the scheduler did not '
            f"answer {moment(free.at_s, page.now_s)} ({in_html(free.why_not)}).</p>"
        )
        return
    if not free.partitions:
        yield parts.empty("The scheduler shows you no partition.")
        return
    yield from parts.rows_table(_COLUMNS, map(_partition, free.partitions), "Partitions")
    yield f'<p class="when">As of {moment(free.at_s, page.now_s)}. {_CAUTION}</p>'


def _partition(use: PartitionUse) -> str:
    name = f'<span class="ref">{in_html(use.name)}</span>'
    if use.is_default:
        name += ' <span class="soft">default</span>'
    if use.availability != _UP:
        name += f' <span class="mark-warn"><b aria-hidden="true">▲</b> {in_html(use.availability)}</span>'
    gpus = (_share(use.free_gpus[kind], total, kind) for kind, total in use.gpus.items())
    states = ", ".join(f"{number:,} {word}" for word, number in use.nodes.most_common())
    cells = (
        f'<th scope="row">{name}</th>',
        parts.cell(_COLUMNS[1], _share(use.idle_nodes, use.total_nodes), "number"),
        parts.cell(_COLUMNS[2], "".join(gpus), "number"),
        parts.cell(_COLUMNS[3], _share(use.free_cpus, use.cpus), "number"),
        parts.cell(_COLUMNS[4], in_html(states), "words"),
    )
    return f"<tr>{''.join(cells)}</tr>"


def _share(free: int, total: int, kind: str = "") -> str:
    """Return the figures above a bar of what is free."""
    if not total:
        return ""
    about = in_html(f"of {total:,} {kind}".rstrip())
    return f'<b>{free:,}</b> <span class="soft">{about}</span>{parts.bar(free / total, "good")}'


def _own(page: NodesPage, title: str) -> Lines:
    totals = page.totals
    if not totals:
        yield from parts.section(title, None, [parts.empty(prose(NO_RUNS))], "own")
        return
    yield from columns_table(title, total_columns(totals, "node"), totals)
    if not page.suspects:
        yield f'<p class="when">{count(len(totals), "node")}: none stands out.</p>'
