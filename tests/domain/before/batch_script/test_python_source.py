"""What the source of a program shows."""

from __future__ import annotations

import pytest

from jobmon_core.domain.before.batch_script.python_source import read_source


def test_only_imports_without_which_it_cannot_start_count() -> None:
    text = "import a.b, c\nfrom d.e import f\nfrom . import g\n"
    text += "try:\n    import h\nexcept ImportError:\n    h = None\n"
    assert read_source(f"{text}def f():\n    import i\nif x:\n    import j\n").imports == ("a", "c", "d")


def test_variables_that_it_needs_at_once() -> None:
    text = "import os\nA = os.environ['A']\nB = os.environ.get('B')\nos.environ['C'] = '1'\n"
    text += "def f():\n    os.environ['D']\n"
    assert read_source(text).required_variables == ("A",)


def test_prints_that_are_not_flushed() -> None:
    assert read_source("print(1)").prints
    assert not read_source("print(1, file=f)").prints
    assert read_source("print(1, flush=True)").flushes


def test_a_syntax_error_is_its_fault_with_the_line() -> None:
    assert read_source("a = 1\ndef f(:\n").fault.startswith("line 2: ")
    assert read_source("\0").fault


@pytest.mark.parametrize(
    ("source", "resumes"),
    [
        ("parser.add_argument('--resume', action='store_true')\n", False),
        ("# resume is not supported\ndef load_checkpoint(path): ...\n", False),
        ("state = load_checkpoint(path)\n", True),
        ("trainer.train(resume_from_checkpoint=True)\n", True),
        ("trainer.fit(model, ckpt_path='last')\n", True),
    ],
)
def test_a_call_resumes_a_program_and_a_word_does_not(source: str, *, resumes: bool) -> None:
    assert read_source(source).resumes is resumes


_LOOP = "for step in range(9):\n    if step % 3 == 0:\n        {}\n"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (_LOOP.format("torch.save(state, 'last.pt')"), 3),
        (_LOOP.format("torch.save(state, f='last.pt')"), 3),
        (_LOOP.format("torch.save(state, f'step{step}.pt')"), None),
        (_LOOP.format("torch.save(state, path)"), None),
        (_LOOP.format("torch.save(state, 'new.pt'); os.replace('new.pt', 'last.pt')"), None),
        ("torch.save(state, 'final.pt')\n", None),
    ],
)
def test_a_save_in_a_loop_that_writes_over_the_one_before(source: str, line: int | None) -> None:
    assert read_source(source).overwrites == line
