"""What is read of a script, and of a Python environment."""

from __future__ import annotations

import os
from pathlib import Path

from jobmon_core.domain.many.provenance.model import MAX_SCRIPT_BYTES, ScriptKind, digest
from jobmon_core.observe.submission import (
    changed_files,
    file_digests,
    python_environment,
    read_file,
    script_of,
)


def test_a_script_is_read_from_its_folder_else_from_the_search_path(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "job.sh").write_text("#!/bin/sh\n", encoding="ascii")
    found = read_file("job.sh", str(tmp_path), str(tmp_path / "bin"))
    assert (found.script.path, found.script.text) == (str(tmp_path / "bin" / "job.sh"), "#!/bin/sh\n")
    (tmp_path / "job.sh").write_text("#!/bin/bash\n", encoding="ascii")
    assert read_file("job.sh", str(tmp_path), str(tmp_path / "bin")).script.text == "#!/bin/bash\n"


def test_a_pipe_is_left_to_sbatch(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")  # opening it would wait for a writer
    found = read_file("pipe", str(tmp_path), "").script
    assert (found.text, found.digest, found.why_no_text) == (None, "", "could not be read")


def test_a_long_script_and_one_with_a_password_leave_only_their_digest() -> None:
    long = script_of(b"#!/bin/sh\n" + b"x" * MAX_SCRIPT_BYTES, ScriptKind.FILE).script
    assert (long.text, long.why_no_text) == (None, "is longer than 1 MiB")
    content = b"#!/bin/sh\nexport WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567\n"
    found = script_of(content, ScriptKind.FILE)
    assert (found.script.text, found.script.digest) == (None, digest(content))
    assert "password or a token" in found.script.why_no_text
    assert found.text.startswith("#!/bin/sh")  # the words of the script are still searched


def test_a_script_that_is_not_utf8_survives(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_bytes(b"#!/bin/sh\necho \xff\n")
    text = read_file("job.sh", str(tmp_path), "").script.text
    assert text
    assert text.encode("utf-8", "surrogateescape") == b"#!/bin/sh\necho \xff\n"


def test_changed_and_missing_files_count_as_changed(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.py", "b.py", "c.py")]
    for path in paths:
        Path(path).write_text("1", encoding="ascii")
    recorded = file_digests([*paths, str(tmp_path / "none.py"), str(tmp_path)])
    assert list(recorded) == paths
    Path(paths[1]).write_text("2", encoding="ascii")
    Path(paths[2]).unlink()
    assert changed_files(recorded) == paths[1:]


def test_packages_are_read_from_the_names_of_folders(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in (
        "torch-2.4.0+cu121.dist-info",
        "Foo_Bar-1.0.dist-info",
        "old-0.1-py3.11.egg-info",
        "torch",
        "x.pth",
    ):
        (site / name).mkdir(parents=True)
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / "conda-meta" / "cuda-toolkit-12.1-h77.json").touch()
    found = python_environment(str(tmp_path))
    assert found
    assert found.packages == {"cuda-toolkit": "12.1", "foo-bar": "1.0", "old": "0.1", "torch": "2.4.0+cu121"}
    assert python_environment(str(tmp_path / "none")) is None
    assert python_environment("") is None
