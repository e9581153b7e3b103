"""Asks a cluster by ``kubectl``, which knows the credentials of every cloud.

The exit code of every failure is 1, and a user without rights gets a valid, empty List on stdout with it:
only an answer with exit code 0 counts. What failed is in the text on stderr.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from shlex import join

from jobmon_core.domain.errors import SchedulerUnavailable
from jobmon_core.scheduler.kubernetes.objects import KubeObject, Pod, read_list
from jobmon_core.system.runner import NotStarted, Ran, Result, Runner, succeeded

_TIMEOUT_S = 60.0  # `--request-timeout` alone lets a hanging server cost seven times as much
_MAX_BYTES = 64 << 20  # of an answer: a namespace with some 6,000 pods, each with 10 kB of JSON
_REQUEST = "--request-timeout=20s"
_MAX_WHY = 300
_LOG_IN = "; log in again, as your cluster's operators say"
_HINTS = {
    "(forbidden)": "; `kubectl auth can-i --list {}` shows what you may do",
    "unauthorized": _LOG_IN,
    "logged in": _LOG_IN,
    "doesn't have a resource type": "; the cluster does not have this kind of object",
}
_REFUSALS = (
    *("(Invalid)", "(Forbidden)", "(BadRequest)", "(NotFound)", "(Unauthorized)", "logged in"),
    *("error validating", "no matches for kind", "was refused", "no such host", "does not exist"),
)


class KubeFailed(SchedulerUnavailable):
    """A question without a usable answer."""

    def __init__(self, why: str, said: str = "", *, is_sent: bool = True) -> None:
        """``said`` is all that kubectl wrote."""
        super().__init__(why)
        self.said, self.is_sent = said, is_sent

    def says(self, *words: str) -> bool:
        """Whether all of these are in what it wrote."""
        return all(word in self.said for word in words)

    def is_absence_of(self, name: str) -> bool:
        """Whether the server says that it has no object with this name, in a namespace that exists."""
        return self.says("(NotFound)", f'"{name}" not found') and not self.says("namespaces")

    @property
    def is_refusal(self) -> bool:
        """Whether the server, or kubectl before it, rejected the request, or no server got it."""
        return not self.is_sent or any(map(self.says, _REFUSALS))


def where(service: str) -> tuple[str, ...]:
    """The options of kubectl for a service, ``CONTEXT/NAMESPACE`` or, within a cluster, ``NAMESPACE``."""
    context, _, namespace = service.rpartition("/")
    return (*(("--context", context) if context else ()), "-n", namespace)


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One namespace of a cluster. Questions raise KubeFailed."""

    service: str
    runner: Runner = field(default_factory=lambda: Runner(max_bytes=_MAX_BYTES))

    def json(self, *arguments: str, stdin: str = "") -> object:
        """The JSON that a command prints."""
        said = self.text(*arguments, "-o", "json", stdin=stdin)
        try:
            return json.loads(said)
        except (ValueError, RecursionError) as error:
            raise KubeFailed(f"the answer of kubectl ({self.service}) breaks off or is no JSON") from error

    def objects(self, *arguments: str, stdin: str = "") -> tuple[list[KubeObject], list[Pod]]:
        """The objects, and the pods, that a command prints."""
        found = read_list(self.json(*arguments, stdin=stdin))
        if found is None:
            raise KubeFailed(f"the answer of kubectl ({self.service}) is no list of objects")
        return found

    def text(self, *arguments: str, stdin: str = "", timeout_s: float = _TIMEOUT_S) -> str:
        """What a command prints."""
        argv = ("kubectl", *where(self.service), _REQUEST, *arguments)
        result = self.runner.feed(argv, stdin, timeout_s)
        if succeeded(result):
            return result.stdout
        said = result.stderr if isinstance(result, Ran) else ""
        raise KubeFailed(_why(result, self.service), said, is_sent=not isinstance(result, NotStarted))


def _why(result: Result, service: str) -> str:
    words = result.error_text.removeprefix("kubectl: ")
    hint = next((hint for word, hint in _HINTS.items() if word in words.lower()), "")
    *context, _, namespace = where(service)
    hint = hint.format(join(("-n", namespace, *context)))
    return f"Kubernetes ({service}) gave no answer: {words[:_MAX_WHY]}{hint}"
