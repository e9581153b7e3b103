"""The GPUs of a task, through NVIDIA's management library."""
