from __future__ import annotations

from jobmon_core.domain.slurm.sbatch_options import OPTIONS, Argument


def test_no_option_is_entered_twice_and_flags_take_no_value() -> None:
    letters = [option.letter for option in OPTIONS.values() if option.letter]
    assert len(letters) == len(set(letters))
    assert OPTIONS["parsable"].argument is Argument.NONE
    assert OPTIONS["exclusive"].argument is Argument.OPTIONAL
    assert OPTIONS["gres"].argument is Argument.REQUIRED
