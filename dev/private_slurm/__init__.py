"""A private Slurm with accounting on this machine, for tests and demonstrations.

As a command: ``dev/with-slurm COMMAND...``. As a library, with ``dev`` on the module path::

    with Cluster() as cluster:
        subprocess.run(["sinfo"], env={**os.environ, **cluster.env}, check=True)

Five nodes claim 64 CPUs, 128 GiB of memory and 4 GPUs each; none of these exist:

========== ============ ==================================================================
partition  nodes        purpose
========== ============ ==================================================================
main       n1, n2, n3   everything else (the default)
doomed     n4           ``cluster.kill_node("n4")``: jobs there end NODE_FAIL
low        n5           jobs in ``high`` preempt its jobs and requeue them
lowcancel  n5           jobs in ``high`` preempt its jobs and cancel them
high       n5           the preempting jobs
========== ============ ==================================================================

Exit code 77 requeues a job, 78 requeues and holds it; a requeued job is eligible again after 11 s.
"""

from .cluster import Cluster
from .errors import PrivateSlurmError

__all__ = ["Cluster", "PrivateSlurmError"]
