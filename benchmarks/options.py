"""The command lines of the benchmarks."""

from __future__ import annotations

import argparse


def options_parser(doc: str, **numbers: tuple[float, str]) -> argparse.ArgumentParser:
    """Return a parser with ``--json`` and an option for each number: its default, and what it means."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, (default, text) in numbers.items():
        shown = f"{text} (default: {default:g})"
        parser.add_argument(f"--{name}", type=type(default), default=default, help=shown)
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the figures as one JSON object, in some benchmarks after the tables",
    )
    return parser
