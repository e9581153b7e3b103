from __future__ import annotations

import pytest

from jobmon_core.domain.slurm.rows import node_names


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("", ()),
        ("n1", ("n1",)),
        ("n1,gpu-7", ("n1", "gpu-7")),
        ("n[1-3]", ("n1", "n2", "n3")),
        ("n[08-10,12],login1", ("n08", "n09", "n10", "n12", "login1")),
        ("r[1-2]n[1-2]", ("r1n1", "r1n2", "r2n1", "r2n2")),
        ("r[1-2]-ib", ("r1-ib", "r2-ib")),
    ],
)
def test_the_nodes_of_a_list_are_named_in_its_order(expression: str, names: tuple[str, ...]) -> None:
    assert node_names(expression) == names


@pytest.mark.parametrize("damaged", ["n[", "n]", "n[3-1]", "n[x]", "n[0-999999999]", "[,]", ",,"])
def test_a_damaged_list_gives_few_names_and_no_error(damaged: str) -> None:
    assert len(node_names(damaged)) <= 2
