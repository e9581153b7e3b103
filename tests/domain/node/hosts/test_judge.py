"""What a look at a host shows of a job, and how long jobmon keeps it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jobmon_core.domain.node.hosts.judge import (
    KEEP_DAYS,
    HostJobStatus,
    Shown,
    apply_look,
    judge,
    may_be_removed,
)
from jobmon_core.domain.node.hosts.model import (
    HostJob,
    HostLook,
    HostProcess,
    HostTarget,
    JobEnd,
    Pane,
    SeenFile,
    SeenProcess,
    SeenRun,
)

NOW_S = 2_000_000.0
THERE_S = 2_000_500.0  # the clock of the host is 500 s ahead
PROCESS = HostProcess(77, 1000, "boot-1", "pid:[1]")
WRAPPER = HostProcess(76, 990, "boot-1", "pid:[1]")
JOB = HostJob(
    host="box",
    name="train",
    process=PROCESS,
    boot_id="boot-1",
    registered_s=NOW_S - 600,
    started_there_s=THERE_S - 900,
)
LOOK = HostLook(boot_id="boot-1", pid_namespace="pid:[1]", clock_there_s=THERE_S, uptime_s=910.0)
ALIVE = SeenProcess("S", 1, 77, -1, 1000)
RUNNING = HostJobStatus("RUNNING")  # type: ignore[arg-type]
MARKER = replace(JOB, target=HostTarget(marker="/d/DONE"))
RUN = replace(JOB, run_id="r1", process=None, registered_s=NOW_S - 600)
OLD_MARKER = replace(MARKER, old_marker=f"5 {int(THERE_S) - 9999}")
NEW_RUN = replace(RUN, registered_s=NOW_S - 5)
NO_NAMESPACE = replace(JOB, process=replace(PROCESS, pid_namespace=""))
REBOOTED: dict[str, Any] = {"boot_id": "boot-2", "uptime_s": 60.0}
OTHER: dict[str, Any] = {"boot_id": "boot-2"}
OTHER_TEXT = "RUNNING another machine answers"
ON_LOGIN1 = replace(JOB, machine="login1")
LOGIN2_TEXT = "RUNNING box reaches different machines: login2 answered"
TMUX = replace(JOB, pane_id="%3")


def look(**changes: object) -> HostLook:
    return replace(LOOK, **changes)  # type: ignore[arg-type]


def pane(**changes: object) -> HostLook:
    dead = Pane("%3", 77, "train", "0", "0", is_dead=True)
    return look(panes=(replace(dead, **changes),), processes={77: replace(ALIVE, state="Z")})  # type: ignore[arg-type]


def file(age_s: int, inode: str = "5") -> dict[int, SeenFile]:
    return {1: SeenFile(inode, 0, int(THERE_S) - age_s)}


def run(**changes: object) -> dict[int, SeenRun]:
    seen = SeenRun(has_begun=True, wrapper=WRAPPER, command=PROCESS)
    return {1: replace(seen, **changes)}  # type: ignore[arg-type]


BOTH = {76: replace(ALIVE, start_ticks=990), 77: ALIVE}
NEITHER = {76: None, 77: None}
END_S = int(NOW_S) - 30


@pytest.mark.parametrize(
    ("job", "seen", "expected"),
    [
        # a process
        (JOB, look(processes={77: ALIVE}), "RUNNING"),
        (JOB, look(processes={}), "RUNNING"),  # the answer does not show it: this proves nothing
        (JOB, look(processes={77: None}), "gone"),
        (JOB, look(processes={77: replace(ALIVE, state="Z")}), "gone"),
        (JOB, look(processes={77: replace(ALIVE, start_ticks=2000)}), "gone"),  # another with its PID
        (JOB, look(**REBOOTED), "NODE_FAIL the host was restarted"),
        (JOB, look(**REBOOTED, processes={77: ALIVE}), "NODE_FAIL the host was restarted"),
        # another machine under the same name (login1, login2): it booted before the job was last seen
        (JOB, look(**OTHER), OTHER_TEXT),
        (JOB, look(**OTHER, processes={77: None}), OTHER_TEXT),
        (JOB, look(**REBOOTED, answered_s={"boot-1": NOW_S - 30}), OTHER_TEXT),
        (JOB, look(**REBOOTED, answered_s={"boot-1": NOW_S - 90}), "NODE_FAIL the host was restarted"),
        (JOB, look(boot_id="boot-2", uptime_s=0.0), OTHER_TEXT),  # it does not say when it booted
        (MARKER, look(**OTHER, markers=file(30)), OTHER_TEXT),  # perhaps in a folder of its own
        (replace(MARKER, process=None), look(**OTHER, markers=file(30)), OTHER_TEXT),
        (RUN, look(**OTHER, runs=run()), OTHER_TEXT),
        (RUN, look(**OTHER, runs=run(exit_code=3)), JobEnd("FAILED", 3)),  # both have the same home
        # it need not have booted before: it has another name for itself
        (ON_LOGIN1, look(**REBOOTED, machine="login2"), LOGIN2_TEXT),
        (
            replace(RUN, host="box"),
            look(**REBOOTED, machine="login2", runs=run(machine="login1")),
            LOGIN2_TEXT,
        ),
        (ON_LOGIN1, look(**REBOOTED, machine="login1"), "NODE_FAIL the host was restarted"),
        (ON_LOGIN1, look(**REBOOTED), "NODE_FAIL the host was restarted"),  # it does not say
        (ON_LOGIN1, look(processes={77: ALIVE}, machine="renamed"), "RUNNING"),
        # containers, as far as the host shows them
        (JOB, look(pid_namespace="", processes={77: ALIVE}), "RUNNING"),
        (NO_NAMESPACE, look(processes={77: ALIVE}), "RUNNING"),
        (JOB, look(pid_namespace="", processes={77: None}), "gone"),
        (JOB, look(pid_namespace="pid:[2]"), "NODE_FAIL the container was restarted"),
        # a marker: of this run, and only once the process is gone
        (MARKER, look(processes={77: ALIVE}, markers=file(30)), "RUNNING"),
        (MARKER, look(processes={77: None}), "gone"),
        (MARKER, look(processes={77: None}, markers=file(30)), JobEnd("COMPLETED", end_s=END_S)),
        (MARKER, look(**REBOOTED, markers=file(30)), JobEnd("COMPLETED", end_s=END_S)),
        (OLD_MARKER, look(processes={77: None}, markers=file(9999)), "gone"),
        # only a marker
        (replace(MARKER, process=None), LOOK, "RUNNING"),
        (replace(MARKER, process=None), look(**REBOOTED), "RUNNING the host was restarted"),
        (replace(MARKER, process=None), look(markers=file(30)), JobEnd("COMPLETED", end_s=END_S)),
        # tmux: without a status, the outcome is not known, and no success
        (TMUX, pane(status=0), JobEnd("COMPLETED", exit_code=0, end_s=int(NOW_S))),
        (TMUX, pane(status=3), JobEnd("FAILED", exit_code=3, end_s=int(NOW_S))),
        (TMUX, pane(signal=9), JobEnd("FAILED", signal=9, end_s=int(NOW_S))),
        (TMUX, pane(), "gone"),
        (TMUX, pane(is_dead=False, status=0), "gone"),
        (TMUX, pane(id="%4", status=0), "gone"),
        (TMUX, pane(pid=78, status=0), "gone"),  # respawn-pane started another command in it
        (
            TMUX,
            pane(pid=None, status=3),
            JobEnd("FAILED", exit_code=3, end_s=int(NOW_S)),
        ),  # as tmux 3.8 prints it
        (TMUX, replace(pane(status=0), **REBOOTED), "NODE_FAIL the host was restarted"),
        # a command of jobmon: its exit code, its processes, and at most one start
        (
            RUN,
            look(runs=run(exit_code=0, ended_there_s=int(THERE_S) - 30)),
            JobEnd("COMPLETED", 0, end_s=END_S),
        ),
        (RUN, look(runs=run(exit_code=3), **REBOOTED), JobEnd("FAILED", 3)),
        (RUN, look(runs=run(exit_code=137)), JobEnd("FAILED", 137)),
        (RUN, look(runs=run(), processes=BOTH), "RUNNING"),
        (RUN, look(runs=run(), processes={**BOTH, 77: None}), "RUNNING"),  # about to record its exit code
        (RUN, look(runs=run(), processes={**BOTH, 76: None}), "RUNNING its wrapper was killed"),
        (RUN, look(runs=run(), processes=NEITHER), "gone"),
        (RUN, look(runs=run(), **REBOOTED), "NODE_FAIL the host was restarted"),
        (RUN, look(runs=run(has_begun=False, wrapper=None, command=None)), "PENDING it is being started"),
        (RUN, look(runs=run(is_unstarted=True)), "LAUNCH_FAILED it was not started"),
        (NEW_RUN, look(runs=run(wrapper=None, command=None)), "RUNNING it is being started"),
        (RUN, look(runs=run(wrapper=None, command=None)), "gone"),
    ],
)
def test_an_end_needs_a_witness(job: HostJob, seen: HostLook, expected: str | JobEnd) -> None:
    found = judge(1, job, seen, NOW_S)
    if isinstance(expected, JobEnd) and isinstance(found, JobEnd):
        assert replace(found, reason=expected.reason) == expected
    else:
        assert text(found).startswith(str(expected))


def text(found: Shown) -> str:
    return "gone" if found is None else f"{found.state} {found.reason}"


def test_a_command_that_was_seen_is_followed_by_its_process_even_if_its_folder_vanishes() -> None:
    known, found = apply_look(1, RUN, look(runs=run(), processes=BOTH), NOW_S)
    assert found == RUNNING
    assert (known.process, known.started_there_s, known.start_s) == (PROCESS, THERE_S - 900, int(NOW_S - 900))
    without_folder = look(runs=run(has_begun=False, wrapper=None, command=None), processes=BOTH)
    assert text(judge(1, known, without_folder, NOW_S)).startswith("RUNNING")


@pytest.mark.parametrize(
    ("job", "code", "kills", "state"),
    [
        (replace(RUN, oom_kills=2), 137, 3, "OUT_OF_MEMORY"),
        (replace(RUN, oom_kills=2), 137, 2, "FAILED"),
        (replace(RUN, oom_kills=2), 3, 3, "FAILED"),
        (replace(RUN, oom_kills=2), 137, None, "FAILED"),
        (RUN, 137, 3, "FAILED"),  # it may have risen before
    ],
)
def test_a_killed_job_was_out_of_memory_if_the_kernel_killed_meanwhile(
    job: HostJob, code: int, kills: int | None, state: str
) -> None:
    known, found = apply_look(1, job, look(runs=run(exit_code=code), oom_kills=kills), NOW_S)
    assert isinstance(found, JobEnd)
    assert (found.state, known.end) == (state, found)
    started, _ = apply_look(1, RUN, look(runs=run(), oom_kills=5, processes=BOTH), NOW_S)
    assert started.oom_kills == 5


def test_another_machine_adds_nothing_to_the_record() -> None:
    seen = look(**OTHER, runs=run(), oom_kills=5)
    assert apply_look(1, RUN, seen, NOW_S)[0] == RUN


def test_the_machine_of_a_job_is_learned_from_its_own_answer() -> None:
    """A record of an earlier version lacks it."""
    assert apply_look(1, JOB, look(machine="login1", processes={77: ALIVE}), NOW_S)[0].machine == "login1"
    assert apply_look(1, JOB, look(machine="login2", **OTHER), NOW_S)[0].machine == ""
    assert (
        apply_look(1, RUN, look(machine="login1", runs=run(), processes=BOTH), NOW_S)[0].machine == "login1"
    )


def test_an_end_is_kept() -> None:
    known, found = apply_look(1, RUN, look(runs=run(exit_code=3)), NOW_S)
    assert known.end == found == JobEnd("FAILED", 3)


LATER_S = 2_000_000_000.0
LONG_AGO_S = int(LATER_S - (KEEP_DAYS + 1) * 86_400)
OLD = HostJob(
    host="box",
    run_id="6566c1d3a1b2c3",
    registered_s=LONG_AGO_S - 60,
    is_dropped=True,
    end=JobEnd("COMPLETED", 0, end_s=LONG_AGO_S),
)


def test_the_folder_of_a_command_that_ended_and_was_reported_long_ago_may_be_removed() -> None:
    assert may_be_removed(OLD, LATER_S)
    assert may_be_removed(replace(OLD, end=JobEnd("NODE_FAIL")), LATER_S)  # without a time of its own


@pytest.mark.parametrize(
    "job",
    [
        replace(OLD, end=JobEnd("COMPLETED", 0, end_s=int(LATER_S) - 86_400)),
        replace(OLD, end=JobEnd("NODE_FAIL"), registered_s=LATER_S - 86_400),
        replace(OLD, end=None),  # it may still run: only its watching ended
        replace(OLD, is_dropped=False),  # its message may not be delivered yet
        replace(OLD, is_removed=True),
        replace(OLD, run_id=""),  # a job that jobmon did not start
        replace(OLD, run_id="../../../data"),  # not a name that jobmon gives
        replace(OLD, run_id="6566c1d3a1b2c3\n"),
    ],
)
def test_no_other_folder_may_be_removed(job: HostJob) -> None:
    assert not may_be_removed(job, LATER_S)
