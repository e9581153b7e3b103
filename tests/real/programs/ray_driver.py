"""A small driver of Ray: ok, raises, worker-dies, out-of-memory or infeasible."""

import os
import signal
import sys
import time

import ray  # type: ignore[import-not-found]  # only the interpreter that runs it has Ray


def train(steps: int) -> None:
    for step in range(1, steps + 1):
        print(f"step {step}: train loss {1 / step:.3f}, of {steps}")
        time.sleep(0.75)  # a monitor on a full machine must see it run


def fail(row: dict[str, float]) -> float:
    return row["lr"]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def use_memory() -> None:
    print("step 1: train loss 1.000, of 40")
    time.sleep(3600)  # until Ray's memory monitor kills it


def main(kind: str) -> None:
    ray.init()
    if kind == "ok":
        ray.get(ray.remote(train).remote(40))
    elif kind == "raises":
        ray.get(ray.remote(fail).remote({}))
    elif kind == "worker-dies":
        ray.get(ray.remote(max_retries=0)(die).remote())
    elif kind == "out-of-memory":
        ray.get(ray.remote(max_retries=0, num_cpus=0, resources={"full": 1})(use_memory).remote())
    else:
        ray.get(ray.remote(num_gpus=8)(train).remote(1))


main(sys.argv[1])
