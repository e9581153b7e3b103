"""What the page of the nodes says about the partitions of a real Slurm, and how often it asks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from private_slurm import Cluster

from tests.support.many_jobs import fill
from tests.support.web import Web


@pytest.fixture
def web_folder(slurm: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in slurm.env.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def test_partitions_are_shown_with_what_is_free_of_them(web_folder: Path) -> None:
    ctx = fill(web_folder / "home", 1)
    with Web(ctx.home.root, web_folder) as web:
        web.enter()
        page = web.ask("/nodes").body
        (row,) = re.findall(r"<tr>(?=[^\n]*>main</span>)[^\n]*", page)
        shown = " ".join(re.sub(r"<[^>]*>", " ", row).split())
        gpus = r"\d of \d(?: \d of 2 \w100){2}"
        assert re.fullmatch(rf"main default \d of 3 {gpus} [\d,]+ of 192 .*\d \w+.*", shown), shown
        assert "As of <time" in page
