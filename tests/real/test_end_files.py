"""What jobmon does with files at the end of a job, on the real Slurm."""

from __future__ import annotations

import stat
from pathlib import Path

from jobmon_core.domain.channels import Route
from jobmon_core.domain.webhook import Webhook
from tests.support.discord_answers import refusal
from tests.support.messages import facts, title
from tests.support.user import User

_TOKEN = "ghp_" + "aB3xY7zQ9kLm2Np4Rs5Tv6Wx8Yz1Ab2Cd3Ef"
_CONFIG = """
paths: {output_dir: out/%j}
results: ["out/%j/metrics.csv"]
"""
# writes the shards whose numbers it gets, the results, and a table that ends too early if asked to
_PROGRAM = r"""
import os, sys, zipfile
out = f"out/{os.environ['SLURM_JOB_ID']}"
os.makedirs(out)
for number in map(int, sys.argv[1].split(",")):
    with zipfile.ZipFile(f"{out}/part-{number:05}-of-00008.zip", "w") as file:
        file.writestr("data", bytes(5000))
if "truncate" in sys.argv:
    os.truncate(f"{out}/part-00002-of-00008.zip", 4000)
with open(f"{out}/metrics.csv", "w") as file:
    file.write("split,accuracy,loss\nval,0.9120,0.31\ntest,0.8,0.4400\n")
"""
_ALL = "0,1,2,3,4,5,6,7"


def test_a_success_is_verified_and_its_results_are_quoted_or_it_is_doubtful(user: User) -> None:
    (user.work / "jobmon.yaml").write_text(_CONFIG)
    (user.work / "program.py").write_text(_PROGRAM)
    script = user.script('python3 program.py "$@"')
    whole, short, broken = (
        user.submit("-J", name, script, *arguments)
        for name, *arguments in (("whole", _ALL), ("short", "0,1,2,5,6"), ("broken", _ALL, "truncate"))
    )
    for job_id in (whole, short, broken):
        user.told(job_id)
    by_title = {title(payload): payload for payload in user.discord.received(Route.SUCCESS)}
    assert sorted(by_title) == [
        f"⚠ broken ({broken}) completed with exit code 0, but part-00002-of-00008.zip is truncated",
        f"⚠ short ({short}) completed with exit code 0, but 3 of 8 shards are missing",
        f"✅ whole ({whole}) completed, outputs verified",
    ]
    good = by_title[f"✅ whole ({whole}) completed, outputs verified"]
    assert "split  accuracy    loss\n" in str(good["embeds"][0]["description"])
    assert "val      0.9120    0.31\ntest        0.8  0.4400\n" in str(good["embeds"][0]["description"])
    assert facts(good)["Outputs"].startswith("8 of 8 shards, ")
    shown = user.jobmon("show", str(short)).stdout
    assert "missing: 3, 4, 7" in shown
    assert "3 of 8 shards are missing" in user.jobmon("diagnose", str(short)).stdout
    assert "| val      0.9120    0.31" in user.jobmon("show", str(whole)).stdout
    assert user.discord.received(Route.ERROR) == []


def test_a_failed_job_has_a_bundle_without_secrets_that_is_attached_and_forgotten(user: User) -> None:
    lines = (
        f"echo connecting with {_TOKEN}",
        f"echo to {user.discord.error_url}",
        "for i in $(seq 99); do echo step $i; done",
        "echo \"KeyError: 'lr'\" >&2",
        "exit 3",
    )
    fails = user.script("\n".join(lines), "--error=%j.err")
    user.discord.script(refusal(413, 40005, "Request entity too large"))
    refused = user.submit(fails)
    user.told(refused)
    job_id = user.submit(fails)
    (task,) = user.told(job_id).tasks.values()
    assert task.diagnosis is not None
    path = Path(task.diagnosis.bundle)
    assert path.parent == user.home / "logs"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (sent,) = user.discord.files
    assert (sent.name, sent.content) == (path.name, path.read_bytes())
    text = path.read_text()
    for part in (
        f"job {job_id} (job.sh)",
        "== Diagnosis",
        "== Slurm's record",
        "exit_code: 3",
        "== States",
        "== Workers",
        "== Outputs and checkpoints",
        "== Last telemetry",
        "== Events",
        "== Environment",
        f"== Last 50 lines of {user.work}/slurm-{job_id}.out\nstep 50\n",
        f"== Last 50 lines of {user.work}/{job_id}.err\nKeyError: 'lr'\n",
    ):
        assert part in text, part
    for secret in (_TOKEN, Webhook.parse(user.discord.error_url).token):
        assert secret not in text
    messages = user.discord.received(Route.ERROR)
    assert len(messages) == 2  # the refused one was sent again without its file
    assert facts(messages[1])["Diagnostics bundle"] == str(path)
    assert path.name in user.jobmon("show", str(job_id)).stdout.replace("\n", "")
    assert user.jobmon("forget", str(job_id)).returncode == 0
    assert not path.exists()
