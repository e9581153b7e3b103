"""Evaluate 61 samples by inspect-ai; ``log A B`` runs those before B: FOLDER RUN FORMAT [LOG TO RETRY]."""

import sys

import inspect_ai
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, Solver, TaskState, solver

folder, name, kind, *retried = sys.argv[1:]
state = {"allowed": 0, "code": 0, "told": 1}


@solver
def obedient() -> Solver:
    """Return a solver that waits until its sample may run."""

    async def solve(sample: TaskState, _generate: Generate) -> TaskState:
        if sample.sample_id >= state["allowed"] and not state["told"]:
            print("done", flush=True)
            state["told"] = 1
        while sample.sample_id >= state["allowed"]:
            order, *numbers = sys.stdin.readline().split()
            if order == "end":
                state["allowed"], state["code"] = 10**9, int(numbers[0])
                if state["code"]:
                    raise ValueError("broken\nsample")
            else:
                state["allowed"], state["told"] = int(numbers[1]), 0
        sample.output = ModelOutput.from_content("mockllm/model", "Default")
        sample.completed = True
        return sample

    return solve


@task
def sixty() -> Task:
    """Return the task."""
    samples = [Sample(id=number, input="q", target="Default") for number in range(61)]
    return Task(dataset=samples, solver=[obedient()], scorer=match(), name=name)


# a retry imports this file again
if __name__ == "__main__":
    options = {"log_dir": folder, "display": "none", "log_format": kind, "max_samples": 1, "log_buffer": 1}
    if retried:
        inspect_ai.eval_retry(retried, **options)
    else:
        inspect_ai.eval(sixty(), model="mockllm/model", **options)
    sys.exit(state["code"])
