"""The library of a fake GPU driver, built from C."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "support" / "fake_nvml.c"


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the library of a fake driver."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler to build the fake driver with")
    folder = tmp_path_factory.mktemp("driver")
    library = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return folder
