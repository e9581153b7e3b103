"""A few patterns, and the diagnosis of logs whose lines name them."""

from __future__ import annotations

from jobmon_core.domain.logs.diagnosis.diagnose import diagnose
from jobmon_core.domain.logs.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import Match, Pattern, Role
from jobmon_core.domain.slurm.states import JobState

FAILED = SlurmEvidence(state=JobState.FAILED, exit_code=1)
UNKNOWN = SlurmEvidence()
GIB = 1024**3


def pattern(
    name: str,
    precedence: int = 50,
    role: Role = Role.ROOT,
    *,
    is_warning: bool = False,
    is_final: bool = False,
) -> Pattern:
    return Pattern(
        id=name,
        title=f"title of {name}",
        is_warning=is_warning,
        role=role,
        regex=(name,),
        cause=f"Cause of {name}.",
        advice="Do this.",
        precedence=precedence,
        examples=(),
        counter_examples=(),
        is_final=is_final,
    )


PATTERNS = {
    "wrapper.launcher": pattern("wrapper.launcher", 0, Role.SYMPTOM),
    "noticed": pattern("noticed", 0, Role.CONTEXT, is_warning=True),
    "cuda_oom": pattern("cuda_oom", 78),
    "python": pattern("python", 44),
    "segfault": pattern("segfault", 45),
    "python.variant": pattern("python.variant", 44),
    "python_exception_other": pattern("python_exception_other", 44),
    "python_exception_other.variant": pattern("python_exception_other.variant", 44),
    "nccl_timeout": pattern("nccl_timeout", 20),
    "network_error": pattern("network_error", 21),
    "slurm_timeout": pattern("slurm_timeout", 12),
    "noise": pattern("noise", 15),
    "finished": pattern("finished", 0, Role.SUCCESS, is_warning=True),
    "slurm_cancelled": pattern("slurm_cancelled", 10, is_final=True),
    "host_oom_kill": pattern("host_oom_kill", 95, is_final=True),
    "killed": pattern("killed", is_final=True),
    "module_env": pattern("module_env", 18),
    "config_error.shell_syntax": pattern("config_error.shell_syntax", 19),
    "module_env.activation": pattern("module_env.activation", 43),
    "import_error": pattern("import_error", 42),
    "file_not_found.command": pattern("file_not_found.command", 15),
    "python_exception_other.key_error": pattern("python_exception_other.key_error", 44),
    "python_exception_other.removed_platform": pattern("python_exception_other.removed_platform", 18),
}


def diagnosed(evidence: SlurmEvidence, *texts: str) -> Diagnosis:
    """Diagnose a log in which each line matches the patterns that it names, separated by blanks."""
    matches = [
        Match(PATTERNS[word], position)
        for position, text in enumerate(texts)
        for word in text.split()
        if word in PATTERNS
    ]
    return diagnose(evidence, LogAnalysis(matches, LogLines([LogExcerpt("job.err", texts)])))


TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/home/u/train.py", line 12, in <module>',
    "    main()",
    '  File "/home/u/model.py", line 7, in main',
    "    x = layer(y)",
    "        ^^^^^^^^",
    '  File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1553, in _call',
    "    return forward_call(*args)",
    "python",
)
PROGRESS = tuple(f"epoch {n}" for n in range(41))
