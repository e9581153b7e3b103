from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.fingerprint import fingerprint

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has 79.1 GiB"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (OOM, f"[rank7]: {OOM.replace('2.00', '512.50').replace('GPU 3', 'GPU 0')}"),
        ("Killed process 4411 at 0x7f3a", "Killed process 12 at 0xdead"),
        ("failed to connect to 10.0.0.4:29500", "failed to connect to 10.0.7.21:29507"),
        ("no route to node17.cluster.local", "no route to node4.cluster.local"),
        ("2024-03-01T10:00:00 lost", "2026-11-21T09:13:59 lost"),
        ("cannot open /tmp/torch_x1/a", "cannot open /tmp/torch_y2/a"),
        (
            "/var/spool/slurmd/job00123/slurm_script: line 3: x",
            "/var/spool/slurmd/job00987/slurm_script: line 3: x",
        ),
        ("no /scratch/me/412377/out.pt", "no /scratch/me/598001/out.pt"),
        ("lost 3b000f1e", "lost af000c77"),
        ("run 0f8fad5b-d9cb-469f-a165-70867728950e", "run 7c9e6679-7425-40de-944b-e07fc1f90ae7"),
    ],
)
def test_rank_node_process_time_and_size_do_not_change_the_fingerprint(one: str, other: str) -> None:
    assert fingerprint("x", one) == fingerprint("x", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("No such file: '/data/shard_07.tar'", "No such file: '/data/shard_08.tar'"),
        ("bad record at index 1200", "bad record at index 1300"),
        ("KeyError: 'loss'", "KeyError: 'lr'"),
        ("KeyError: 12", "KeyError: 13"),
        ("bad archive shard_0001.tar", "bad archive shard_0002.tar"),
        ("bad archive data/a1.npz", "bad archive data/a2.npz"),
    ],
)
def test_the_file_and_the_position_in_the_data_change_the_fingerprint(one: str, other: str) -> None:
    assert fingerprint("x", one) != fingerprint("x", other)


def test_the_function_but_not_the_line_number_changes_the_fingerprint() -> None:
    frame = '  File "/home/u/train.py", line {}, in {}'
    same = fingerprint("x", "ValueError", frame.format(10, "fit")) == fingerprint(
        "x", "ValueError", frame.format(99, "fit")
    )
    assert same
    assert fingerprint("x", "ValueError", frame.format(10, "fit")) != fingerprint(
        "x", "ValueError", frame.format(10, "load")
    )


@given(st.text(), st.text(), st.text())
def test_any_text_has_a_fingerprint_of_sixteen_digits(identifier: str, line: str, frame: str) -> None:
    assert len(fingerprint(identifier, line, frame)) == len("0123456789abcdef")
