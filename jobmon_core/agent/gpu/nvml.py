"""NVIDIA's management library (NVML), through pynvml, which is imported only where there is a driver."""

from __future__ import annotations

import ctypes
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"
_MAX_EVENTS = 100


class GpuLost(Exception):
    """The driver does not reach the GPU any more."""


class Nvml:
    """The library, initialised."""

    def __init__(self) -> None:
        """Load and initialise the library; this may take seconds.

        Raises:
            OSError: there is no NVIDIA driver, or it refuses; the message says why.
        """
        try:
            ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise OSError("no NVIDIA driver") from error
        import pynvml  # only here: it takes 4 MB, and most nodes have no GPU

        self.constants: Any = pynvml
        self.unavailable: dict[str, str] = {}  # why the driver refuses a kind of figure
        try:
            pynvml.nvmlInit()
            self.count: int = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            raise OSError(f"the NVIDIA driver answers: {error}") from error

    def ask(self, figure: str, function: str, *arguments: Any) -> Any:
        """Return what a function of pynvml returns; None if the driver refuses.

        Args:
            figure: the name under which `unavailable` notes a refusal; empty to note none.
            function: the name of the function; the library of an older driver may lack it.
            arguments: passed to it.

        Raises:
            GpuLost: the driver does not reach the GPU.
        """
        try:
            return getattr(self.constants, function)(*arguments)
        except self.constants.NVMLError as error:
            if error.value == self.constants.NVML_ERROR_GPU_IS_LOST:
                raise GpuLost from error
            if figure:
                self.unavailable.setdefault(figure, str(error))
            return None

    def subscribe(self, handles: list[Any]) -> Any:
        """Return a set of events that gets the errors which the driver reports; None if it refuses."""
        events = self.ask("XIDs", "nvmlEventSetCreate")
        for handle in handles if events is not None else ():
            try:
                self.ask(
                    "XIDs",
                    "nvmlDeviceRegisterEvents",
                    *(handle, self.constants.nvmlEventTypeXidCriticalError, events),
                )
            except GpuLost:
                continue  # the other GPUs may still report
        return events

    def new_xids(self, events: Any) -> list[tuple[Any, int]]:
        """Return the errors reported since the last call, each as the handle of a GPU and an XID."""
        found: list[tuple[Any, int]] = []
        while events is not None and len(found) < _MAX_EVENTS:
            try:
                event = self.constants.nvmlEventSetWait(events, 0)
            except self.constants.NVMLError:  # a timeout: there are no more
                break
            found.append((event.device, int(event.eventData)))
        return found


def address(handle: Any) -> int:
    """Return the address that a handle of a GPU holds: equal handles are of the same GPU."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
