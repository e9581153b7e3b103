from __future__ import annotations

from jobmon.views.console import Style
from jobmon.views.top.drawing import Line, Span, text_line
from jobmon.views.top.sections import Section, section_lines, titled
from tests.support.styled_lines import as_text


def rows(number: int) -> list[Line]:
    return [text_line(f"  row {each}") for each in range(number)]


def test_sections_keep_their_order_and_those_of_low_rank_get_room_first() -> None:
    sections = [titled("Outputs", rows(5), 2), titled("Events", rows(5), 1), titled("Tasks", [], 0)]
    assert as_text(section_lines(sections, 4)) == ["Events", "  row 0", "  row 1", "  and 3 more"]
    assert as_text(section_lines(sections, 8)) == [
        "Outputs",
        "  row 0",
        "  row 1",
        "  and 3 more",
        "Events",
        "  row 0",
        "  row 1",
        "  and 3 more",
    ]
    assert len(section_lines(sections, 40)) == 12
    assert section_lines(sections, 2) == []
    assert section_lines(sections, -3) == []


def test_a_single_row_is_shown_with_its_title() -> None:
    assert as_text(section_lines([titled("Nodes", rows(1), 0)], 2)) == ["Nodes", "  row 0"]


def test_of_rows_in_a_fixed_order_those_that_stand_out_stay() -> None:
    found = rows(6)
    found[4] = (Span("  row 4  "), Span("idle", Style.ATTENTION))
    found[1] = (Span("  row 1  "), Span("    ", Style.ATTENTION))
    section = Section(text_line("GPUs"), found, 0, is_by_importance=False)
    assert as_text(section_lines([section], 4)) == ["GPUs", "  row 0", "  row 4  idle", "  and 4 more"]
