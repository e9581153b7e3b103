"""What the record of a submission contains, and when there is none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from jobmon_core.app.runs.record import record_run
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import RunOptions
from jobmon_core.domain.many.provenance.model import RunRecord
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import RunRecordFile
from tests.support.job_records import JOB


@dataclass(frozen=True)
class SlowFile(RunRecordFile):
    """A file that takes long to write."""

    state: Path = Path()
    forgotten: bool = False

    def write(self, record: RunRecord) -> None:
        if self.forgotten:  # by `jobmon forget` in another process
            self.path.unlink(missing_ok=True)
            self.state.unlink()
        super().write(record)


class SlowContext(Context):
    """A user's jobmon whose record is written while the user forgets the job."""

    forgotten = False

    def run_record(self, state_id: str) -> RunRecordFile:
        path = self.home.run_file(state_id)
        return SlowFile(path, state=self.store.path(state_id), forgotten=self.forgotten)


@pytest.mark.parametrize("forgotten", [False, True])
def test_no_record_is_left_of_a_job_that_was_forgotten_meanwhile(tmp_path: Path, *, forgotten: bool) -> None:
    ctx = SlowContext(Home(tmp_path), {})
    ctx.forgotten = forgotten
    ctx.store.save(JOB)
    record_run(ctx, SubmitRequest("local", ("true",), run=RunOptions()), lambda: [JOB.id])
    assert ctx.home.run_file(JOB.id).exists() != forgotten


def test_with_chdir_files_are_found_by_the_folder_of_the_submission_and_by_that_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submitted_from, workdir = tmp_path / "submit", tmp_path / "work"
    for folder in (submitted_from, workdir):
        folder.mkdir()
        for name in ("a.py", "b.py", "c.py"):
            (folder / name).write_text("1")
    script = submitted_from / "job.sh"
    script.write_text("#!/bin/sh\npython $SLURM_SUBMIT_DIR/a.py\npython $PWD/b.py\npython c.py $CONF/a.py\n")
    monkeypatch.chdir(submitted_from)
    ctx = Context(Home(tmp_path / "home"), {"PWD": str(submitted_from), "CONF": "/shell"})
    ctx.store.save(JOB)
    arguments = (f"--chdir={workdir}", f"--export=ALL,CONF={workdir}", str(script))
    record_run(ctx, SubmitRequest("local", arguments), lambda: [JOB.id])
    found = ctx.run_record(JOB.id).read()
    assert found is not None
    assert set(found.files) == {str(submitted_from / "a.py"), *(str(workdir / f"{n}.py") for n in "abc")}
