from __future__ import annotations

from jobmon_core.system import child_env


def test_user_defaults_for_slurm_commands_are_removed() -> None:
    variables = {"SQUEUE_USERS": "x", "SACCT_FORMAT": "jobid", "SINFO_ALL": "1", "SLURM_CLUSTERS": "other"}
    assert not variables.keys() & child_env.for_queries(variables).keys()


def test_variables_of_the_surrounding_job_are_removed() -> None:
    variables = {"SLURM_JOB_ID": "7", "SLURMD_NODENAME": "n1", "SLURM_NTASKS": "4"}
    assert not variables.keys() & child_env.for_queries(variables).keys()


def test_the_cluster_and_credentials_are_kept() -> None:
    variables = {
        "SLURM_CONF": "/etc/own.conf",
        "SLURM_JWT": "token",
        "PATH": "/opt/slurm/bin",
        "HOME": "/home/me",
    }
    assert variables.items() <= child_env.for_queries(variables).items()


def test_machine_readable_formats_are_requested() -> None:
    variables = {"SLURM_TIME_FORMAT": "relative", "LC_ALL": "de_DE", "SLURM_BITSTR_LEN": "9"}
    machine_readable = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}
    assert child_env.for_queries(variables) == machine_readable


def test_no_program_gets_a_webhook() -> None:
    variables = {
        "JOBMON_SUCCESS_WEBHOOK": "https://a",
        "JOBMON_ERROR_WEBHOOK": "https://b",
        "JOBMON_WEBHOOK": "c",
    }
    assert child_env.for_user(variables) == {}
    assert not variables.keys() & child_env.for_queries(variables).keys()


def test_user_programs_get_all_other_variables() -> None:
    variables = {
        "SLURM_JOB_ID": "7",
        "SBATCH_PARTITION": "gpu",
        "JOBMON_HOME": "/j",
        "JOBMON_ERROR_WEBHOOK_FILE": "/secret",
    }
    assert child_env.for_user(variables) == variables


def test_variables_set_by_python_do_not_reach_the_job() -> None:
    environ = {"LC_CTYPE": "C.UTF-8", "LANG": "C"}
    assert child_env.for_user(environ, {"LC_CTYPE"}) == {"LANG": "C"}
    assert child_env.for_user(environ) == environ
