"""A small driver of Ray: ok, raises, worker-dies or infeasible."""

import os
import signal
import sys

import ray  # type: ignore[import-not-found]  # only the interpreter that runs it has Ray


def train(steps: int) -> None:
    for step in range(1, steps + 1):
        print(f"step {step}: train loss {1 / step:.3f}, of {steps}")


def fail(row: dict[str, float]) -> float:
    return row["lr"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(kind: str) -> None:
    ray.init()
    if kind == "ok":
        ray.get(ray.remote(train).remote(40))
    elif kind == "raises":
        ray.get(ray.remote(fail).remote({}))
    elif kind == "worker-dies":
        ray.get(ray.remote(max_retries=0)(die).remote())
    else:
        ray.get(ray.remote(num_gpus=8)(train).remote(1))


main(sys.argv[1])
