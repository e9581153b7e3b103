"""Reasons that stand a line below a heading, and words of failure that no pattern explains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jobmon_core.analysis.explain import explain_files
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.slurm.states import JobState

SHARED = Path(__file__).parents[2] / "../shared/data"
UNKNOWN = SlurmEvidence()
# a traceback ends each of these, or cuts it off, although the last bar is full
BROKEN_AT_THE_END = ("mixed-bar-then-epoch", "tqdm-manybars-1000", "trl-sft-24pt")


def look(tmp_path: Path, text: str, evidence: SlurmEvidence = UNKNOWN) -> Diagnosis:
    log = tmp_path / "job.log"
    log.write_text(text)
    return explain_files(evidence, [str(log)])


@pytest.mark.parametrize(
    ("text", "cause", "headline"),
    [
        (
            (
                "step 40\n-----\nProgram: sim, version 3\nSource file: src/grid.cpp (line 7)\n"
                "\nFatal error:\n"
                "The grid has 3 empty cells\n\nFor more information, read the manual\n-----\n"
            ),
            "python_exception_other.banner",
            "The grid has 3 empty cells",
        ),
        (
            (
                " *******************\n *   ___           *\n * [ABORT]         *\n"
                " *  \\___/  The box is too small *\n"
                " *    |            *\n *******************\n"
            ),
            "python_exception_other.simulation_banner",
            "The box is too small",
        ),
        (
            (
                "--> FOAM FATAL ERROR: (openfoam-2406)\nnegative volume in cell 12\n\n"
                "    From function bool check()\n    in file mesh.C at line 8.\n\nFOAM exiting\n"
            ),
            "python_exception_other.simulation_banner",
            "negative volume in cell 12",
        ),
        (
            " %%%%%%%%\n     Error in routine card_kpoints (3):\n     two cards for k-points\n %%%%%%%%\n",
            "config_error.input_banner",
            "two cards for k-points",
        ),
        (
            (
                "-------------- FATAL CALLED ---------------\nFATAL CALLED FROM FILE:  <stdin>  LINE:  7\n"
                "the soil table has no row 9\n"
            ),
            "python_exception_other.simulation_banner",
            "the soil table has no row 9",
        ),
        (
            (
                "slurmstepd: error: pyxis: container start failed with error code: 1\n"
                "slurmstepd: error: pyxis: printing enroot log file:\n"
                "slurmstepd: error: pyxis:     [INFO] Extracting the image\n"
                "slurmstepd: error: pyxis:     the rootfs has no shell\n"
                "slurmstepd: error: pyxis: couldn't start container\n"
            ),
            "srun_error.container",
            "the rootfs has no shell",
        ),
        (
            (
                "012 (7.000.000) 2026-05-04 10:11:12 Job was held.\n\tThe job attribute Hold became TRUE\n"
                "\tCode 3 Subcode 0\n...\n"
            ),
            "slurm_cancelled.held",
            "The job attribute Hold became TRUE",
        ),
    ],
)
def test_the_reason_below_a_heading_is_quoted(tmp_path: Path, text: str, cause: str, headline: str) -> None:
    found = look(tmp_path, text)
    assert (found.cause, found.headline) == (cause, headline)
    assert len(found.evidence) == 2  # the heading and the reason


def test_two_banners_with_different_reasons_are_different_failures(tmp_path: Path) -> None:
    first, second = (look(tmp_path, f"Fatal error:\n{why}\n") for why in ("no cells left", "a bad angle"))
    assert first.cause == second.cause
    assert first.fingerprint != second.fingerprint


def test_a_known_failure_below_a_heading_is_the_cause(tmp_path: Path) -> None:
    found = look(tmp_path, "Fatal error:\nwrite failed: No space left on device\n")
    assert found.label == "disk_full"


def test_a_heading_without_a_reason_is_shown_itself(tmp_path: Path) -> None:
    found = look(tmp_path, "step 1\n*** FATAL ERROR ***\n")
    assert [line.text for line in found.evidence] == ["*** FATAL ERROR ***"]


@pytest.mark.parametrize(
    "text",
    [
        "step 1\nstep 2\nthe run has failed\n",
        "step 1\nERROR: the mesh is torn\nclosing the files\n",
        "step 1\nlauncher: run 3 ended with errors\nbye\n",
        "step 1\nnumbers went bad; terminated because the norm was too large\n",
    ],
)
def test_words_of_failure_near_the_end_that_no_pattern_explains_are_unknown(
    tmp_path: Path, text: str
) -> None:
    found = look(tmp_path, text)
    assert (found.cause, found.label, found.title) == (None, None, "Cause unknown")


def test_such_words_are_shown_even_above_the_last_lines(tmp_path: Path) -> None:
    frames = "".join(f"   at frame {number}\n" for number in range(12))
    found = look(tmp_path, f"step 1\nERROR: the mesh is torn\n{frames}")
    assert found.evidence[0].text == "ERROR: the mesh is torn"
    assert "no known failure explains" in found.explanation


@pytest.mark.parametrize(
    "text",
    [
        "step 1\nepoch 3: validation error 9.28 %\n",
        "step 1\nErrors: 0\nFailed      : 2\n0 errors, no failures\n",
        "step 1\nthe run finished without any error\n",
        "ERROR: the mesh is torn\n" + "".join(f"step {number}\n" for number in range(20)),
        "step 1\nERROR: the mesh is torn\nNormal termination of Gaussian 16\n",
        "step 1\nWARN: attempt 1 failed, retrying\nstep 2\n",
    ],
)
def test_counts_measures_and_survived_words_are_no_failure(tmp_path: Path, text: str) -> None:
    assert look(tmp_path, text).title == "No failure found"


def test_the_end_of_a_script_shows_that_a_small_command_did_not_stop_it(tmp_path: Path) -> None:
    assert look(tmp_path, "gzip: a.nc: No such file or directory\nstep 2\nALL DONE\n").label == "clean"
    assert look(tmp_path, "run.sh: line 3: solver: command not found\nALL DONE\n").label == "module_env"
    assert look(tmp_path, "gzip: a.nc: No such file or directory\nstep 2\n").label == "file_not_found"


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (
            (
                "salloc: Job allocation 7 has been revoked.\n"
                "[2026-05-04T10:11:12] error: *** STEP 7.interactive ON n1 CANCELLED AT 2026-05-04T10:11:12 "
                "DUE TO TIME LIMIT ***\n"
            ),
            "slurm_timeout",
        ),
        ("salloc: Job allocation 7 has been revoked.\n", "slurm_cancelled"),
        ("salloc: Prolog failure on node n1\nsalloc: Job allocation 7 has been revoked.\n", "node_fail"),
        (
            (
                "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-05-04T10:11:12 DUE TO PREEMPTION ***\n"
                "sbatch: error: Requeue failed: Requested operation is presently disabled\n"
            ),
            "slurm_preempted",
        ),
        (
            'orterun: Error: unknown option "--pmi"\nPMI2_Init failed to initialize.  Return code: 14\n',
            "mpi_error",
        ),
    ],
)
def test_the_more_telling_word_of_a_scheduler_or_launcher_counts(
    tmp_path: Path, text: str, label: str
) -> None:
    assert look(tmp_path, text).label == label


def test_a_held_job_that_was_released_and_ended_well_has_no_failure(tmp_path: Path) -> None:
    held = "012 (7.000.000) 2026-05-04 10:11:12 Job was held.\n\tout of luck\n...\n"
    released = "013 (7.000.000) 2026-05-04 10:12:12 Job was released.\n...\n"
    ended = "005 (7.000.000) 2026-05-04 11:12:12 Job terminated.\n\t(1) Normal termination (return value 0)\n"
    assert look(tmp_path, held + released + ended).label == "clean"


def test_a_completed_job_whose_log_ends_in_a_banner_is_doubtful(tmp_path: Path) -> None:
    completed = SlurmEvidence(state=JobState.COMPLETED, exit_code=0)
    found = look(tmp_path, "step 1\nFatal error:\nThe grid has 3 empty cells\n\nSee the manual\n", completed)
    assert found.doubt == "its log ends in The grid has 3 empty cells"


def test_no_labelled_failure_is_called_clean(tmp_path: Path) -> None:
    labelled = SHARED / "failures/dev.jsonl"
    if not labelled.exists():
        pytest.skip("the labelled logs are not here")
    called_clean = [
        case["id"]
        for case in map(json.loads, labelled.read_text().splitlines())
        if (look(tmp_path, case["log"]).label == "clean") != (case["label"] == "clean")
    ]
    assert called_clean == []


def test_ordinary_training_logs_have_no_cause() -> None:
    index = SHARED / "training_logs/index.jsonl"
    if not index.exists():
        pytest.skip("the training logs are not here")
    logs = [json.loads(line) for line in index.read_text().splitlines()]
    ended_well = [
        each["id"] for each in logs if each["run_completed"] and each["id"] not in BROKEN_AT_THE_END
    ]
    causes = {
        name: explain_files(UNKNOWN, [str(index.with_name(f"{name}.log"))]).cause for name in ended_well
    }
    assert {name: cause for name, cause in causes.items() if cause} == {}
