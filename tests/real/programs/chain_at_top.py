"""Raise an exception of its own because a file is missing."""

from pathlib import Path

try:
    Path("/data/none/tokenizer.json").read_text(encoding="utf-8")
except OSError as error:
    raise RuntimeError("the data set could not be made") from error
