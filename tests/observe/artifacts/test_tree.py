"""All files below a folder."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.observe.artifacts.tree import list_tree


def test_folders_that_were_not_read_make_a_tree_partial(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "model.pt").write_text("x", encoding="ascii")
    assert list_tree(str(tmp_path), max_entries=1).is_partial
    tree = list_tree(str(tmp_path), max_entries=2)
    assert ([file.name for file in tree.files], tree.is_partial) == (["a/model.pt"], False)
