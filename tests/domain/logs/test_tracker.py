"""Which scalar of a tracker is the loss of training, by its name."""

from __future__ import annotations

import pytest

from jobmon_core.domain.logs.tracker import loss_rank

# each fits better than those after it
RANKED = ["loss", "train/loss", "loss/bbox", "val/loss"]


@pytest.mark.parametrize("name", ["Loss", "train_loss", "Train/Loss", "training.loss", "train_loss_step"])
def test_a_loss_of_training_is_one_by_any_spelling(name: str) -> None:
    assert loss_rank(name) in (0, 1)


def test_losses_have_an_order() -> None:
    ranks = [loss_rank(name) for name in RANKED]
    assert None not in ranks
    assert ranks == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["accuracy", "train/loss_scale", "loss_weight", "glossary", ""])
def test_what_is_no_loss_has_no_rank(name: str) -> None:
    assert loss_rank(name) is None
