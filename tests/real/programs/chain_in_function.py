"""Fails to open a file deep inside, and says so in its own words."""

from pathlib import Path


def tokenizer() -> str:
    try:
        return Path("/data/none/tokenizer.json").read_text(encoding="utf-8")
    except OSError as error:
        raise RuntimeError("the data set could not be made") from error


def main() -> None:
    print(tokenizer())


main()
