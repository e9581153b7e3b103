from __future__ import annotations

from benchmarks.baseline import CLASSES, guess
from jobmon_core.domain.logs.diagnosis.patterns import LABELS

TRACEBACK = "Traceback (most recent call last):\n"


def test_it_has_eighteen_classes_and_only_labels_that_exist() -> None:
    assert len(CLASSES) == 18
    assert {label for _, labels in CLASSES for label in labels} <= LABELS


def test_the_first_match_in_the_log_counts_and_its_line_is_shown() -> None:
    log = "step 1\nrm: x: Permission denied\nSegmentation fault (core dumped)"
    assert guess(log, "segfault") == ("permission_denied", "rm: x: Permission denied")


def test_a_traceback_counts_only_if_nothing_else_matches() -> None:
    assert guess(f"{TRACEBACK}ImportError: no x\n", "import_error")[0] == "import_error"
    assert guess(f"{TRACEBACK}KeyError: 'x'\n", "config_error")[0] == "python_exception_other"


def test_a_broad_class_is_right_for_each_label_that_it_covers() -> None:
    log = "RuntimeError: CUDA error: device-side assert triggered\n"
    assert guess(log, "cuda_device_assert")[0] == "cuda_device_assert"
    assert guess(log, "shape_mismatch")[0] == "cuda_illegal_access"


def test_a_log_without_a_match_is_clean() -> None:
    assert guess("epoch 1 done\n", "segfault") == ("clean", "")
