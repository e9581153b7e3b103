"""What a short job reports about a node."""

from __future__ import annotations

import json

import pytest

from jobmon_core.domain.before.batch_script.parse import parse_script
from jobmon_core.domain.before.batch_script.request import read_request
from jobmon_core.domain.before.checks.facts import Facts
from jobmon_core.domain.before.checks.node_report import node_items, read_report
from jobmon_core.domain.before.checks.node_script import NodeScript
from jobmon_core.domain.finding import Finding, Severity

_TEXT = "#!/bin/bash\n#SBATCH --gres=gpu:1\nmodule load cuda/99\npython train.py\n"
_SCRIPT = NodeScript("", (), needs_gpu=True, hosts=("huggingface.co",))
_GPU = "0, NVIDIA H100, 81559, 4, 550.54"
_PYTHON = {"python": "3.11.7", "executable": "/v/bin/python", "failed": {}}


def _items(*lines: str) -> dict[str, Finding]:
    facts = Facts(read_request(["job.sh"], {}, _TEXT), parse_script(_TEXT))
    report = read_report("\n".join(["noise", *(f"@@jobmon {line}" for line in ("node n7", *lines, "end"))]))
    assert "end" in report
    return {item.id: item for item in node_items(facts, _SCRIPT, report)}


def _python(**parts: object) -> str:
    return f"python {json.dumps({**_PYTHON, **parts})}"


def test_a_node_on_which_all_works() -> None:
    torch = {"version": "2.4", "cuda": "12.1", "available": True, "gpus": 1}
    found = _items(f"gpu {_GPU}", "driver-cuda 12.4", "host huggingface.co 0", _python(torch=torch))
    assert {item.severity for item in found.values()} == {Severity.INFO}
    assert found["node_gpu_memory"].text == "NVIDIA H100: 79.6 GiB each on n7"
    assert found["node_cuda"].text == "PyTorch for CUDA 12.1 works on n7 (1 GPU)"


@pytest.mark.parametrize(
    ("line", "item", "status", "text"),
    [
        ("setup 3", "node_environment", Severity.CRITICAL, "line 3 fails on n7: module load cuda/99"),
        ("no-python 4", "node_imports", Severity.CRITICAL, "the Python of line 4 does not start on n7"),
        (
            _python(failed={"torch": "OSError: libcudart"}),
            "node_imports",
            Severity.CRITICAL,
            "cannot import torch: OSError",
        ),
        (
            "host huggingface.co 6",
            "node_network",
            Severity.WARNING,
            "huggingface.co cannot be reached from n7",
        ),
        (
            "gpu 0, H100, 81559, 40000, 550",
            "node_gpu_memory",
            Severity.WARNING,
            "39.1 GiB of GPU 0 on n7 are in use",
        ),
        (
            _python(torch={"version": "2.4", "cuda": None}),
            "node_cuda",
            Severity.CRITICAL,
            "built without CUDA",
        ),
        (
            _python(torch={"cuda": "12.4", "available": False}),
            "node_cuda",
            Severity.CRITICAL,
            "CUDA 12.4 finds no GPU",
        ),
        (
            _python(torch={"error": "driver mismatch"}),
            "node_cuda",
            Severity.WARNING,
            "cannot look for GPUs: driver mismatch",
        ),
        ("no-nvidia-smi", "node_cuda", Severity.UNKNOWN, "nvidia-smi shows no GPU"),
        ("python {broken", "node_imports", Severity.UNKNOWN, "no Python program"),
    ],
)
def test_each_fault_of_a_node_is_named(line: str, item: str, status: Severity, text: str) -> None:
    found = _items(line)[item]
    assert found.severity is status
    assert text in found.text


def test_a_pytorch_for_a_newer_cuda_than_the_driver_supports_is_to_be_replaced() -> None:
    torch = _python(torch={"cuda": "12.4", "available": False})
    assert (
        _items(torch, "driver-cuda 11.8")["node_cuda"].advice == "Install a PyTorch for CUDA 11.8 or older."
    )
    assert "--exclude=n7" in _items(torch)["node_cuda"].advice


def test_output_that_breaks_off_is_not_complete() -> None:
    assert "end" not in read_report("@@jobmon node n7\n@@jobmon gpu")
