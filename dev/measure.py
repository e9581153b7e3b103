"""Measure the structure of the code against fixed bounds; fail if one is exceeded."""

from __future__ import annotations

import ast
import re
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grimp

from benchmarks.figures import Figure, report

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("jobmon", "jobmon_core")
SUPPRESSION = re.compile(r"(?:noqa|type: ignore)(?::\s*\w+(?:,\s*\w+)*|\[[\w,-]+\])?(?P<reason>.*)")
MOCKS = re.compile(r"\b(mock|Mock|MagicMock|monkeypatch\.setattr|mocker)\b")
_MOST_BRANCHES = 15
_LAYOUT = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENDMARKER, tokenize.ENCODING),
}
IMPURE = {
    *("os", "io", "sys", "time", "subprocess", "socket", "pathlib", "logging", "shutil", "tempfile"),
    *("requests", "filelock", "daemon", "random", "secrets", "signal", "select", "threading"),
}


Nodes = dict[Path, list[ast.AST]]  # of each module, all


def main() -> int:
    """Print every figure with its bound; return 1 if a bound is exceeded."""
    return report(list(measure()), as_json=False)


def measure() -> Iterator[Figure]:
    """Yield every figure."""
    sources = {path: path.read_text(encoding="utf-8") for path in _files(*PACKAGES)}
    nodes = {path: list(ast.walk(ast.parse(text))) for path, text in sources.items()}
    tokens = {path: _tokens(path) for path in sources}
    yield from _sizes(sources, nodes)
    yield _fullest_folder()
    yield from _density(nodes, sum(number for number, _ in tokens.values()))
    yield from _structure(nodes)
    yield _unexplained_suppressions({path: comments for path, (_, comments) in tokens.items()})
    yield _mocks()


def _files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def _fullest_folder() -> Figure:
    folders = Counter(path.parent for path in _files("jobmon_core"))
    folder, number = folders.most_common(1)[0]
    return Figure(f"Python files of the fullest folder, {_name(folder)}", number, 20)


def _sizes(sources: dict[Path, str], nodes: Nodes) -> Iterator[Figure]:
    modules = {path: text.count("\n") for path, text in sources.items() if path.name != "__init__.py"}
    yield Figure("lines of a module, median", statistics.median(modules.values()), 150)
    largest = max(modules, key=lambda path: modules[path])
    yield Figure(f"lines of the largest module, {_name(largest)}", modules[largest], 400)
    functions = {  # length, including the docstring
        (path, node.name): (node.end_lineno or node.lineno) - node.lineno + 1
        for path, all_of_it in nodes.items()
        for node in all_of_it
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    yield Figure("lines of a function, median", statistics.median(functions.values()), 9)
    longest = max(functions, key=lambda key: functions[key])
    yield Figure(f"lines of the longest function, {longest[1]}", functions[longest], 80)


def _density(nodes: Nodes, tokens: int) -> Iterator[Figure]:
    ternaries = sum(isinstance(node, ast.IfExp) for all_of_it in nodes.values() for node in all_of_it)
    yield Figure("conditional expressions per 1,000 tokens", round(1000 * ternaries / tokens, 2), 3.5)
    dense = [
        f"{_name(path)}:{node.lineno} {node.name}"
        for path, all_of_it in nodes.items()
        for node in all_of_it
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _branches(node) > _MOST_BRANCHES
    ]
    yield _count(f"functions of more than {_MOST_BRANCHES} branches", dense, 0)


def _branches(function: ast.AST) -> int:
    """Return how many ways lead through a function, counting also what ruff's C901 does not: expressions."""
    branches = 1
    for node in ast.walk(function):
        match node:
            case ast.BoolOp():
                branches += len(node.values) - 1
            case ast.comprehension():
                branches += 1 + len(node.ifs)
            case ast.If() | ast.For() | ast.While() | ast.ExceptHandler() | ast.match_case() | ast.IfExp():
                branches += 1
    return branches


def _tokens(path: Path) -> tuple[int, list[tuple[int, str]]]:
    """Return the number of tokens, and each comment with its line."""
    number, comments = 0, []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            number += token.type not in _LAYOUT
            if token.type == tokenize.COMMENT:
                comments.append((token.start[0], token.string))
    return number, comments


def _structure(nodes: Nodes) -> Iterator[Figure]:
    graph = grimp.build_graph(*PACKAGES, include_external_packages=False)
    cyclic = [module for module in graph.modules if _reaches_itself(graph, module)]
    yield _count("modules in an import cycle", cyclic, 0)
    importers = _importers(nodes, {"subprocess", "multiprocessing", "pty"})
    starters = [name for name in importers if not name.endswith("relay.py")]  # uses only a type
    yield _count("files that start programs", starters, 1)
    senders = _importers(nodes, {"requests", "urllib3", "http.client", "urllib.request", "httpx"})
    yield _count("files that do outbound HTTP", senders, 1)
    domain = {path: all_of_it for path, all_of_it in nodes.items() if "domain" in path.parts}
    impure = _importers(domain, IMPURE)
    yield _count("domain modules with I/O or a clock", impure, 0)


def _reaches_itself(graph: grimp.ImportGraph, module: str) -> bool:
    return any(
        graph.chain_exists(imported, module) for imported in graph.find_modules_directly_imported_by(module)
    )


def _importers(nodes: Nodes, names: set[str]) -> list[str]:
    """Return the files that import any of the modules ``names``."""
    return [_name(path) for path, all_of_it in nodes.items() if names & set(_imports(all_of_it))]


def _imports(nodes: list[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _unexplained_suppressions(comments: dict[Path, list[tuple[int, str]]]) -> Figure:
    places = []
    for path, all_of_it in comments.items():
        for line, comment in all_of_it:
            suppression = SUPPRESSION.search(comment)
            if suppression and not suppression["reason"].strip(" -"):
                places.append(f"{_name(path)}:{line}")
    return _count("suppressed checks without a reason", places, 0)


def _count(name: str, places: list[str], at_most: float) -> Figure:
    """Return the number of places; if there are too many, the name lists them."""
    return Figure(f"{name}: {', '.join(places)}" if len(places) > at_most else name, len(places), at_most)


def _mocks() -> Figure:
    texts = [path.read_text(encoding="utf-8") for path in _files("tests")]
    tests = sum(len(re.findall(r"^\s*def test_", text, re.MULTILINE)) for text in texts)
    mocks = sum(len(MOCKS.findall(text)) for text in texts)
    return Figure("mocks per test", round(mocks / max(1, tests), 3), 0.1)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


if __name__ == "__main__":
    sys.exit(main())
