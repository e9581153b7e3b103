"""Run one target with atheris, guided by coverage: TARGET LIBFUZZER-ARGUMENTS."""

from __future__ import annotations

import sys

import atheris


def main() -> None:
    """Run until libFuzzer ends the process: at its bounds or at the first defect."""
    name, *arguments = sys.argv[1:]
    with atheris.instrument_imports(include=["jobmon", "jobmon_core"]):
        from tests.fuzz.targets import TARGETS
    atheris.Setup([name, *arguments], TARGETS[name].check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
