"""A restart by hand on the real Slurm, of a job without restarts."""

from __future__ import annotations

import json

from jobmon_core.domain.slurm.states import Outcome
from tests.support.checkpoint_layouts import hf_trainer
from tests.support.user import User

TRAIN = """\
echo "$JOBMON_ATTEMPT|$JOBMON_RESUME_STEP|$SETTING|$*" >> trace
[ -z "$JOBMON_RESUME_FROM" ] || exit 0
mkdir -p out; cp -r saved/checkpoint-4200 out/; exit 1
"""


def test_a_failed_run_of_a_group_goes_on_as_the_same_run(user: User) -> None:
    hf_trainer(user.work / "saved", 4200)
    (user.work / "jobmon.yaml").write_text("paths: {checkpoint_dir: out}\n", encoding="ascii")
    user.script(TRAIN, "-J train", name="train.sh")
    first = user.submit("--group", "sweep1", "train.sh", "--lr", "0 1")
    assert user.jobmon("group", "add", "sweep1", str(first), "--interval", "5s").returncode == 0
    assert user.told(first).outcome is Outcome.FAILURE
    done = user.jobmon("restart", "--yes", str(first), SETTING="of now")
    assert done.returncode == 0, done
    assert "from     step 4,200: its files are all there and whole" in done.stderr
    assert f"job {first} is dead: " in done.stderr

    assert user.jobmon("wait", str(first)).returncode == 0  # of its last attempt
    second = int(done.stdout.split()[1])
    assert user.told(second).outcome is Outcome.SUCCESS
    assert (user.work / "trace").read_text() == "|||--lr 0 1\n1|4200|of now|--lr 0 1\n"
    shown = json.loads(user.jobmon("show", str(second), "--json").stdout)["lineage"]
    assert (shown["attempt"], shown["before"]) == (1, str(first))
    assert json.loads(user.jobmon("group", "status", "sweep1", "--json").stdout)["counts"] == {"completed": 1}
    assert not list((user.home / "state/lineages").glob("*.private.json"))
    options = user.slurm("sacct", "-X", "-n", "-P", "-j", str(second), "-o", "SubmitLine")
    assert f"--dependency=afterany:{first}" in options
    assert "--no-requeue" in options
