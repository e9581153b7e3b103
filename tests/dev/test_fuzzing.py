from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fuzzing.__main__ import main
from fuzzing.mutating import Bound, Present, drive

from tests.fuzz.targets import Target

ROOT = Path(__file__).resolve().parents[2]
SEEDS = (b"a|b|c\n", b"sound\n")


def refuses_bars(data: bytes) -> None:
    """No input holds a bar."""
    if b"|" in data:
        raise ValueError("a bar")
    assert b"c" not in data


def test_a_defect_is_counted_once_for_its_place_and_its_input_is_kept(tmp_path: Path) -> None:
    tally = drive("bars", Target(refuses_bars, lambda: SEEDS), Bound(inputs=400), tmp_path, seed=1)
    assert (tally.inputs, tally.crashes) == (400, 2)
    kept = [path.read_bytes() for path in tmp_path.glob("bars-*")]
    assert SEEDS[0] in kept
    for data in kept:
        with pytest.raises((ValueError, AssertionError)):
            refuses_bars(data)


def test_what_holds_is_driven_to_its_bound_without_a_crash(tmp_path: Path) -> None:
    tally = drive("any", Target(len, lambda: SEEDS), Bound(inputs=200), tmp_path, seed=1)  # type: ignore[arg-type]
    assert (tally.inputs, tally.crashes) == (200, 0)
    assert [path.name for path in tmp_path.iterdir()] == ["any.present"]


def test_the_same_seed_makes_the_same_inputs(tmp_path: Path) -> None:
    fed: list[list[bytes]] = [[], []]
    for inputs in fed:
        drive("same", Target(inputs.append, lambda: SEEDS), Bound(inputs=100), tmp_path, seed=7)
    assert fed[0] == fed[1]
    assert len(set(fed[0])) > 50


def test_a_process_that_is_killed_leaves_the_input_that_did_it(tmp_path: Path) -> None:
    deadly = (
        "import os, signal, sys; from pathlib import Path; from fuzzing.mutating import Present; "
        "present = Present(Path(sys.argv[1])); present.note(b'harmless'); present.note(b'deadly'); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    place = tmp_path / "x.present"
    search = {**os.environ, "PYTHONPATH": f"{ROOT}/dev:{ROOT}"}
    ended = subprocess.run([sys.executable, "-c", deadly, str(place)], check=False, env=search)
    assert ended.returncode == -signal.SIGKILL
    assert Present.noted_in(place) == b"deadly"


def test_an_input_can_be_fed_again_to_its_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    saved = tmp_path / "webhook-0"
    saved.write_bytes(b"https://discord.com/api/webhooks/1/x")
    assert main(["--replay", str(saved), "webhook"]) == 0
    assert capsys.readouterr().out == "webhook holds\n"


def test_a_short_campaign_prints_its_table() -> None:
    search = {**os.environ, "PYTHONPATH": f"{ROOT}/dev:{ROOT}"}
    words = [sys.executable, "-m", "fuzzing", "--inputs", "60", "names"]
    ended = subprocess.run(words, check=False, capture_output=True, text=True, env=search, cwd=ROOT)
    assert ended.returncode == 0, ended.stderr
    assert "names     mutation        60" in ended.stdout
