"""Log to a server of MLflow, as fast as a file says: URI FOLDER; the run goes on if it has begun before."""

import os
import sys
import time
from pathlib import Path

import mlflow

uri, folder = sys.argv[1], Path(sys.argv[2])
mlflow.set_tracking_uri(uri)
experiment = mlflow.set_experiment("exp").experiment_id
run = mlflow.start_run(run_id=os.environ.get("MLFLOW_RUN_ID"), run_name="nice run").info
print(f"View run {run.run_name} at: {uri}/#/experiments/{experiment}/runs/{run.run_id}", flush=True)
mlflow.log_param("max_steps", 60)
for step in range(60):
    mlflow.log_metric("train_loss", 1 / (step + 1), step=step)
    while step == 29 and not (folder / "go").exists():
        time.sleep(0.05)
if (folder / "die").exists():
    os._exit(1)
mlflow.end_run()
