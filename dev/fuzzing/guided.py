"""One process in which atheris feeds one target, guided by coverage: TARGET LIBFUZZER-ARGUMENTS."""

from __future__ import annotations

import sys

import atheris


def main() -> None:
    """Never returns: libFuzzer ends the process when its bounds are reached, or at the first defect."""
    name, *words = sys.argv[1:]
    with atheris.instrument_imports(include=["jobmon", "jobmon_core"]):
        from tests.fuzz.targets import TARGETS
    target = TARGETS[name]
    atheris.Setup([name, *words], target.check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
