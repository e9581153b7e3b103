"""The headers that authenticate requests to a Ray dashboard. They are read for each query and kept nowhere.

Source: Ray's documentation on token authentication (since 2.52), and `RAY_JOB_HEADERS` of its job client.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HINT = (
    "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, or write the token into ~/.ray/auth_token; then run "
    "`jobmon recover`"
)
_MAX_BYTES = 65_536


def auth_headers(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with the user's token, and those that the user has for a proxy."""
    headers = _proxy_headers(environment.get("RAY_JOB_HEADERS", ""))
    token = environment.get("RAY_AUTH_TOKEN", "").strip() or _token_of_file(environment)
    return {**headers, "Authorization": f"Bearer {token}"} if token else headers


def _token_of_file(environment: Mapping[str, str]) -> str:
    named = environment.get("RAY_AUTH_TOKEN_PATH", "").strip()
    home = environment.get("HOME", "")
    path = Path(named) if named else Path(home) / ".ray" / "auth_token"
    if not (named or home):
        return ""
    try:
        with path.open("rb") as file:
            return file.read(_MAX_BYTES).decode("ascii").strip()
    except (OSError, ValueError):
        return ""  # Ray needs a token only if token authentication is on; then it answers 401


def _proxy_headers(text: str) -> dict[str, str]:
    try:
        data = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return {str(name): str(value) for name, value in data.items()} if isinstance(data, dict) else {}
