#!/bin/bash
# Start one worker for each GPU, each with a log of its own. If one fails, end the others and fail as it did.
#
#     jobmon run --gpu-ids 0 1 --num-workers 2 --log-dir logs --log-pattern 'worker_*.log' -- \
#         bash examples/workers.sh python3 embed.py
set -euo pipefail
IFS=, read -ra gpus <<< "$CUDA_VISIBLE_DEVICES" # from --gpu-ids, or from Slurm in a job with GPUs
mkdir -p logs
trap 'kill $(jobs -p) 2> /dev/null || true' EXIT
for i in "${!gpus[@]}"; do
    CUDA_VISIBLE_DEVICES=${gpus[i]} WORKER_ID=$i "$@" > "logs/worker_$i.log" 2>&1 &
    echo "worker $i: process $!, GPU ${gpus[i]}"
done
for _ in "${gpus[@]}"; do
    wait -n # for the next one that ends
done
