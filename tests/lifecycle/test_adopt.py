"""A host never runs more monitors of a user than allowed: running monitors adopt further jobs."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.lifecycle.adopt import ADOPTION_TIMEOUT_S, JobOffers
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.monitor_slots import slot_holders
from jobmon_core.system.environment import env_fingerprint
from jobmon_core.system.lock import acquire
from tests.support.login import PATIENTLY, Login
from tests.support.processes import kill
from tests.support.waiting import PATIENCE_S, eventually

JOBS = tuple("abcdefgh")


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    with Login(tmp_path, JOBS) as user:
        user.configure(monitors={"at_most": 1})
        yield user


def offers(login: Login) -> JobOffers:
    return JobOffers(login.ctx.home.offers, env_fingerprint(os.environ))


def holders(login: Login) -> list[int]:
    return [holder.owner.pid for holder in slot_holders(login.ctx.home.slots)]


def test_at_the_limit_a_running_monitor_adopts_the_job_before_the_command_returns(
    login: Login,
) -> None:
    login.launch("a")
    assert login.launch("b", PATIENTLY)[0] == "holds b"
    assert login.alive() == {"a": login.pid("a"), "b": login.pid("a")}
    assert login.monitors() == {login.pid("a")}
    eventually(lambda: f"monitor {login.pid('a')} watches" in login.log("b"))
    assert not offers(login).offered_jobs()


def test_jobs_are_distributed_evenly_among_the_allowed_monitors(login: Login) -> None:
    login.configure(monitors={"at_most": 3})
    for job_id in JOBS:
        assert login.launch(job_id, PATIENTLY)[0] == f"holds {job_id}"
        eventually(lambda job_id=job_id: "watches" in login.log(job_id))  # type: ignore[misc]
    shares = Counter(login.alive().values())
    # on a busy machine, one that does not answer in a tenth of a second is passed over
    assert len(shares) == 3
    assert min(shares.values()) >= 2
    assert login.monitors() == set(shares)


def test_concurrent_commands_start_no_more_monitors_than_allowed(login: Login) -> None:
    login.configure(monitors={"at_most": 2})
    commands = [login.launching(job_id, PATIENTLY) for job_id in JOBS]
    outputs = [process.communicate(timeout=PATIENCE_S) for process in commands]
    assert [err for _, err in outputs] == [""] * len(JOBS)
    assert [out.splitlines()[0] for out, _ in outputs] == [f"holds {job_id}" for job_id in JOBS]
    assert set(login.alive()) == set(JOBS)
    assert login.monitors() == set(login.alive().values()) == set(holders(login))
    assert len(holders(login)) == 2


def test_a_job_is_not_offered_to_a_monitor_with_another_environment(login: Login) -> None:
    login.launch("a")
    assert login.launch("b", SLURM_CONF="/another/slurm.conf")[0] == "holds b"
    assert login.pid("a") != login.pid("b")


def test_a_job_that_no_monitor_adopts_gets_exactly_one_monitor_of_its_own(login: Login) -> None:
    login.launch("a")
    eventually(login.watches)
    stopped = login.pid("a")
    os.kill(stopped, signal.SIGSTOP)
    try:
        assert login.launch("b")[0] == "holds b"
        assert login.pid("b") != stopped
        assert not offers(login).offered_jobs()
    finally:
        os.kill(stopped, signal.SIGCONT)
    os.kill(stopped, signal.SIGTERM)
    eventually(lambda: login.monitors() == {login.pid("b")})
    assert login.health("b") is Health.ALIVE
    assert "watches" not in login.log("b").replace(f"monitor {login.pid('b')} watches", "", 1)


def test_the_only_monitor_of_a_group_adopts_a_job_although_it_takes_long_to_answer(login: Login) -> None:
    login.configure()
    login.launch("a", at_most=1)
    eventually(login.watches)
    only = login.pid("a")
    os.kill(only, signal.SIGSTOP)
    try:
        with login.launching("b", at_most=1) as command:
            eventually(lambda: bool(offers(login).offered_jobs()))
            offered_s = time.monotonic()
            # more than a command waits that may as well start another monitor
            eventually(lambda: time.monotonic() > offered_s + ADOPTION_TIMEOUT_S + 1)
            assert login.monitors() == {only}
            os.kill(only, signal.SIGCONT)
            assert command.communicate(timeout=PATIENCE_S)[0].splitlines()[0] == "holds b"
    finally:
        os.kill(only, signal.SIGCONT)
    assert login.alive() == {"a": only, "b": only}


def test_a_monitor_without_a_slot_takes_the_slot_of_one_that_ends(login: Login) -> None:
    login.launch("a")
    login.launch("b", SLURM_CONF="/another/slurm.conf")
    eventually(lambda: "watches" in login.log("b"))
    kill(login.pid("a"))
    os.kill(login.pid("b"), signal.SIGUSR1)
    eventually(lambda: holders(login) == [login.pid("b")])


def test_the_slot_of_a_killed_monitor_is_free(login: Login) -> None:
    login.launch("a")
    kill(login.pid("a"))
    eventually(lambda: login.health("a") is Health.DEAD)
    login.launch("b")
    assert holders(login) == [login.pid("b")]


def test_running_monitors_adopt_many_orphans(login: Login) -> None:
    login.launch("a")
    assert login.launch("b,c,d", PATIENTLY)[0] == "holds b c d"
    assert len(set(login.alive().values())) == 1


def test_a_job_with_an_owner_is_not_offered(login: Login) -> None:
    login.launch("a,b")
    assert login.launch("a")[0].startswith("AlreadyWatched ")
    assert login.launch("b,c", PATIENTLY)[0] == "holds c"


def test_an_offer_is_adopted_even_if_its_command_was_killed(login: Login) -> None:
    login.launch("a")
    eventually(login.watches)
    offers(login).create("b")
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: not offers(login).offered_jobs())
    assert login.pid("b") == login.pid("a")


def test_an_offer_of_an_unreadable_job_is_removed_and_the_job_stays_free(login: Login) -> None:
    login.launch("a")
    eventually(login.watches)
    login.ctx.store.path("b").write_text("{", encoding="ascii")
    offers(login).create("b")
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: not offers(login).offered_jobs())
    assert login.ctx.owner_record("b").read() is None
    lock = acquire(login.ctx.home.monitors / "b.lock")
    assert lock is not None
    os.close(lock)
    assert "cannot adopt the offered job" in login.log("b")


def test_a_finished_job_is_released_while_its_monitor_watches_others(login: Login) -> None:
    login.launch("a,b")
    eventually(login.watches)
    monitor = login.pid("a")
    login.ctx.cancel_request("a").create()
    os.kill(monitor, signal.SIGUSR1)
    eventually(lambda: login.health("a") is Health.DONE)
    eventually(lambda: login.ctx.owner_record("a").read() is None)
    eventually(lambda: _is_free(login.ctx.home.monitors / "a.lock"))
    assert login.alive() == {"b": monitor}


def _is_free(path: Path) -> bool:
    lock = acquire(path)
    if lock is not None:
        os.close(lock)
    return lock is not None


def test_only_the_owner_of_the_job_removes_its_offer(login: Login) -> None:
    login.launch("a")
    lock = acquire(login.ctx.home.monitors / "b.lock")  # as a monitor does before it writes the owner record
    assert lock is not None
    for job_id in ("b", "c"):
        offers(login).create(job_id)
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: offers(login).offered_jobs() == ["b"])  # job c is adopted, although b is locked
    os.close(lock)
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: offers(login).offered_jobs() == [])
    assert login.alive() == dict.fromkeys("abc", login.pid("a"))
    offers(login).create("b")  # by a command that was killed
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: offers(login).offered_jobs() == [])


def test_an_offer_is_pending_until_it_is_removed(tmp_path: Path) -> None:
    offers = JobOffers(tmp_path / "offers", "this-env")
    assert offers.offered_jobs() == []
    for job_id in ("slurm-13-x", "slurm-12-x-7"):
        offers.create(job_id)
    assert offers.offered_jobs() == ["slurm-12-x-7", "slurm-13-x"]
    for _ in range(2):
        offers.remove("slurm-13-x")
        assert offers.offered_jobs() == ["slurm-12-x-7"]


def test_an_offer_for_another_environment_is_not_seen(tmp_path: Path) -> None:
    this_env, other_env = (JobOffers(tmp_path / "offers", name) for name in ("this-env", "other-env"))
    other_env.create("a")
    assert this_env.offered_jobs() == []
    this_env.remove("a")
    assert other_env.offered_jobs() == ["a"]


def test_an_offer_is_private(tmp_path: Path) -> None:
    JobOffers(tmp_path / "offers", "this-env").create("a")
    (path,) = (tmp_path / "offers").iterdir()
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0
