"""A PBS server as a state machine, and ``qsub``, ``qstat`` and ``qdel`` as real executables around it.

The forms of its answers are those of OpenPBS 23.06: ``src/cmds/qstat.c`` for the listing, recorded answers
and ``qstat(1B)`` for records and errors. Its jobs are recorded ones, or have the few fields of `pbs_job`.
"""

from __future__ import annotations

import fcntl
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from jobmon_core.system.runner import Ran, Result, Runner, TimedOut

SERVER = "pbs1"
RECORDINGS = Path(__file__).resolve().parents[3] / "shared" / "data" / "pbs"
_CHECKOUT = Path(__file__).resolve().parents[2]
_HANG_S = 600.0
_ENDED = "FCX"
_DOWN = "Connection refused\nqstat: cannot connect to server pbs1 (errno=15010)\n"

Fields = dict[str, Any]
Answer = tuple[int, str, str]


def pbs_job(state: str = "R", name: str = "train", user: str = "me", **fields: object) -> Fields:
    """Fields of a job as ``qstat -f -F json`` prints them; those given replace or add to the usual ones."""
    return {
        "Job_Name": name,
        "Job_Owner": f"{user}@login1",
        "job_state": state,
        "queue": "workq",
        "server": SERVER,
        "ctime": "Sun Nov 22 07:50:21 2026",
        "mtime": "Sun Nov 22 07:50:29 2026",
        "Hold_Types": "n",
        "Join_Path": "n",
        "Keep_Files": "n",
        "Output_Path": f"{SERVER}:/home/{user}/{name}.o1",
        "Error_Path": f"{SERVER}:/home/{user}/{name}.e1",
        "Resource_List": {"ncpus": 1, "nodect": 1},
        "Variable_List": {"PBS_O_WORKDIR": f"/home/{user}"},
        **fields,
    }


def ended_job(status: int | None, **fields: object) -> Fields:
    """Fields of a job that has ended with this Exit_status."""
    own: Fields = {} if status is None else {"Exit_status": status}
    times = {"obittime": "Sun Nov 22 07:50:28 2026"}
    return {**pbs_job("F"), "substate": 93 if status else 92, **times, **own, **fields}


def recorded(name: str) -> dict[str, Fields]:
    """The jobs of a recorded answer, by id; the caller skips where there is none."""
    return dict(json.loads((RECORDINGS / f"{name}.json").read_text()).get("Jobs", {}))


class FakePbs:
    """The server; its state is a file, since each of its commands is a process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "pbs.json"
        if not self.path.exists():
            self._write({"jobs": {}, "faults": {}, "history": True, "calls": [], "next": 1})

    def install(self, folder: Path) -> Path:
        """Write the three commands into ``folder``, which then belongs on PATH."""
        folder.mkdir(parents=True, exist_ok=True)
        for program in ("qsub", "qstat", "qdel"):
            path = folder / program
            path.write_text(
                f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(_CHECKOUT)!r})\n"
                f"from tests.support.fake_pbs import main\nmain({program!r}, {str(self.path.parent)!r})\n"
            )
            path.chmod(0o755)
        return folder

    def put(self, jobs: dict[str, Fields]) -> None:
        """Add or replace jobs, by id."""
        self._change(lambda state: state["jobs"].update(jobs))

    def forget(self, job_id: str) -> None:
        """The server knows the job no more."""
        self._change(lambda state: state["jobs"].pop(job_id))

    def fail(self, fault: str, *, listing: bool = True, record: bool = True) -> None:
        """Answer wrongly: down, hung, half, empty, forbidden, broken (JSON); empty: as usual."""
        faults = {"listing": fault if listing else "", "record": fault if record else ""}
        self._change(lambda state: state.update(faults=faults))

    def keep_history(self, *, on: bool) -> None:
        """``job_history_enable``."""
        self._change(lambda state: state.update(history=on))

    def calls(self) -> list[list[str]]:
        """The command lines so far."""
        return list(self._read()["calls"])

    def jobs(self) -> dict[str, Fields]:
        """All jobs, by id."""
        return dict(self._read()["jobs"])

    def run(self, program: str, arguments: Sequence[str]) -> Answer | None:
        """The exit code, stdout and stderr of a command; None if it hangs."""
        answers: list[Answer | None] = []

        def step(state: dict[str, Any]) -> None:
            state["calls"].append([program, *arguments])
            answers.append({"qstat": _qstat, "qsub": _qsub, "qdel": _qdel}[program](state, list(arguments)))

        self._change(step)
        return answers[0]

    def _change(self, change: Callable[[dict[str, Any]], object]) -> None:
        with self.path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._read()
            change(state)
            self._write(state)

    def _read(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads(self.path.read_text())
        return state

    def _write(self, state: dict[str, Any]) -> None:
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(state))
        beside.replace(self.path)


class PbsRunner(Runner):
    """Runs the commands in this process, for tests with many of them."""

    def __init__(self, pbs: FakePbs) -> None:
        super().__init__()
        self.pbs = pbs

    def capture(self, argv: Sequence[str], timeout_s: float) -> Result:
        """Return what the command would answer."""
        answer = self.pbs.run(argv[0], argv[1:])
        if answer is None:
            return TimedOut(tuple(argv), timeout_s)
        return Ran(tuple(argv), *answer)


def main(program: str, folder: str) -> None:
    """Be one of the commands."""
    answer = FakePbs(Path(folder)).run(program, sys.argv[1:])
    if answer is None:
        time.sleep(_HANG_S)  # until its caller kills it
        return
    code, out, err = answer
    sys.stdout.write(out)
    sys.stderr.write(err)
    sys.stdout.flush()
    sys.exit(code)


def _body(jobs: dict[str, Fields]) -> str:
    head = {"timestamp": 1, "pbs_version": "23.06.06", "pbs_server": SERVER}
    return json.dumps({**head, "Jobs": jobs} if jobs else head, indent="\t") + "\n"


def _spoiled(fault: str, out: str) -> Answer | None:
    is_json = out.startswith("{")
    answers: dict[str, Answer | None] = {
        "down": (255, _body({}) if is_json else "", _DOWN),
        "hung": None,
        "half": (0, out[: len(out) // 2], ""),
        "empty": (0, _body({}) if is_json else "", ""),
        "forbidden": (159, _body({}) if is_json else "", "qstat: Unauthorized Request \n"),
        "broken": (0, out.replace('"server"', '"A": "b"c", "server"') if is_json else out, ""),
    }
    return answers[fault] if fault else (0, out, "")


def _qstat(state: dict[str, Any], arguments: list[str]) -> Answer | None:
    if "-u" in arguments:
        user = arguments[arguments.index("-u") + 1]
        return _spoiled(state["faults"].get("listing", ""), _listing(state["jobs"], user))
    is_json, with_subjobs, with_ended = "json" in arguments, "-t" in arguments, "-x" in arguments
    fault, job_id = state["faults"].get("record", ""), _full(arguments[-1])
    nothing = _body({}) if is_json else ""
    job = state["jobs"].get(job_id)
    if fault in ("down", "hung", "forbidden"):
        return _spoiled(fault, nothing)
    if with_ended and not state["history"]:
        return 0, nothing, f"qstat: PBS is not configured to maintain job history 0.{SERVER}\n"
    is_ended = job is not None and job["job_state"] in _ENDED
    if job is None or (is_ended and not state["history"]):
        return 153, nothing, f"qstat: Unknown Job Id {job_id}\n"
    if is_ended and not with_ended:
        return (
            35,
            nothing,
            f"qstat: {job_id} Job has finished, use -x or -H to obtain historical job information\n",
        )
    jobs = {job_id: job}
    if with_subjobs:
        beginning = job_id.partition("[")[0] + "["
        jobs |= {each: fields for each, fields in state["jobs"].items() if each.startswith(beginning)}
    return _spoiled(fault, _body(jobs) if is_json else "".join(_text(*each) for each in jobs.items()))


def _full(job_id: str) -> str:
    return job_id if "." in job_id else f"{job_id}.{SERVER}"


def _text(job_id: str, fields: Fields) -> str:
    lines = [f"Job Id: {job_id}"]
    for name, value in fields.items():
        members = {name: value}
        if name == "Variable_List":
            members = {name: ",".join(f"{key}={each}" for key, each in value.items())}
        elif isinstance(value, dict):
            members = {f"{name}.{key}": each for key, each in value.items()}
        lines += [_wrapped(f"    {key} = {each}") for key, each in members.items()]
    return "\n".join(lines) + "\n\n"


def _wrapped(line: str) -> str:
    return "\n\t".join(line[at : at + 70] for at in range(0, len(line), 70))


def _listing(jobs: dict[str, Fields], user: str) -> str:
    rows = [
        f"{job_id:<15.15} {user:<8.8} {job['queue']:<8.8} {job['Job_Name']:<10.10}     --    1   1    -- "
        f"   -- {job['job_state']} 00:00\n   {str(job.get('comment', ' -- '))[:71]}\n"
        for job_id, job in jobs.items()
        if job["Job_Owner"].partition("@")[0] == user and job["job_state"] not in "FCM"
    ]
    if not rows:
        return ""
    head = f"\n{SERVER}: \n{'':60}Req'd  Req'd   Elap\n"
    head += "Job ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n"
    return (
        head
        + "--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n"
        + "".join(rows)
    )


def _qsub(state: dict[str, Any], arguments: list[str]) -> Answer:
    if state["faults"].get("listing") == "down":
        return 1, "", "qsub: cannot connect to server pbs1 (errno=15010)\n"
    options = dict(pairwise(arguments))
    number, indices = state["next"], options.get("-J", "")
    state["next"] += 1
    variables = dict(each.partition("=")[::2] for each in options.get("-v", "").split(",") if each)
    job = pbs_job("Q", options.get("-N", _name_in(arguments)), _user(), Submit_arguments=" ".join(arguments))
    job["Variable_List"] = {"PBS_O_WORKDIR": str(Path.cwd()), **variables}
    job["ctime"] = job["mtime"] = time.ctime()
    job["Rerunable"] = "False" if options.get("-r") == "n" else "True"
    if dependency := re.search(r"depend=(\S+)", options.get("-W", "")):
        job["depend"] = dependency[1]
    if not indices:
        state["jobs"][f"{number}.{SERVER}"] = job
        return 0, f"{number}.{SERVER}\n", ""
    state["jobs"][f"{number}[].{SERVER}"] = {**job, "array": "True"}
    first, last = map(int, indices.split("-"))
    for index in range(first, last + 1):
        state["jobs"][f"{number}[{index}].{SERVER}"] = job
    return 0, f"{number}[].{SERVER}\n", ""


def _name_in(arguments: list[str]) -> str:
    """The name in a directive of the script, else that of the script."""
    path = next((Path(each) for each in arguments if Path(each).is_file()), None)
    found = re.search(r"^#PBS -N (\S+)", path.read_text(), re.MULTILINE) if path else None
    return found[1] if found else path.name if path else "STDIN"


def _user() -> str:
    from jobmon_core.system.users import user_name

    return user_name()


def _qdel(state: dict[str, Any], arguments: list[str]) -> Answer:
    code, errors = 0, ""
    for job_id in map(_full, arguments):
        job = state["jobs"].get(job_id)
        if job is None:
            code, errors = 153, f"{errors}qdel: Unknown Job Id {job_id}\n"
        elif job["job_state"] in _ENDED:
            code, errors = 35, f"{errors}qdel: Job has finished {job_id}\n"
        else:
            ran = {"Exit_status": 271} if job["job_state"] == "R" else {}
            job.update(job_state="F", substate=91, **ran)
    return code, "", errors
