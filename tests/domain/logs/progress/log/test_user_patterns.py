"""What a progress pattern of the user finds, by its name and its groups."""

from __future__ import annotations

import pytest

from jobmon_core.domain.logs.progress.log.formats import known_metric, metrics_of, unit_of


@pytest.mark.parametrize(
    ("name", "groups", "metrics"),
    [
        ("accuracy", ("",), ("accuracy",)),
        ("documents", ("",), ("documents",)),  # may be meant as a count: a note says so
        ("documents", ("", ""), ()),  # a number and its total
        ("evaluation", ("precision", "recall", "f1"), ("precision", "recall", "f1")),
        ("evaluation", ("precision", ""), ()),
        ("items", ("done", "all"), ()),  # it counts, whatever its groups are called
        ("step", ("",), ()),
        ("my_loss", ("value",), ()),
        ("step_time", ("",), ("step_time",)),  # measured of a step, and no count of them
        ("error_rate", ("",), ("error_rate",)),  # no speed
        ("batch_latency_ms", ("",), ("batch_latency_ms",)),
        ("a\nb" * 40, ("",), (("ab" * 40)[:40],)),
        ("x", (), ()),
    ],
)
def test_a_pattern_finds_metrics_unless_its_name_says_that_it_counts(
    name: str, groups: tuple[str, ...], metrics: tuple[str, ...]
) -> None:
    assert metrics_of(name, groups) == metrics


def test_names_say_what_is_known() -> None:
    names = ("val_loss", "LR", "throughput", "generated", "word_error_rate")
    assert [known_metric(name) for name in names] == ["loss", "lr", "rate", "", ""]
    units = {name: unit_of(name) for name in ("iter", "Samples_seen", "epoch_time", "x")}
    assert units == {"iter": "step", "Samples_seen": "sample", "epoch_time": "", "x": ""}
