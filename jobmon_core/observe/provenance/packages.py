"""List the packages of a Python environment by the names of its folders; no Python is started."""

from __future__ import annotations

import os
import re
from pathlib import Path

from jobmon_core.domain.provenance.model import PythonEnvironment

_MAX_PACKAGES = 3000
# the names are those of the recorded-projects specification: NAME-VERSION.dist-info, or .egg-info
_METADATA = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[^-]+)(?:-py[\d.]+)?\.(?:dist|egg)-info")
_CONDA_PACKAGE = re.compile(r"(?P<name>.+)-(?P<version>[^-]+)-[^-]+\.json")


def python_environment(prefix: str) -> PythonEnvironment | None:
    """Return the packages that are installed below ``prefix``; None if there is no such folder."""
    if not prefix.startswith("/") or not os.path.isdir(prefix):  # noqa: PTH112 - a text, as in the script
        return None
    packages: dict[str, str] = {}
    for folder in sorted(Path(prefix).glob("lib*/python3*/site-packages")):
        packages |= _matches(folder, _METADATA)
    # conda's other packages, e.g. cuda-toolkit, have no .dist-info
    conda = _matches(Path(prefix, "conda-meta"), _CONDA_PACKAGE)
    found = sorted((conda | packages).items())
    return PythonEnvironment(prefix, dict(found[:_MAX_PACKAGES]))


def _matches(folder: Path, pattern: re.Pattern[str]) -> dict[str, str]:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - only names are needed
    except OSError:
        return {}
    matches = (pattern.fullmatch(name) for name in names)
    return {_normalised(match["name"]): match["version"] for match in matches if match}


def _normalised(name: str) -> str:
    """Return a package's name as PEP 503 compares it: ``Foo_bar`` is ``foo-bar``."""
    return re.sub(r"[-_.]+", "-", name).lower()
