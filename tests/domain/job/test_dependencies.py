"""Which jobs a job waits for, by its command line or its script."""

from __future__ import annotations

import pytest

from jobmon_core.domain.job.handover import dependencies


@pytest.mark.parametrize(
    ("arguments", "script", "found"),
    [
        (["--dependency=afterok:12:13", "a.sh"], "", [("12", "has succeeded"), ("13", "has succeeded")]),
        (["-d", "afterany:12,afternotok:13_4", "a.sh"], "", [("12", "has ended"), ("13_4", "has failed")]),
        (
            ["-d", "after:12+5?aftercorr:9", "a.sh"],
            "",
            [("12", "has started"), ("9", "has succeeded, task by task")],
        ),
        (["a.sh", "--dependency=afterok:12"], "", []),  # an argument of the script
        (["a.sh"], "#!/bin/sh\n#SBATCH -d afterok:12\n", [("12", "has succeeded")]),
        (["-d", "afterany:1", "a.sh"], "#!/bin/sh\n#SBATCH -d afterok:12\n", [("1", "has ended")]),
        (["-d", "afterburstbuffer:7", "a.sh"], "", [("7", "meets afterburstbuffer")]),
        (["-d", "singleton", "a.sh"], "", []),
        (["--no-such-option", "-d"], "#SBATCH", []),
        ([], "", []),
    ],
)
def test_the_jobs_and_the_conditions_are_read(
    arguments: list[str], script: str, found: list[tuple[str, str]]
) -> None:
    assert [tuple(each) for each in dependencies(arguments, script)] == found
