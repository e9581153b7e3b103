"""What sbatch says if it got no answer: the same submission may succeed later."""

from __future__ import annotations

# slurmctld does not answer, or its answer breaks off; the last is jobmon's own
_NO_ANSWER = ("Unable to contact", "Socket timed out", "Zero Bytes were", "temporarily", "may have accepted")


def is_no_answer(text: str) -> bool:
    """Return whether the scheduler did not answer, or asks to try again later."""
    return any(words in text for words in _NO_ANSWER)
