"""The process that records a submission: it ends by itself, and nobody waits for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.waiting import eventually

# a command like `jobmon submit`, whose recorder stays in its work until a file appears
COMMAND = """
import os, resource, sys, time
from pathlib import Path
from jobmon_core.lifecycle.recorder import announce, start_recorder
folder, job_ids = Path(sys.argv[1]), sys.argv[2:]
def record(wait_for_jobs):
    (folder / "started").touch()
    found = wait_for_jobs()
    (folder / "ids").write_text(f"{' '.join(found)} {os.nice(0)} {len(os.listdir('/proc/self/fd'))}")
    while found and not (folder / "go").exists():
        time.sleep(0.01)
    (folder / "done").touch()
os.dup2(1, 500)
# descriptors that were opened before stay open above a lower limit
resource.setrlimit(resource.RLIMIT_NOFILE, (100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
pipe = start_recorder(record, ())
if job_ids:
    announce(pipe, job_ids)
else:
    os.close(pipe)
print("submitted", flush=True)
"""


def test_a_command_and_the_readers_of_its_output_do_not_wait_for_the_recorder(tmp_path: Path) -> None:
    # run() waits for the end of both pipes, which a process that holds them would delay
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(tmp_path), "slurm-1-x", "slurm-2-x"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout == "submitted\n"
    assert not (tmp_path / "done").exists()
    eventually(lambda: (tmp_path / "ids").exists() and (tmp_path / "ids").read_text(encoding="ascii") != "")
    # the lowest priority; no file of the command is open, except the standard streams and the listed folder
    assert (tmp_path / "ids").read_text(encoding="ascii") == "slurm-1-x slurm-2-x 19 4"
    (tmp_path / "go").touch()
    eventually((tmp_path / "done").exists)


def test_without_a_job_the_recorder_ends(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", COMMAND, str(tmp_path)], capture_output=True, check=True, timeout=300
    )
    eventually((tmp_path / "done").exists)
    assert (tmp_path / "ids").read_text(encoding="ascii").split()[0] == "19"
