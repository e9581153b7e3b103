"""A real Ray cluster on this host, for the tests of Ray jobs; nothing of it is left at the end."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import psutil

from tests.support.loopback import free_ports
from tests.support.processes import is_running
from tests.support.waiting import eventually

CHECKOUT = Path(__file__).resolve().parents[2]
_VENV = CHECKOUT / ".venv-ray"
_MARK = "JOBMON_TEST_RAY"  # in the environment of all its processes
_INSTALL_S, _START_S = 900.0, 600.0
_STARTS = 3  # another program may take one of the ports
_PREFIX = "jm-ray-"  # short, since the path of a socket may have 107 bytes
# `ray start`, which else gives up after 30 seconds: a busy machine may need longer
_RAY_START = """
import sys, time
from ray._private import services
from ray.scripts.scripts import main

ask, until_s = services.get_node, time.monotonic() + 240


def get_node(*arguments):
    while True:
        try:
            return ask(*arguments)
        except RuntimeError:
            if time.monotonic() > until_s:
                raise
            time.sleep(0.3)


services.get_node = get_node
sys.exit(main())
"""
# of the services of a node and a head; without values of their own, two on one host would take the same ones
_NODE_PORT_OPTIONS = (
    "--dashboard-agent-listen-port",
    "--dashboard-agent-grpc-port",
    "--metrics-export-port",
    "--runtime-env-agent-port",
    "--node-manager-port",
    "--object-manager-port",
)
_HEAD_PORT_OPTIONS = ("--port", "--ray-client-server-port", *_NODE_PORT_OPTIONS)
FULL = "full"  # a resource, which only the node without free memory has


def install_ray() -> str:
    """Install Ray for the tests, once for the checkout; return why that is not possible, else nothing."""
    done = subprocess.run(
        [CHECKOUT / "dev" / "setup-ray"], capture_output=True, text=True, timeout=_INSTALL_S, check=False
    )
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


class RealRay:
    """A head with its dashboard, which runs drivers on this host, for the time of a ``with`` block."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir="/tmp"))
        self._owner = (self.folder / "owner.new").open("w")
        fcntl.flock(self._owner, fcntl.LOCK_EX)  # until this process ends
        Path(self._owner.name).rename(self.folder / "owner")  # so that a sweep finds no owner without a lock
        (self._dashboard_port,) = free_ports(1)
        self._dashboard: tuple[list[str], dict[str, str]] | None = None
        self._started: subprocess.Popen[bytes] | None = None  # the dashboard that was started again

    def __enter__(self) -> Self:
        _sweep()
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
        self._owner.close()

    @property
    def service(self) -> str:
        """HOST:PORT of the dashboard."""
        return f"127.0.0.1:{self._dashboard_port}"

    @property
    def python(self) -> str:
        """The interpreter that has Ray."""
        return str(_VENV / "bin" / "python")

    def start(self) -> None:
        """Start a head, with the same dashboard as before; it knows nothing of the jobs of an earlier one."""
        (self.folder / "home").mkdir(exist_ok=True)
        output = self.folder / "start.log"
        for _ in range(_STARTS):
            if self._start_once(output):
                eventually(self.answers, _START_S)
                return
            self.kill()
        raise AssertionError(f"Ray does not start: {output.read_text('utf-8', 'replace')[-3000:]}")

    def _start_once(self, output: Path) -> bool:
        """Start a head; return whether it runs."""
        options = (
            *("--head", "--num-cpus=2", "--include-dashboard=true", "--dashboard-host=127.0.0.1"),
            *("--disable-usage-stats", f"--temp-dir={self.folder / 'ray'}"),
            f"--dashboard-port={self._dashboard_port}",
        )
        return self._ray_start(output, options, _HEAD_PORT_OPTIONS)

    def add_full_node(self) -> None:
        """Add a node whose memory counts as used up, so that Ray kills each worker on it; see `FULL`."""
        limits = {"RAY_memory_usage_threshold": "0", "RAY_memory_monitor_refresh_ms": "100"}
        self.add_node(FULL, limits)

    def add_node(self, resource: str, settings: Mapping[str, str] | None = None) -> None:
        """Add a node that has one unit of a resource, which only it has."""
        (gcs,) = self._processes("gcs/gcs_server")
        port = next(word for word in gcs.cmdline() if word.startswith("--gcs_server_port=")).partition("=")[2]
        options = (f"--address=127.0.0.1:{port}", "--num-cpus=0", f'--resources={{"{resource}": 1}}')
        output = self.folder / f"{resource}-node.log"
        if not any(self._ray_start(output, options, _NODE_PORT_OPTIONS, settings) for _ in range(_STARTS)):
            raise AssertionError(f"the node does not start: {output.read_text('utf-8', 'replace')[-3000:]}")

    def _ray_start(
        self,
        output: Path,
        options: Sequence[str],
        port_options: Sequence[str],
        settings: Mapping[str, str] | None = None,
    ) -> bool:
        """Run ``ray start``; return whether the node runs."""
        ports = zip(port_options, free_ports(len(port_options)), strict=True)
        environment = {
            "PATH": f"{_VENV / 'bin'}:{os.defpath}",
            "HOME": str(self.folder / "home"),
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONUNBUFFERED": "1",
            "RAY_worker_register_timeout_seconds": "300",  # a busy machine may be slow
            _MARK: str(self.folder),
            **(settings or {}),
        }
        with output.open("wb") as log:
            done = subprocess.run(
                [
                    *(self.python, "-c", _RAY_START, "start", "--node-ip-address=127.0.0.1"),
                    *("--num-gpus=0", "--object-store-memory=80000000"),
                    *("--min-worker-port=0", "--max-worker-port=0"),
                    *options,
                    *(f"{option}={port}" for option, port in ports),
                ],
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                timeout=_START_S,
                check=False,
            )
        return done.returncode == 0

    def answers(self) -> bool:
        """Whether the dashboard shows its jobs."""
        with suppress(OSError, ValueError):
            self.ask("/api/jobs/")
            return True
        return False

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 - of JSON
        """Send a request to the dashboard."""
        request = urllib.request.Request(
            f"http://{self.service}{path}", data=None if body is None else json.dumps(body).encode()
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
            return json.load(answer)

    def kill_dashboard(self) -> None:
        """Kill the dashboard with all of its parts; the jobs run on."""
        (head,) = self._processes("ray/dashboard/dashboard.py")
        self._dashboard = head.cmdline(), head.environ()
        _kill([head, *head.children(recursive=True)])

    def start_dashboard(self) -> None:
        """Start the dashboard that was killed again."""
        assert self._dashboard is not None
        argv, environment = self._dashboard
        with (self.folder / "dashboard.log").open("wb") as log:
            self._started = subprocess.Popen(
                argv,
                env=environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        eventually(self.answers, _START_S)

    def kill_raylet(self, resource: str) -> None:
        """Kill the service that runs the jobs of a node, which has this resource; its processes live on."""
        raylets = self._processes("raylet/raylet")
        _kill([each for each in raylets if f"={resource},1," in " ".join(each.cmdline())])

    def kill_gcs(self) -> None:
        """Kill the service that knows all jobs."""
        _kill(self._processes("gcs/gcs_server"))

    def kill(self) -> None:
        """Kill all that the cluster has started."""
        _kill_all(self.folder)
        if self._started:
            self._started.wait()

    def _processes(self, part: str) -> list[psutil.Process]:
        """Return the processes of the cluster whose command line has ``part``."""
        found = []
        for process in _processes_of(self.folder):
            with suppress(psutil.NoSuchProcess):  # it has just ended
                if part in " ".join(process.cmdline()):
                    found.append(process)
        return found


def _sweep() -> None:
    """Remove the clusters of test runs that were killed."""
    for folder in Path("/tmp").glob(f"{_PREFIX}*"):
        with suppress(OSError), (folder / "owner").open() as owner:  # its owner is alive, or gone just now
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _kill_all(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _kill_all(folder: Path) -> None:
    """Kill all at one moment, as a power cut does: none must see another one's death, and tell of it."""
    stopped: set[psutil.Process] = set()
    while new := {*_processes_of(folder)} - stopped:
        _signal(new, signal.SIGSTOP)
        stopped |= new
    _signal(stopped, signal.SIGKILL)
    eventually(lambda: not _processes_of(folder))


def _processes_of(folder: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(_MARK) == str(folder):
                found.append(process)
    return found


def _kill(processes: list[psutil.Process]) -> None:
    _signal(processes, signal.SIGKILL)
    eventually(lambda: not any(is_running(process.pid) for process in processes))


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it has just ended
            process.send_signal(number)
