"""Asks a cluster by ``kubectl``, which knows the credentials of every cloud.

The exit code of every failure is 1, and a user without rights gets a valid, empty List on stdout with it:
only an answer with exit code 0 counts. What failed is in the text on stderr.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from jobmon_core.domain.errors import SchedulerUnavailable
from jobmon_core.system.runner import NotStarted, Ran, Runner, succeeded

_TIMEOUT_S = 60.0  # `--request-timeout` alone lets a hanging server cost seven times as much
_MAX_BYTES = 64 << 20  # of an answer: a namespace with some 6,000 pods, each with 10 kB of JSON
_REQUEST = "--request-timeout=20s"
_LOG_NOISE = re.compile(r"^[EWI]\d{4} .*$\n?", re.MULTILINE)
_UNKNOWN_TYPE = "doesn't have a resource type"
_MAX_WHY = 300
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

    def is_absence_of(self, name: str) -> bool:
        """Whether the server says that it has no object with this name, in a namespace that exists."""
        return (
            "(NotFound)" in self.said and f'"{name}" not found' in self.said and "namespaces" not in self.said
        )

    @property
    def exists_already(self) -> bool:
        """Whether it refused to create an object, since there is one of this name."""
        return "(AlreadyExists)" in self.said

    def names_unknown_field(self, name: str) -> bool:
        """Whether the cluster is too old for a field."""
        return "unknown field" in self.said and name in self.said

    @property
    def is_refusal(self) -> bool:
        """Whether the server, or kubectl before it, rejected the request, or no server got it."""
        return not self.is_sent or any(word in self.said for word in _REFUSALS)


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

    def text(self, *arguments: str, stdin: str = "", timeout_s: float = _TIMEOUT_S) -> str:
        """What a command prints."""
        argv = ("kubectl", *where(self.service), _REQUEST, *arguments)
        result = self.runner.feed(argv, stdin, timeout_s)
        if succeeded(result):
            return result.stdout
        said = result.stderr if isinstance(result, Ran) else result.error_text
        raise KubeFailed(
            _why(said or result.error_text, self.service), said, is_sent=not isinstance(result, NotStarted)
        )


def _why(said: str, service: str) -> str:
    words = " ".join(dict.fromkeys(_LOG_NOISE.sub("", said).strip().splitlines())) or said
    lower, (context, _, namespace) = words.lower(), service.rpartition("/")
    option = f" --context {context}" if context else ""
    hint = ""
    if "(forbidden)" in lower:
        hint = f"; `kubectl auth can-i --list -n {namespace}{option}` shows what you may do"
    elif "unauthorized" in lower or "logged in" in lower:
        hint = "; log in again, as your cluster's operators say"
    elif _UNKNOWN_TYPE in lower:
        hint = "; the cluster does not have this kind of object"
    return f"Kubernetes ({service}) gave no answer: {words[:_MAX_WHY]}{hint}"
