"""The command line of an agent."""

from __future__ import annotations

import subprocess
import sys

import pytest

from jobmon_core.domain.node.telemetry.agent import (
    AgentOptions,
    agent_command,
    killed_first,
    parse_agent_options,
)

FULL = AgentOptions(
    folder="/state/telemetry/8123/job",
    job_id="8123",
    pids=(7, 9),
    node="n1",
    interval_s=2.5,
    lifetime_s=3600.0,
    disks=("/scratch/a b", "/home/u=v"),
    logs=("/home/u/out=1.log",),
    cloud="auto",
    on_notice="SIGUSR1",
)


@pytest.mark.parametrize("options", [FULL, AgentOptions("/f", "8"), AgentOptions("/f", pids=(7,))])
def test_a_command_is_read_as_it_was_written(options: AgentOptions) -> None:
    command = agent_command(options)
    assert command[:3] == ("-P", "-m", "jobmon_core.agent")
    assert parse_agent_options(command[3:]) == options


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("--folder=/f",), "--job or --pid"),
        (("--job=8",), "--folder"),
        (("--folder=f", "--job=8"), "absolute"),
        (("--folder=/f", "--job=8", "--interval=0"), "--interval"),
        (("--folder=/f", "--pid=x"), "'x'"),
        (("--folder=/f", "--job=8", "--verbose=1"), "--verbose"),
        (("--folder=/f", "--job"), "--job"),
        (("--folder=/f", "--job=8", "-v"), "-v"),
        (("--folder=/f", "--job=8", "--cloud=x"), "--cloud"),
        (("--folder=/f", "--job=8", "--on-notice=KILL"), "--on-notice"),
    ],
)
def test_a_wrong_command_is_refused_and_the_fault_named(arguments: tuple[str, ...], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse_agent_options(arguments)


def test_the_name_of_a_node_is_no_path() -> None:
    assert parse_agent_options(("--folder=/f", "--job=8", "--node=a/b")).node == "a_b"


def test_an_agent_is_what_the_kernel_kills_first_even_before_its_first_line() -> None:
    show = (sys.executable, "-c", "import sys; print(open('/proc/self/oom_score_adj').read(), sys.argv[1])")
    done = subprocess.run(
        killed_first((*show, "a 'b' $HOME")), capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split("\n") == ["1000", " a 'b' $HOME", ""]
    assert done.stderr == ""
