from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    import pytest


def test_a_user_has_a_name_or_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    assert user_name() == "4000000000"
