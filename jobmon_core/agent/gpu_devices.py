"""Measures GPUs through NVIDIA's management library (NVML).

A figure that the driver refuses is None. pynvml is imported only where there is a driver.
"""

from __future__ import annotations

import ctypes
import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.node.telemetry.model import Gpu

if TYPE_CHECKING:
    from collections.abc import Callable

_WATTS_PER_UNIT = 0.001  # NVML counts milliwatts
# bits of reasons that slow a GPU down, see nvml.h; others, e.g. that it is idle, are no trouble
_THROTTLE_REASONS = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "thermal",
    0x40: "thermal (hardware)",
    0x80: "power brake",
}
_NVLINK_FIELDS = (
    "NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL",
    "NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL",
    "NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL",
    "NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL",
)


# a GPU over a span of time, and the processes of all tasks on it, if they can be seen
Reading = tuple[Gpu, tuple[int, ...] | None]


class _Device:
    def __init__(self, nvml: Nvml, index: int) -> None:
        self._nvml, self._index = nvml, index
        self.xids: tuple[int, ...] = ()
        self.handle: Any = None
        self._constant = Gpu(index)
        self._looks: list[tuple[float | None, float | None]] = []
        self._pids: tuple[int, ...] | None = None
        self._activity: _Activity | None = None
        self._sampled_until_us = 0  # by the driver's clock
        self._is_lost = False
        self._unless_lost(self._open)

    def look(self) -> None:
        if self.handle is not None:
            self._unless_lost(self._look)

    def read(self) -> Reading:
        self._gpu, self._pids = dataclasses.replace(self._constant, xids=self.xids), None
        if self.handle is not None:
            self._is_lost = False
            self._unless_lost(self._read)
        is_lost = self._is_lost or self.handle is None
        gpu = dataclasses.replace(self._gpu, is_lost=True) if is_lost else self._averaged()
        self._looks.clear()
        return gpu, self._pids

    def _unless_lost(self, work: Callable[[], None]) -> None:
        try:
            work()
        except GpuLost:
            self._is_lost = True

    def _ask(self, figure: str, function: str, *arguments: Any) -> Any:
        return self._nvml.ask(figure, function, self.handle, *arguments)

    def _open(self) -> None:
        self.handle = self._nvml.ask("handle", "nvmlDeviceGetHandleByIndex", self._index)
        if self.handle is None:
            return
        limit = self._ask("power limit", "nvmlDeviceGetEnforcedPowerLimit")
        mig = self._ask("", "nvmlDeviceGetMigMode")  # older GPUs refuse; they cannot be partitioned
        self._constant = Gpu(
            self._index,
            self._ask("UUID", "nvmlDeviceGetUUID") or "",
            self._ask("name", "nvmlDeviceGetName") or "",
            power_limit_w=limit * _WATTS_PER_UNIT if limit is not None else None,
            is_mig=bool(mig and mig[0]),
        )
        self._activity = _Activity.of(self._nvml, self.handle)

    def _look(self) -> None:
        rates = self._ask("utilisation", "nvmlDeviceGetUtilizationRates")
        power = self._ask("power", "nvmlDeviceGetPowerUsage")
        self._looks.append(
            (
                float(rates.gpu) if rates is not None else None,
                power * _WATTS_PER_UNIT if power is not None else None,
            )
        )

    def _read(self) -> None:
        nvml = self._nvml.constants
        memory = self._ask("", "nvmlDeviceGetMemoryInfo", nvml.nvmlMemory_v2)
        if memory is None:  # an older driver counts what it reserves for itself as used
            memory = self._ask("memory", "nvmlDeviceGetMemoryInfo")
        self._gpu = dataclasses.replace(
            self._gpu,
            memory=memory.used if memory else None,
            memory_total=memory.total if memory else None,
            temperature_c=self._ask("temperature", "nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU),
            throttle_reasons=self._throttle_reasons(),
            ecc_errors=self._ask(
                "ECC errors",
                "nvmlDeviceGetTotalEccErrors",
                *(nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED, nvml.NVML_VOLATILE_ECC),
            ),
            remapped_rows=self._remapped_rows(),
            nvlink_errors=self._nvlink_errors(),
        )
        if self._activity:
            self._gpu = self._activity.added_to(self._gpu)
        processes = self._ask("", "nvmlDeviceGetComputeRunningProcesses_v3")
        if processes is None:
            processes = self._ask("processes", "nvmlDeviceGetComputeRunningProcesses_v2")
        if processes is not None:
            self._pids = tuple(sorted({process.pid for process in processes}))

    def _averaged(self) -> Gpu:
        busy = self._sampled() or [utilization for utilization, _ in self._looks if utilization is not None]
        power = [watts for _, watts in self._looks if watts is not None]
        return dataclasses.replace(
            self._gpu,
            utilization_percent=sum(busy) / len(busy) if busy else None,
            lowest_percent=min(busy, default=None),
            highest_percent=max(busy, default=None),
            power_w=sum(power) / len(power) if power else None,
        )

    def _sampled(self) -> list[float]:
        """Return the utilisation that the driver measured since the last call, in %, if it does."""
        after_us, kind = self._sampled_until_us, self._nvml.constants.NVML_GPU_UTILIZATION_SAMPLES
        try:
            found = self._ask("", "nvmlDeviceGetSamples", kind, after_us)
        except GpuLost:
            return []
        samples = [sample for sample in found[1] if sample.timeStamp > after_us] if found else []
        self._sampled_until_us = max((sample.timeStamp for sample in samples), default=after_us)
        # the first answer has samples from before the agent started
        if after_us:
            return [float(sample.sampleValue.uiVal) for sample in samples]
        return []

    def _throttle_reasons(self) -> tuple[str, ...]:
        bits = self._ask("", "nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:
            bits = self._ask("throttle reasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        return tuple(reason for bit, reason in _THROTTLE_REASONS.items() if (bits or 0) & bit)

    def _remapped_rows(self) -> int | None:
        rows = self._ask("remapped rows", "nvmlDeviceGetRemappedRows")
        if rows is None:
            return None
        return int(rows[0] + rows[1])  # after corrected and uncorrected errors

    def _nvlink_errors(self) -> int | None:
        fields = [getattr(self._nvml.constants, name) for name in _NVLINK_FIELDS]
        values = self._ask("NVLink errors", "nvmlDeviceGetFieldValues", fields)
        known = [_field_value(value) for value in values or () if value.nvmlReturn == 0]
        if known:
            return sum(known)
        return None


class _Activity:
    def __init__(self, nvml: Nvml, handle: Any) -> None:
        self._nvml, self._handle = nvml, handle
        self._metrics = (
            nvml.constants.NVML_GPM_METRIC_SM_UTIL,
            nvml.constants.NVML_GPM_METRIC_ANY_TENSOR_UTIL,
            nvml.constants.NVML_GPM_METRIC_DRAM_BW_UTIL,
        )
        self._samples = [nvml.ask("SM activity", "nvmlGpmSampleAlloc") for _ in range(2)]
        self._has_first = False
        self._request = nvml.constants.c_nvmlGpmMetricsGet_t()

    @classmethod
    def of(cls, nvml: Nvml, handle: Any) -> _Activity | None:
        """Return None if the GPU or the driver does not measure its activity."""
        support = nvml.ask("SM activity", "nvmlGpmQueryDeviceSupport", handle)
        if support is not None and not support.isSupportedDevice:
            nvml.unavailable.setdefault("SM activity", "the GPU is older than Hopper")
        if support is not None and support.isSupportedDevice:
            return cls(nvml, handle)
        return None

    def added_to(self, gpu: Gpu) -> Gpu:
        """Add the activity since the last call."""
        before, now = self._samples
        if before is None or now is None:
            return gpu
        taken = self._nvml.ask("SM activity", "nvmlGpmSampleGet", self._handle, now)
        self._samples = [now, before]
        had_first, self._has_first = self._has_first, taken is not None
        if not had_first or taken is None:
            return gpu
        request = self._request
        request.version = self._nvml.constants.NVML_GPM_METRICS_GET_VERSION
        request.numMetrics, request.sample1, request.sample2 = len(self._metrics), before, now
        for position, metric in enumerate(self._metrics):
            request.metrics[position].metricId = metric
        if self._nvml.ask("SM activity", "nvmlGpmMetricsGet", request) is None:
            return gpu
        answers = request.metrics[: len(self._metrics)]
        sm, tensor, bandwidth = (answer.value if answer.nvmlReturn == 0 else None for answer in answers)
        return dataclasses.replace(gpu, sm_percent=sm, tensor_percent=tensor, bandwidth_percent=bandwidth)


def _field_value(value: Any) -> int:
    is_long = value.valueType > 1  # NVML_VALUE_TYPE_UNSIGNED_INT
    return int(value.value.ullVal if is_long else value.value.uiVal)


_LIBRARY = "libnvidia-ml.so.1"
_MAX_EVENTS = 100


class GpuLost(Exception):
    """The driver does not reach the GPU any more."""


class Nvml:
    """The library, and the GPUs that it shows. All methods may hang if the driver does."""

    def __init__(self) -> None:
        """Find the GPUs, which may take seconds; raise OSError without an NVIDIA driver."""
        try:
            ctypes.CDLL(_LIBRARY)
        except OSError as error:
            raise OSError("no NVIDIA driver") from error
        import pynvml  # it takes 4 MB, and most nodes have no GPU

        self.constants: Any = pynvml
        self.unavailable: dict[str, str] = {}  # by the kind of figure
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
        except pynvml.NVMLError as error:
            raise OSError(f"the NVIDIA driver answers: {error}") from error
        self._devices = [_Device(self, index) for index in range(count)]
        self._events = self._subscribed()

    def look(self) -> None:
        """Note the utilisation and the power at this moment."""
        for device in self._devices:
            device.look()

    def read(self) -> tuple[Reading, ...]:
        """Return the GPUs as they are now, with means since the last call."""
        for handle, xid in self._new_xids():
            if device := self._device_of(handle):
                device.xids = tuple(dict.fromkeys((*device.xids, xid)))
        return tuple(device.read() for device in self._devices)

    def _device_of(self, handle: Any) -> _Device | None:
        with suppress(GpuLost):  # XID 79, for one, says that the driver does not reach the GPU any more
            index: int | None = self.ask("", "nvmlDeviceGetIndex", handle)
            if index is not None:
                return self._devices[index]
        same = (each for each in self._devices if each.handle and address(each.handle) == address(handle))
        return next(same, None)

    def ask(self, figure: str, function: str, *arguments: Any) -> Any:
        """Return what a function of pynvml returns; None if the driver refuses ``figure``."""
        try:
            return getattr(self.constants, function)(*arguments)
        except self.constants.NVMLError as error:
            if error.value == self.constants.NVML_ERROR_GPU_IS_LOST:
                raise GpuLost from error
            if figure:
                self.unavailable.setdefault(figure, str(error))
            return None

    def _subscribed(self) -> Any:
        """Return a set of events that gets the errors which the driver reports."""
        events = self.ask("XIDs", "nvmlEventSetCreate")
        handles = [device.handle for device in self._devices if device.handle is not None]
        for handle in handles if events is not None else ():
            try:
                self.ask(
                    "XIDs",
                    "nvmlDeviceRegisterEvents",
                    *(handle, self.constants.nvmlEventTypeXidCriticalError, events),
                )
            except GpuLost:
                continue
        return events

    def _new_xids(self) -> list[tuple[Any, int]]:
        """Return the errors reported since the last call: handles of GPUs, and XIDs."""
        found: list[tuple[Any, int]] = []
        while self._events is not None and len(found) < _MAX_EVENTS:
            try:
                event = self.constants.nvmlEventSetWait(self._events, 0)
            except self.constants.NVMLError:  # a timeout: there are no more
                break
            found.append((event.device, int(event.eventData)))
        return found


def address(handle: Any) -> int:
    """Return the address that a handle holds."""
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
