from __future__ import annotations

from pathlib import Path

from jobmon_core.host.logind import Logind


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_files_are_read_in_the_order_of_their_precedence(tmp_path: Path) -> None:
    for path in (
        "etc/systemd/logind.conf",
        "usr/lib/systemd/logind.conf",
        "usr/lib/systemd/logind.conf.d/10-site.conf",
        "etc/systemd/logind.conf.d/10-site.conf",
        "run/systemd/logind.conf.d/50-now.conf",
        "etc/systemd/logind.conf.d/README",
    ):
        write(tmp_path / path, path)
    assert list(Logind(tmp_path).settings()) == [
        "etc/systemd/logind.conf",
        "etc/systemd/logind.conf.d/10-site.conf",
        "run/systemd/logind.conf.d/50-now.conf",
    ]


def test_the_shipped_file_is_read_if_there_is_no_other(tmp_path: Path) -> None:
    write(tmp_path / "usr/lib/systemd/logind.conf", "shipped")
    assert list(Logind(tmp_path).settings()) == ["shipped"]


def test_a_machine_without_systemd_has_no_settings(tmp_path: Path) -> None:
    assert "".join(Logind(tmp_path).settings()) == ""


def test_lingering_users_are_recognized(tmp_path: Path) -> None:
    write(tmp_path / "var/lib/systemd/linger/me", "")
    assert [Logind(tmp_path).lingers(user) for user in ("me", "you")] == [True, False]
