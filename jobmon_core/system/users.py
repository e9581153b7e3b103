"""The names of users."""

from __future__ import annotations

import os


def user_name(uid: int | None = None) -> str:
    """Return the name of the user ``uid``, by default of this process's user; the uid if it has no name."""
    import pwd

    uid = os.getuid() if uid is None else uid
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
