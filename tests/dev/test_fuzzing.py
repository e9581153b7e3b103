from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fuzzing.__main__ import main
from fuzzing.mutator import Bound, current_input, run_target

from tests.fuzz.targets import Target

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (b"a|b|c\n", b"valid\n")


def rejects_bars(data: bytes) -> None:
    """No input contains a bar."""
    if b"|" in data:
        raise ValueError("a bar")
    assert b"c" not in data


def test_a_defect_is_counted_once_for_its_place_and_its_input_is_saved(tmp_path: Path) -> None:
    tally = run_target("bars", Target(rejects_bars, lambda: SEEDS), Bound(inputs=400), tmp_path, seed=1)
    assert (tally.inputs, tally.crashes) == (400, 2)
    saved = [path.read_bytes() for path in tmp_path.glob("bars-*")]
    assert SEEDS[0] in saved
    for data in saved:
        with pytest.raises((ValueError, AssertionError)):
            rejects_bars(data)


def test_a_target_without_defects_runs_to_its_bound(tmp_path: Path) -> None:
    tally = run_target("any", Target(len, lambda: SEEDS), Bound(inputs=200), tmp_path, seed=1)  # type: ignore[arg-type]
    assert (tally.inputs, tally.crashes) == (200, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["any.current"]


def test_the_same_seed_makes_the_same_inputs(tmp_path: Path) -> None:
    inputs: list[list[bytes]] = [[], []]
    for received in inputs:
        run_target("same", Target(received.append, lambda: SEEDS), Bound(inputs=100), tmp_path, seed=7)
    assert inputs[0] == inputs[1]
    assert len(set(inputs[0])) > 50


def test_a_process_that_is_killed_leaves_the_input_that_did_it(tmp_path: Path) -> None:
    deadly = (
        "import os, signal, sys; from pathlib import Path; from fuzzing.mutator import Bound, run_target; "
        "from tests.fuzz.targets import Target; kill = lambda: os.kill(os.getpid(), signal.SIGKILL); "
        "target = Target(lambda data: data == b'deadly' and kill(), lambda: (b'harmless input', b'deadly')); "
        "run_target('x', target, Bound(), Path(sys.argv[1]), 0)"
    )
    search = {**os.environ, "PYTHONPATH": f"{ROOT}/dev:{ROOT}"}
    ended = subprocess.run([sys.executable, "-c", deadly, str(tmp_path)], check=False, env=search)
    assert ended.returncode == -signal.SIGKILL
    assert current_input(tmp_path, "x").read_bytes() == b"deadly"


def test_a_saved_input_can_be_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "webhook-0"
    saved.write_bytes(b"https://discord.com/api/webhooks/1/x")
    assert main(["--replay", str(saved), "webhook"]) == 0
    assert capsys.readouterr().out == "webhook holds\n"


def test_a_short_campaign_prints_its_table() -> None:
    search = {**os.environ, "PYTHONPATH": f"{ROOT}/dev:{ROOT}"}
    argv = [sys.executable, "-m", "fuzzing", "--inputs", "60", "names"]
    ended = subprocess.run(argv, check=False, capture_output=True, text=True, env=search, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    assert "names     mutation        60" in ended.stdout
