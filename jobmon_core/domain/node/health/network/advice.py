"""What to do about a network that is slower than it could be, and what to set to see which one is used.

Sources: the documentation of NCCL's variables, and that of aws-ofi-nccl. ``NCCL_NET`` takes the name that
NCCL prints after "Using network"; with ``ofi``, which is the name of a plugin, it finds no network.
"""

from __future__ import annotations

SHOW_NCCL = (
    "Set NCCL_DEBUG=INFO (and unset NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE) before the next start: NCCL then "
    "prints the network that it chose to the log."
)
LOOK_FOR_FABRIC = "Run `ls /sys/class/infiniband` on a node: if it lists devices, NCCL does not use them."
LOAD_OFI = (
    "Put the folder of libnccl-net.so of aws-ofi-nccl on LD_LIBRARY_PATH, inside the container too: "
    "/opt/amazon/ofi-nccl/lib/x86_64-linux-gnu, on older images /opt/amazon/ofi-nccl/lib or "
    "/opt/aws-ofi-nccl/lib. Set NCCL_NET_PLUGIN=ofi. To have NCCL fail rather than fall back, set NCCL_NET "
    'to the name that NCCL prints after "Using network": "AWS Libfabric", of newer plugins "Libfabric"; '
    '"ofi" is not such a name.'
)
SHOW_EFA = (
    "Make the EFA devices visible to the program: /dev/infiniband in the container, on Kubernetes the "
    "resource vpc.amazonaws.com/efa. `fi_info -p efa` must list them there. If it does, aws-ofi-nccl loads "
    "another libfabric: put /opt/amazon/efa/lib first on LD_LIBRARY_PATH."
)
UPDATE_LIBFABRIC = "Install the libfabric of the EFA installer, or a newer one, in the container."
USE_IB = (
    "Unset NCCL_IB_DISABLE, and look at NCCL_IB_HCA and NCCL_NET. Make /dev/infiniband and libibverbs "
    "visible in the container, with an unlimited `ulimit -l`. `ibv_devinfo` must show an active port there."
)
GDR = (
    "Load the kernel module nvidia-peermem (or use a kernel and driver with DMA-BUF) on the nodes, "
    "so that GPUs and network cards exchange data directly."
)
LOOK_AT_NODE = (
    "Compare that node with the others: `ibv_devinfo` (`fi_info -p efa` on AWS), the container and the "
    "environment of its processes."
)


def unset(variable: str, value: str) -> str:
    """Return the advice about a variable that keeps NCCL from the fabric."""
    return f"Unset {variable} ({value} now), unless it is meant."
