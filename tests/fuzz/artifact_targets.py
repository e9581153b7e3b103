"""What holds for every file and folder that a job may write: a verdict, and nothing else happens."""

from __future__ import annotations

import json
import shutil

from jobmon_core.domain.artifacts.completeness import Completeness, Depth, compare
from jobmon_core.domain.artifacts.found import saved_paths
from jobmon_core.domain.artifacts.model import FileVerdict, ListedFile
from jobmon_core.observe.artifacts.find_checkpoints import find_checkpoints
from jobmon_core.observe.artifacts.formats.check import WHOLE, check_file
from tests.fuzz.choices import Choices
from tests.fuzz.folder import written

_NAMES = (
    *("a.bin", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.npy", "a.npz", "a.h5", "a.parquet", "a.safetensors"),
    *("a.pt", "a.tar", "a.tar.gz", "a.jsonl.gz", "a.csv.gz", "a.zst", "a.keras", "a.log", "a.msgpack"),
)
_PARTS = (
    *(
        "checkpoint-5",
        "global_step5",
        "iter_0000005",
        "step-5",
        "5",
        "5.orbax-checkpoint-tmp-1",
        "x.ckpt",
        "out",
    ),
    *(
        "ckpt-5.index",
        "ckpt-5.data-00000-of-00002",
        "model-00001-of-00003.safetensors",
        "ckpt_5.pt",
        "state.cpt",
    ),
    *("latest", "latest_checkpointed_iteration.txt", "trainer_state.json", "model.safetensors.index.json"),
    *(
        "zero_pp_rank_1_mp_rank_00_optim_states.pt",
        "model_world_size_4_rank_3.pt",
        "__3_0.distcp",
        ".metadata",
    ),
    *("_CHECKPOINT_METADATA", "random_states_1.pkl", ".a.pt.Xa81bQ", "checkpoint_tmp", "mp_rank_03"),
)
_NOW_S = 1_800_000_000.0


def file_check(data: bytes) -> None:
    """Any file gets one verdict, which says why, and reading all of it does not turn a bad one good."""
    name, content = _NAMES[data[0] % len(_NAMES)] if data else "a.bin", data[1:]
    path = written(name, content)
    check = check_file(path)
    assert check.size_bytes == len(content)
    assert check.verdict is not FileVerdict.UNREADABLE
    assert (check.verdict is FileVerdict.EMPTY) == (not content)
    assert bool(check.why) == (check.verdict is not FileVerdict.VALID)
    assert check.why.isprintable()
    assert not check.is_bad or check.records is None
    assert not check_file(path, still_written=True).is_bad
    assert check_file(path, max_bytes=WHOLE).is_bad >= check.is_bad
    if name == "a.json" and not check.is_bad and not content.startswith((b"\x1f\x8b", b"PK")):
        _agrees_with_python(content, check.format)


def _agrees_with_python(content: bytes, kind: str) -> None:
    """Check that what counts as JSON is what Python's json module reads."""
    if kind != "json":
        return
    try:
        json.loads(content.decode("utf-8-sig"))
    except RecursionError:
        return
    except ValueError as error:
        assert "limit" in str(error) or "surrogate" in str(error), error  # noqa: PT017 - digits of a number


def checkpoints(data: bytes) -> None:
    """Any folder has a list of checkpoints whose newest complete one is in it."""
    draw = Choices(data)
    root = written("root.txt", b"").parent / "tree"
    shutil.rmtree(root, ignore_errors=True)
    for _ in range(1 + draw.below(12)):
        path = root.joinpath(*(draw.pick(_PARTS) for _ in range(1 + draw.below(3))))
        if not path.exists() and not any(parent.is_file() for parent in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(draw.take(draw.below(60)))
    found = find_checkpoints(str(root), _NOW_S, is_running=bool(draw.below(2)))
    assert found.newest_complete is None or found.newest_complete in found.checkpoints
    for each in found.checkpoints:
        assert bool(each.why) == (each.is_complete is not True), each
    assert len({each.path for each in found.checkpoints}) == len(found.checkpoints)


def saved_to(data: bytes) -> None:
    """Any log gives paths without blanks."""
    text = data.decode("utf-8", "replace")
    for path in saved_paths(text.split("\n")):
        assert path
        assert not set(path) & set(" \t\n")


def compared(data: bytes) -> None:
    """Each file of either side is the same, missing, extra or different."""
    draw = Choices(data)
    sides = [
        {name: ListedFile(name, draw.number(), float(draw.number())) for name in names}
        for names in ([draw.line() for _ in range(draw.below(9))] for _ in "ab")
    ]
    own, source = sides
    found = compare(Completeness("/a", depth=draw.pick(tuple(Depth))), own, source, 100.0)
    assert set(found.missing) == source.keys() - own.keys()
    assert set(found.extra) == own.keys() - source.keys()
    assert {each.name for each in found.different} <= own.keys() & source.keys()
