"""Log to Trackio: FOLDER RUN; the folder is that in TRACKIO_DIR."""

import sqlite3
import sys
import time
from contextlib import closing

import trackio
from orders import loss_at, obey

folder, name = sys.argv[1:]
trackio.init(project="p", name=name, resume="allow", config={"max_steps": 60})
logged: list[int] = []


def log(step: int) -> None:
    """Log one step."""
    trackio.log({"train/loss": loss_at(step)}, step=step)
    logged.append(step)


def flush() -> None:
    """Wait until the library's thread has written the last step."""
    query = "SELECT max(id) FROM metrics WHERE run_name = ? AND step = ?"
    problem = "the step is missing"
    for _ in range(600):
        try:
            with closing(sqlite3.connect(f"{folder}/p.db")) as database:
                if database.execute(query, (name, logged[-1])).fetchone()[0]:
                    return
        except sqlite3.Error as error:  # it has no tables yet, or is written
            problem = str(error)
        time.sleep(0.05)
    raise TimeoutError(f"Trackio wrote nothing within 30 s: {problem}")


code = obey(log, flush)
trackio.alert(title="Loss spike", text=f"{name} is odd", level=trackio.AlertLevel.WARN)
trackio.finish()
sys.exit(code)
