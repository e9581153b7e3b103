"""What a submission costs if it runs until its time limit."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.batch_script.request import Request, read_request
from jobmon_core.domain.before.checks.rules.cost import cost_text
from jobmon_core.domain.job.history.prices import Prices

PRICES = Prices("EUR", {"h100": 2.5, "default": 1.0}, cpu=0.1)


def request(*options: str) -> Request:
    return read_request([*options, "job.sh"], {}, "#!/bin/bash\n")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--gres=gpu:h100:4", "-c8"], "21.60 EUR for the whole limit of 2h (4 GPUs and 8 CPUs)"),
        (["-N2", "--gpus-per-node=h100:1"], "10.40 EUR for the whole limit of 2h (2 GPUs and 2 CPUs)"),
        (["--gpus=2", "-n4", "-c2"], "5.60 EUR for the whole limit of 2h (2 GPUs and 8 CPUs)"),
        (["-a", "1-10"], "0.20 EUR for the whole limit of 2h (1 CPU); 2.00 EUR for 10 tasks"),
        (["--exclusive"], ""),
        (["--gpus=h100:1", "--cpus-per-gpu=8"], ""),
    ],
)
def test_it_is_what_was_asked_for_over_the_whole_limit(options: list[str], text: str) -> None:
    assert cost_text(request(*options), 7200.0, PRICES) == text


def test_without_a_limit_a_price_or_a_count_nothing_is_said() -> None:
    assert cost_text(request(), None, PRICES) == ""
    assert cost_text(request(), float("inf"), PRICES) == ""
    assert cost_text(request("--gpus=v100:1"), 7200.0, Prices("EUR", {"h100": 2.5})) == ""
    assert cost_text(request(), 7200.0, PRICES._replace(billing=1.0)) == ""
    assert cost_text(request(":", "-n2"), 7200.0, PRICES) == ""
