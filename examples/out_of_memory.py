"""Die as a PyTorch training does that asks the GPU for too much; needs neither PyTorch nor a GPU."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """Stands in for torch.OutOfMemoryError, with the words that PyTorch prints."""


OutOfMemoryError.__module__ = "torch"


def attention(batch: int) -> None:
    """Fail as a large batch does."""
    raise OutOfMemoryError(
        f"CUDA out of memory. Tried to allocate {batch / 16:.2f} GiB. GPU 0 has a total capacity of "
        "79.15 GiB of which 1.06 GiB is free. Process 20471 has 78.08 GiB memory in use. Of the allocated "
        "memory 76.31 GiB is allocated by PyTorch, and 1.02 GiB is reserved by PyTorch but unallocated. If "
        "reserved but unallocated "
        "memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    )


def train(batch: int) -> None:
    """Fail in the second step."""
    print("step 1/1000 loss 10.83", flush=True)
    attention(batch)


if __name__ == "__main__":
    train(batch=64)
