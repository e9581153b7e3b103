"""What ``dev/with-slurm`` and the ``Cluster`` behind it promise, seen on real clusters."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from private_slurm import Cluster, PrivateSlurmError, packages
from private_slurm.waiting import until

WITH_SLURM = Path(__file__).parents[2] / "dev" / "with-slurm"
SOMEBODY = "www-data"  # on every Debian, and not root
OUTLASTS_THE_TEST = "sleep 600"


# in one worker: each cluster is many processes, and these tests are about their timing
pytestmark = pytest.mark.xdist_group("private-slurm")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for the folders of clusters: short, as sockets need it, and open to all users."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def slurm(cluster: Cluster, *argv: str) -> str:
    """What a client of Slurm's prints, standard error included."""
    command = [packages.program(argv[0]), *argv[1:]]
    environment = {**os.environ, **cluster.env, "SLURM_TIME_FORMAT": "%s"}
    done = subprocess.run(
        command, env=environment, text=True, stdout=-1, stderr=subprocess.STDOUT, timeout=60, check=False
    )
    return done.stdout


def submit(cluster: Cluster, script: str, *options: str) -> str:
    """Submit a script as a command line, and return the job's id."""
    return slurm(cluster, "sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={script}").strip()


def recorded(cluster: Cluster, job: str) -> str:
    """State and exit code of each incarnation of a job in the accounting."""
    rows = slurm(cluster, "sacct", "-DnPX", "-j", job, "-o", "State,ExitCode").splitlines()
    return " ".join(rows)


def ends(cluster: Cluster, job: str, outcome: str, seconds: float = 20) -> bool:
    """Whether the accounting comes to say so."""
    return until(lambda: recorded(cluster, job) == outcome, seconds, pause=0.2)


def listed(cluster: Cluster, job: str) -> str:
    return slurm(cluster, "squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()


def processes_that_mention(folder: Path) -> list[str]:
    """Command lines of processes with the folder in their arguments or environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in line + environment and entry.name != str(os.getpid()):
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


# the cluster


def test_a_job_that_takes_too_much_memory_is_out_of_memory(cluster: Cluster) -> None:
    if not cluster.has_cgroup_memory:
        pytest.skip("no writable cgroup v1 here, so nothing holds a job to its memory")
    greedy = f"{sys.executable} -c 'import time; x = bytearray(300_000_000); time.sleep(60)'"
    assert ends(cluster, submit(cluster, greedy, "--mem=60M"), "OUT_OF_MEMORY|0:125")


def test_a_heterogeneous_job_runs(cluster: Cluster) -> None:
    job = submit(cluster, "true", "-n1", ":", "-n1")
    assert ends(cluster, job, "COMPLETED|0:0 COMPLETED|0:0")


def test_a_job_sees_the_gpus_it_asked_for(cluster: Cluster) -> None:
    job = submit(cluster, 'test "$CUDA_VISIBLE_DEVICES" = 0,1', "--gres=gpu:2")
    assert ends(cluster, job, "COMPLETED|0:0")


def test_forty_jobs_run_at_once(cluster: Cluster) -> None:
    name = "one-of-forty"
    for _ in range(40):
        submit(cluster, OUTLASTS_THE_TEST, f"--job-name={name}")
    query = ("squeue", "-h", "-t", "running", f"--name={name}")
    together = until(lambda: len(slurm(cluster, *query).splitlines()) == 40, 20, pause=0.2)
    slurm(cluster, "scancel", f"--name={name}")
    assert together


def test_another_user_can_submit_and_root_can_cancel(cluster: Cluster) -> None:
    as_somebody = ("setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups")
    script = ("sbatch", "--parsable", "--chdir=/", "--output=/dev/null", f"--wrap={OUTLASTS_THE_TEST}")
    job = slurm(cluster, *as_somebody, *script).strip()
    assert until(lambda: listed(cluster, job) == "RUNNING", 90)
    slurm(cluster, "scancel", job)
    assert ends(cluster, job, "CANCELLED by 0|0:0")


@pytest.mark.parametrize(
    ("partition", "state"), [("low", "PREEMPTED|0:0 PENDING|0:0"), ("lowcancel", "PREEMPTED|0:0")]
)
def test_a_job_is_preempted(cluster: Cluster, partition: str, state: str) -> None:
    victim = submit(cluster, OUTLASTS_THE_TEST, f"--partition={partition}", "--cpus-per-task=64", "--mem=100")
    assert until(lambda: listed(cluster, victim) == "RUNNING", 90)
    submit(cluster, "sleep 1", "--partition=high", "--cpus-per-task=64", "--mem=100")
    preempted = ends(cluster, victim, state)
    slurm(cluster, "scancel", victim)
    assert preempted


def test_a_killed_node_fails_its_jobs_and_can_be_revived(cluster: Cluster) -> None:
    job = submit(cluster, OUTLASTS_THE_TEST, "--partition=doomed", "--no-requeue")
    assert until(lambda: listed(cluster, job) == "RUNNING", 90)
    cluster.kill_node("n4")
    assert ends(cluster, job, "NODE_FAIL|0:0", 60)
    cluster.revive_node("n4")
    assert cluster.node_state("n4") == "idle"
    assert cluster.node_state("n1") == "idle"


def test_an_attached_handle_stops_and_starts_the_controller(cluster: Cluster) -> None:
    attached = Cluster.attach(cluster.env["JOBMON_PRIVATE_SLURM"])
    attached.stop_controller()
    assert "Unable to contact slurm controller" in slurm(cluster, "squeue")
    attached.start_controller()
    assert "JOBID" in slurm(cluster, "squeue")


def test_a_frozen_controller_answers_nobody(cluster: Cluster) -> None:
    cluster.freeze_controller()
    answer = slurm(cluster, "squeue")
    cluster.thaw_controller()
    assert "Socket timed out" in answer
    assert "JOBID" in slurm(cluster, "squeue")


def test_the_accounting_daemon_can_be_away_for_a_while(cluster: Cluster) -> None:
    cluster.stop_accounting()
    assert "Problem talking to the database" in slurm(cluster, "sacct")
    cluster.start_accounting()
    assert "JobID" in slurm(cluster, "sacct")


def test_a_cluster_without_accounting_forgets_ended_jobs_soon(cluster: Cluster) -> None:
    with Cluster(accounting=False) as other:
        assert other.folder != cluster.folder
        job = submit(other, "true")
        assert until(lambda: listed(other, job) == "COMPLETED", 20)
        assert "accounting storage is disabled" in slurm(other, "sacct", "-j", job)
        assert until(lambda: "Invalid job id" in listed(other, job), 60, pause=0.5)


def test_a_folder_of_ones_own_is_used_and_removed(place: Path) -> None:
    with Cluster(place / "own", accounting=False) as other:
        assert other.folder == place / "own"
        assert other.node_state("n5") == "idle"
    assert list(place.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(place: Path) -> None:
    (place / "thesis").touch()
    with pytest.raises(PrivateSlurmError, match="not empty"):
        Cluster(place, accounting=False).start()
    assert (place / "thesis").exists()


def test_a_description_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateSlurmError, match="describes no private Slurm"):
        Cluster.attach(tmp_path / "cluster.json")


# the command


def with_slurm(place: Path, script: str, **more: str) -> "subprocess.Popen[str]":
    """Start ``dev/with-slurm`` with a script, and next to nothing in the environment."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    argv = [str(WITH_SLURM), "/bin/bash", "-c", script]
    return subprocess.Popen(argv, env={**kept, "TMPDIR": str(place), **more}, stdout=-1, stderr=-1, text=True)


def test_the_commands_exit_code_and_output_are_passed_on(place: Path) -> None:
    process = with_slurm(place, "sinfo -h -o %P | head -n 1; exit 7")
    out, err = process.communicate(timeout=240)
    assert (out, err, process.returncode) == ("main*\n", "", 7)
    assert list(place.iterdir()) == []


def test_two_at_once_do_not_clash(place: Path) -> None:
    # not for ever: where one can't start, the other is to end, and the words of the first are to be seen
    meet = "touch {0}; for _ in $(seq 900); do [ ! -e {1} ] || break; sleep 0.1; done"
    job = 'timeout 120 sbatch --wait -Q -o /dev/null --wrap "exit {2}"'
    else_tell = "code=$?; [ $code -ne 124 ] || {{ scontrol show job; sinfo -Nl; }}; exit $code"
    script = f"{meet}; {job}; {else_tell}"
    with (
        with_slurm(place, script.format(place / "a", place / "b", 3)) as first,
        with_slurm(place, script.format(place / "b", place / "a", 4)) as second,
    ):
        assert [first.communicate(timeout=240), second.communicate(timeout=240)] == [("", ""), ("", "")]
        assert (first.returncode, second.returncode) == (3, 4)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_command_and_every_process(place: Path, number: signal.Signals) -> None:
    job = f'--wrap "setsid {OUTLASTS_THE_TEST} & touch {place}/runs; {OUTLASTS_THE_TEST}"'
    daemon = f"setsid {OUTLASTS_THE_TEST} > /dev/null 2>&1 &"
    process = with_slurm(place, f"sbatch -Q -o /dev/null {job}; {daemon} exec {OUTLASTS_THE_TEST}")
    assert until((place / "runs").exists, 60)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert processes_that_mention(place) == []
    assert [left.name for left in place.iterdir()] == ["runs"]


def test_a_signal_during_the_start_leaves_nothing(place: Path) -> None:
    process = with_slurm(place, "true")
    assert until(lambda: any(place.glob("*/run/slurmctld")), 60)
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert processes_that_mention(place) == []
    assert list(place.iterdir()) == []


def test_what_a_killed_one_left_behind_is_removed_by_the_next(place: Path) -> None:
    process = with_slurm(place, f"touch {place}/runs; {OUTLASTS_THE_TEST}")
    assert until((place / "runs").exists, 60)
    process.kill()
    # The orphans hold the pipes open, so there is no end of the output to wait for yet.
    process.wait(timeout=30)
    assert processes_that_mention(place)
    with_slurm(place, "true").communicate(timeout=240)
    process.communicate(timeout=30)
    assert processes_that_mention(place) == []
    assert [left.name for left in place.iterdir()] == ["runs"]


def test_the_folder_is_kept_when_asked(place: Path) -> None:
    with_slurm(place, "true", JOBMON_KEEP_SLURM="1").communicate(timeout=240)
    with_slurm(place, "true").communicate(timeout=240)
    assert processes_that_mention(place) == []
    assert len(list(place.glob("*/log/slurmctld.log"))) == 1
