"""The lines of logs: readable texts from bytes, those of all logs of a job, and the fingerprint of one.

Every function takes time linear in the length of its input. Fingerprints are equal for the same failure on
another rank, node or day: numbers, addresses, times and the parts of paths that belong to one run are left
out, but not ``index 5`` and the like.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import accumulate, chain

from jobmon_core.domain.logs.diagnosis.model import EarlierLog, Line
from jobmon_core.domain.logs.diagnosis.ray_log import without_repeat_note

LINE_LIMIT = 4000  # characters; longer lines are shortened in the middle
_TAIL_LENGTH = 1500  # characters from the end of a shortened line
_BINARY_SHARE = 0.15  # of unprintable characters; text stays far below
_MIN_UNPRINTABLE = 16  # fewer prove nothing: a short Latin-1 log

# ECMA-48: CSI sequences, OSC strings (titles, links) up to their terminator, and two-character escapes;
# no sequence continues after a line end, so all lines can be searched at once
_ANSI = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
# control characters in UTF-8
_CONTROL_BYTES = bytes({*range(0x20), 0x7F} - {*b"\t\n"})
_C1_BYTES = re.compile(rb"\xc2[\x80-\x9f]")
_UNPRINTABLE_BYTES = bytes({*range(1, 0x20), 0x7F} - {*b"\a\b\t\n\v\f\r\x1b"})

# the rank labels of srun --label (padded to the same width), torchrun, mpirun --tag-output and Ray, and the
# prefix of a logged error (vLLM, glog), but not of other levels, which report no failure
_RANK_LABELS = re.compile(
    r"(?: {0,5}\d{1,6}:(?: |$)|\[(?:rank|default|RANK )?\d{1,6}\]:? ?|\[\d{1,6},\d{1,6}\]<std(?:err|out)>: ?|"
    r"\((?:[^()]{1,60}|\S{1,160} )\bpid=\d+[^()]{0,60}\) ?|"
    r"\((?:raylet|autoscaler|gcs_server)\b[^()]{0,60}\) ?|"
    r"(?:ERROR|CRITICAL|FATAL) [\d :.,-]{5,30}\[[\w./-]{1,60}:\d+\] ?|"
    r"[EF]\d{4} [\d:.]{8,15} +\d+ [\w./-]{1,120}:\d+\] ?){0,4}"
)
# in place of ``slurmstepd: ``, since 25.05
_STEPD_CLOCK = re.compile(r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?\] (?=error: |fatal: )")
_CENTURY = "[20"
_STEPD_NAME = "slurmstepd: "
# the first characters of what `_RANK_LABELS` and `_STEPD_CLOCK` match, apart from padding
LABEL_STARTS = frozenset("0123456789[(ECF")
PADDED_RANK = re.compile(r" {1,5}\d")
_WARNING = re.compile(r"\W{0,3}(?:WARN(?:ING)?\b|[Ww]arning: )")
# a frame of a traceback after the name of the host that printed it: pdsh, with which DeepSpeed starts nodes
_HOST_FRAME = re.compile(r'([A-Za-z][\w.-]{0,63}): {3}File "[^"]*", line \d')
_PREFIXED_FRAME = ':   File "'


def clean_lines(data: bytes) -> tuple[str, ...]:
    r"""Return each line as a terminal would finally show it; overlong ones are shortened.

    Only ``\n`` ends a line, as in editors and grep.
    """
    text = data.decode("utf-8", errors="replace")
    has_control = len(data.translate(None, _CONTROL_BYTES)) < len(data)
    if has_control or (not data.isascii() and _C1_BYTES.search(data)):
        text = _without_control_characters(text)
    lines = text.split("\n")
    if not data or data.endswith(b"\n"):
        lines.pop()
    # a Python loop over every line would be slow for long logs
    shown = tuple(map(str.rstrip, lines))
    if max(map(len, shown), default=0) > LINE_LIMIT:
        return tuple(map(_shortened, shown))
    return shown


def _without_control_characters(text: str) -> str:
    """Apply carriage returns and remove all control characters, in bytes, which is much faster."""
    data = _without_overwritten(_ANSI.sub(b"", text.encode())).translate(None, _CONTROL_BYTES)
    return (data if data.isascii() else _C1_BYTES.sub(b"", data)).decode()


def _without_overwritten(text: bytes) -> bytes:
    if b"\r" not in text:
        return text
    lines = text.replace(b"\r\n", b"\n").split(b"\n")
    return b"\n".join([_last_state(line) if b"\r" in line else line for line in lines])


def _last_state(line: bytes) -> bytes:
    end = len(line)
    while end >= 0:
        start = line.rfind(b"\r", 0, end) + 1
        state = line[start:end]
        if state.strip(b" \t\x00"):
            return state
        end = start - 1
    return b""


def _shortened(line: str) -> str:
    if len(line) <= LINE_LIMIT:
        return line
    return f"{line[: LINE_LIMIT - _TAIL_LENGTH]} ... {line[-_TAIL_LENGTH:]}"


def is_binary(data: bytes) -> bool:
    """Whether it is not text. Zero bytes do not count: a crashing node leaves them in logs."""
    text = data.decode("utf-8", errors="replace")
    unprintable = len(data) - len(data.translate(None, _UNPRINTABLE_BYTES))
    if not data.isascii():
        unprintable += text.count("\ufffd") + len(_C1_BYTES.findall(data))
    return unprintable > max(_MIN_UNPRINTABLE, _BINARY_SHARE * (len(text) - data.count(0)))


def host_labels(lines: Sequence[str]) -> frozenset[str]:
    """Return the names of the hosts that label the lines of tracebacks."""
    if _PREFIXED_FRAME not in "\n".join(lines):  # most logs; quicker than a search in every line
        return frozenset()
    return frozenset([frame[1] for frame in map(_HOST_FRAME.match, lines) if frame])


def without_label(line: str, hosts: frozenset[str] = frozenset()) -> str:
    """Return the line without labels such as ``[rank3]: `` or a host."""
    if hosts:
        host, colon, text = line.partition(":")
        if colon and host in hosts:
            line = text.removeprefix(" ")
    labels = _RANK_LABELS.match(line)
    return line[labels.end() :] if labels else line


def searched_text(line: str, hosts: frozenset[str] = frozenset()) -> str:
    """Return a line as patterns match it: without labels and slurmstepd's clock."""
    text = without_repeat_note(without_label(line, hosts))
    if not text.startswith(_CENTURY):  # which rules out nearly every line, quicker than the regex
        return text
    clock = _STEPD_CLOCK.match(text)
    return f"{_STEPD_NAME}{text[clock.end() :]}" if clock else text


def is_warning(text: str) -> bool:
    """Whether a line without its label begins as a warning."""
    return _WARNING.match(text) is not None


_LENGTH = 16  # hexadecimal digits: 64 bits
_MAX_CHARACTERS = 300  # of a line; what follows rarely describes the failure
_VARIABLE = re.compile(
    # the lookahead lists the first characters of all alternatives, which halves the time of most searches
    r"(?=[\w~/.-])(?:"
    r"(?P<position>(?=(?i:[eiklors]))(?i:index|key|record|sample|row|offset|step|epoch|line|keyerror)"
    r"[ =:#]{1,3}\d+)"
    r"|(?P<path>~?/[^\s'\",;()\[\]<>]+|\b(?:[\w.-]+/[\w./-]+|[\w-]*\d[\w-]*\.(?:"
    r"arrow|bin|ckpt|csv|fits|gz|h5|hdf5|jpe?g|jsonl?|nc|np[yz]|parquet|pkl|png|pth?|rec|safetensors|tar|"
    r"tfrecord|tsv|txt|ya?ml|zip)\b))"
    r"|\b(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|[0-9a-f]*\d[0-9a-f]*\b)"
    r"|0x[0-9a-fA-F]+|\d[\d.:,TZ_-]*)"
)
_TEMPORARY = re.compile(r"/(?:tmp|dev/shm|proc)/")  # folders of one run
# parts of a path that differ from run to run
_JOB_SPECIFIC = re.compile(r"(?i)(job[_-]?)\d+|(?<=/)\d{4,}(?=/|$)")


def fingerprint(identifier: str, line: str, frame: str = "") -> str:
    """Return 16 hexadecimal digits that identify a failure.

    ``identifier`` is the id of its cause, ``line`` proves it, ``frame`` is the line ``File "...", line N, in
    ...`` of the user's code. The N changes when the code before it is edited, and is ignored.
    """
    file, _, function = frame.strip().partition('", line ')
    failure = _VARIABLE.sub(_replacement, searched_text(line).strip()[:_MAX_CHARACTERS])
    text = "\n".join((identifier, failure, _path(file), function.partition(", ")[2]))
    return _hash(text)


def _replacement(match: re.Match[str]) -> str:
    if match.lastgroup == "path":
        return _path(match[0])
    return match[0] if match.lastgroup else "#"


def _path(path: str) -> str:
    return "#" if _TEMPORARY.search(path) else _JOB_SPECIFIC.sub(r"\1#", path)


ONLY_EARLIER = "holds only lines from before the job's start"


@dataclass(frozen=True, slots=True)
class LogExcerpt:
    """Consecutive lines of one file; ``problem`` and ``note`` complete a sentence that begins with it."""

    path: str
    texts: tuple[str, ...] = ()
    first_number: int | None = 1  # of the first line, if those before it were counted
    problem: str = ""  # why there are no lines
    size: int = 0  # bytes of the file on disk
    complete: bool = False  # these are all lines of the log
    note: str = ""  # why a part of the log could not be read

    def as_earlier_log(self) -> EarlierLog | None:
        """Return what shows later which lines were appended."""
        if self.first_number is None or not self.texts:
            return None
        return EarlierLog(self.first_number + len(self.texts) - 1, _hash(self.texts[-1]))

    def appended_to(self, earlier: EarlierLog | None) -> LogExcerpt:
        """Return all lines after those of ``earlier``; the same excerpt if it lacks the last one of those."""
        if earlier is None or self.first_number is None:
            return self
        last = earlier.lines - self.first_number
        if last not in range(len(self.texts)) or _hash(self.texts[last]) != earlier.last_line:
            return self
        own = self.texts[last + 1 :]
        problem = "" if own else ONLY_EARLIER
        return replace(self, texts=own, first_number=earlier.lines + 1, problem=problem, complete=True)


def _hash(line: str) -> str:
    return sha256(line.encode(errors="replace")).hexdigest()[:_LENGTH]


class LogLines:
    """The lines of several excerpts, one excerpt after the other."""

    def __init__(self, excerpts: Sequence[LogExcerpt]) -> None:
        """Join ``excerpts``."""
        self.excerpts = tuple([excerpt for excerpt in excerpts if excerpt.texts])
        self.texts = tuple(chain.from_iterable([excerpt.texts for excerpt in self.excerpts]))
        self._ends = tuple(accumulate([len(excerpt.texts) for excerpt in self.excerpts]))

    @cached_property
    def unprefixed(self) -> tuple[str, ...]:
        """The texts without the labels of the ranks that printed them."""
        if hosts := self._hosts:
            return tuple([searched_text(text, hosts) for text in self.texts])
        # the first characters rule out a label in nearly every line, which is faster than the regex
        return tuple(
            [
                searched_text(text)
                if text[:1] in LABEL_STARTS or (text[:1] == " " and PADDED_RANK.match(text))
                else text
                for text in self.texts
            ]
        )

    @cached_property
    def _hosts(self) -> frozenset[str]:
        return host_labels(self.texts)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """For each line the label of the rank that printed it."""
        if self.unprefixed == self.texts:
            return ("",) * len(self.texts)
        return tuple(
            "" if text == unprefixed else text[: len(text) - len(without_label(text, self._hosts))]
            for text, unprefixed in zip(self.texts, self.unprefixed, strict=True)
        )

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, position: int) -> Line:
        text = self.texts[position]
        excerpt = self.excerpts[bisect_right(self._ends, position)]
        number = excerpt.first_number
        if number is not None:
            number += position - self.excerpt_range(position).start
        return Line(excerpt.path, number, text)

    def excerpt_range(self, position: int) -> range:
        """Return the positions of all lines in the excerpt that contains ``position``."""
        index = bisect_right(self._ends, position)
        end = self._ends[index]
        return range(end - len(self.excerpts[index].texts), end)
