"""What a cluster full of users would ask of slurmctld, beside what users without jobmon often do. Pure.

Rate limits are those of ``rl_enable`` as Slurm ships them (23.02 and later): a bucket of 30 requests for each
user, filled by 2 each second.
"""

from __future__ import annotations

from dataclasses import dataclass

BUCKET, REFILL_PER_S = 30, 2.0
POLL_S = 30.0  # the default for jobs that run, which is the shorter one
PER_POLL = 2  # squeue --local -u: the jobs of the user, and the partitions
PER_NAIVE_POLL = 3  # squeue -j: the job, the partitions, and the federation


@dataclass(frozen=True, slots=True)
class Projection:
    """The load of so many users with so many running jobs each."""

    users: int
    jobs: int  # of each user
    poll_us: float  # what one poll takes in slurmctld, in microseconds
    naive_poll_us: float

    def figures(self) -> dict[str, float]:
        """Return requests each second, and the share of a core that serving them takes."""
        polls_per_s = self.users / POLL_S
        naive_per_s = polls_per_s * self.jobs
        return {
            "requests_per_s": polls_per_s * PER_POLL,
            "core_share": polls_per_s * self.poll_us / 1e6,
            "requests_per_s_of_a_user": PER_POLL / POLL_S,
            "share_of_refill": PER_POLL / POLL_S / REFILL_PER_S,
            "share_of_bucket": PER_POLL / BUCKET,
            "naive_requests_per_s": naive_per_s * PER_NAIVE_POLL,
            "naive_core_share": naive_per_s * self.naive_poll_us / 1e6,
            "naive_share_of_refill": self.jobs * PER_NAIVE_POLL / POLL_S / REFILL_PER_S,
        }
