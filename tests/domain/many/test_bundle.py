from __future__ import annotations

from jobmon_core.domain.many.bundle import (
    LAST_LINES,
    MAX_BYTES,
    Part,
    bundle_text,
    environment_part,
    log_part,
    utc,
)


def test_a_part_of_which_nothing_is_known_says_so() -> None:
    assert bundle_text(["job 12"], [Part("Events", ())]) == "job 12\n\n== Events\n(nothing known)\n"


def test_of_a_log_that_is_too_long_the_end_stays() -> None:
    lines = [f"{number} {'x' * 990}" for number in range(100)]
    text = bundle_text(["job 12"], [Part("Log", lines, keeps_end=True)])
    assert "lines left out]\n" in text
    assert f"\n99 {'x' * 990}\n" in text
    assert len(text) < 50 * 1024


def test_a_bundle_never_exceeds_its_limit_and_says_where_it_was_cut() -> None:
    parts = [Part(f"Log {number}", ["é" * 900] * 60) for number in range(20)]
    text = bundle_text(["job 12"], parts)
    assert len(text.encode()) <= MAX_BYTES
    assert text.endswith("[cut here: the diagnostics file is full]\n")


def test_a_line_that_is_too_long_is_shortened_and_stays_one_line() -> None:
    text = bundle_text(["job 12"], [Part("Log", ["a" * 5000, "b\nc"])])
    assert "a" * 1000 + " [...]\nb c\n" in text


def test_half_of_a_surrogate_pair_from_a_log_that_is_not_utf_8_does_no_harm() -> None:
    assert "? end" in bundle_text(["job 12"], [Part("Log", ["\ud83d end"])])


def test_only_the_last_50_lines_of_a_log_are_shown() -> None:
    part = log_part("/logs/a.out", [f"line {number}" for number in range(80)], "")
    assert (part.lines[0], part.lines[-1], len(part.lines)) == ("line 30", "line 79", LAST_LINES)
    assert log_part("/logs/a.out", [], "is empty").lines == ["(is empty)"]


def test_of_the_environment_only_harmless_values_are_shown() -> None:
    part = environment_part(
        {
            "CUDA_VISIBLE_DEVICES": "0,1",
            "PYTHONPATH": "/opt/lib:ghp_0123456789abcdefghij0123",
            "SLURM_JWT": "ey-secret",
            "WANDB_API_KEY": "0123456789abcdef",
            "JOBMON_ERROR_WEBHOOK": "https://discord.com/api/webhooks/1/abc",
            "EDITOR": "vim",
        }
    )
    assert list(part.lines) == [
        "CUDA_VISIBLE_DEVICES=0,1",
        "PYTHONPATH=/opt/lib:ghp_[hidden]",
        "also set, values not shown: EDITOR, JOBMON_ERROR_WEBHOOK, SLURM_JWT, WANDB_API_KEY",
    ]


def test_of_a_variable_with_an_unknown_name_only_the_name_is_shown() -> None:
    unknown = (
        *("SBATCH_EXPORT", "SLURM_EXPORT_ENV", "SLURM_JOB_COMMENT", "SLURM_SUBMIT_ARGS", "TF_VAR_db_pat"),
        *(
            "LC_MYPAT",
            "PYTHON_GITLAB_PAT",
            "TORCH_DSN",
            "CUDA_PIN",
            "NCCL_PAT",
            "PYTORCH_PW",
            "XPATH",
            "PATH2",
        ),
    )
    known = ("SLURM_JOB_ID", "SLURM_NTASKS", "NCCL_DEBUG", "OMP_NUM_THREADS", "PYTHONUNBUFFERED", "LC_ALL")
    part = environment_part(dict.fromkeys((*unknown, *known), "hunter2"))
    assert sorted(list(part.lines)[:-1]) == sorted(f"{name}=hunter2" for name in known)
    assert list(part.lines)[-1] == f"also set, values not shown: {', '.join(sorted(unknown))}"


def test_a_time_is_written_in_utc_or_not_at_all() -> None:
    assert utc(1_764_000_000.7) == "2025-11-24T16:00:00Z"
    assert (utc(None), utc(0.0), utc(1e15)) == ("", "", "")


def test_control_codes_and_turned_text_do_not_reach_the_reader() -> None:
    text = bundle_text(["job 7 a\x1b]0;x\x07"], [Part("t\x1b[2J\u202e", ["b\x1b[31m\u2066\n== c", "d\te"])])
    assert not [each for each in text if not each.isprintable() and each != "\n"]
    assert text.split("\n")[-3:] == ["b [31m  == c", "d       e", ""]
