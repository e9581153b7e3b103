"""Log to MLflow's database or files: FOLDER RUN STORE, of which ``db`` is the database."""

import os
import shutil
import sys
from pathlib import Path

import mlflow
from orders import loss_at, obey

folder, name, store = sys.argv[1:]
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
if store == "db" and not Path(folder, "mlflow.db").exists():
    # MLflow takes seconds to make a database, which is the same each time
    made = Path(sys.prefix, "mlflow.db")
    if not made.exists():
        new = made.with_suffix(f".{os.getpid()}")
        mlflow.MlflowClient(f"sqlite:///{new}").search_experiments()
        new.rename(made)
    shutil.copy(made, folder)
uri = f"sqlite:///{folder}/mlflow.db" if store == "db" else f"file://{folder}/mlruns"
mlflow.set_tracking_uri(uri)
mlflow.set_experiment("exp")
known = Path(folder, f"{name}.id")
run = mlflow.start_run(run_id=known.read_text() if known.exists() else None, run_name=name)
known.write_text(run.info.run_id)
mlflow.log_param("max_steps", 60)
code = obey(lambda step: mlflow.log_metric("train_loss", loss_at(step), step=step), lambda: None)
mlflow.end_run("FAILED" if code else "FINISHED")
sys.exit(code)
