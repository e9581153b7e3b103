"""A runner that starts nothing: scripted answers by the beginning of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jobmon_core.system.runner import NotStarted, Ran, Result, Runner, TimedOut, TooLong

Answer = Result


@dataclass(frozen=True)
class _Reply:
    prefix: tuple[str, ...]
    answers: list[Answer]

    def next(self) -> Answer:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def said(stdout: str = "", stderr: str = "", exit_code: int = 0) -> Ran:
    """A program that ran; the command line is filled in with the answer."""
    return Ran((), exit_code, stdout, stderr)


class FakeRunner(Runner):
    """Answers by the longest known prefix of the command line; the last answer repeats."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, ...]] = []
        self.variables: dict[str, str] = {}  # that the latest query got in addition
        self._replies: list[_Reply] = []

    def on(self, *prefix: str, answers: Sequence[Answer]) -> FakeRunner:
        """Give ``answers`` one after the other to command lines with this prefix."""
        self._replies = [reply for reply in self._replies if reply.prefix != prefix]
        self._replies.append(_Reply(prefix, list(answers)))
        return self

    def capture(self, argv: Sequence[str], timeout_s: float) -> Answer:
        """Return the scripted answer; a program without one is not on PATH."""
        assert timeout_s > 0
        self.asked.append(tuple(argv))
        return self._reply(tuple(argv))

    def capture_with(self, variables: Mapping[str, str], argv: Sequence[str], timeout_s: float) -> Answer:
        """Return the scripted answer; keep the variables."""
        self.variables = dict(variables)
        return self.capture(argv, timeout_s)

    def run_attached(
        self,
        argv: Sequence[str],
        on_line: Callable[[str], None],
        on_start: Callable[[], None] | None = None,
        on_pause: Callable[[], object] | None = None,
    ) -> Ran | NotStarted:
        """Return the scripted answer after passing its lines on."""
        self.asked.append(tuple(argv))
        answer = self._reply(tuple(argv))
        assert not isinstance(answer, TimedOut | TooLong), "run_attached has no limits"
        if isinstance(answer, Ran):
            if on_start:
                on_start()
            for line in answer.stdout.splitlines():
                on_line(line)
            if on_pause:
                on_pause()
        return answer

    def _reply(self, argv: tuple[str, ...]) -> Answer:
        known = [reply for reply in self._replies if argv[: len(reply.prefix)] == reply.prefix]
        if not known:
            return NotStarted(argv, "not found on PATH")
        return max(known, key=lambda reply: len(reply.prefix)).next()._replace(argv=argv)
