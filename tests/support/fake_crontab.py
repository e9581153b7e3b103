"""A fake crontab (or scrontab) program, called as ``TABLE_FILE ARGUMENT``; it answers like Debian's."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Show, remove or replace the table."""
    table, argument = Path(sys.argv[1]), sys.argv[2]
    if argument not in ("-l", "-r"):
        content = Path(argument).read_bytes()
        if not content.endswith(b"\n"):
            print("new crontab file is missing newline before EOF, can't install.", file=sys.stderr)
            return 1
        table.write_bytes(content)
        return 0
    if not table.exists():
        print("no crontab for me", file=sys.stderr)
        return 1
    if argument == "-l":
        sys.stdout.buffer.write(table.read_bytes())
    else:
        table.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
