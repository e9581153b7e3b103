"""What users read before they ask: the README and the pages that it leads to."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
# in the order in which a test runs their commands: `groups` after `monitors`, because `jobmon patrol` would
# warn of a group's message that is not delivered yet
_PAGES = (
    "checks", "progress", "gpus", "failures", "files", "messages", "monitors", "groups", "backends",
    "configuration", "json", "commands",
)  # fmt: skip


def page(name: str) -> str:
    """Return the text of a page in ``docs``."""
    return (CHECKOUT / "docs" / f"{name}.md").read_text(encoding="utf-8")


GUIDE = "\n".join([(CHECKOUT / "README.md").read_text(encoding="utf-8"), *map(page, _PAGES)])
