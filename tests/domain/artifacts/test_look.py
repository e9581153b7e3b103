"""What looks at the folders of a job tell: whether outputs grow, and when the next checkpoint is due."""

from __future__ import annotations

from jobmon_core.domain.artifacts.look import checkpoints_after, outputs_after
from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, ListedFile, Listing, Outputs

START_S = 1_700_000_000.0
KIB = 1024


def listing(*files: ListedFile, folder: str = "/out") -> Listing:
    return Listing(folder, files)


def out(size_kib: int, after_s: float, name: str = "a.jsonl") -> ListedFile:
    return ListedFile(name, size_kib * KIB, START_S + after_s)


def grown(*looks: tuple[float, ListedFile]) -> Outputs:
    """Return the outputs after looks at one file, each at some seconds after the start."""
    found = None
    for after_s, file in looks:
        found = outputs_after(found, listing(file), START_S + after_s)
    assert found is not None
    return found


def rate_per_s(found: Outputs, after_s: float) -> float | None:
    return found.files[0].growth.rate_per_s(START_S + after_s)


def test_the_growth_of_a_file_takes_two_looks() -> None:
    assert rate_per_s(grown((30, out(10, 29))), 30) is None
    assert rate_per_s(grown((30, out(10, 29)), (60, out(70, 59))), 60) == 2 * KIB


def test_a_file_that_grows_in_rare_bursts_has_their_average_growth() -> None:
    looks = [(t, out(300 * (t // 300), 300 * (t // 300))) for t in range(300, 931, 30)]
    found = grown(*looks)
    assert found.files[0].growth.bytes_per_s == KIB
    assert rate_per_s(found, 930) == KIB


def test_a_file_stands_still_a_minute_after_its_last_growth() -> None:
    found = grown((30, out(10, 29)), (60, out(70, 59)), (90, out(70, 59)), (150, out(70, 59)))
    assert rate_per_s(found, 150) == 0.0
    assert found.files[0].growth.idle_s(START_S + 150) == 91


def test_a_file_that_is_rewritten_with_the_same_size_does_not_grow() -> None:
    found = grown((0, out(10, 0)), (30, out(40, 30)), *((t, out(40, t)) for t in range(60, 151, 30)))
    assert rate_per_s(found, 150) == 0.0


def test_a_file_that_became_smaller_has_no_growth_yet() -> None:
    assert rate_per_s(grown((30, out(70, 29)), (60, out(10, 59))), 60) is None


def test_new_files_count_as_growth_of_all() -> None:
    found = outputs_after(None, listing(out(60, 0)), START_S)
    found = outputs_after(found, listing(out(60, 0), out(60, 30, "b.jsonl")), START_S + 60)
    assert (found.count, found.total.size_bytes, found.total.bytes_per_s) == (2, 120 * KIB, KIB)


def test_the_sizes_in_another_folder_are_not_compared() -> None:
    before = outputs_after(None, listing(out(10, 0), folder="/run0"), START_S)
    found = outputs_after(before, listing(out(70, 30), folder="/run1"), START_S + 30)
    assert found.total.bytes_per_s is None
    assert rate_per_s(found, 30) is None


def test_a_bounded_number_of_files_is_remembered_the_latest_first() -> None:
    files = [out(1, number, f"{number}.png") for number in range(500)]
    found = outputs_after(None, listing(*files), START_S + 500)
    assert len(found.files) == 64
    assert found.files[0].name == "499.png"
    assert (found.count, found.total.size_bytes) == (500, 500 * KIB)


def test_of_too_many_outputs_a_new_one_counts_as_written() -> None:
    found = Listing("/out", (out(1, 30),), is_partial=True, changed_s=START_S + 500)
    assert Artifacts(START_S, outputs_after(None, found, START_S + 600)).written_s == START_S + 500
    whole = Listing("/out", (out(1, 30),), changed_s=START_S + 500)
    assert Artifacts(START_S, outputs_after(None, whole, START_S + 600)).written_s == START_S + 30


def saved(*after_s: float, now_s: float, started_s: float = 0.0) -> Checkpoints:
    files = [ListedFile(f"epoch_{number}.pt", 1, START_S + at_s) for number, at_s in enumerate(after_s, 1)]
    return checkpoints_after(None, listing(*files), START_S + started_s, START_S + now_s)[0]


def test_the_next_checkpoint_is_expected_after_the_usual_interval() -> None:
    found = saved(1800, 3600, 5500, 7200, now_s=7300)
    assert found.count == 4
    assert found.newest == ListedFile("epoch_4.pt", 1, START_S + 7200)
    assert found.next_s == START_S + 9000
    assert not found.is_overdue(START_S + 10_700)
    assert found.is_overdue(START_S + 10_900)


def test_one_interval_tells_nothing() -> None:
    found = saved(1800, 3600, now_s=90_000)
    assert found.next_s is None
    assert not found.is_overdue(START_S + 90_000)


def test_checkpoints_from_before_the_run_are_counted_but_tell_no_interval() -> None:
    found = saved(100, 200, 300, 90_000, 91_800, 93_600, now_s=93_700, started_s=80_000)
    assert (found.count, found.interval_s) == (6, 1800)


def test_the_files_of_one_checkpoint_are_no_interval() -> None:
    times = [at_s for epoch in (1800, 3600, 5400) for at_s in (epoch, epoch + 2, epoch + 3)]
    interval_s = saved(*times, now_s=5500).interval_s
    assert interval_s is not None
    assert 1790 < interval_s < 1800


def test_each_checkpoint_of_this_run_is_reported_once() -> None:
    old, new = ListedFile("epoch_1.pt", 1, START_S - 900), ListedFile("epoch_2.pt", 1, START_S + 900)
    found, reported = checkpoints_after(None, listing(old), START_S, START_S + 30)
    assert reported is None
    found, reported = checkpoints_after(found, listing(old, new), START_S, START_S + 930)
    assert reported == new
    found, reported = checkpoints_after(found, listing(old, new), START_S, START_S + 960)
    assert reported is None


def test_a_checkpoint_that_is_still_written_is_not_reported_unless_the_job_has_ended() -> None:
    written = listing(ListedFile("last.ckpt", 1, START_S + 29))
    assert checkpoints_after(None, written, START_S, START_S + 30)[1] is None
    assert checkpoints_after(None, written, START_S, START_S + 30, ended=True)[1] is not None
    assert checkpoints_after(None, written, START_S, START_S + 60)[1] is not None


def test_the_latest_write_is_that_of_an_output_or_a_checkpoint() -> None:
    outputs = outputs_after(None, listing(out(10, 30)), START_S + 60)
    assert Artifacts(START_S, outputs, saved(20, now_s=60)).written_s == START_S + 30
    assert Artifacts(START_S, outputs, saved(40, now_s=60)).written_s == START_S + 40
    assert Artifacts().written_s is None
