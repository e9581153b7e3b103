"""Take the stacks on this node: ``python -m jobmon_core.observe.stacks OPTION...``.

Options: ``--folder=FOLDER --job=ID|--pid=N... [--node=NAME]``.
A program of its own, because it runs on the nodes of a job.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from jobmon_core.observe.stacks.take import take_stacks
from jobmon_core.system.files import write_atomically
from jobmon_core.system.json_codec import to_json
from jobmon_core.system.runner import Runner

_NAMES = ("folder", "job", "pid", "node")


def main(arguments: list[str]) -> None:
    """Write the stacks to a file in the folder, named after the node."""
    options = [argument.removeprefix("--").split("=", 1) for argument in arguments]
    values = {name: [each for key, each in options if key == name] for name in _NAMES}
    name = "".join(values["node"]) or os.environ.get("SLURMD_NODENAME") or os.uname().nodename
    node, folder = name.replace("/", "_"), Path("".join(values["folder"]))
    taken = take_stacks(Runner(), node, "".join(values["job"]), [int(pid) for pid in values["pid"]], folder)
    write_atomically(folder / f"{node}.json", json.dumps(to_json(taken)).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
