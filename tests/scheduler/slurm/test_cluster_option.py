from __future__ import annotations

import pytest

from jobmon_core.scheduler.slurm.cluster_option import named_cluster


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run.sh"], ""),
        (["-M", "dev", "run.sh"], "dev"),
        (["-Mdev", "run.sh"], "dev"),
        (["--clusters=dev,prod", "run.sh"], "dev,prod"),
        (["--clusters", "dev", "run.sh"], "dev"),
        (["-M"], ""),
    ],
)
def test_the_cluster_is_read_from_the_arguments(arguments: list[str], named: str) -> None:
    assert named_cluster(arguments, {}) == named


def test_the_environment_names_a_cluster_too_and_the_command_line_wins() -> None:
    assert named_cluster(["run.sh"], {"SLURM_CLUSTERS": "a"}) == "a"
    assert named_cluster(["run.sh"], {"SBATCH_CLUSTERS": "b", "SLURM_CLUSTERS": "a"}) == "b"
    assert named_cluster(["-M", "c", "run.sh"], {"SBATCH_CLUSTERS": "b"}) == "c"
