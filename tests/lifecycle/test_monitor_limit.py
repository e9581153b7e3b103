"""A login node never carries more monitors of a user than it may: further jobs go to those that run."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.lifecycle.adopt import Handoffs
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.monitor_slots import MonitorSlots
from jobmon_core.system.env_fingerprint import env_fingerprint
from jobmon_core.system.lock import acquire
from tests.support.login import PATIENTLY, Login
from tests.support.processes import kill
from tests.support.waiting import eventually

JOBS = tuple("abcdefgh")


@pytest.fixture
def login(tmp_path: Path) -> Iterator[Login]:
    with Login(tmp_path, JOBS) as user:
        user.configure(monitors={"at_most": 1})
        yield user


def offers(login: Login) -> Handoffs:
    return Handoffs(login.ctx.home.handoffs, env_fingerprint(os.environ))


def holders(login: Login) -> list[int]:
    return [holder.owner.pid for holder in MonitorSlots(login.ctx.home.slots).holders()]


def test_beyond_the_ceiling_a_running_monitor_takes_the_job_up_before_the_command_returns(
    login: Login,
) -> None:
    login.launch("a")
    assert login.launch("b", PATIENTLY)[0] == "holds b"
    assert login.alive() == {"a": login.pid("a"), "b": login.pid("a")}
    assert login.monitors() == {login.pid("a")}
    eventually(lambda: f"monitor {login.pid('a')} watches" in login.log("b"))
    assert not offers(login).pending()


def test_the_jobs_are_shared_out_evenly_to_as_many_monitors_as_there_may_be(login: Login) -> None:
    login.configure(monitors={"at_most": 3})
    for job_id in JOBS:
        assert login.launch(job_id, PATIENTLY)[0] == f"holds {job_id}"
        eventually(lambda job_id=job_id: "watches" in login.log(job_id))  # type: ignore[misc]
    shares = Counter(login.alive().values())
    assert sorted(shares.values()) == [2, 3, 3]
    assert login.monitors() == set(shares)


def test_commands_at_once_start_no_more_monitors_than_there_may_be(login: Login) -> None:
    login.configure(monitors={"at_most": 2})
    commands = [login.launching(job_id, PATIENTLY) for job_id in JOBS]
    said = [process.communicate(timeout=60) for process in commands]
    assert [err for _, err in said] == [""] * len(JOBS)
    assert [out.splitlines()[0] for out, _ in said] == [f"holds {job_id}" for job_id in JOBS]
    assert set(login.alive()) == set(JOBS)
    assert login.monitors() == set(login.alive().values()) == set(holders(login))
    assert len(holders(login)) == 2


def test_a_monitor_of_other_surroundings_is_not_asked(login: Login) -> None:
    login.launch("a")
    assert login.launch("b", SLURM_CONF="/another/slurm.conf")[0] == "holds b"
    assert login.pid("a") != login.pid("b")


def test_a_job_that_no_monitor_takes_up_gets_one_of_its_own_and_only_one(login: Login) -> None:
    login.launch("a")
    eventually(login.watches)
    deaf = login.pid("a")
    os.kill(deaf, signal.SIGSTOP)
    try:
        assert login.launch("b")[0] == "holds b"
        assert login.pid("b") != deaf
        assert not offers(login).pending()
    finally:
        os.kill(deaf, signal.SIGCONT)
    os.kill(deaf, signal.SIGTERM)
    eventually(lambda: login.monitors() == {login.pid("b")})
    assert login.health("b") is Health.ALIVE
    assert "watches" not in login.log("b").replace(f"monitor {login.pid('b')} watches", "", 1)


def test_a_monitor_beyond_the_ceiling_takes_the_place_of_one_that_ends(login: Login) -> None:
    login.launch("a")
    login.launch("b", SLURM_CONF="/another/slurm.conf")
    eventually(lambda: "watches" in login.log("b"))
    kill(login.pid("a"))
    os.kill(login.pid("b"), signal.SIGUSR1)
    eventually(lambda: holders(login) == [login.pid("b")])


def test_the_place_of_a_killed_monitor_is_free(login: Login) -> None:
    login.launch("a")
    kill(login.pid("a"))
    eventually(lambda: login.health("a") is Health.DEAD)
    login.launch("b")
    assert holders(login) == [login.pid("b")]


def test_many_orphans_go_to_the_monitors_that_run(login: Login) -> None:
    login.launch("a")
    assert login.launch("b,c,d", PATIENTLY)[0] == "holds b c d"
    assert len(set(login.alive().values())) == 1


def test_what_others_have_is_not_offered(login: Login) -> None:
    login.launch("a,b")
    assert login.launch("a")[0].startswith("AlreadyWatched ")
    assert login.launch("b,c", PATIENTLY)[0] == "holds c"


def test_an_offer_whose_command_was_killed_is_taken_up_all_the_same(login: Login) -> None:
    login.launch("a")
    eventually(login.watches)
    offers(login).create("b")
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: not offers(login).pending())
    assert login.pid("b") == login.pid("a")


def test_an_offer_of_what_cannot_be_read_is_struck_and_nobody_holds_the_job(login: Login) -> None:
    login.launch("a")
    eventually(login.watches)
    login.ctx.store.path("b").write_text("{", encoding="ascii")
    offers(login).create("b")
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: not offers(login).pending())
    assert login.ctx.owner_record("b").read() is None
    lock = acquire(login.ctx.home.monitors / "b.lock")
    assert lock is not None
    os.close(lock)
    assert "cannot adopt the offered job" in login.log("b")


def test_a_job_that_is_done_can_be_taken_up_again_while_its_monitor_follows_others(login: Login) -> None:
    login.launch("a,b")
    eventually(login.watches)
    monitor = login.pid("a")
    login.ctx.request_cancel("a")
    os.kill(monitor, signal.SIGUSR1)
    eventually(lambda: login.health("a") is Health.DONE)
    eventually(lambda: login.ctx.owner_record("a").read() is None)
    lock = acquire(login.ctx.home.monitors / "a.lock")
    assert lock is not None
    os.close(lock)
    assert login.alive() == {"b": monitor}


def test_an_offer_is_struck_by_none_but_the_named_owner_of_the_job(login: Login) -> None:
    login.launch("a")
    lock = acquire(login.ctx.home.monitors / "b.lock")  # by a monitor that has not named itself yet
    assert lock is not None
    for job_id in ("b", "c"):
        offers(login).create(job_id)
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: offers(login).pending() == ["b"])  # each is looked at in turn
    os.close(lock)
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: offers(login).pending() == [])
    assert login.alive() == dict.fromkeys("abc", login.pid("a"))
    offers(login).create("b")  # whose command was killed
    os.kill(login.pid("a"), signal.SIGUSR1)
    eventually(lambda: offers(login).pending() == [])
