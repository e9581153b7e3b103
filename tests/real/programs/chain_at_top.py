"""Fails to open a file, and says so in its own words."""

from pathlib import Path

try:
    Path("/data/none/tokenizer.json").read_text(encoding="utf-8")
except OSError as error:
    raise RuntimeError("the data set could not be made") from error
