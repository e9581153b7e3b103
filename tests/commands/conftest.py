"""jobmon at a shell, on a machine without Slurm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.shell import Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell of this test's own."""
    return Shell(tmp_path, os.environ)
