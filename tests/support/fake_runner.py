"""A runner that starts nothing: it replies what it was told, by how the command line begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from jobmon_core.system.runner import NotStarted, Ran, TimedOut

Answer = Ran | TimedOut | NotStarted


@dataclass(frozen=True)
class _Reply:
    prefix: tuple[str, ...]
    answers: list[Answer]

    def next(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def said(stdout: str = "", stderr: str = "", exit_code: int = 0) -> Ran:
    """A program that ran; the command line is filled in when it is asked for."""
    return Ran((), exit_code, stdout, stderr)


class FakeRunner:
    """Replies by the longest prefix of the command line that it knows; the last answer stays."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self._replies: list[_Reply] = []

    def on(self, *prefix: str, answers: Sequence[Answer]) -> FakeRunner:
        """Reply ``answers`` one after the other to command lines that begin so."""
        self._replies = [reply for reply in self._replies if reply.prefix != prefix]
        self._replies.append(_Reply(prefix, list(answers)))
        return self

    def capture(self, argv: Sequence[str], timeout_s: float) -> Answer:
        """Reply as told; a program that nobody told about is not there."""
        assert timeout_s > 0
        self.asked.append(tuple(argv))
        return self._reply(tuple(argv))

    def run_attached(self, argv: Sequence[str], on_line: Callable[[str], None]) -> Ran | NotStarted:
        """Reply as told, handing out the lines first."""
        self.asked.append(tuple(argv))
        answer = self._reply(tuple(argv))
        assert not isinstance(answer, TimedOut), "what runs for the user has no time limit"
        if isinstance(answer, Ran):
            for line in answer.stdout.splitlines():
                on_line(line)
        return answer

    def _reply(self, argv: tuple[str, ...]) -> Answer:
        known = [reply for reply in self._replies if argv[: len(reply.prefix)] == reply.prefix]
        if not known:
            return NotStarted(argv, "not found on PATH")
        return replace(max(known, key=lambda reply: len(reply.prefix)).next(), argv=argv)
