"""The card of a job: one silent message from pending to the end, whatever happens to its monitor."""

from __future__ import annotations

from jobmon_core.domain.channels import Route
from tests.support.failing_job import kill
from tests.support.fake_discord import Payload
from tests.support.user import User
from tests.support.waiting import eventually

_STEPS = "for i in $(seq 1 40); do echo step $i/40 loss 0.5; done; until [ -e go ]; do sleep 0.5; done"


def test_one_card_goes_from_pending_to_the_end_also_if_its_monitor_is_killed(user: User) -> None:
    user.configure(messages={"digest_from": 0})
    job_id = user.submit("-H", "-J", "train", user.script(_STEPS))
    eventually(lambda: _cards(user) == [f"🕒 train ({job_id}) is pending"])
    eventually(lambda: bool(user.job(job_id).card.message_id))
    kill(user, job_id)
    assert user.jobmon("recover").returncode == 0
    user.slurm("scontrol", "release", str(job_id))
    eventually(lambda: _cards(user) == [f"🟣 train ({job_id}) is running"])
    kill(user, job_id)
    assert user.jobmon("recover").returncode == 0
    (user.work / "go").touch()
    job = user.told(job_id)
    assert job.card.closed
    assert not job.card.problem
    (title,) = _cards(user)
    assert title.startswith(f"✅ train ({job_id}) completed in ")
    assert len(user.discord.received(Route.SUCCESS)) == 2  # the card, and the message about the end
    assert user.discord.received(Route.ERROR) == []


def _cards(user: User) -> list[str]:
    """Return the titles of the cards as Discord shows them now."""
    return [str(each["embeds"][0]["title"]) for each in user.discord.shown() if _is_card(each)]


def _is_card(payload: Payload) -> bool:
    return "content" not in payload
