"""Asks the metadata service of a cloud whether it will end this node.

Sources: "Spot Instance interruption notices" and "Use IMDSv2" of Amazon EC2, "Spot VMs" and "Query the
metadata server for maintenance event notices" of Google Compute Engine, "Scheduled Events for Linux VMs" of
Azure. Nothing is changed there: each request is a GET, but for the PUT that gives a session token of AWS. A
POST to Azure would approve the event, and end the node at once.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from jobmon_core.agent import proc
from jobmon_core.domain.node.telemetry.model import Notice
from jobmon_core.system.http import LINK_LOCAL, HttpRequest, HttpResponse, send

if TYPE_CHECKING:
    from collections.abc import Collection

_TIMEOUT_S = 1.0
_POLL_S = 2.0
_UNAUTHORIZED, _NOT_FOUND = 401, 404
_ENDING = ("Preempt", "Terminate", "Reboot", "Redeploy")  # events of Azure; after a Freeze, the node goes on
_NOT_OF_THE_PROGRAM = ("srun", "slurmstepd")  # srun would pass a signal on, also to other nodes
# a file of DMI, and what it contains; Hyper-V outside Azure has another asset tag, and Xen AWS's name here
_SIGNS = (
    ("aws", "sys_vendor", "Amazon EC2"),
    ("aws", "bios_version", "amazon"),
    ("gcp", "product_name", "Google Compute Engine"),
    ("azure", "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
)


def cloud_of(wanted: str, dmi: str) -> str:
    """Return the cloud to ask: ``aws``, ``gcp`` or ``azure``; empty if the files of DMI speak against it.

    Where they are hidden, e.g. in a container, only a cloud that the user named is asked.
    """

    def read(name: str) -> str:
        try:
            return proc.read_file(f"{dmi}/{name}", 256).decode(errors="replace")
        except OSError:
            return ""

    found = next((cloud for cloud, name, text in _SIGNS if text in read(name)), "")
    if wanted in ("auto", found):
        return found
    return "" if read("sys_vendor") else wanted


class CloudNotices:
    """Whether there is a notice about this node; asks again and again, in a thread of its own."""

    def __init__(
        self,
        cloud: str,
        signal_name: str = "",
        earlier: Notice | None = None,
        *,
        address: str = LINK_LOCAL,
        dmi: str = "/sys/class/dmi/id",
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        """Ask nothing yet; ``earlier`` is what an agent before this one has seen.

        ``timeout_s`` is that of each request, in seconds.
        """
        readers = {"aws": self._read_aws, "gcp": self._read_gcp, "azure": self._read_azure}
        self._read = readers.get(cloud_of(cloud, dmi))
        self._signal, self._address, self._timeout_s = signal_name, address, timeout_s
        self._polling, self._polled_s = proc.Background(), 0.0
        self._token = ""  # of AWS
        self._found = self.notice = earlier  # what the service says; the same with what was done about it
        self.unavailable: tuple[str, ...] = ()  # why it is not known whether there is one

    def look(self, now_s: float, processes: Collection[tuple[int, int]]) -> bool:
        """Return whether the notice has changed; a new one is signalled to ``processes`` (`Process.key`)."""
        if self._read and not 0 <= now_s - self._polled_s < _POLL_S:
            self._polled_s = now_s
            self._polling.run(self._poll, 0.0)
        before, found = self.notice, self._found
        if found and before and found.word == before.word:  # Azure says no time any more, once it has begun
            found = replace(before, ends_s=found.ends_s or before.ends_s)
        elif found:
            sent = signal_catching(processes, self._signal) if self._signal else 0
            found = replace(found, seen_s=now_s, signal=self._signal, signalled=sent)
        self.notice = found
        return found != before

    def _poll(self) -> None:
        try:
            self._found = self._read() if self._read else None
            self.unavailable = ()
        except OSError as error:  # that says nothing about a notice
            self.unavailable = (f"cloud notices: {error}",)
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
            self.unavailable = ("cloud notices: the metadata service gives no usable answer",)

    def _ask(self, path: str, headers: dict[str, str], method: str = "GET") -> str:
        """Return an answer of success; FileNotFoundError if there is none, OSError for everything else."""
        url, name = f"http://{self._address}{path}", "the metadata service"
        answer = send(method, HttpRequest(url, name, b"", "jobmon", headers=headers), self._timeout_s)
        if not isinstance(answer, HttpResponse):
            raise OSError(answer.why)
        if answer.status == _UNAUTHORIZED:
            self._token = ""  # it has expired
        if answer.status == _NOT_FOUND:
            raise FileNotFoundError(f"{name} does not know {path}")
        size = len(answer.body)
        if not answer.is_success or size != int(answer.headers.get("content-length", size)):
            raise OSError(f"{name} answers with status {answer.status}, or not in full")
        return answer.body.decode()

    def _read_aws(self) -> Notice | None:
        ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "21600"}
        self._token = self._token or self._ask("/latest/api/token", ttl, "PUT")
        token = {"X-aws-ec2-metadata-token": self._token}
        try:
            data = json.loads(self._ask("/latest/meta-data/spot/instance-action", token))
        except FileNotFoundError:
            return None
        word = _one_of(data["action"], "terminate", "stop", "hibernate")
        return Notice("AWS", word, _utc_s(datetime.fromisoformat(data["time"])))

    def _read_gcp(self) -> Notice | None:
        path, flavor = "/computeMetadata/v1/instance", {"Metadata-Flavor": "Google"}
        if _one_of(self._ask(f"{path}/preempted", flavor), "FALSE", "TRUE") == "TRUE":
            return Notice("GCP", "preempted")
        known = ("NONE", "MIGRATE_ON_HOST_MAINTENANCE", "TERMINATE_ON_HOST_MAINTENANCE")
        word = _one_of(self._ask(f"{path}/maintenance-event", flavor), *known)
        return Notice("GCP", word) if word == known[-1] else None

    def _read_azure(self) -> Notice | None:
        header = {"Metadata": "true"}
        found = json.loads(self._ask("/metadata/scheduledevents?api-version=2020-07-01", header))
        events = [each for each in found["Events"] if each["EventType"] in _ENDING]
        if not events:
            return None
        # the machines of a scale set see each other's events
        own = self._ask("/metadata/instance/compute/name?api-version=2020-06-01&format=text", header)
        notices = [
            Notice("Azure", each["EventType"], _utc_s(parsedate_to_datetime(before)) if before else None)
            for each in events
            if own.strip().lower() in [str(name).lower() for name in each["Resources"]]
            for before in [each["NotBefore"]]  # empty once it has begun
        ]
        return min(notices, key=lambda each: each.ends_s or 0.0, default=None)


def _one_of(word: str, *known: str) -> str:
    return known[known.index(word.strip())]


def _utc_s(at: datetime) -> float:
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def signal_catching(processes: Collection[tuple[int, int]], name: str) -> int:
    """Send a signal to those processes of programs that catch it, so that it ends none; return how many."""
    number, sent = signal.Signals[name], 0
    for pid, start_ticks in processes:
        process = proc.read_stat(pid)
        if process is None or process.start_ticks != start_ticks or process.command in _NOT_OF_THE_PROGRAM:
            continue
        try:
            status = proc.read_file(f"{proc.PROC}/{pid}/status", 8192)
            if int(status.partition(b"SigCgt:")[2].split()[0], 16) >> (number - 1) & 1:
                os.kill(pid, number)
                sent += 1
        except (OSError, IndexError):  # it has just ended
            continue
    return sent
