"""What every command starts from: the user's home, and the tools that work there."""

from __future__ import annotations

import argparse
import os

from jobmon.errors import say
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.jobref import JobRef
from jobmon_core.engine.wiring import Workshop


def open_shop() -> Workshop:
    """Return the tools of the user's home; a configuration that others can read is closed to them first."""
    shop = Workshop.open(os.environ)
    if shop.tighten_configuration():
        say(f"{shop.home.config} could be read by others, and it holds passwords: its mode is 0600 now")
    return shop


def job_ref(text: str) -> JobRef:
    """Read a job id from the command line."""
    try:
        return JobRef.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def newest(shop: Workshop, ref: JobRef) -> str:
    """Return the state id of the newest watched job that ``ref`` belongs to.

    Raises:
        UnknownJob: there is none.
    """
    found = shop.store.find(ref)
    if not found:
        raise UnknownJob(f"job {ref} was never watched; `jobmon status --all` lists what was")
    return found[-1].id
