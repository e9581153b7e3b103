from __future__ import annotations

import pytest

from jobmon_core.domain.config_section import SecretSources, Section

TOKEN = "tOkEn-that-nobody-may-see_0123456789"
URL = f"https://discord.com/api/webhooks/123456789012345678/{TOKEN}"


def missing(path: str) -> str:
    raise FileNotFoundError(2, "No such file or directory", path)


def section(value: object, faults: list[str], **environment: str) -> Section:
    return Section(value, "here", faults, SecretSources(environment, missing))


def test_a_key_that_was_not_read_is_a_fault_with_its_place() -> None:
    faults: list[str] = []
    part = section({"known": "x", "typo": 1}, faults)
    assert part.text("known") == "x"
    part.close()
    assert faults == ["here.typo: unknown key"]


@pytest.mark.parametrize(
    ("value", "found"), [([], "a list"), ("x", "a string"), (None, "null"), (1, "a number")]
)
def test_a_value_that_is_not_an_object_is_named_by_its_kind(value: object, found: str) -> None:
    faults: list[str] = []
    section(value, faults).close()
    assert faults == [f"here: expected an object, found {found}"]


def test_a_required_choice_and_a_required_secret_are_missed() -> None:
    faults: list[str] = []
    part = section({}, faults)
    assert part.choice("type", ("a", "b")) == ""
    assert part.secret("key", str, required=True) is None
    assert faults == [
        "here.type: expected one of a, b, found nothing",
        "here.key: missing; set it, or set key_file to the path of a file that contains it",
    ]


def test_the_environment_has_precedence_over_a_file_and_that_over_the_key() -> None:
    faults: list[str] = []
    part = section({"key": "c", "key_file": "b"}, faults, VARIABLE="a")
    assert part.secret("key", str, variable="VARIABLE") == "a"
    assert faults == []
    assert section({"key": "c", "key_file": "b"}, faults).secret("key", str) is None
    assert faults == ["here.key_file: cannot read b: No such file or directory"]
    assert section({"key": " c "}, []).secret("key", str) == "c"


@pytest.mark.parametrize("required", [True, False])
def test_an_empty_file_for_a_secret_is_a_fault(required: bool) -> None:  # noqa: FBT001
    faults: list[str] = []
    part = Section({"key_file": "/k"}, "here", faults, SecretSources({}, lambda _path: " \n"))
    assert part.secret("key", str, required=required) is None
    assert faults == ["here.key_file: /k is empty"]


@pytest.mark.parametrize(
    ("value", "found"), [("x", "a string"), (["a", 1], "a number in the list"), ([None], "null in the list")]
)
def test_a_wrong_list_of_strings_is_named_by_its_kind_or_that_of_its_item(value: object, found: str) -> None:
    faults: list[str] = []
    assert section({"key": value}, faults).texts("key", ("default",)) == []
    assert faults == [f"here.key: expected a list of strings, found {found}"]


@pytest.mark.parametrize("data", [{URL: 1}, {"type": URL}, {"key": 1, "key_file": URL}])
def test_no_fault_shows_a_secret_in_the_wrong_place(data: dict[str, object]) -> None:
    faults: list[str] = []
    part = section(data, faults)
    part.choice("type", ("a",))
    part.secret("key", str)
    part.close()
    assert faults
    assert TOKEN not in str(faults)
