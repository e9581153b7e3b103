"""Programs that use the first GPU: each prints a line when it begins, `MULTIPLY` also one with each step.

`START_DRIVER` prints its PSS in kB, before and after it starts NVIDIA's library.
"""

from __future__ import annotations

_START = """\
import time
import torch
a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
def multiply(times):
    for _ in range(times):
        a @ b
    torch.cuda.synchronize()
multiply(20)
print("begins", flush=True)
"""
MULTIPLY = _START + "step = 0\nwhile True: multiply(100); step += 1; print(f'step {step}', flush=True)\n"
MULTIPLY_IN_BURSTS = (
    _START
    + """\
while True:
    until_s = time.monotonic() + 0.5
    while time.monotonic() < until_s: multiply(10)
    time.sleep(0.5)
"""
)
HOLD = """\
import time
import torch
held = torch.ones(2**31, device="cuda")
torch.cuda.synchronize()
print("begins", flush=True)
time.sleep(3600)
"""
START_DRIVER = """\
import psutil
import pynvml
def show():
    print(psutil.Process().memory_full_info().pss // 1024)
show()
pynvml.nvmlInit()
show()
"""
