"""Batch scripts of many kinds: good ones, ones with a single planted fault, and a folder for them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobmon_core.domain.finding import Finding, Severity

_TRAIN = """\
import argparse
import json
import logging

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
model = torch.nn.parallel.DistributedDataParallel(None)
logging.info("started")
torch.save(model, "checkpoint.pt")
"""
_PLAIN = "import csv\nimport sys\n\nfor number in range(3):\n    print(number, flush=True)\n"
_FILES = {
    "train.py": _TRAIN,
    "plain.py": _PLAIN,
    "prints.py": "import time\nprint('step 1/10')\n",
    "one_gpu.py": "import torch\nmodel = torch.nn.Linear(1, 1).cuda()\nmodel(None)\n",
    "rewrites.py": "import torch\nwhile True:\n    torch.save(None, 'last.pt')\n",
    "endless.py": "import json\njson.loads('1')\n",
    "model.R": "print(1)\n",
    "torch/__init__.py": "",
    "data/train.csv": "a,b\n1,2\n",
    "data/part_1.csv": "a\n1\n",
    "data/part_2.csv": "a\n1\n",
    "data/part_3.csv": "a\n1\n",
    "empty.csv": "",
    "names.txt": "a\nb\nc\n",
    "case.in": "n = 10\n",
    "img.sif": "an image\n",
    "old/model.pt": "weights\n",
    "venv/bin/activate": "VIRTUAL_ENV=venv\n",
    "conda/etc/profile.d/conda.sh": "conda() { :; }\n",
    "conda/envs/llm/conda-meta/history": "",
    "logs/keep": "",
}
_PROGRAMS = ("solver", "run.sh", "bin/torchrun", "bin/accelerate", "bin/deepspeed")
_PYTHONS = ("venv/bin/python", "conda/envs/llm/bin/python")


def make_workspace(folder: Path) -> None:
    """Make the files that the scripts name."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "bin").mkdir()
    for name in _PROGRAMS:
        (folder / name).write_text("#!/bin/bash\ntrue\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    (folder / "not_executable").write_text("#!/bin/bash\n", encoding="utf-8")
    for name in _PYTHONS:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(sys.executable)


@dataclass(frozen=True)
class Case:
    """A submission, and the item in which its fault shows; a good one has none, or a single warning."""

    script: str  # lines after the shebang
    fault: str = ""  # the id of the item
    status: Severity = Severity.CRITICAL
    options: tuple[str, ...] = ()  # before the script
    arguments: tuple[str, ...] = ()  # after it
    shebang: str = "#!/bin/bash"
    files: Mapping[str, str] = field(default_factory=dict)
    needs_slurm: bool = False

    @property
    def expected(self) -> dict[str, Severity]:
        """The items that fail or warn."""
        return {self.fault: self.status} if self.fault else {}

    def write(self, folder: Path) -> list[str]:
        """Write the script into the workspace, and return the arguments of sbatch."""
        text = f"{self.shebang}\n{self.script}" if self.shebang else self.script
        (folder / "job.sbatch").write_bytes(text.encode())
        for name, content in self.files.items():
            (folder / name).write_text(content, encoding="utf-8")
        # without a limit, it would also be judged as a job that may run for days
        limit = () if re.search(r"#SBATCH.*(-t|--time)[ =]", self.script) else ("--time=60",)
        return [*limit, *self.options, "job.sbatch", *self.arguments]


def problems(items: tuple[Finding, ...]) -> dict[str, Severity]:
    """Return the items that fail or warn."""
    return {
        item.id: item.severity for item in items if item.severity in (Severity.CRITICAL, Severity.WARNING)
    }


_GPUS = "#SBATCH --gres=gpu:4\n#SBATCH --time=02:00:00\n"

GOOD = {
    "plain python": Case("#SBATCH --time=10\npython3 -u plain.py data/train.csv\n"),
    "torchrun in a venv, with checkpoints": Case(
        "#SBATCH --gres=gpu:4\n#SBATCH --time=20:00:00\n#SBATCH --output=logs/%x-%j.out\n"
        "set -euo pipefail\nsource venv/bin/activate\nexport OMP_NUM_THREADS=4\n"
        'OUT=out/$SLURM_JOB_ID\nmkdir -p "$OUT"\n'
        "torchrun --standalone --nproc_per_node=4 train.py --data data/train.csv \\\n"
        '    --output_dir "$OUT" --checkpoint_dir "$OUT/ckpt" --resume\n'
    ),
    "srun python on two nodes": Case(
        "#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n#SBATCH -t 2:00:00\n"
        'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)\n'
        "export MASTER_PORT=$((10000 + SLURM_JOB_ID % 50000))\n"
        "srun --cpu-bind=none python3 -u train.py --data-dir data\n"
    ),
    "torchrun started by srun, a launcher on each node": Case(
        "#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 -t 60\n"
        "head=$(hostname)\n"
        "srun torchrun --nnodes=2 --nproc_per_node=4 --rdzv_endpoint=$head:29500 train.py\n"
    ),
    "accelerate": Case(
        f"{_GPUS}source venv/bin/activate\n"
        "accelerate launch --multi_gpu --num_processes 4 train.py --train_file data/train.csv\n"
    ),
    "mpirun of a compiled solver": Case(
        "#SBATCH --nodes=2 --ntasks=8 --time=03:00:00\nset -e\nmodule load openmpi\n"
        "mpirun -np $SLURM_NTASKS ./solver -i case.in > solver.log 2>&1\n"
    ),
    "attempts until one succeeds": Case("for number in 1 2; do\n  ./solver && break\ndone\n"),
    "array with a file for each task": Case(
        "#SBATCH --array=1-3%2\n#SBATCH --output=logs/%A_%a.out\n#SBATCH -t 30\n"
        'INPUT=data/part_${SLURM_ARRAY_TASK_ID}.csv\npython3 -u plain.py --input "$INPUT"\n'
    ),
    "array with a list": Case(
        '#SBATCH --array=1-3 -t 5\nNAME=$(sed -n "${SLURM_ARRAY_TASK_ID}p" names.txt)\n./solver "$NAME"\n'
    ),
    "conda": Case(
        "#SBATCH --gres=gpu:1 -t 90\nsource conda/etc/profile.d/conda.sh\nconda activate llm\n"
        "python -u one_gpu.py --config case.in\n"
    ),
    "apptainer with modules": Case(
        f"{_GPUS}module purge\nmodule load apptainer/1.2 cuda\nmkdir -p results\n"
        "srun apptainer exec --nv --bind $PWD:/work img.sif python3 /work/train.py --out /work/results\n"
    ),
    "R": Case("#SBATCH -t 20 --mem=1G\nmodule load R\nRscript --vanilla model.R\n"),
    "deepspeed": Case(
        f"{_GPUS}deepspeed --num_gpus=4 train.py --deepspeed ds.json\n", files={"ds.json": '{"zero": 1}\n'}
    ),
    "workers in the background, one GPU each": Case(
        f"{_GPUS}pids=()\nfor gpu in 0 1 2 3; do\n"
        '  CUDA_VISIBLE_DEVICES=$gpu python3 -u train.py --shard "$gpu" > logs/worker_$gpu.log 2>&1 &\n'
        '  pids+=($!)\ndone\nfor pid in "${pids[@]}"; do wait "$pid" || exit 1; done\n'
    ),
    "a trap that requeues": Case(
        f"{_GPUS}#SBATCH --signal=B:USR1@120 --requeue\n"
        'save() { scontrol requeue "$SLURM_JOB_ID"; }\ntrap save USR1\n'
        "torchrun --nproc_per_node=gpu train.py --resume &\nwait $!\n"
    ),
    "stages joined by &&": Case(
        "#SBATCH -t 60\npython3 -u plain.py prepare && python3 -u plain.py evaluate && touch EVAL_DONE\n"
    ),
    "arguments, a function and a here-document": Case(
        '#SBATCH -t 60\nset -euo pipefail\nNAME=${1:?name}\nusage() { echo "usage: $0 NAME"; }\n'
        'cat > "conf_$NAME.txt" <<EOF\n#SBATCH --not=one\nname = $NAME\nEOF\n'
        'if [[ -z "${DEBUG:-}" ]]; then LEVEL=1; else LEVEL=2; fi\n'
        './solver --config conf_$NAME.txt --level "$LEVEL" | tee solver.log\n',
        arguments=("x",),
    ),
    "prepare, then train": Case(
        "#SBATCH -t 60\nset -e\nmake solver2\n./solver2 --threads 4\n./solver --data data/train.csv\n",
        "inputs",
        Severity.WARNING,
    ),
    "a venv of its own, with packages from the network": Case(
        "#SBATCH -t 60\nset -e\npython3 -m venv env\nsource env/bin/activate\npip install -r names.txt\n"
        "export PYTHONPATH=$PWD/src:$PYTHONPATH\npython -u needs.py\n",
        files={"needs.py": "import no_such_package\n"},
    ),
    "a container of another kind, and a disk of the node": Case(
        "#SBATCH -t 60\nset -e\ncp -r data $TMPDIR\ndocker run --rm i:1 python /app/t.py --data /app/d.csv\n"
    ),
    "a batch script in Python": Case(
        "#SBATCH -t 5\nimport json\nprint(json.dumps({}), flush=True)\n", shebang="#!/usr/bin/env python3"
    ),
}

BAD = {
    "the interpreter does not exist": Case("true\n", "interpreter", shebang="#!/usr/local/bin/no-such-bash"),
    "no shebang": Case("python3 -u plain.py\n", "interpreter", shebang=""),
    "line ends of DOS": Case("./solver\r\n", "line_endings", shebang="#!/bin/bash\r"),
    "an option after the script": Case("./solver\n", "options", arguments=("--gres=gpu:1",)),
    "#SBATCH after the first command": Case("module purge\n#SBATCH --gres=gpu:1\n./solver\n", "directives"),
    "a variable in #SBATCH": Case("#SBATCH --output=$HOME/%j.out\n./solver\n", "directives"),
    "#SBATCH in small letters": Case("#sbatch --mem=4G\n./solver\n", "directives", Severity.WARNING),
    "no such partition": Case("#SBATCH -p nope\n./solver\n", "sbatch", needs_slurm=True),
    "more GPUs than a node has": Case("#SBATCH --gres=gpu:64\n./solver\n", "sbatch", needs_slurm=True),
    "a time limit above the partition's": Case(
        "#SBATCH -p brief --time=20:00:00\n./solver\n", "time_limit", needs_slurm=True
    ),
    "no folder for the log": Case("#SBATCH --output=no/such/%j.out\n./solver\n", "logs"),
    "no folder for the log, by the job's name": Case("#SBATCH -J a/b -o x-%x.out\n./solver\n", "logs"),
    "a folder in place of the log": Case("#SBATCH --output=old\n./solver\n", "logs"),
    "no folder to start in": Case("#SBATCH -D /no/such -o /dev/null\n/bin/true\n", "chdir"),
    "one log for all tasks": Case("#SBATCH --array=1-3 -o all.out\n./solver\n", "logs", Severity.WARNING),
    "the program does not exist": Case("python3 -u trian.py\n", "inputs"),
    "the input does not exist": Case("python3 -u plain.py --data data/trian.csv\n", "inputs"),
    "the image does not exist": Case("apptainer exec ./no.sif python3 plain.py\n", "inputs"),
    "a folder that does not exist": Case("cd experiments/\n./solver\n", "inputs"),
    "the input is empty": Case("python3 -u plain.py --data empty.csv\n", "input_format"),
    "the input is cut off": Case(
        "python3 -u plain.py --config cut.json\n", "input_format", files={"cut.json": '{"a": [1, 2'}
    ),
    "the program cannot be executed": Case("./not_executable\n", "executables"),
    "an input of one task is missing": Case(
        "#SBATCH --array=1-4\npython3 -u plain.py --input data/part_$SLURM_ARRAY_TASK_ID.csv\n", "data_split"
    ),
    "more tasks than lines": Case(
        '#SBATCH --array=1-5\nNAME=$(sed -n "${SLURM_ARRAY_TASK_ID}p" names.txt)\n./solver $NAME\n',
        "data_split",
    ),
    "another number of shards than tasks": Case(
        "#SBATCH --array=0-3\n./solver --num-shards 8 --shard $SLURM_ARRAY_TASK_ID\n",
        "data_split",
        Severity.WARNING,
    ),
    "the output folder is a file": Case("python3 -u plain.py --output_dir case.in\n", "outputs"),
    "the output folder does not exist": Case(
        "python3 -u plain.py --output_dir results/run1\n", "outputs", Severity.WARNING
    ),
    "a redirection into no folder": Case("./solver > results/solver.log\n", "outputs"),
    "results of an earlier run": Case("./solver --output_dir old\n", "earlier_outputs", Severity.WARNING),
    "results of an earlier run, and a program that could resume": Case(
        "python3 -u train.py --output_dir old --dataloader_workers 2\n", "earlier_outputs", Severity.WARNING
    ),
    "a save over the save before": Case("python3 -u rewrites.py\n", "atomic_saves", Severity.WARNING),
    "a variable that a site might set": Case(
        'echo "$DATA_DIR" "$MODEL_ROOT"\n./solver\n', "variables", Severity.WARNING
    ),
    "more workers than GPUs": Case(f"{_GPUS}torchrun --nproc_per_node=8 train.py\n", "gpus"),
    "four GPUs asked for, one worker": Case(
        f"{_GPUS}torchrun --nproc_per_node 1 train.py\n", "gpus", Severity.WARNING
    ),
    "four GPUs asked for, one process": Case(f"{_GPUS}python3 -u one_gpu.py\n", "gpus", Severity.WARNING),
    "accelerate with too many processes": Case(
        f"{_GPUS}accelerate launch --num_processes=6 train.py\n", "gpus"
    ),
    "more processes than tasks": Case("#SBATCH -n 4 --gres=gpu:4\nmpirun -np 8 ./solver\n", "gpus"),
    "workers without GPUs": Case("torchrun --nproc_per_node=4 train.py\n", "gpus", Severity.WARNING),
    "a GPU by number": Case(
        "#SBATCH --gres=gpu:1\nexport CUDA_VISIBLE_DEVICES=0\npython3 -u one_gpu.py\n",
        "gpu_ids",
        Severity.WARNING,
    ),
    "a GPU that the job does not have": Case(
        "#SBATCH --gres=gpu:2\nCUDA_VISIBLE_DEVICES=3 python3 -u train.py\n", "gpu_ids"
    ),
    "a long run without checkpoints": Case(
        "#SBATCH --time=23:00:00\npython3 -u endless.py\n", "checkpoints", Severity.WARNING
    ),
    "a signal to a script without a trap": Case(
        "#SBATCH --signal=B:USR1@60\n./solver\n", "signals", Severity.WARNING
    ),
    "a trap that waits for the program": Case(
        "#SBATCH --signal=B:TERM@60\ntrap 'touch stop' TERM\n./solver\n", "signals", Severity.WARNING
    ),
    "a pipe that hides the failure": Case("./solver | tee solver.log\n", "exit_status", Severity.WARNING),
    "an echo that hides the failure": Case("./solver\necho finished\n", "exit_status", Severity.WARNING),
    "a loop that hides all failures but the last": Case(
        "for number in 1 2; do\n  ./solver $number\ndone\n", "exit_status", Severity.WARNING
    ),
    "a marker after a semicolon": Case("./solver; touch RUN_DONE\n", "completion_marker", Severity.WARNING),
    "output in a buffer": Case("python3 prints.py\n", "python_output", Severity.WARNING),
    "a missing package": Case(
        "python3 -u needs.py\n", "packages", files={"needs.py": "import no_such_package\n"}
    ),
    "a Python that is not on PATH": Case("python2.6 plain.py\n", "packages", Severity.WARNING),
    "a program that is not Python": Case(
        "python3 -u broken.py\n", "packages", files={"broken.py": "def f(:\n"}
    ),
    "a venv that does not exist": Case("source env/bin/activate\npython -u plain.py\n", "environment"),
    "a conda environment that does not exist": Case(
        "source conda/etc/profile.d/conda.sh\nconda activate lmm\npython -u plain.py\n", "environment"
    ),
    "conda activate without its set-up": Case("conda activate llm\npython -u plain.py\n", "environment"),
    "a variable that nothing sets": Case(
        "set -u\n./solver --name $RUN_NAME\n", "variables", Severity.WARNING
    ),
    "an argument that is not given": Case(
        './solver "$1" "$2"\n', "variables", Severity.WARNING, arguments=("a",)
    ),
    "a variable that only torchrun sets": Case(
        "#SBATCH --gres=gpu:1\nsrun python3 -u rank.py\n",
        "variables",
        files={"rank.py": "import os\nrank = int(os.environ['LOCAL_RANK'])\n"},
    ),
}

# with `check --restart`: good ones get nothing about restarts, the others exactly their item
RESUMED = 'python3 -u train.py ${JOBMON_RESUME_FROM:+--resume "$JOBMON_RESUME_FROM"} "$@"\n'
GOOD_FOR_RESTARTS = {
    "the idiom": Case(RESUMED),
    "the idiom, and a folder with the job's id": Case(
        f'OUT=out/$SLURM_JOB_ID\n{RESUMED.strip()} --output_dir "$OUT"\n'
    ),
    "the idiom in a script that the script runs": Case(
        "bash inner.sh\n", files={"inner.sh": f"#!/bin/bash\n{RESUMED}"}
    ),
    "an option that finds the newest": Case("python3 -u train.py --resume latest --output_dir old\n"),
    "Hydra": Case("python3 -u train.py trainer.resume_mode=auto\n"),
    "a program that asks jobmon": Case(
        "python3 -u asks.py\n",
        files={"asks.py": "import os\nsave = os.getenv('JOBMON_RESUME_FROM')\nckpt = 1\n"},
    ),
    "a framework that resumes by itself": Case("srun python3 -m torchtitan.train --dump_folder old\n"),
    "words from jobmon.yaml": Case(
        'python3 -u train.py "$@"\n', files={"jobmon.yaml": "restart: {resume_arg: '--resume {path}'}\n"}
    ),
    "copies of what is on the disk of the node": Case(
        f"{RESUMED.strip()} --output_dir $TMPDIR/out &\n"
        "while sleep 600; do rsync -a $TMPDIR/out/ old/; done &\nwait %1\n"
    ),
    "data on the disk of the node": Case(f"cp -r data $TMPDIR\n{RESUMED.strip()} --data-dir $TMPDIR/data\n"),
    "Lightning that does not requeue": Case(
        f"#SBATCH --signal=SIGUSR1@90\nsrun {RESUMED}",
        files={"train.py": "import lightning\nSLURMEnvironment(auto_requeue=False)\ncheckpoint = 1\n"},
    ),
    "Lightning without a signal": Case(RESUMED, files={"train.py": "import lightning\ncheckpoint = 1\n"}),
    "--no-requeue": Case(f"#SBATCH --no-requeue\n# scontrol requeue is forbidden here\n{RESUMED}"),
}
BAD_FOR_RESTARTS = {
    "nothing says where to resume": Case("python3 -u train.py --lr 0.1\n", "restart_resume"),
    "resuming is turned off": Case("python3 -u train.py --resume=none\n", "restart_resume"),
    "only weights are loaded": Case("python3 -u train.py --load_weights w.h5\n", "restart_resume"),
    "words that no program gets": Case(
        "python3 -u train.py\n",
        "restart_resume",
        files={"jobmon.yaml": "restart: {resume_arg: '--resume {path}'}\n"},
    ),
    "no saves": Case(f"{RESUMED}", "restart_saves", files={"train.py": "import json\n"}),
    "saves turned off": Case(f"{RESUMED.strip()} --save_strategy no\n", "restart_saves"),
    "saves on the disk of the node": Case(f"{RESUMED.strip()} --save_dir $TMPDIR/out\n", "restart_folder"),
    "saves in memory": Case(
        f"CKPT=/dev/shm/ckpt\n{RESUMED.strip()} --checkpoint_dir $CKPT --output_dir old\n", "restart_folder"
    ),
    "saves on the disk of the node, by jobmon.yaml": Case(
        RESUMED, "restart_folder", files={"jobmon.yaml": "paths: {checkpoint_dir: /lscratch/me/ckpt}\n"}
    ),
    "copies only at the end": Case(
        f"set -e\n{RESUMED.strip()} --output_dir $TMPDIR/out\ncp -r $TMPDIR/out old/\n", "restart_folder"
    ),
    "--requeue": Case(f"#SBATCH --requeue\n{RESUMED}", "restart_owner"),
    "scontrol requeue": Case(
        "#SBATCH --signal=B:USR1@60\ntrap 'scontrol requeue $SLURM_JOB_ID' USR1\n"
        f"{RESUMED.strip()} &\nwait $!\n",
        "restart_owner",
    ),
    "Lightning": Case(
        f"#SBATCH --signal=SIGUSR1@90\nsrun {RESUMED}",
        "restart_owner",
        files={"train.py": "from lightning import Trainer\ncheckpoint = 1\n"},
    ),
    "submitit": Case(RESUMED, "restart_owner", files={"train.py": "import submitit\ncheckpoint = 1\n"}),
    "snakemake": Case("snakemake --jobs 1 --restart-times 2\n", "restart_owner"),
}
