"""Measure what one look at 200 jobs on Kubernetes costs jobmon itself, without what kubectl takes.

Run it so::

    .venv/bin/python benchmarks/kubernetes_looks.py

Each job has one running pod; the answer is that of one command. Bound: 100 ms of CPU for the median look
after the first one, which writes the record of each job. The exit status is 1 if it does not hold.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure, report
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl
from jobmon_core.scheduler.kubernetes.poll import poll
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder, Registered
from jobmon_core.system.runner import Ran, Runner
from tests.support.fake_kubectl import SERVICE, job, kube_resources, pod

JOBS = 200
LOOKS = 9
MAX_CPU_MS = 100.0


class _Answers(Runner):
    """Answers at once, as kubectl would."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def feed(self, argv: tuple[str, ...], _text: str, _timeout_s: float) -> Ran:  # type: ignore[override] # for this
        return Ran(argv, 0, "" if "logs" in argv else self.text, "")


def main() -> int:
    """Print the figures; return 0 if the bound holds."""
    pairs = ((job(f"train-{n}", f"u{n}"), pod(f"train-{n}-x", f"u{n}")) for n in range(JOBS))
    items = [each for pair in pairs for each in pair]
    kubectl = Kubectl(SERVICE, _Answers(json.dumps({"kind": "List", "items": items}, indent=4)))
    with tempfile.TemporaryDirectory() as name:
        root, took = Path(name), []
        for n in range(JOBS):
            KubeJobFolder.new(kube_resources(root), Registered(SERVICE, "job", f"train-{n}", f"u{n}"))
        for _ in range(LOOKS):
            since_s = time.process_time()
            reply = poll(root, SERVICE, lambda _number: True, kubectl)
            took.append((time.process_time() - since_s) * 1000)
            if reply.text.count("\n") != JOBS:
                raise SystemExit(f"the look failed: {reply.problem}")
    median = statistics.median(took[1:])
    return report([Figure(f"CPU of a look at {JOBS} jobs, ms", median, MAX_CPU_MS)], as_json=False)


if __name__ == "__main__":
    sys.exit(main())
