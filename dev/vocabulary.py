"""Find names and phrases that this project does not use, because a stranger would have to learn them.

The vocabulary is plain: the field's standard terms, and Slurm's own words for Slurm's own things.
Prints each use with its line; the exit status is 1 if there is any.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# names of the first release that have been replaced
_NAMES = """
Workshop shop Desk Tools Supervisor pass_over Estate estate become_monitor predecessor _is_heir _is_worn
Standby standby handshake claims Slots Offers lifeline end_with Children census Snapshot
Finding request_drop dropped_s Intake intake Posting Attachment Inquest inquest alike Trial Statement Seeker
told_nothing perhaps_taken Errand errand NoWayBack hindrance caution left_behind fold_queue fold_record
fold_accounting Inquiry Ledger ledger Witness Moment taken_s own_id must_hear details_until_s not_after
_without_namesake AllClear teller AskRecord Owed owed RELIEF Fact begun settled doubts Lane lane lanes Lanes
bury revive Ping Ruling Outgoing Scene claimed Excerpt Passage seize heir Life Logbook logbook ReplyFile
Mismatch Reach pass_through Shepherd shepherd Flock Bell Wishes wishes complain Sheet surroundings
rulebook whereabouts comeback errand survey SlurmRefused toolbox nursery peril reckoning burden
promptness seam
"""

_PHRASES = (
    r"whoever",
    r"where nobody",
    r"so long as",
    r"(?:is|are|was) told",
    r"has to be",
    r"twice changes nothing",
    r"belongs? into",
    r"a fault of jobmon",
    r"takes? none for",
    r"gave itself up",
    r"otherwise than",
    r"is no (?:JSON|file|folder|number|job|state|list|object|text|answer|success|end)",
    r"in (?:so )?many words",
    r"of its own accord",
    r"tells? apart",
)

_NAME = re.compile(rf"(?<![\w./-])({'|'.join(_NAMES.split())})(?![\w/-])")
_PHRASE = re.compile(rf"\b(?:{'|'.join(_PHRASES)})\b", re.IGNORECASE)
# lines that name something of the system, or of the first release's files, which are still read
_ALLOWED = re.compile(r"JSON_KEYS|\"[a-z_]+\": \"[a-z_]+\"|flock\(2\)|fcntl\.flock|vocabulary: allowed")


def main() -> int:
    """Print every use of a forbidden word; return 1 if there is one."""
    uses = list(forbidden_uses())
    for use in uses:
        print(use)
    return 1 if uses else 0


def forbidden_uses() -> Iterator[str]:
    """Yield each forbidden use as ``file:line: word``."""
    listed = subprocess.check_output(["/usr/bin/env", "git", "ls-files"], cwd=ROOT, text=True)
    for name in listed.splitlines():
        path = ROOT / name
        if path.suffix not in (".py", ".md", "") or path == Path(__file__).resolve() or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if _ALLOWED.search(line):
                continue
            for match in (*_NAME.finditer(line), *_PHRASE.finditer(line)):
                yield f"{name}:{number}: {match[0]!r} in {line.strip()[:90]}"


if __name__ == "__main__":
    sys.exit(main())
