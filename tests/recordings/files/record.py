"""Write the files of this folder with the libraries that define their formats.

Run it in an environment of its own::

    pip install numpy h5py pyarrow safetensors zstandard flax torch==2.6.0

These libraries take gigabytes, so the tests read what they wrote.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Write every file whose libraries are installed."""
    for write in (_numpy, _hdf5, _parquet, _safetensors, _zstd, _torch, _flax):
        try:
            write()
        except ImportError as missing:
            print(f"{write.__name__}: {missing}")


def _library(name: str) -> Any:  # noqa: ANN401 - a module that is not installed here
    return importlib.import_module(name)


def _numpy() -> None:
    np = _library("numpy")
    np.save(HERE / "table.npy", np.arange(30, dtype="f8").reshape(10, 3))
    np.save(HERE / "records.npy", np.zeros(4, dtype=[("a", "f4"), ("b", "i8", (2,)), ("c", "U3")]))
    np.save(HERE / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    np.save(HERE / "nan.npy", np.array([1.0, np.nan] * 50))
    np.savez(HERE / "arrays.npz", x=np.ones(5), y=np.zeros((3, 2), "i4"))
    np.savez_compressed(HERE / "packed.npz", x=np.arange(5000))


def _hdf5() -> None:
    h5py, np = _library("h5py"), _library("numpy")
    for version, name in (("earliest", "superblock0.h5"), ("latest", "superblock3.h5")):
        with h5py.File(HERE / name, "w", libver=version) as file:
            file["x"] = np.arange(50)
            file.create_group("g")["y"] = np.ones((5, 5))
    with h5py.File(HERE / "user_block.h5", "w", userblock_size=512) as file:
        file["x"] = np.arange(10)


def _parquet() -> None:
    pa = _library("pyarrow")
    parquet = _library("pyarrow.parquet")
    table = pa.table({"a": range(100), "b": [str(i) for i in range(100)], "s": [{"q": 1, "r": [2]}] * 100})
    parquet.write_table(table, HERE / "table.parquet")


def _safetensors() -> None:
    np = _library("numpy")
    tensors = {"w": np.ones((4, 4), "f4"), "b": np.zeros(3, "f2")}
    _library("safetensors.numpy").save_file(tensors, HERE / "model.safetensors", metadata={"format": "pt"})


def _zstd() -> None:
    packed = _library("zstandard").ZstdCompressor(write_checksum=True).compress(bytes(range(256)) * 2000)
    (HERE / "data.zst").write_bytes(packed)


def _torch() -> None:
    torch = _library("torch")
    torch.save({"w": torch.ones(20, 10), "step": 7}, HERE / "model.pt")
    torch.save({"w": torch.ones(3)}, HERE / "legacy.pt", _use_new_zipfile_serialization=False)


def _flax() -> None:
    np = _library("numpy")
    state = {
        "params": {"kernel": np.ones((20, 10), "f4"), "bias": np.zeros(3, "f2")},
        "step": 7,
        "rate": 1e-3,
    }
    (HERE / "model.msgpack").write_bytes(_library("flax.serialization").to_bytes(state))


if __name__ == "__main__":
    main()
