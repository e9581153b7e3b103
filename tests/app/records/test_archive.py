"""What an archive does to its target on a file system without hard links."""

from __future__ import annotations

import errno
import os
import tarfile
from pathlib import Path
from typing import NoReturn

import pytest

from jobmon_core.app.jobs.report import ReportData
from jobmon_core.app.records.archive import archive_job
from jobmon_core.context import Context
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import Home
from tests.support.job_records import NOW_S, job_of, succeeded


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Context:
    def no_link(_source: Path, _target: Path) -> NoReturn:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_link)
    ctx = Context(Home(tmp_path / "home"), {})
    ctx.store.save(job_of(succeeded(), concluded_s=NOW_S))
    return ctx


def test_without_hard_links_the_archive_is_copied(ctx: Context, tmp_path: Path) -> None:
    target = tmp_path / "a12.tar.gz"
    archive_job(ctx, "12", target, lambda _report: "page")
    assert target.stat().st_mode & 0o777 == 0o600
    with tarfile.open(target) as tar:
        assert "job-12/report.html" in tar.getnames()


def test_a_file_that_appears_meanwhile_is_not_overwritten(ctx: Context, tmp_path: Path) -> None:
    target = tmp_path / "a12.tar.gz"

    def page(_report: ReportData) -> str:
        target.write_text("of another program", encoding="utf-8")
        return "page"

    with pytest.raises(StorageFailed, match="cannot be written"):
        archive_job(ctx, "12", target, page)
    assert target.read_text(encoding="utf-8") == "of another program"
