"""The pages of groups: a list of all, and one group as a table with its figures and failures by cause."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from jobmon.views.groups import NEVER_STARTS, NOT_SUBMITTED, UNREADABLE, word_of
from jobmon.views.html import parts
from jobmon.views.model import nodes_of, run_time_s
from jobmon.views.report.page import moment, prose
from jobmon.views.status import outcome_cell
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.humanize import count, duration, listed
from jobmon_core.domain.logs.progress.figures import last_figures, percentage
from jobmon_core.domain.many.groups.member_view import view_of
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon.views.console import Lines
    from jobmon_core.app.groups.jobs import GroupRun
    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.domain.job.job_progress import FollowedTask
    from jobmon_core.domain.many.groups.model import Group

_SIGNS = {
    NEVER_STARTS: StateGroup.FAILED,
    UNREADABLE: StateGroup.UNKNOWN,
    NOT_SUBMITTED: StateGroup.UNWATCHED,
}
_MAX_FIGURES = 5  # columns
_NAMED_RUNS = 6
_RUN, _STATE, _RAN = "run", "state", "ran"


class GroupPage(NamedTuple):
    """A group, and how its table is sorted: by a column, from below unless its name begins with a minus."""

    group: Group
    runs: Sequence[GroupRun]
    known: Overview
    now_s: float
    sort: str = ""


class _Row(NamedTuple):
    run: GroupRun
    word: str
    figures: dict[str, str]
    ran_s: float | None


def groups_html(
    groups: Sequence[tuple[Group, Sequence[GroupRun]]], now_s: float, visitor: parts.Visitor
) -> str:
    """Return the list of all groups."""
    return parts.site_page("Groups", "Groups", _list(groups, now_s), visitor)


def _list(groups: Sequence[tuple[Group, Sequence[GroupRun]]], now_s: float) -> Lines:
    yield parts.heading("Groups")
    if not groups:
        yield parts.empty(
            "There is no group. <code>jobmon submit --group NAME train.sbatch</code> makes one, and "
            "<code>jobmon help group</code> says more."
        )
        return
    rows = (
        f'<tr><th scope="row"><a class="ref" href="/group/{quote(group.name)}">{in_html(group.name)}</a></th>'
        f"{parts.cell('Runs', str(len(runs)), 'number')}"
        f"{parts.cell('State', _counted(map(word_of, runs)), 'words')}"
        f"{parts.cell('Made', moment(group.created_s, now_s))}"
        f"{parts.cell('Over', moment(group.complete_s, now_s))}</tr>"
        for group, runs in groups
    )
    yield from parts.rows_table(("Group", "Runs", "State", "Made", "Over"), rows, "Groups of jobs")


def group_html(page: GroupPage, visitor: parts.Visitor) -> str:
    """Return the page of a group."""
    return parts.site_page(f"Group {page.group.name}", "Groups", _main(page, visitor), visitor)


def _main(page: GroupPage, visitor: parts.Visitor) -> Lines:
    rows = [_row(run, page) for run in page.runs]
    counted = _counted(row.word for row in rows)
    yield parts.heading(page.group.name, f'<p class="counts">{counted}</p>')
    when = f"Made {moment(page.group.created_s, page.now_s)}"
    if page.group.complete_s is not None:
        when += f", over since {moment(page.group.complete_s, page.now_s)}"
    yield f'<p class="soft">{when}.</p>'
    if page.group.broken:
        yield f'<p class="notice"><b aria-hidden="true">!</b> {prose(page.group.broken)}</p>'
    yield f'<div class="acts">{parts.action(visitor, "mute", page.group.name, "Mute for 1 hour")}</div>'
    if not rows:
        yield parts.empty("This group has no runs yet.")
        return
    if causes := [*_causes(rows)]:
        yield from parts.section("Failures by cause", None, causes, "causes")
    yield from parts.section("Runs", len(rows), _table(rows, page), "runs")


def _row(run: GroupRun, page: GroupPage) -> _Row:
    job = run.job
    if job is None:
        return _Row(run, word_of(run), {}, None)
    progress = [each.progress for each in _followed(page, job.id) if each.progress]
    text = last_figures(progress[0]) if progress else view_of(job).metrics
    pairs = (each.rpartition(" ") for each in text.split(", ") if each)
    figures = {name: value for name, _, value in pairs if name}
    ran = [s for task in job.tasks.values() if (s := run_time_s(task, page.now_s)) is not None]
    return _Row(run, word_of(run), figures, max(ran, default=None))


def _followed(page: GroupPage, state_id: str) -> list[FollowedTask]:
    found = page.known.progress.get(state_id)
    return [*found.tasks.values()] if found else []


def _counted(words: Iterable[str]) -> str:
    numbers = Counter(words)
    order = sorted(numbers, key=lambda word: [*StateGroup].index(_sign(word)))
    return " ".join(parts.mark(_sign(word), f"{numbers[word]} {word}") for word in order)


def _sign(word: str) -> StateGroup:
    return _SIGNS.get(word) or StateGroup(word)


def _causes(rows: Sequence[_Row]) -> Lines:
    causes: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.word in (StateGroup.FAILED, StateGroup.UNKNOWN, NEVER_STARTS):
            causes[_cause(row.run)].append(row.run.name)
    if not causes:
        return
    yield '<ul class="findings">'
    for cause, names in sorted(causes.items(), key=lambda each: -len(each[1])):
        yield (
            f'<li class="bad"><b aria-hidden="true">✕</b><p class="who">{count(len(names), "run")}</p>'
            f"<div><p>{in_html(redacted(cause))}</p>"
            f'<p class="advice">{in_html(listed(names, _NAMED_RUNS))}</p></div></li>'
        )
    yield "</ul>"


def _cause(run: GroupRun) -> str:
    found = view_of(run.job).cause if run.job else run.member.cause or run.problem
    return found or "cause not known"


def _table(rows: Sequence[_Row], page: GroupPage) -> Lines:
    found = Counter(name for row in rows for name in row.figures)
    names = [name for name, _ in found.most_common(_MAX_FIGURES)]
    key, is_reversed = page.sort.removeprefix("-"), page.sort.startswith("-")
    columns = {"Run": _RUN, "Job": "", "State": _STATE, **{name: f"={name}" for name in names}}
    with_nodes = any(map(_nodes, rows))
    columns |= {"Ran": _RAN, **({"Nodes": ""} if with_nodes else {}), "Outcome": ""}
    heads = [_head(name, by, page.sort) for name, by in columns.items()]
    ordered = sorted(rows, key=lambda row: _rank(row, key), reverse=is_reversed)
    if key.startswith("="):  # those without the figure come last, whatever the direction
        ordered.sort(key=lambda row: key[1:] not in row.figures)
    cells = (_cells(row, names, page, with_nodes=with_nodes) for row in ordered)
    yield from parts.rows_table(heads, cells, "Runs of the group")


def _nodes(row: _Row) -> str:
    tasks = row.run.job.tasks.values() if row.run.job else ()
    return ",".join(dict.fromkeys(filter(None, map(nodes_of, tasks))))


def _head(name: str, by: str, sort: str) -> str:
    if not by:
        return in_html(name)
    is_own = sort.removeprefix("-") == by
    target = f"-{by}" if sort == by else by
    sign = ("▼" if sort.startswith("-") else "▲") if is_own else ""
    return f'<a href="?sort={quote(target)}">{in_html(name)}</a> <span aria-hidden="true">{sign}</span>'


def _rank(row: _Row, key: str) -> tuple[float, str]:
    if key == _STATE:
        return [*StateGroup].index(_sign(row.word)), row.run.name
    if key == _RAN:
        return row.ran_s or 0.0, row.run.name
    if key.startswith("="):
        return _number(row.figures.get(key[1:], "")), row.run.name
    return (0.0, row.run.name) if key == _RUN else (0.0, "")  # by default, in the order of the group


def _number(text: str) -> float:
    try:
        return float(text.replace(",", "").removesuffix("%"))
    except ValueError:
        return float("inf")


def _cells(row: _Row, names: Sequence[str], page: GroupPage, *, with_nodes: bool) -> str:
    run, job = row.run, row.run.job
    outcome = "" if run.status is None else outcome_cell(run.status, page.known, page.now_s).text
    share = [each.progress.fraction for each in _followed(page, job.id) if each.progress] if job else []
    state = parts.mark(_sign(row.word), row.word)
    if share and share[0] is not None:
        state += f'{parts.bar(share[0])}<span class="soft">{percentage(share[0])}</span>'
    cells = (
        f'<th scope="row">{in_html(run.name)}</th>',
        parts.cell("Job", parts.job_link(str(job.ref)) if job else ""),
        parts.cell("State", state),
        *(parts.cell(in_html(name), in_html(row.figures.get(name, "")), "number") for name in names),
        parts.cell("Ran", "" if row.ran_s is None else duration(row.ran_s), "number"),
        parts.cell("Nodes", in_html(_nodes(row)), "words") if with_nodes else "",
        parts.cell("Outcome", in_html(redacted(outcome or run.member.cause or run.problem)), "words"),
    )
    return f"<tr>{''.join(cells)}</tr>"
