"""Write the files that are derived from others.

From the parsers: the manual page and the completion scripts, in share/, and the tables of docs/commands.md.
From the failure patterns: the literals that their expressions require. `tests/dev/test_share_files.py` fails
if a file is not current; then run this script.
"""

from __future__ import annotations

import json
import sys
from argparse import REMAINDER, SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path

from completion_scripts import completion_script
from required_literals import needed_literals

from jobmon.cli import COMMANDS, FURTHER, GROUPS
from jobmon.commands.completion import SHELLS
from jobmon.parser import DESCRIPTION, EPILOG, command_parser
from jobmon_core.observe.patterns.load import load_patterns
from jobmon_core.observe.patterns.prefilter import FILE_NAME, OTHERS, REPORTED_EARLY

SHARE = Path(__file__).resolve().parents[1] / "share"
LITERALS = SHARE.parent / "patterns" / FILE_NAME
DOCS = SHARE.parent / "docs" / "commands.md"
_PAGES = {  # what tells more about a command
    "check": "checks.md#will-it-work",
    "watch": "backends.md",
    "history": "history.md",
    "digest": "history.md#a-digest",
    "nodes": "history.md#nodes",
    "web": "web.md",
    "mcp": "for-scripts-and-agents.md#mcp-tools-for-an-ai-agent",
    "connect": "laptop.md",
    "run": "backends.md#on-this-machine",
    "chain": "groups.md#one-after-the-other",
    "mark": "groups.md#messages-and-markers-of-scripts",
    "notify": "groups.md#messages-and-markers-of-scripts",
    "progress": "progress.md",
    "efficiency": "gpus.md#what-did-it-use",
    "health": "gpus.md#is-it-healthy",
    "why": "checks.md#why-is-it-pending",
    "diagnose": "failures.md",
    "diff": "failures.md#what-changed",
    "rerun": "failures.md#what-changed",
    "restart": "restarts.md",
    "restarts": "restarts.md",
    "group": "groups.md#groups-of-jobs",
    "wait": "groups.md#waiting-for-jobs",
    "checkpoints": "files.md#which-checkpoint-is-complete",
    "verify": "files.md#is-everything-there",
    "patrol": "monitors.md#regular-summaries-and-handover",
    "handover": "monitors.md#regular-summaries-and-handover",
    "patterns": "failures.md#your-own-patterns",
    "mute": "messages.md#which-messages-where-and-when",
    "recover": "monitors.md#restarting-monitors-automatically",
    "test": "messages.md#other-channels",
    "init": "messages.md#other-channels",
}

_FILES = {
    "$JOBMON_HOME/config.json": "the configuration, written by jobmon init. Without JOBMON_HOME, the folder "
    "is the checkout that jobmon runs from, else ~/.local/share/jobmon",
    "$JOBMON_HOME/patterns.json": "failure patterns of your own",
    "$JOBMON_HOME/state/": "what jobmon knows of the watched jobs, one file for each submission",
    "$JOBMON_HOME/logs/": "the logs of the monitors, and the diagnostics bundles of failed jobs",
}
_ENVIRONMENT = {
    "JOBMON_HOME": "the folder of the files above",
    "JOBMON_SUCCESS_WEBHOOK, JOBMON_ERROR_WEBHOOK": "webhook URLs; they override those in config.json",
    "JOBMON_SMTP_PASSWORD": "the password of e-mail channels",
    "HTTPS_PROXY, NO_PROXY, REQUESTS_CA_BUNDLE": "how to reach Discord and the other services",
    "NO_COLOR": "if set, output has no colours",
}
_EXIT_CODES = {
    "0": "success; also after Ctrl-C in `inbox`, `logs -f`, `progress -f`, `status --watch`, `top` and "
    "`watch --follow`",
    "1": "failure: jobmon or the scheduler refuses, you answer no, a job is unknown, or an input cannot be "
    "read",
    "2": "the command line is invalid",
    "69": "Slurm, the Ray cluster, the remote host or a pod is not responding, or the cluster of a "
    "profile is not connected; after `submit --backend ray`, "
    "it is not known whether the job was accepted",
    "70": "internal error",
    "74": "a file cannot be written, or the system cannot start a process or open a port",
    "75": "another jobmon command holds a lock that this one needs",
    "78": "the configuration or a pattern file has errors, or a Python package is missing",
    "126": "`run`: the command cannot be executed",
    "127": "`run`: the command does not exist; others: there is no sbatch, or the backend does not support "
    "the command",
    "130": "interrupted",
    "141": "stdout was closed",
}


def share_files() -> dict[str, str]:
    """Return the text of each file by its name in share/."""
    scripts = {name: completion_script(shell) for shell, name in SHELLS.items()}
    return {"jobmon.1": "\n".join((*_manual(), "")), **scripts}


def commands_page() -> str:
    """Return docs/commands.md with its tables as the parsers and the exit codes are now."""
    text = DOCS.read_text(encoding="utf-8")
    for name, lines in (("commands", _tables()), ("exit codes", _exit_codes())):
        start, end = f"<!-- {name}: written by dev/share_files.py -->\n", f"\n<!-- end of {name} -->"
        before, _, rest = text.partition(start)
        text = "".join((before, start, "\n", "\n".join(lines), "\n", end, rest.partition(end)[2]))
    return text


def _tables() -> Iterator[str]:
    for title, commands in (*GROUPS.items(), ("further commands", FURTHER)):
        yield from (f"### {title.capitalize()}", "", "| command | what it does |", "|---|---|")
        for name, summary in commands.items():
            link = f": [more]({_PAGES[name]})" if name in _PAGES else ""
            main = command_parser(name)
            for parser in (main, *_verbs(main)):
                usages = parser.format_usage().removeprefix("usage: ").split("jobmon ")[1:]
                shown = ", ".join(f"`jobmon {' '.join(usage.split())}`" for usage in usages)
                shown = shown.replace(" [-h]", "").replace("|", "\\|")
                does = summary
                if parser.prog != f"jobmon {name}":
                    does = (parser.description or "").partition(".")[0].replace("\n", " ")
                    does = f"{does[:1].lower()}{does[1:]}"
                yield f"| {shown} | {does}{link} |"
        yield ""


def _verbs(parser: ArgumentParser) -> Iterator[ArgumentParser]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        if isinstance(action, _SubParsersAction):
            yield from action.choices.values()


def _exit_codes() -> Iterator[str]:
    yield from ("| code | meaning |", "|---|---|")
    yield from (f"| {code} | {meaning} |" for code, meaning in _EXIT_CODES.items())


def literals_file() -> str:
    """Return the literals of all shipped expressions, as JSON with one expression a line."""
    parts: dict[str, dict[str, list[str]]] = {REPORTED_EARLY: {}, OTHERS: {}}
    for pattern in load_patterns():
        part = parts[REPORTED_EARLY if pattern.is_reported_early else OTHERS]
        part.update({regex: sorted(needed_literals(regex)) for regex in pattern.regex})
    texts = (
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(f"{json.dumps(key)}: {json.dumps(part[key])}" for key in part)
        for name, part in parts.items()
    )
    return "{\n" + "\n},\n".join(texts) + "\n}}\n"


def main() -> int:
    """Write all files."""
    LITERALS.write_text(literals_file(), encoding="utf-8")
    DOCS.write_text(commands_page(), encoding="utf-8")
    SHARE.mkdir(exist_ok=True)
    for name, text in share_files().items():
        (SHARE / name).write_text(text, encoding="utf-8")
    return 0


def _manual() -> Iterator[str]:
    yield '.\\" Written by dev/share_files.py.'
    yield '.TH JOBMON 1 "" "jobmon" "User Commands"'
    yield from (".SH NAME", r"jobmon \- submit Slurm jobs and get a message when each ends")
    yield from (".SH SYNOPSIS", ".B jobmon", ".I COMMAND", "[\\fIOPTIONS\\fR]")
    yield from (".SH DESCRIPTION", *_prose(DESCRIPTION), *_prose(EPILOG), ".SH COMMANDS")
    for name in COMMANDS:
        yield from _command(command_parser(name))
    for title, entries in (("FILES", _FILES), ("ENVIRONMENT", _ENVIRONMENT), ("EXIT STATUS", _EXIT_CODES)):
        yield f".SH {title}"
        for name, text in entries.items():
            yield from (".TP", f".B {_escaped(name)}", _escaped(text))
    yield ".PP"
    yield "The exit status of \\fBsubmit\\fR, \\fBrerun\\fR and \\fBchain\\fR is that of sbatch,"
    yield "that of \\fBrun\\fR (without \\fB\\-\\-host\\fR) is that of the command."
    yield "In \\fBcheck\\fR, \\fBpatrol\\fR, \\fBwait\\fR, \\fBhealth\\fR, \\fBnotify\\fR,"
    yield "\\fBcheckpoints\\fR and \\fBverify\\fR, the exit status is the result, as their help explains."
    yield "\\fBsubmit \\-\\-checked\\fR returns 2 if it found a failure, so that nothing was submitted."
    yield from (".SH SEE ALSO", ".BR sbatch (1),", ".BR squeue (1),", ".BR sacct (1)")


def _command(parser: ArgumentParser) -> Iterator[str]:
    """Yield the section of a command, then those of its verbs; argparse-manpage would leave out epilogs."""
    actions = [each for each in parser._actions if each.help is not SUPPRESS]  # noqa: SLF001 - argparse has no public list
    options = [each for each in actions if each.option_strings and each.dest != "help"]
    values = [each for each in actions if not (each.option_strings or isinstance(each, _SubParsersAction))]
    words = [f"\\fB{_escaped(parser.prog)}\\fR", *(f"[{_option_names(each)}]" for each in options)]
    yield f".SS {' '.join((*words, *map(_placeholder, values)))}"
    yield from _prose(parser.description or "")
    for value in values:
        yield from (".TP", f".I {_escaped(_name(value))}", _escaped(_summary(value)))
    for option in options:
        yield from (".TP", _option_names(option), _escaped(_summary(option)))
    yield from _prose(parser.epilog or "")
    for verb in _verbs(parser):
        yield from _command(verb)


def _option_names(option: Action) -> str:
    names = ", ".join(f"\\fB{_escaped(name)}\\fR" for name in option.option_strings)
    if option.nargs == 0:
        return names
    value = f"\\fI{_escaped(_name(option))}\\fR"
    return f"{names} [{value}]" if option.nargs in ("?", "*") else f"{names} {value}"


def _placeholder(value: Action) -> str:
    name = f"\\fI{_escaped(_name(value))}\\fR"
    if value.nargs in ("+", "*", REMAINDER):
        name += "..."
    return f"[{name}]" if value.nargs in ("?", "*") else name


def _name(action: Action) -> str:
    return str(action.metavar or action.dest.upper())


def _summary(action: Action) -> str:
    return (action.help or "") % vars(action)  # as argparse does


def _prose(text: str) -> Iterator[str]:
    """Yield paragraphs; those with indented lines, such as examples, keep their lines."""
    for paragraph in text.split("\n\n"):
        if not paragraph.strip():
            continue
        yield ".PP"
        if "\n " in paragraph or paragraph.startswith(" "):
            yield from (".nf", *map(_escaped, paragraph.strip("\n").split("\n")), ".fi")
        else:
            yield from map(_escaped, paragraph.split("\n"))


def _escaped(text: str) -> str:
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{text}" if text.startswith((".", "\\(aq")) else text


if __name__ == "__main__":
    sys.exit(main())
