"""Raise an exception of its own in a function because a file is missing."""

from pathlib import Path


def tokenizer() -> str:
    try:
        return Path("/data/none/tokenizer.json").read_text(encoding="utf-8")
    except OSError as error:
        raise RuntimeError("the data set could not be made") from error


def main() -> None:
    print(tokenizer())


main()
