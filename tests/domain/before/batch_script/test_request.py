"""What a submission asks for."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.batch_script.request import Request, log_files, read_request


def _request(*arguments: str, script: str = "", **environment: str) -> Request:
    return read_request([*arguments, "job.sh"], environment, f"#!/bin/bash\n{script}\ntrue\n")


def test_the_command_line_overrides_the_environment_which_overrides_the_script() -> None:
    script = "#SBATCH -t 10 -p a --output=x"
    assert _request(script=script).time_limit_s == 600
    assert _request(script=script, SBATCH_TIMELIMIT="20").time_limit_s == 1200
    assert _request("-t", "30", script=script, SBATCH_TIMELIMIT="20").time_limit_s == 1800
    assert _request(script=script).options["partition"] == "a"
    assert _request(SBATCH_JOB_NAME="train").name == "train"
    assert _request("-J", "eval", SBATCH_JOB_NAME="train").name == "eval"
    assert _request(SBATCH_EXCLUSIVE="1").gpus_per_node is None  # it may include the GPUs of the node


def test_a_job_without_a_name_is_named_as_sbatch_names_it() -> None:
    assert _request().name == "job.sh"
    assert read_request(["--wrap", "true"], {}, "").name == "wrap"
    assert read_request([], {}, "#!/bin/bash\ntrue\n").name == "sbatch"  # on stdin


@pytest.mark.parametrize(
    ("options", "per_node", "total"),
    [
        ((), 0, 0),
        (("--gres=gpu:4",), 4, 4),
        (("--gres=gpu:a100:4", "-N", "2"), 4, 8),
        (("--gres=gpu",), 1, 1),
        (("--gres=lustre:1,gpu:2",), 2, 2),
        (("--gres=shard:1",), 0, 0),
        (("--gpus=8", "-N2"), 4, 8),
        (("--gpus=1",), 1, 1),
        (("-G", "a100:3"), None, 3),  # how many on each node, Slurm decides
        (("--gpus-per-node=h100:8", "--nodes=4"), 8, 32),
        (("--gpus-per-task=1", "-n", "4", "-N", "1"), 4, 4),
        (("--gpus=some",), None, None),
    ],
)
def test_gpus(options: tuple[str, ...], per_node: int | None, total: int | None) -> None:
    request = _request(*options)
    assert (request.gpus_per_node, request.gpus) == (per_node, total)


def test_tasks_and_arrays() -> None:
    assert _request("-N", "2", "--ntasks-per-node=4").tasks == 8
    assert _request().tasks is None
    array = _request("--array=1-5:2%2").array
    assert array is not None
    assert list(array) == [1, 3, 5]
    assert _request("--array=x").array is None


def test_a_het_job_is_recognized() -> None:
    assert _request(script="#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n1").is_het_job
    assert not _request(script="#SBATCH -n1").is_het_job


@pytest.mark.parametrize(
    ("arguments", "environment", "expression"),
    [
        (["--array=1-4", "job.sh"], {"SBATCH_ARRAY_INX": "5"}, "1-4"),
        (["-a1-4%2", "job.sh"], {}, "1-4%2"),
        (["-a", "1", "--array", "2", "--wrap", "true"], {}, "2"),
        (["-n1", "job.sh", "--array=9"], {"SBATCH_ARRAY_INX": "5"}, "5"),
        (["job.sh"], {}, "7-8"),
        (["--container-image=a.sqsh", "job.sh"], {}, "7-8"),
        (["--tasks-per-node", "4", "--batch=gpu", "-a1-2", "job.sh"], {}, "1-2"),
        (["-a1-2", "-n1", ":", "-n2", "job.sh"], {}, "1-2"),
    ],
)
def test_the_array_is_that_of_the_command_line_else_of_the_environment_else_of_the_script(
    arguments: list[str], environment: dict[str, str], expression: str
) -> None:
    assert read_request(arguments, environment, "#!/bin/sh\n#SBATCH -a 7-8\n").options["array"] == expression


@pytest.mark.parametrize(
    ("options", "files"),
    [
        ([], ("/w/slurm-%j.out",)),
        (["-a1-2"], ("/w/slurm-%A_%a.out",)),
        (["-o", "logs/%x/%j.out"], ("/w/logs/a%%b/%j.out",)),
        (["-o", "/scratch/%u/o.txt", "-e", "%j/e.txt"], ("/scratch/me/o.txt", "/w/%j/e.txt")),
        (["-o", "100%%-%x.out"], ("/w/100%%-a%%b.out",)),
        (["-o", r"a\\%x.out"], (r"/w/a\\%x.out",)),
        (["-o", "none"], ("/dev/null",)),
    ],
)
def test_of_the_files_of_the_output_what_is_known_before_the_submission_is_expanded(
    options: list[str], files: tuple[str, ...]
) -> None:
    assert log_files(_request("-J", "a%b", *options), "/w", "me") == files
