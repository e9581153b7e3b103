from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.engine.surroundings import surroundings


def slurm_in(folder: Path) -> str:
    folder.mkdir()
    for program in ("squeue", "sacct", "scontrol"):
        (folder / program).touch(mode=0o755)
    return str(folder)


@pytest.mark.parametrize(
    "name", ["SLURM_CONF", "SLURM_JWT", "JOBMON_ERROR_WEBHOOK", "https_proxy", "SSL_CERT_FILE", "HOME"]
)
def test_what_leads_to_another_cluster_or_channel_makes_a_difference(name: str) -> None:
    assert surroundings({name: "a"}) != surroundings({name: "b"})
    assert surroundings({name: "a"}) == surroundings({name: "a"})


def test_what_describes_a_terminal_or_a_home_of_its_own_makes_none() -> None:
    plain = surroundings({"SLURM_CONF": "/a"})
    assert surroundings({"SLURM_CONF": "/a", "TERM": "x", "SLURM_JOB_ID": "7", "JOBMON_HOME": "/h"}) == plain


def test_of_the_path_only_that_counts_which_leads_to_slurm(tmp_path: Path) -> None:
    slurm, another = slurm_in(tmp_path / "slurm"), slurm_in(tmp_path / "another")
    plain = surroundings({"PATH": f"/usr/games:{slurm}"})
    assert surroundings({"PATH": f"/some/conda/bin:{slurm}:{another}"}) == plain
    assert surroundings({"PATH": f"{another}:{slurm}"}) != plain


def test_the_mark_tells_nothing_of_a_password() -> None:
    assert len(surroundings({"JOBMON_ERROR_WEBHOOK": "https://example.org/secret"})) == 8
