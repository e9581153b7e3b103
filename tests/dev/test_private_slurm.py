"""``dev/with-slurm`` and its ``Cluster``, on real clusters."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from private_slurm import Cluster, PrivateSlurmError, packages
from private_slurm.waiting import until

WITH_SLURM = Path(__file__).parents[2] / "dev" / "with-slurm"
OTHER_USER = "www-data"  # exists on every Debian
PATIENCE = 600  # seconds, on a busy machine
OUTLASTS_THE_TEST = "sleep 1800"
# read at import: every test gets an empty home, and an empty cache costs with-slurm seconds
CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")


# in one worker, because each cluster has many processes
pytestmark = [pytest.mark.xdist_group("private-slurm"), pytest.mark.real]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder for clusters: its path is short enough for sockets, and all users may enter it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def slurm(cluster: Cluster, *argv: str) -> str:
    """Return the output of a Slurm command, including standard error."""
    command = [packages.program(argv[0]), *argv[1:]]
    environment = {**os.environ, **cluster.env, "SLURM_TIME_FORMAT": "%s"}
    done = subprocess.run(
        command,
        env=environment,
        text=True,
        stdout=-1,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE,
        check=False,
    )
    return done.stdout


def submit(cluster: Cluster, script: str, *options: str) -> str:
    """Submit a shell command and return the job's id."""
    return slurm(cluster, "sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={script}").strip()


def recorded(cluster: Cluster, job: str) -> str:
    """Return state and exit code of each run of a job from the accounting."""
    rows = slurm(cluster, "sacct", "-DnPX", "-j", job, "-o", "State,ExitCode").splitlines()
    return " ".join(rows)


def ends(cluster: Cluster, job: str, outcome: str) -> bool:
    """Wait until the accounting has this outcome; print what it has instead and return False otherwise."""
    has_outcome = until(lambda: recorded(cluster, job) == outcome, PATIENCE, pause=0.2)
    if not has_outcome:
        print(f"job {job}: {recorded(cluster, job)}")
    return has_outcome


def listed(cluster: Cluster, job: str) -> str:
    return slurm(cluster, "squeue", "-h", "-t", "all", "-j", job, "-o", "%T").strip()


def processes_that_mention(folder: Path) -> list[str]:
    """Return the command lines of the processes with the folder in their arguments or environment."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            line, environment = process.cmdline(), process.environ()
            if str(folder) in f"{line}{environment}" and process.pid != os.getpid():
                found.append(" ".join(line))
    return found


# --- the cluster


def test_a_job_that_takes_too_much_memory_is_out_of_memory(cluster: Cluster) -> None:
    if not cluster.has_cgroup_memory:
        pytest.skip("needs writable cgroup v1 controllers for memory limits")
    greedy = f"{sys.executable} -c 'import time; x = bytearray(300_000_000); time.sleep(60)'"
    assert ends(cluster, submit(cluster, greedy, "--mem=60M"), "OUT_OF_MEMORY|0:125")


def test_a_cluster_has_its_own_cgroups(cluster: Cluster) -> None:
    if not cluster.has_cgroup_memory:
        pytest.skip("needs writable cgroup v1 controllers")
    group = (cluster.folder / "cgroup" / "freezer").resolve()
    assert cluster.name in group.name
    assert {f"slurm_{node}" for node in cluster.nodes} <= {path.name for path in group.iterdir()}


def test_a_heterogeneous_job_runs(cluster: Cluster) -> None:
    job = submit(cluster, "true", "-n1", ":", "-n1")
    assert ends(cluster, job, "COMPLETED|0:0 COMPLETED|0:0")


def test_a_job_gets_the_gpus_that_it_requests(cluster: Cluster) -> None:
    job = submit(cluster, 'test "$CUDA_VISIBLE_DEVICES" = 0,1', "--gres=gpu:2")
    assert ends(cluster, job, "COMPLETED|0:0")


def test_forty_jobs_run_at_once(cluster: Cluster) -> None:
    name = "one-of-forty"
    for _ in range(40):
        submit(cluster, OUTLASTS_THE_TEST, f"--job-name={name}")
    query = ("squeue", "-h", "-t", "running", f"--name={name}")
    all_run = until(lambda: len(slurm(cluster, *query).splitlines()) == 40, PATIENCE, pause=0.2)
    slurm(cluster, "scancel", f"--name={name}")
    assert all_run


def test_another_user_can_submit_and_root_can_cancel(cluster: Cluster) -> None:
    as_other_user = ("setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups")
    script = ("sbatch", "--parsable", "--chdir=/", "--output=/dev/null", f"--wrap={OUTLASTS_THE_TEST}")
    job = slurm(cluster, *as_other_user, *script).strip()
    assert until(lambda: listed(cluster, job) == "RUNNING", PATIENCE)
    slurm(cluster, "scancel", job)
    assert ends(cluster, job, "CANCELLED by 0|0:0")


@pytest.mark.parametrize(
    ("partition", "state"), [("low", "PREEMPTED|0:0 PENDING|0:0"), ("lowcancel", "PREEMPTED|0:0")]
)
def test_a_job_is_preempted(cluster: Cluster, partition: str, state: str) -> None:
    victim = submit(cluster, OUTLASTS_THE_TEST, f"--partition={partition}", "--cpus-per-task=64", "--mem=100")
    assert until(lambda: listed(cluster, victim) == "RUNNING", PATIENCE)
    submit(cluster, "sleep 1", "--partition=high", "--cpus-per-task=64", "--mem=100")
    preempted = ends(cluster, victim, state)
    slurm(cluster, "scancel", victim)
    assert preempted


def test_a_killed_node_fails_its_jobs_and_can_be_revived(cluster: Cluster, tmp_path: Path) -> None:
    started = tmp_path / "started"  # a job is RUNNING already before its node has launched it
    job = submit(
        cluster, f"touch {started}; {OUTLASTS_THE_TEST}", "--partition=doomed", "--no-requeue", "--chdir=/"
    )
    assert until(started.exists, PATIENCE)
    cluster.kill_node("n4")
    assert ends(cluster, job, "NODE_FAIL|0:0")
    cluster.revive_node("n4")
    assert cluster.node_state("n4") == "idle"
    assert cluster.node_state("n1") == "idle"


def test_an_attached_handle_stops_and_starts_the_controller(cluster: Cluster) -> None:
    attached = Cluster.attach(cluster.env["JOBMON_PRIVATE_SLURM"])
    attached.stop_controller()
    assert "Unable to contact slurm controller" in slurm(cluster, "squeue")
    attached.start_controller()
    assert "JOBID" in slurm(cluster, "squeue")


def test_a_frozen_controller_does_not_respond(cluster: Cluster) -> None:
    cluster.freeze_controller()
    answer = slurm(cluster, "squeue")
    cluster.thaw_controller()
    assert "Socket timed out" in answer
    assert "JOBID" in slurm(cluster, "squeue")


def test_the_accounting_daemon_can_be_stopped_and_started(cluster: Cluster) -> None:
    cluster.stop_accounting()
    assert "Problem talking to the database" in slurm(cluster, "sacct")
    cluster.start_accounting()
    assert "JobID" in slurm(cluster, "sacct")


def test_a_cluster_without_accounting_soon_forgets_ended_jobs(cluster: Cluster) -> None:
    with Cluster(accounting=False) as other:
        assert other.folder != cluster.folder
        job = submit(other, "true")
        assert until(lambda: listed(other, job) == "COMPLETED", PATIENCE)
        assert "accounting storage is disabled" in slurm(other, "sacct", "-j", job)
        assert until(lambda: "Invalid job id" in listed(other, job), PATIENCE, pause=0.5)


def test_a_given_folder_is_used_and_removed(place: Path) -> None:
    with Cluster(place / "own", accounting=False) as other:
        assert other.folder == place / "own"
        assert other.node_state("n5") == "idle"
    assert list(place.iterdir()) == []


def test_a_folder_with_files_is_refused_and_left_unchanged(place: Path) -> None:
    (place / "thesis").touch()
    with pytest.raises(PrivateSlurmError, match="not empty"):
        Cluster(place, accounting=False).start()
    assert (place / "thesis").exists()


def test_a_missing_description_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PrivateSlurmError, match="is not the description of a private Slurm"):
        Cluster.attach(tmp_path / "cluster.json")


# --- the command


def with_slurm(
    place: Path, script: str, stdin: int = subprocess.DEVNULL, **variables: str
) -> "subprocess.Popen[str]":
    """Start ``dev/with-slurm`` with a script and a minimal environment."""
    environment = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "XDG_CACHE_HOME": CACHE}
    argv = [sys.executable, str(WITH_SLURM), "/bin/bash", "-c", script]
    environment |= {"TMPDIR": str(place), **variables}
    return subprocess.Popen(argv, env=environment, stdin=stdin, stdout=-1, stderr=-1, text=True)


def test_the_commands_exit_code_and_output_are_passed_on(place: Path) -> None:
    process = with_slurm(place, "sinfo -h -o %P | head -n 1; exit 7")
    out, err = process.communicate(timeout=PATIENCE)
    assert (out, err, process.returncode) == ("main*\n", "", 7)
    assert list(place.iterdir()) == []


def test_a_user_at_a_terminal_reads_how_another_terminal_uses_it_and_when_it_ends(place: Path) -> None:
    leader, terminal = os.openpty()
    process = with_slurm(place, "echo $SLURM_CONF", stdin=terminal)
    out, err = process.communicate(timeout=PATIENCE)
    os.close(leader)
    os.close(terminal)
    assert f"\n  export SLURM_CONF={out}It ends with `/bin/bash`, " in err
    assert max(len(line) for line in err.splitlines() if "export" not in line) <= 80


def test_two_clusters_can_start_and_run_at_once(place: Path) -> None:
    # a limited wait: if one cluster does not start, its error must be seen
    meet = "touch {0}; for _ in $(seq 900); do [ ! -e {1} ] || break; sleep 0.1; done"
    job = 'timeout 120 sbatch --wait -Q -o /dev/null --wrap "exit {2}"'
    explain = "code=$?; [ $code -ne 124 ] || {{ scontrol show job; sinfo -Nl; }}; exit $code"
    script = f"{meet}; {job}; {explain}"
    with (
        with_slurm(place, script.format(place / "a", place / "b", 3), XDG_CACHE_HOME=str(place)) as first,
        with_slurm(place, script.format(place / "b", place / "a", 4), XDG_CACHE_HOME=str(place)) as second,
    ):
        assert [first.communicate(timeout=PATIENCE), second.communicate(timeout=PATIENCE)] == [
            ("", ""),
            ("", ""),
        ]
        assert (first.returncode, second.returncode) == (3, 4)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_the_command_and_every_process(place: Path, number: signal.Signals) -> None:
    job = f'--wrap "setsid {OUTLASTS_THE_TEST} & touch {place}/runs; {OUTLASTS_THE_TEST}"'
    daemon = f"setsid {OUTLASTS_THE_TEST} > /dev/null 2>&1 &"
    # as Ray's, in a session of its own, and with nothing of the cluster in its environment
    stranger = f"env -i setsid sh -c '{OUTLASTS_THE_TEST}; : {place}' > /dev/null 2>&1 &"
    process = with_slurm(place, f"sbatch -Q -o /dev/null {job}; {daemon} {stranger} exec {OUTLASTS_THE_TEST}")
    assert until((place / "runs").exists, PATIENCE)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert processes_that_mention(place) == []
    assert [left.name for left in place.iterdir()] == ["runs"]


def test_a_signal_during_the_start_leaves_nothing(place: Path) -> None:
    process = with_slurm(place, "true")
    assert until(lambda: any(place.glob("*/run/slurmctld")), PATIENCE)
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert processes_that_mention(place) == []
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("which", ["first", "second"])
def test_if_one_of_its_two_processes_is_killed_the_other_leaves_nothing(place: Path, which: str) -> None:
    stranger = f"env -i setsid sh -c '{OUTLASTS_THE_TEST}; : {place}' &"
    process = with_slurm(place, f"{stranger} touch {place}/runs; {OUTLASTS_THE_TEST}")
    assert until((place / "runs").exists, PATIENCE)
    (second,) = psutil.Process(process.pid).children()
    (process if which == "first" else second).kill()
    process.communicate(timeout=PATIENCE)  # until the last one has closed the pipes
    assert until(lambda: processes_that_mention(place) == [], PATIENCE)
    assert [left.name for left in place.iterdir()] == ["runs"]


def test_the_next_cluster_removes_a_killed_one(place: Path) -> None:
    process = with_slurm(place, f"touch {place}/runs; {OUTLASTS_THE_TEST}")
    assert until((place / "runs").exists, PATIENCE)
    process.send_signal(signal.SIGSTOP)
    (second,) = psutil.Process(process.pid).children()
    for each in (second, process):
        each.kill()
    # Orphans keep the pipes open, so the output has not ended yet.
    process.wait(timeout=PATIENCE)
    assert processes_that_mention(place)
    with_slurm(place, "true").communicate(timeout=PATIENCE)
    process.communicate(timeout=PATIENCE)
    assert processes_that_mention(place) == []
    assert [left.name for left in place.iterdir()] == ["runs"]


def test_the_folder_is_kept_on_request(place: Path) -> None:
    with_slurm(place, "true", JOBMON_KEEP_SLURM="1").communicate(timeout=PATIENCE)
    with_slurm(place, "true").communicate(timeout=PATIENCE)
    assert processes_that_mention(place) == []
    assert len(list(place.glob("*/log/slurmctld.log"))) == 1
