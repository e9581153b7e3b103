"""RunTotals by node are made of totals by list of nodes."""

from __future__ import annotations

from jobmon_core.domain.job.history.totals import RunTotals, by_node


def totals(nodes: str, runs: int, gpu_hours: float, cost: float | None = None) -> RunTotals:
    return RunTotals(nodes, runs, runs, 0, gpu_hours, 0.0, 0.0, 0.0, 0.0, 10.0 * runs, 60.0, 5, cost, "")


def test_a_run_counts_on_each_of_its_nodes_and_its_hours_in_equal_parts() -> None:
    found = {each.label: each for each in by_node([totals("n[1-2]", 1, 8.0, 4.0), totals("n2", 3, 1.0)])}
    assert {name: (each.runs, each.gpu_hours, each.cost) for name, each in found.items()} == {
        "n1": (1, 4.0, 2.0),
        "n2": (4, 5.0, 2.0),
    }
    assert found["n2"].wait_s == (10.0 + 3 * 30.0) / 4


def test_runs_that_never_had_a_node_have_a_line_of_their_own() -> None:
    assert [each.label for each in by_node([totals("", 2, 0.0)])] == [""]
