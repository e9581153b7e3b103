from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.scheduler.local.task_env import exported


@given(
    st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=5), max_size=5), st.text(max_size=20)
)
def test_an_export_list_never_invents_a_variable(environment: dict[str, str], export: str) -> None:
    for name, value in exported(environment, export).items():
        assert environment.get(name) == value or f"{name}={value}" in export
