"""Which text of a log an agent reports as suspicious."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.agent.logs import Logs


def test_a_word_that_was_there_before_is_not_found_again_at_its_end(tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_text("an earlier error\n")
    logs = Logs((str(log),))
    logs.skip_old()
    for text, is_suspicious in (("step 1\n", False), ("fail", False), ("ed\n", True), ("step 2\n", False)):
        with log.open("a") as file:
            file.write(text)
        assert logs.look() is is_suspicious, text
    log.write_text("killed\n")  # the log was truncated
    assert logs.look()
    assert not logs.look()
