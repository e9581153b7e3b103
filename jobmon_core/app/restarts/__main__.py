"""The program that submits the next attempt of a lineage: ``HOME LINEAGE NUMBER``.

A monitor starts it, since the use cases lie above it. It writes what came of it as the last line of stdout.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from jobmon_core.app.restarts.submit_attempt import submit_attempt
from jobmon_core.context import Context
from jobmon_core.store.home import Home
from jobmon_core.system.json_codec import to_json


def main() -> None:
    """Submit, and write the `SubmissionResult`."""
    home, lineage, number = sys.argv[1:]
    result = submit_attempt(Context(Home(Path(home)), os.environ), lineage, int(number))
    print(json.dumps(to_json(result)), flush=True)


if __name__ == "__main__":
    main()
