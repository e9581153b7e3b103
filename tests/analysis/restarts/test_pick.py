"""Which checkpoint the next attempt resumes from, in folders that are traps."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from jobmon_core.analysis.restarts.pick import is_still, pick, set_aside
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, RestartSettings
from jobmon_core.domain.job.restart.model import Attempt, Decision, Lineage, PickedCheckpoint, Verdict
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.model import Progress
from tests.support.checkpoint_layouts import LAYOUTS, hf_trainer, plain_torch, saved_at, torch_dcp, torch_file
from tests.support.lineages import START_S, timed_job

END_S = START_S + 1000
NOW_S = END_S + 120.0
STRANGER = 12345
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@dataclass
class Ended:
    """An attempt that has ended, and the folder of its checkpoints."""

    folder: Path
    lineage: Lineage = field(default_factory=Lineage)
    number: int = 0
    total: float | None = None  # steps, as its log states them

    def saved(self, path: Path, at_s: float = START_S + 100.0) -> Path:
        saved_at(path, at_s)
        return path

    @property
    def job(self) -> WatchedJob:
        place = AttemptPlace("abc", number=self.number)
        return timed_job(JobSettings(checkpoint_dir=str(self.folder), attempt=place))

    def pick(self) -> PickedCheckpoint | None:
        job, shown = self.job, Progress(current=12.0, total=self.total)
        progress = JobProgress(tasks={"": FollowedTask(shown)})
        return pick(job, job.tasks[""], progress, NOW_S, lineage=self.lineage)

    @property
    def name(self) -> str:
        picked = self.pick()
        return picked.path[len(str(self.folder)) + 1 :] if picked else ""


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    return Ended(tmp_path / "checkpoints")


def after(ended: Ended, resume: PickedCheckpoint | None = None) -> Ended:
    """Return the second attempt of the same lineage, which starts 1,000 s after the end of the first one."""
    first = Attempt(0, "slurm-7-x", "7", "slurm", started_s=START_S, ended_s=END_S)
    second = Attempt(1, "slurm-8-x", "8", "slurm", submitted_s=END_S + 60.0, resume=resume)
    return Ended(ended.folder, Lineage("abc", float(START_S), attempts=(first, second)), 1)


def tear(path: Path) -> None:
    """Cut a file in half, and keep its time."""
    at_s = path.stat().st_mtime
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    os.utime(path, (at_s, at_s))


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("gromacs", "ray_train")])
def test_the_highest_complete_step_is_picked_in_every_layout(ended: Ended, layout: str) -> None:
    saved = [ended.saved(LAYOUTS[layout](ended.folder, step), START_S + step) for step in (100, 200, 300)]
    picked = ended.pick()
    assert picked is not None
    assert (picked.path, picked.step, picked.saved_s) == (str(saved[-1]), 300, START_S + 300)
    assert is_still(picked)


def test_written_under_another_name_and_renamed(ended: Ended) -> None:
    ended.saved(plain_torch(ended.folder, 100))
    ended.saved(plain_torch(ended.folder, 200)).rename(ended.folder / "ckpt_200.pt.tmp")
    assert ended.name == "ckpt_100.pt"


def test_the_marker_is_written_last(ended: Ended) -> None:
    ended.saved(torch_dcp(ended.folder, 100))
    (ended.saved(torch_dcp(ended.folder, 200)) / ".metadata").unlink()
    assert ended.name == "step-100"


def test_the_marker_of_a_program_is_written_last(ended: Ended) -> None:
    for step in (100, 200):
        torch_file(ended.folder / f"step_{step}" / "model.pt")
        (ended.folder / f"step_{step}" / "DONE").touch()
        ended.saved(ended.folder / f"step_{step}", START_S + step)
    assert ended.name == "step_200"
    (ended.folder / "step_200" / "DONE").rename(ended.folder / "step_200" / "checkpoint-is-incomplete.txt")
    assert ended.name == "step_100"
    (ended.folder / "step_200" / "checkpoint-is-incomplete.txt").unlink()
    assert ended.name == "step_100"


def test_settings_do_not_show_that_weights_are_whole(ended: Ended) -> None:
    saved = ended.folder / "step_100"
    saved.mkdir(parents=True)
    (saved / "config.json").write_text("{}")
    (saved / "model.bin").write_bytes(b"no known format " * 99)
    ended.saved(saved)
    assert ended.pick() is None


def test_a_torn_file_is_passed_over(ended: Ended) -> None:
    ended.saved(plain_torch(ended.folder, 100))
    tear(ended.saved(plain_torch(ended.folder, 200)))
    assert ended.name == "ckpt_100.pt"


def test_the_highest_number_is_incomplete(ended: Ended) -> None:
    ended.saved(hf_trainer(ended.folder, 100))
    (ended.saved(hf_trainer(ended.folder, 200)) / "trainer_state.json").unlink()
    assert ended.name == "checkpoint-100"


def test_what_is_only_possible_is_not_picked(ended: Ended) -> None:
    ended.folder.mkdir()
    (ended.folder / "ckpt_300.pt").write_bytes(b"no known format " * 99)
    ended.saved(ended.folder / "ckpt_300.pt")
    assert ended.pick() is None


def test_a_lower_step_that_was_saved_later_does_not_win(ended: Ended) -> None:
    ended.saved(plain_torch(ended.folder, 4000), START_S + 100)
    ended.saved(plain_torch(ended.folder, 40), START_S + 900)
    assert ended.name == "ckpt_4000.pt"


def test_a_step_beyond_the_total_of_the_log_is_picked_only_if_there_is_no_other(ended: Ended) -> None:
    for step in (8, 12, 999_999_999_999):
        ended.saved(plain_torch(ended.folder, step), START_S + 100 + step % 100)
    ended.total = 20.0
    assert ended.name == "ckpt_12.pt"
    ended.total = 5.0
    assert ended.name == "ckpt_999999999999.pt"  # which is left to the user, see `decide_restart`
    torch_file(ended.folder / "epoch_30.pt")
    ended.saved(ended.folder / "epoch_30.pt", START_S + 300)
    assert ended.name == "epoch_30.pt"


def test_epochs_are_not_compared_with_steps(ended: Ended) -> None:
    for name, at_s in (("step_900.pt", 100), ("epoch_2.pt", 200), ("epoch_3.pt", 300)):
        torch_file(ended.folder / name)
        ended.saved(ended.folder / name, START_S + at_s)
    assert ended.name == "epoch_3.pt"


@pytest.mark.parametrize(("later_s", "expected"), [(1, "ckpt_100.pt"), (300, "last.pt")])
def test_a_copy_without_a_number_counts_only_if_it_is_of_a_later_save(
    ended: Ended, later_s: int, expected: str
) -> None:
    ended.saved(plain_torch(ended.folder, 100), START_S + 100)
    torch_file(ended.folder / "last.pt")
    ended.saved(ended.folder / "last.pt", START_S + 100 + later_s)
    assert ended.name == expected


def test_a_link_to_the_last_one_is_not_a_checkpoint_of_its_own(ended: Ended) -> None:
    saved = ended.saved(hf_trainer(ended.folder, 100))
    (ended.folder / "checkpoint-999").symlink_to(saved.name)
    single = ended.saved(plain_torch(ended.folder, 50))
    (ended.folder / "last.pt").symlink_to(single.name)
    assert ended.name == "checkpoint-100"


@pytest.mark.parametrize("at_s", [START_S - 100, END_S + 100])
def test_a_checkpoint_of_another_run_in_the_same_folder_is_a_strangers(ended: Ended, at_s: float) -> None:
    ended.saved(plain_torch(ended.folder, 100))
    ended.saved(plain_torch(ended.folder, 200), at_s)
    assert ended.name == "ckpt_100.pt"


@needs_root
@pytest.mark.parametrize("part", ["", "model.safetensors"])
def test_a_checkpoint_of_another_user_is_refused(ended: Ended, part: str) -> None:
    ended.saved(hf_trainer(ended.folder, 100))
    saved = ended.saved(hf_trainer(ended.folder, 200))
    os.chown(saved / part, STRANGER, STRANGER)
    assert ended.name == "checkpoint-100"


@needs_root
def test_a_link_to_a_file_of_another_user_is_refused(ended: Ended, tmp_path: Path) -> None:
    ended.saved(hf_trainer(ended.folder, 100))
    saved = hf_trainer(ended.folder, 200)
    (saved / "model.safetensors").rename(tmp_path / "theirs")
    (saved / "model.safetensors").symlink_to(tmp_path / "theirs")
    os.chown(tmp_path / "theirs", STRANGER, STRANGER)
    ended.saved(saved)
    assert ended.name == "checkpoint-100"
    os.chown(tmp_path / "theirs", 0, 0)
    assert ended.name == "checkpoint-200"  # one's own files may lie elsewhere, as in the cache of a hub


def test_an_earlier_attempt_saved_the_newest(ended: Ended) -> None:
    ended.saved(plain_torch(ended.folder, 100))
    second = after(ended)
    assert second.name == "ckpt_100.pt"
    assert Ended(ended.folder, number=1).name == ""
    ended.saved(plain_torch(ended.folder, 200), START_S + 2100)
    assert second.name == "ckpt_200.pt"


def test_what_was_saved_between_two_attempts_is_of_neither(ended: Ended) -> None:
    ended.saved(plain_torch(ended.folder, 100))
    ended.saved(plain_torch(ended.folder, 200), END_S + 500)
    assert after(ended).name == "ckpt_100.pt"


def test_an_attempt_that_went_back_does_not_jump_forward_again(ended: Ended) -> None:
    for step in (100, 200, 300):
        ended.saved(plain_torch(ended.folder, step), START_S + step)
    first = ended.pick()
    assert first is not None
    back = replace(first, path=str(ended.folder / "ckpt_100.pt"), step=100, saved_s=START_S + 100.0)
    assert after(ended, back).name == "ckpt_100.pt"


def test_an_attempt_that_saved_nothing_resumes_from_where_it_had_resumed(
    ended: Ended, tmp_path: Path
) -> None:
    foreign = plain_torch(tmp_path / "pretrained", 100)
    saved_at(foreign, START_S - 5000)
    status = foreign.stat()
    chosen = PickedCheckpoint(str(foreign), 100, START_S - 5000.0, status.st_dev, status.st_ino)
    assert after(ended, chosen).pick() == chosen
    foreign.unlink()
    assert after(ended, chosen).pick() is None


def test_attempts_may_save_in_folders_of_their_own(ended: Ended) -> None:
    ended.saved(plain_torch(ended.folder, 100))
    first = ended.pick()
    second = after(ended, first)
    second.folder = ended.folder.with_name("of-second")
    assert second.pick() == first


def test_a_folder_that_was_swapped_is_noticed(ended: Ended) -> None:
    saved = ended.saved(hf_trainer(ended.folder, 100))
    picked = ended.pick()
    assert picked is not None
    ended.folder.rename(ended.folder.with_name("moved"))
    assert not is_still(picked)
    shutil.copytree(ended.folder.with_name("moved"), ended.folder)
    ended.saved(saved)
    assert not is_still(picked)


@pytest.mark.parametrize("change", ["torn", "marker", "written"])
def test_a_checkpoint_that_changed_is_noticed(ended: Ended, change: str) -> None:
    saved = ended.saved(hf_trainer(ended.folder, 100))
    picked = ended.pick()
    assert picked is not None
    match change:
        case "torn":
            tear(saved / "optimizer.pt")
        case "marker":
            (saved / "trainer_state.json").unlink()
        case _:
            os.utime(saved / "optimizer.pt", (START_S + 800, START_S + 800))
    assert not is_still(picked)


def aside(ended: Ended, proof: str = "sacct says FAILED", *, is_wanted: bool = True) -> list[str]:
    decision = Decision(Verdict.RESTART, "crash", "it failed", NOW_S, checkpoint=ended.pick(), proof=proof)
    lineage = Lineage("abc", settings=RestartSettings(set_aside=is_wanted))
    moved = set_aside(ended.job, JobProgress(), lineage, decision, NOW_S)
    return sorted(Path(path).name for path in moved)


def torn_folder(ended: Ended, step: int) -> Path:
    saved = ended.saved(hf_trainer(ended.folder, step), START_S + step)
    (saved / "trainer_state.json").unlink()
    return saved


def test_incomplete_checkpoints_above_the_picked_one_are_set_aside_and_no_others(ended: Ended) -> None:
    torn_folder(ended, 50)
    ended.saved(hf_trainer(ended.folder, 100), START_S + 100)
    torn_folder(ended, 200)
    assert aside(ended) == ["checkpoint-200.incomplete-0"]
    names = {each.name for each in ended.folder.iterdir()}
    assert names == {"checkpoint-50", "checkpoint-100", "checkpoint-200.incomplete-0"}
    assert ended.name == "checkpoint-100"
    assert aside(ended) == []


def test_nothing_is_set_aside_without_a_proof_of_death_or_in_place_of_another(ended: Ended) -> None:
    torn_folder(ended, 200)
    assert aside(ended, proof="") == []
    assert aside(ended, is_wanted=False) == []
    (ended.folder / "checkpoint-200.incomplete-0").mkdir()
    assert aside(ended) == []


def test_a_link_is_not_set_aside(ended: Ended, tmp_path: Path) -> None:
    tear(plain_torch(tmp_path, 200))
    ended.folder.mkdir()
    (ended.folder / "ckpt_200.pt").symlink_to(tmp_path / "ckpt_200.pt")
    ended.saved(tmp_path / "ckpt_200.pt")
    assert aside(ended) == []
    assert (ended.folder / "ckpt_200.pt").is_symlink()
