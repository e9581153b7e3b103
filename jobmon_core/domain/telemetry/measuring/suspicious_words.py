"""Whether new text of a log deserves an early look."""

from __future__ import annotations

# bytes, because a log need not be valid text; lower case
_WORDS = (
    *(b"error", b"traceback", b"exception", b"fatal", b"out of memory", b"oom-kill", b"oom_kill", b"killed"),
    *(b"abort", b"segmentation fault", b"core dumped", b"no space left", b"disk quota", b"timed out"),
    *(b"watchdog", b"nccl warn", b"panic", b"assertion", b"failed", b"failure", b"cancelled at"),
)
OVERLAP_BYTES = max(len(word) for word in _WORDS) - 1  # of the text before, in which a word may begin


def is_suspicious(text: bytes, old_bytes: int = 0) -> bool:
    """Return whether ``text`` contains a word that is common in failures and ends after ``old_bytes``."""
    lower = text.lower()
    return any(lower.find(word, max(0, old_bytes - len(word) + 1)) >= 0 for word in _WORDS)
