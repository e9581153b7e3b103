"""Each target of `tests/fuzz/targets.py` on mutated real inputs and on any bytes; short, for every run.

``dev/fuzz`` runs the same targets for longer.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS


@pytest.mark.parametrize(
    "name", [pytest.param(name, id=f"{name}: {target.claim}") for name, target in TARGETS.items()]
)
def test_every_input(name: str) -> None:
    target = TARGETS[name]
    seeds = target.seeds()

    def check(data: bytes) -> None:
        target.check(data)

    check.__name__ = check.__qualname__ = f"check_{name}"  # hypothesis stores failures by this name
    mutations = st.builds(lambda random: mutated(seeds, random), st.randoms(use_true_random=False))
    run = given(mutations | st.binary(max_size=400))(check)
    for seed in seeds:
        run = example(seed)(run)
    settings(max_examples=target.examples, deadline=None, suppress_health_check=list(HealthCheck))(run)()


def test_each_target_has_a_claim_and_seeds() -> None:
    assert all(target.claim and target.seeds() for target in TARGETS.values())
