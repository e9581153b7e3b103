"""The GPU figures in the summary that jobstats, a monitoring system of some sites, puts into AdminComment.

Format: ``JS1:`` and then base64 of gzip of JSON; ``JS1:Short`` and ``JS1:None`` for jobs without a summary.
The JSON has, for each node, ``gpu_utilization`` (percent, the mean over the run) and ``gpu_used_memory``
(bytes), each by the index of the GPU. Source: "Generating Job Summaries" in the documentation of jobstats,
https://github.com/PrincetonUniversity/jobstats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.job.efficiency.model import IDLE_PERCENT
from jobmon_core.domain.slurm.rows import GpuSource, GpuUsage

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK = "JS1:"
_MAX_BYTES = 2**20  # of the JSON


def gpu_usage_of_comment(comment: str) -> GpuUsage | None:
    """Return what a comment says about GPUs; None if its summary is missing, damaged or without GPUs."""
    if not comment.startswith(_MARK):
        return None
    nodes = _nodes(comment.removeprefix(_MARK))
    percents = [*_numbers(nodes, "gpu_utilization")]
    if not percents:
        return None
    memory = max(_numbers(nodes, "gpu_used_memory"), default=None)
    return GpuUsage(
        GpuSource.JOBSTATS,
        percent=sum(percents) / len(percents),
        idle=sum(percent < IDLE_PERCENT for percent in percents),
        memory_bytes=None if memory is None else int(memory),
    )


def _nodes(encoded: str) -> list[Any]:
    # imported here to keep monitors small: few sites have jobstats
    import binascii
    import json
    import zlib

    try:
        packed = binascii.a2b_base64(encoded)
        text = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(packed, _MAX_BYTES)  # 16: gzip
        summary = json.loads(text)
    except (ValueError, zlib.error, RecursionError):  # e.g. "Short"
        return []
    nodes = None
    if isinstance(summary, dict):
        nodes = summary.get("nodes")
    if isinstance(nodes, dict):
        return [*nodes.values()]
    return []


def _numbers(nodes: list[Any], key: str) -> Iterator[float]:
    for node in nodes:
        by_gpu = None
        if isinstance(node, dict):
            by_gpu = node.get(key)
        for value in by_gpu.values() if isinstance(by_gpu, dict) else ():
            try:
                number = float(value)
            except (TypeError, ValueError, OverflowError):
                continue
            if math.isfinite(number) and number >= 0:
                yield number
