from __future__ import annotations

import pytest

from benchmarks.scores import (
    Part,
    Verdict,
    by_label,
    by_source,
    calibration,
    confusions,
    count,
    macro_f1,
    mean_accuracy,
    not_printed_by_slurm,
)


def verdict(
    wanted: str, got: str | None, *, source: str = "a", cascade: bool = False, confidence: float | None = None
) -> Verdict:
    return Verdict(f"{wanted}-{got}", source, wanted, got, cascade, confidence)


# two time limits, three segfaults, two clean logs, one full disk
MIXED = [
    verdict("slurm_timeout", "slurm_timeout"),
    verdict("slurm_timeout", "segfault"),
    verdict("segfault", "segfault", cascade=True),
    verdict("segfault", None, cascade=True),
    verdict("segfault", "clean"),
    verdict("clean", "clean", cascade=True),
    verdict("clean", "disk_full"),
    verdict("disk_full", "disk_full"),
]


class TestCount:
    def test_accuracy_counts_the_right_labels_among_all_cases(self) -> None:
        assert count(MIXED)["accuracy"] == Part(4, 8)

    def test_a_failure_is_a_log_that_is_not_clean(self) -> None:
        assert count(MIXED)["failures_right"] == Part(3, 6)

    def test_a_cascade_is_a_failure_of_several_ranks_not_a_clean_log(self) -> None:
        assert count(MIXED)["cascades_right"] == Part(1, 2)

    def test_a_failure_found_in_a_clean_log_is_a_false_alarm(self) -> None:
        assert count(MIXED)["false_alarms"] == Part(1, 2)

    def test_dont_know_for_a_clean_log_is_counted_separately_not_as_an_alarm(self) -> None:
        counts = count([verdict("clean", None), verdict("clean", "clean")])
        assert (counts["false_alarms"], counts["clean_unknown"]) == (Part(0, 2), Part(1, 2))
        assert counts["accuracy"] == Part(1, 2)

    def test_dont_know_is_neither_right_nor_a_wrong_guess(self) -> None:
        counts = count(MIXED)
        assert counts["unknown"] == Part(1, 8)
        assert counts["wrong_guesses"] == Part(3, 8)
        assert sum(counts[key].count for key in ("accuracy", "unknown", "wrong_guesses")) == len(MIXED)

    def test_a_failure_called_clean_is_a_wrong_guess_and_also_counted_separately(self) -> None:
        counts = count([verdict("segfault", "clean"), verdict("segfault", "segfault")])
        assert (counts["wrong_guesses"], counts["called_clean"]) == (Part(1, 2), Part(1, 2))

    def test_of_nothing_there_is_no_share(self) -> None:
        assert count([])["accuracy"].share is None
        assert macro_f1([]) == 0

    def test_causes_that_slurm_prints_itself_can_be_left_out(self) -> None:
        hard = not_printed_by_slurm(
            [*MIXED, verdict("host_oom_kill", "host_oom_kill"), verdict("slurm_cancelled", None)]
        )
        assert {each.wanted for each in hard} == {"segfault", "clean", "disk_full"}


class TestF1:
    def test_of_each_label_it_is_that_of_precision_and_recall(self) -> None:
        labels = by_label(MIXED)
        # one of two is found, and none is reported wrongly
        assert (labels["slurm_timeout"].precision, labels["slurm_timeout"].recall) == (1, 1 / 2)
        assert labels["slurm_timeout"].f1 == pytest.approx(2 / 3)
        # one of three is found, and one of two reports is right
        assert (labels["segfault"].precision, labels["segfault"].recall) == (1 / 2, 1 / 3)
        assert labels["segfault"].f1 == pytest.approx(2 / 5)

    def test_the_macro_f1_is_the_plain_mean_over_labels(self) -> None:
        # 2/3 of the timeouts, 2/5 of the segfaults, 1/2 of the clean logs, 2/3 of the full disks
        assert macro_f1(MIXED) == pytest.approx((2 / 3 + 2 / 5 + 1 / 2 + 2 / 3) / 4)

    def test_a_rare_label_counts_as_much_as_a_frequent_one(self) -> None:
        frequent = [verdict("cuda_oom", "cuda_oom")] * 9
        assert macro_f1([*frequent, verdict("disk_full", None)]) == pytest.approx(1 / 2)

    def test_a_label_that_no_log_has_is_not_scored(self) -> None:
        verdicts = [verdict("cuda_oom", "cuda_oom"), verdict("cuda_oom", "nan_loss")]
        assert list(by_label(verdicts)) == ["cuda_oom"]
        assert macro_f1(verdicts) == pytest.approx(2 / 3)

    def test_a_label_that_is_never_given_has_an_f1_of_zero(self) -> None:
        (scored,) = by_label([verdict("disk_full", None)]).values()
        assert (scored.precision, scored.recall, scored.f1) == (0, 0, 0)

    def test_the_most_frequent_label_comes_first_then_the_alphabet_decides(self) -> None:
        assert list(by_label(MIXED)) == ["segfault", "clean", "slurm_timeout", "disk_full"]


class TestSources:
    VERDICTS = (
        *(verdict("segfault", "segfault", source="large") for _ in range(8)),
        verdict("segfault", None, source="small"),
        verdict("disk_full", "disk_full", source="half"),
        verdict("disk_full", "clean", source="half"),
    )

    def test_each_counts_the_same_however_large(self) -> None:
        assert mean_accuracy(self.VERDICTS) == pytest.approx((1 + 0 + 1 / 2) / 3)

    def test_the_worst_comes_first(self) -> None:
        parts = by_source(self.VERDICTS)
        assert list(parts.items()) == [("small", Part(0, 1)), ("half", Part(1, 2)), ("large", Part(8, 8))]

    def test_of_equally_bad_ones_the_larger_comes_first(self) -> None:
        verdicts = [verdict("segfault", None, source=name) for name in "abb"]
        assert list(by_source(verdicts)) == ["b", "a"]


class TestCalibration:
    def test_verdicts_of_one_tenth_of_confidence_share_a_bucket(self) -> None:
        surest, doubtful = calibration(
            [
                verdict("segfault", "segfault", confidence=0.7),
                verdict("segfault", "segfault", confidence=0.98),
                verdict("segfault", "clean", confidence=0.9),
            ]
        )
        assert (surest.lowest, surest.right) == (0.9, Part(1, 2))
        assert surest.mean_confidence == pytest.approx(0.94)
        assert (doubtful.lowest, doubtful.right) == (0.7, Part(1, 1))

    def test_full_confidence_belongs_to_the_highest_bucket(self) -> None:
        assert [bucket.lowest for bucket in calibration([verdict("clean", "clean", confidence=1.0)])] == [0.9]

    @pytest.mark.parametrize("tenth", range(10))
    def test_the_edge_of_a_bucket_belongs_to_it(self, tenth: int) -> None:
        (bucket,) = calibration([verdict("clean", "clean", confidence=tenth / 10)])
        assert bucket.lowest == tenth / 10

    def test_dont_know_and_verdicts_without_confidence_are_left_out(self) -> None:
        assert calibration([verdict("segfault", None, confidence=0.0), verdict("segfault", "clean")]) == []


def test_confusions_are_the_verdicts_that_are_not_right_sorted_by_label() -> None:
    assert [(each.wanted, each.got) for each in confusions(MIXED)] == [
        ("clean", "disk_full"),
        ("segfault", None),
        ("segfault", "clean"),
        ("slurm_timeout", "segfault"),
    ]
