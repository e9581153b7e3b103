"""Each target of `tests/fuzz/targets.py` on spoiled real inputs and on any bytes; short, for every run.

``dev/fuzz`` drives the same targets for as long as one likes.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.fuzz.mutation import mutated
from tests.fuzz.targets import TARGETS, Check

_HERE: dict[str, str] = {}


def holds(name: str, examples: int = 200) -> Callable[[Callable[[Check, bytes], None]], Callable[[], None]]:
    """Run a test on the seeds of a target, and on ``examples`` inputs made of them or of nothing."""
    seeds = TARGETS[name].seeds()
    spoiled = st.builds(lambda random: mutated(seeds, random), st.randoms(use_true_random=False))

    def wrap(test: Callable[[Check, bytes], None]) -> Callable[[], None]:
        _HERE[name] = test.__name__

        def on(data: bytes) -> None:
            test(TARGETS[name].check, data)

        on.__name__ = on.__qualname__ = test.__name__  # by which hypothesis remembers what failed
        run = given(spoiled | st.binary(max_size=400))(on)
        for seed in seeds:
            run = example(seed)(run)
        return settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))(run)

    return wrap


@holds("squeue")
def test_squeue_may_say_anything_and_no_row_is_read_that_was_not_there(check: Check, data: bytes) -> None:
    check(data)


@holds("sacct")
def test_sacct_may_say_anything_and_no_run_is_read_that_was_not_there(check: Check, data: bytes) -> None:
    check(data)


@holds("scontrol")
def test_scontrol_may_say_anything_and_no_job_is_gone_for_it(check: Check, data: bytes) -> None:
    check(data)


@holds("queue_table")
def test_what_squeue_prints_is_read_as_it_was(check: Check, data: bytes) -> None:
    check(data)


@holds("accounting_table")
def test_what_sacct_prints_is_read_as_it_was_whatever_the_names_hold(check: Check, data: bytes) -> None:
    check(data)


@holds("record_table")
def test_what_scontrol_prints_is_read_as_it_was_whatever_names_and_comments_imitate(
    check: Check, data: bytes
) -> None:
    check(data)


@holds("other_answers")
def test_no_other_answer_of_slurm_makes_its_reader_fail(check: Check, data: bytes) -> None:
    check(data)


@holds("sbatch")
def test_no_words_of_sbatch_name_a_job_that_does_not_stand_there(check: Check, data: bytes) -> None:
    check(data)


@holds("names")
def test_any_text_is_an_id_or_a_figure_within_bounds_or_none(check: Check, data: bytes) -> None:
    check(data)


@holds("script")
def test_any_text_is_a_script_whose_directives_stand_in_it(check: Check, data: bytes) -> None:
    check(data)


@holds("local")
def test_no_kept_answer_of_the_local_scheduler_makes_its_reader_fail(check: Check, data: bytes) -> None:
    check(data)


@holds("state")
def test_any_state_file_is_a_job_that_can_be_kept_and_shown_or_is_reported(check: Check, data: bytes) -> None:
    check(data)


@holds("records")
def test_whatever_monitors_leave_for_each_other_is_read_or_is_as_nothing(check: Check, data: bytes) -> None:
    check(data)


@holds("lanes", examples=100)
def test_no_lane_keeps_a_message_for_more_than_days(check: Check, data: bytes) -> None:
    check(data)


@holds("config")
def test_any_configuration_is_taken_or_its_faults_are_named_without_a_webhook(
    check: Check, data: bytes
) -> None:
    check(data)


@holds("patterns", examples=100)
def test_any_pattern_file_is_rules_that_can_be_matched_or_its_faults_are_named(
    check: Check, data: bytes
) -> None:
    check(data)


@holds("crontab")
def test_in_any_crontab_our_lines_come_and_go_and_every_other_byte_stays(check: Check, data: bytes) -> None:
    check(data)


@holds("log")
def test_any_log_is_read_as_bounded_lines_without_codes(check: Check, data: bytes) -> None:
    check(data)


@holds("packed_log", examples=100)
def test_a_packed_log_is_read_as_what_it_unpacks_to_up_to_its_damage(check: Check, data: bytes) -> None:
    check(data)


@holds("error_file")
def test_any_record_of_torchrun_is_read_or_is_none(check: Check, data: bytes) -> None:
    check(data)


@holds("diagnosis", examples=100)
def test_any_log_is_explained_by_lines_that_stand_in_it(check: Check, data: bytes) -> None:
    check(data)


@holds("message", examples=150)
def test_whatever_a_message_holds_no_rule_of_discord_is_broken_and_nobody_is_woken(
    check: Check, data: bytes
) -> None:
    check(data)


@holds("discord_answer")
def test_whatever_answers_in_discords_place_gets_a_verdict(check: Check, data: bytes) -> None:
    check(data)


@holds("webhook")
def test_any_text_is_a_webhook_shown_without_its_token_or_is_refused(check: Check, data: bytes) -> None:
    check(data)


@holds("heartbeat")
def test_any_text_is_an_address_shown_by_its_host_alone_or_is_refused(check: Check, data: bytes) -> None:
    check(data)


@holds("secrets")
def test_no_text_around_a_secret_brings_it_out(check: Check, data: bytes) -> None:
    check(data)


def test_no_target_is_without_a_test_and_each_says_what_it_claims() -> None:
    assert _HERE.keys() == TARGETS.keys()
    assert all(target.claim and target.seeds() for target in TARGETS.values())
