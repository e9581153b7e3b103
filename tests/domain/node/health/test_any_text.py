"""No text makes a reader of logs or of a pod's answers raise."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.node.health.nccl import NcclLines, read_nccl
from jobmon_core.domain.node.health.network import network_verdict
from jobmon_core.domain.node.health.pods import pod_answer
from jobmon_core.system.json_codec import to_json

_WORDS = st.sampled_from(
    [
        *("nRanks 8 nNodes ", "via NET/", "/0/GDRDMA", "Using network ", "NET/OFI Selected provider is "),
        *("NET/IB : Using ", "set by environment to ", "NCCL_NET ", "use ring PXN 1 GDR ", "9" * 5000, "²"),
        *(", ", "GPU-a", "/", "1.2.3", "nan", " GPU", " CPU", "{", "}", "pending", " step_", "\n"),
    ]
)
_TEXTS = st.lists(st.one_of(_WORDS, st.text(max_size=20)), max_size=12).map("".join)


@given(st.lists(_TEXTS, max_size=4), st.sampled_from([None, 1, 2]))
def test_lines_of_nccl(texts: list[str], nodes: int | None) -> None:
    found = read_nccl(f"n1:1:1 [0] NCCL INFO {text}" for text in texts)
    assert json.dumps(to_json(network_verdict(nodes, found)))


@given(
    st.fixed_dictionaries(
        dict.fromkeys(("gpus", "processes", "ray", "nccl", "fabric", "checkpoints"), _TEXTS)
    )
)
def test_answers_of_a_pod(sections: dict[str, str]) -> None:
    answer = pod_answer("p", sections, "/ck")
    assert json.dumps(to_json((answer.cluster, answer.checkpoints, NcclLines.together([answer.nccl]))))
