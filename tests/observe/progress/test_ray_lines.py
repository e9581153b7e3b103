"""The lines of Ray's workers are read like those of any other program."""

from __future__ import annotations

import json
from typing import NamedTuple

import pytest

from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.observe.progress.load import FILE_NAME
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader
from jobmon_core.observe.progress.updates import split_updates
from jobmon_core.system.files import shipped_file
from tests.support.ray_recordings import RAY_RECORDINGS, recorded

MATCHER = FormatMatcher.with_patterns({})
EXAMPLES = [
    example["text"]
    for entry in json.loads(shipped_file(FILE_NAME).read_bytes())["formats"]
    for example in entry["examples"]
]
# as Ray prints them: on the driver's node, from another node, and for many at once
PREFIXES = (
    ("\x1b[36m(RayTrainWorker pid=16430)\x1b[0m ", ""),
    ("\x1b[36m(MapWorker(MapBatches(Predictor)) pid=16430, ip=10.0.0.2)\x1b[0m ", ""),
    ("(train loop pid=7, ip=2001:db8::7) ", ""),
    ("\x1b[36m(RayTrainWorker pid=16430)\x1b[0m ", "\x1b[32m [repeated 7x across cluster]\x1b[0m"),
)


def progress_of(text: str) -> Progress | None:
    reader = ProgressReader(MATCHER)
    reader.feed(text.encode())
    return reader.progress


@pytest.mark.parametrize(("prefix", "note"), PREFIXES)
def test_every_format_is_read_behind_the_name_of_a_worker(prefix: str, note: str) -> None:
    for text in EXAMPLES:
        plain = split_updates(text.encode())
        assert split_updates(f"{prefix}{text}{note}".encode()) == plain, text


def test_what_the_services_of_ray_print_is_no_progress() -> None:
    text = (
        "step 3/40\n"
        "\x1b[36m(raylet)\x1b[0m Spilled 3/9 objects, step 30/40\n"
        "\x1b[33m(autoscaler +1m9s)\x1b[0m step 31/40\n"
        "(raylet, ip=10.0.0.9) 99%|#########9| 99/100 [00:01<00:00, 3.0it/s]\n"
    )
    progress = progress_of(text)
    assert progress is not None
    assert (progress.current, progress.total) == (3, 40)


def test_a_line_about_many_that_is_printed_twice_counts_once() -> None:
    repeated = "\x1b[36m(W pid=5)\x1b[0m step 400/900\x1b[32m [repeated 7x across cluster]\x1b[0m\n"
    # the workers have started again from step 200 when Ray prints the old line once more
    progress = progress_of(f"(W pid=5) step 1/900\n{repeated}(W pid=9) step 201/900\n{repeated}")
    assert progress is not None
    assert progress.current == 201


def test_a_line_of_a_worker_that_comes_after_the_end_still_counts() -> None:
    progress = progress_of("(W pid=5) step 39/40\ntraining finished\n(W pid=5) step 40/40\n")
    assert progress is not None
    assert (progress.current, progress.total) == (40, 40)


class Recorded(NamedTuple):
    """How far a recorded job was at its end."""

    name: str
    n: float | None
    total: float | None


@pytest.mark.skipif(not RAY_RECORDINGS.is_dir(), reason="the recordings of Ray are not beside the checkout")
@pytest.mark.parametrize(
    "job",
    [
        Recorded("success", 40, 40),
        Recorded("stopped", 12, 6000),
        Recorded("driver_kill9", 8, 6000),
        Recorded("train_ok", 6, 6),
        Recorded("train_once", 6, 6),  # a worker failed once
        Recorded("train_exc", 4, 6),
        Recorded("train_kill", 4, 6),
        Recorded("oom_raylet_kill", 15, None),
    ],
    ids=lambda job: str(job.name),
)
def test_the_progress_of_a_recorded_job(job: Recorded) -> None:
    progress = progress_of(recorded(job.name).log)
    assert progress is not None
    assert (progress.current, progress.total) == (job.n, job.total)


@pytest.mark.skipif(not RAY_RECORDINGS.is_dir(), reason="the recordings of Ray are not beside the checkout")
@pytest.mark.parametrize("name", ["pending_task", "pending_placement_group", "badenv_early"])
def test_a_recorded_job_that_waits_shows_no_progress(name: str) -> None:
    assert progress_of(recorded(name).log) is None
