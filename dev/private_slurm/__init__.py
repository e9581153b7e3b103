"""A private Slurm with accounting on this machine, for tests and demonstrations.

As a command: ``dev/with-slurm COMMAND...``. As a library, with ``dev`` on the module path::

    with Cluster() as cluster:
        subprocess.run(["sinfo"], env={**os.environ, **cluster.env}, check=True)

Five nodes of 64 CPUs, 128 GiB and 4 GPUs each, all claimed and none there:

========== ============ ==================================================================
partition  nodes        for
========== ============ ==================================================================
main       n1, n2, n3   everything (the default)
doomed     n4           ``cluster.kill_node("n4")``: jobs there end NODE_FAIL
low        n5           jobs that one in ``high`` sends back to the queue (REQUEUE)
lowcancel  n5           jobs that one in ``high`` ends (CANCEL)
high       n5           the jobs that preempt
========== ============ ==================================================================

Exit code 77 requeues a job, 78 requeues and holds it; a requeued job is eligible again after 11 s.
"""

from .cluster import Cluster
from .errors import PrivateSlurmError

__all__ = ["Cluster", "PrivateSlurmError"]
