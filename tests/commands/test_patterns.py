"""What `jobmon patterns` answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.shell import Shell, complaint

RULE: dict[str, Any] = {
    "id": "diverged", "title": "Diverged", "severity": "error", "role": "root",
    "regex": "PHYSICS DIVERGED", "cause": "The solver diverged.", "advice": "Halve the time step.",
    "precedence": 60, "examples": ["PHYSICS DIVERGED at step 3"], "counter_examples": ["physics fine"],
}  # fmt: skip
LOG = """\
step 1
Traceback (most recent call last):
  File "/home/u/sim.py", line 3, in <module>
    raise RuntimeError("PHYSICS DIVERGED")
RuntimeError: PHYSICS DIVERGED at step 7
"""


def own(shell: Shell, *rules: dict[str, Any], name: str = "patterns.json") -> Path:
    path = shell.home / name
    path.write_text(json.dumps({"schema_version": 1, "rules": rules}))
    return path


def listed(shell: Shell) -> list[dict[str, Any]]:
    done = shell.jobmon("patterns", "list", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    entries: list[dict[str, Any]] = json.loads(done.stdout)
    return entries


def test_every_pattern_is_listed_with_its_words(shell: Shell) -> None:
    entries = listed(shell)
    assert {"cuda_oom", "slurm_timeout"} <= {entry["id"] for entry in entries}
    shown = shell.jobmon("patterns", "list").stdout
    for entry in entries:
        assert f"{entry['id']} ({entry['role']}): {entry['title']}\n    {entry['cause']}\n" in shown
        assert f"    What to do: {entry['advice']}" in shown


def test_words_select_the_patterns_that_contain_all_of_them(shell: Shell) -> None:
    found = json.loads(shell.jobmon("patterns", "list", "CUDA", "memory", "--json").stdout)
    assert "cuda_oom" in {entry["id"] for entry in found}
    assert all("cuda" in str(entry).lower() and "memory" in str(entry).lower() for entry in found)
    assert len(found) < len(listed(shell)) / 4
    nothing = shell.jobmon("patterns", "list", "cuda", "zebra")
    assert (nothing.stdout, complaint(nothing)) == ("", "no pattern contains 'cuda' and 'zebra'")


def test_the_users_own_patterns_are_listed_first_and_marked(shell: Shell) -> None:
    own(shell, RULE, {**RULE, "id": "cuda_oom"})
    entries = listed(shell)
    assert (entries[0]["id"], entries[0]["source"]) == ("diverged", "own")
    assert list(entries[0]) == [
        "id", "label", "role", "severity", "precedence", "title", "cause", "advice", "source",
    ]  # fmt: skip
    shown = shell.jobmon("patterns", "list").stdout
    assert "diverged (root): Diverged [yours]\n" in shown
    assert "cuda_oom (root): Diverged [yours, replaces the shipped pattern]\n" in shown
    assert shown.count("[yours") == 2


def test_without_a_file_both_files_in_use_are_checked(shell: Shell) -> None:
    (line,) = shell.jobmon("patterns", "check").stdout.splitlines()
    assert line.endswith(f"error_patterns.json: {len(listed(shell))} patterns, no faults")
    path = own(shell, RULE)
    done = shell.jobmon("patterns", "check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{path}: 1 pattern, no faults", line]


def test_every_fault_is_named_at_once(shell: Shell) -> None:
    faulty = own(
        shell,
        {**RULE, "regex": "("},
        {**RULE, "id": "b", "examples": ["something else"], "counter_examples": ["PHYSICS DIVERGED"]},
        {"id": "c", "kolour": 1},
        name="mine.json",
    )
    done = shell.jobmon("patterns", "check", str(faulty))
    assert (done.returncode, done.stderr) == (1, "")
    faults = [line.removeprefix(f"{faulty}: ") for line in done.stdout.splitlines()]
    assert any(fault.startswith("rules[0].regex: ") for fault in faults)
    assert "rules[1].examples[0]: the regex does not match it" in faults
    assert "rules[1].counter_examples[0]: the regex matches it" in faults
    assert "rules[2].kolour: unknown key" in faults
    assert "rules[2].title: missing" in faults


def test_faults_of_the_users_file_do_not_hide_that_the_shipped_one_is_sound(shell: Shell) -> None:
    own(shell, {**RULE, "role": "king"})
    done = shell.jobmon("patterns", "check")
    assert done.returncode == 1
    mine, shipped = done.stdout.splitlines()
    assert "rules[0].role: must be one of root," in mine
    assert shipped.endswith("no faults")


@pytest.mark.parametrize("content", [None, b"{", b"\xff\xfe", b"[]", b"[" * 100_000])
def test_a_file_that_is_no_pattern_file_has_a_fault(shell: Shell, content: bytes | None) -> None:
    if content is not None:
        (shell.work / "x.json").write_bytes(content)
    done = shell.jobmon("patterns", "check", "x.json")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("x.json: ")
    assert "codec" not in done.stdout


def test_a_name_in_a_pattern_file_harms_no_terminal(shell: Shell) -> None:
    path = own(shell, {**RULE, "k\u001b[2J\u202e": 1})
    assert shell.jobmon("patterns", "check").stdout.replace("\n", "").isprintable()
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    assert shell.jobmon("patterns", "list").stderr.strip().isprintable()


def test_patterns_with_faults_are_skipped_and_counted_where_patterns_are_used(shell: Shell) -> None:
    path = own(shell, {**RULE, "id": "bad", "regex": "("}, RULE)
    (shell.work / "a.log").write_text(LOG)
    skipped = f"skipped 1 pattern of {path} because of faults; `jobmon patterns check` lists them"
    for arguments in (("list",), ("test", "a.log")):
        done = shell.jobmon("patterns", *arguments)
        assert (done.returncode, done.stderr) == (0, f"jobmon: {skipped}\n")
        assert "diverged (root)" in done.stdout
    shown = json.loads(shell.jobmon("diagnose", "--json", "a.log").stdout)
    assert (shown["cause"], shown["note"]) == ("diverged", skipped)
    assert shell.jobmon("patterns", "check").returncode == 1


def test_a_trial_shows_what_each_pattern_hits_and_which_one_claims_it(shell: Shell) -> None:
    own(shell, RULE)
    (shell.work / "a.log").write_text(LOG)
    done = shell.jobmon("patterns", "test", "a.log")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        '4:     raise RuntimeError("PHYSICS DIVERGED")',
        "    diverged (root) matches code quoted in a traceback and is ignored",
        "5: RuntimeError: PHYSICS DIVERGED at step 7",
        "    diverged (root) is used",
        "    python_exception_other.runtime_error (root) also matches",
        "    python_exception_other (root) also matches",
        "diagnosis: Diverged (diverged), confidence 90%",
    ]


def test_a_trial_says_which_line_repeats_a_failure(shell: Shell) -> None:
    own(shell, RULE)
    repeated = "PHYSICS DIVERGED at step 8 [repeated 3x across cluster]"
    (shell.work / "a.log").write_text(f"PHYSICS DIVERGED at step 7\n{repeated}\n")
    assert shell.jobmon("patterns", "test", "a.log").stdout.splitlines()[:4] == [
        "1: PHYSICS DIVERGED at step 7",
        "    diverged (root) is used",
        f"2: {repeated}",
        "    diverged (root) matched an earlier line, which Ray repeats here, and is ignored",
    ]


def test_a_trial_without_a_hit_says_so(shell: Shell) -> None:
    (shell.work / "a.log").write_text("epoch 1\n")
    assert shell.jobmon("patterns", "test", "a.log").stdout.splitlines() == [
        "no pattern matches any line",
        "diagnosis: No failure found, confidence 70%",
    ]


def test_a_trial_on_what_is_no_log_says_why(shell: Shell) -> None:
    (shell.work / "empty").touch()
    assert complaint(shell.jobmon("patterns", "test", "empty")) == "empty is empty"
    assert complaint(shell.jobmon("patterns", "test", "nowhere")) == "nowhere does not exist"


def test_a_webhook_in_a_log_is_not_shown(shell: Shell) -> None:
    url = "https://discord.com/api/webhooks/123456789012345678/" + "a" * 68
    (shell.work / "a.log").write_text(f"RuntimeError: posting to {url} failed\n")
    assert "a" * 68 not in shell.jobmon("patterns", "test", "a.log").stdout


@pytest.mark.parametrize("what", ["list", "check", "test"])
def test_each_part_has_help_with_an_example(shell: Shell, what: str) -> None:
    done = shell.jobmon("patterns", what, "--help")
    assert done.returncode == 0
    assert f"  jobmon patterns {what}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "`jobmon patterns --help`"),
        (("bogus",), "invalid choice: 'bogus'"),
        (("test",), "`jobmon patterns test --help`"),
        (("check", "a", "b"), "unexpected argument 'b'"),
    ],
)
def test_a_wrong_command_line_is_told_in_one_line(
    shell: Shell, arguments: tuple[str, ...], words: str
) -> None:
    done = shell.jobmon("patterns", *arguments)
    assert done.returncode == 2
    assert words in complaint(done)
