"""Ask jobmon for the newest complete checkpoint in folders that real frameworks have written.

It needs a Python with frameworks, of which those that are missing are left out::

    pip install torch transformers accelerate lightning pytorch-ignite keras orbax-checkpoint flax
    .venv/bin/python benchmarks/checkpoints.py --python PATH_OF_THAT_PYTHON

For each framework, a program saves a model at steps 100, 200 and 300 with the framework's own functions.
jobmon is asked after step 200 and after step 300. Then the program runs again and is killed (SIGKILL) while
it saves step 300: first when a part of step 300 appears, then at random times, one in each equal part of
the time that the save takes. After each kill, the framework itself is asked to load step 300.

Bounds: at least eight layouts, and no wrong answer: the newest complete checkpoint is step 200, or step 300
if the framework loads it with the numbers that were saved. The exit status is 1 if a bound does not hold.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tabulate import tabulate

from benchmarks.checkpoint_parts.runs import Answer, Bench
from benchmarks.figures import Figure, report
from benchmarks.options import options_parser

_MIN_LAYOUTS = 8
_NUMBERS_PER_MB = 10**6 // 4
_HEADERS = ("layout", "version", "moment", "jobmon names", "the framework loads 300", "why not 300")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the answers and the figures; return 0 if all bounds hold."""
    parser = options_parser(__doc__, kills=(4, "kills for each framework"), mb=(200, "size of a checkpoint"))
    parser.add_argument("--python", required=True, metavar="PATH", help="a Python that has the frameworks")
    parser.add_argument("--only", default="", metavar="LAYOUT", help="leave the other layouts out")
    options = parser.parse_args(arguments)
    if options.kills < 2:  # noqa: PLR2004 - one when step 300 appears, one at a random time
        parser.error("--kills must be at least 2")
    with tempfile.TemporaryDirectory(prefix="jobmon-checkpoints-") as folder:
        bench = Bench(options.python, Path(folder), options.mb * _NUMBERS_PER_MB)
        answers = [
            answer
            for writer, version in bench.available()
            if options.only in ("", writer.layout)
            for answer in bench.answers(writer, version, options.kills)
        ]
    print(tabulate(map(_row, answers), _HEADERS), end="\n\n")
    return report(list(_figures(answers)), as_json=options.json)


def _row(answer: Answer) -> tuple[str, ...]:
    named = "none" if answer.named is None else str(answer.named)
    mark = " WRONG" if answer.is_wrong else " (overlooks 300)" if answer.is_overlooked else ""
    loads = "yes" if answer.is_loadable else "no" if answer.is_begun else ""
    return answer.layout, answer.version, answer.moment, named + mark, loads, answer.why


def _figures(answers: Sequence[Answer]) -> Iterator[Figure]:
    kills = [each for each in answers if each.moment.startswith("killed")]
    yield Figure("layouts", len({each.layout for each in answers}), at_least=_MIN_LAYOUTS)
    yield Figure("answers", len(answers))
    yield Figure("wrong answers", sum(each.is_wrong for each in answers), at_most=0)
    yield Figure("kills", len(kills))
    yield Figure("kills that leave an incomplete step 300", sum(_is_incomplete(each) for each in kills))
    yield Figure("answers that overlook a complete step 300", sum(each.is_overlooked for each in answers))


def _is_incomplete(answer: Answer) -> bool:
    return answer.is_begun and not answer.is_loadable


if __name__ == "__main__":
    sys.exit(main())
