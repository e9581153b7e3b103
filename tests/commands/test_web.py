"""`jobmon web` as a browser, a stranger and an attacker see it."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.backends import KUBE_STUCK
from jobmon_core.domain.job.notes import Note
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.store.owner import Owner
from tests.support.job_records import PENDING, failed, job_of
from tests.support.live_jobs import running_task
from tests.support.many_jobs import (
    EVENTFUL,
    GROUP,
    add_eventful,
    add_group,
    add_history,
    add_running,
    advance,
    fill,
)
from tests.support.waiting import PATIENCE_S, eventually
from tests.support.web import Web

_NOBODY = 65_534
_HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe\x1b[31m\x07]]>&\"'" + "A" * 10_000
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    """A home with eight jobs, four that ended, a group, and one with charts."""
    ctx = fill(tmp_path / "home", 8, ended=4)
    add_eventful(ctx)
    add_group(ctx, 8)
    return ctx


@pytest.fixture
def web(ctx: Context, tmp_path: Path) -> Iterator[Web]:
    """A server of that home that lets the client in, and takes actions."""
    (tmp_path / "tmp").mkdir(mode=0o700)
    with Web(ctx.home.root, tmp_path / "tmp", "--allow-actions") as web:
        web.enter()
        yield web


def _parsed(page: str) -> ET.Element:
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))  # noqa: S314 - our own page


def _form_key(page: str) -> str:
    found = re.search(r'name="key" value="([^"]+)"', page)
    assert found
    return found[1]


def test_it_prints_the_line_for_the_laptop_and_an_address_that_works_once(web: Web) -> None:
    assert re.search(r"ssh -N -L 127\.0\.0\.1:8765:/\S+/web\.sock \S+@\S+", web.printed)
    assert web.port == 8765
    assert web.ask("/").status == 200
    assert web.ask(f"/?token={web.token}").status == 401


def test_it_ends_with_ctrl_c_and_leaves_no_socket(web: Web) -> None:
    web.stop()
    assert web.process.returncode == 0
    assert not Path(web.socket).exists()


_SHOWN = {
    "/": ("7 running", "Needs attention", "stalled", "67.3%", "eval-1", "exit code 1"),
    "/job/8123": ("train-llama-7b", "67,300/100,000 steps", "step 299 loss"),
    f"/job/{EVENTFUL}": ("Out of memory", "10.69 kWh", "gpu02", "What to do"),
    "/job/8151": ("gromacs-npt", "has not started", "jobmon why 8151"),
    "/job/latest": ("RUNNING",),
    "/groups": (GROUP, "7 completed", "1 failed"),
    "/history": ("All runs", "no such run"),
    "/nodes": ("no such run",),
    f"/group/{GROUP}": ("lr1e-2/seed0", "accuracy", "Failures by cause", "exit code 1"),
}


def test_each_page_shows_what_the_command_prints(web: Web) -> None:
    for path, texts in _SHOWN.items():
        answer = web.ask(path)
        assert answer.status == 200, path
        shown = html.unescape(re.sub(r"<[^>]*>", "", answer.body))
        assert (path, [text for text in texts if text not in shown]) == (path, [])
        _parsed(answer.body)


def test_the_page_of_a_running_job_says_whether_it_is_healthy_and_what_an_empty_panel_means(web: Web) -> None:
    page = web.ask("/job/8123").body
    assert "it makes progress, and nothing is known to be wrong" in page
    assert "An empty panel of TensorBoard or another tracker does not mean that the run is dead" in page
    stalled = web.ask("/job/8130").body
    assert "</b> unhealthy</span>" in stalled
    assert 'id="health"' not in web.ask(f"/job/{EVENTFUL}").body  # it has ended


def _save(ctx: Context, job: WatchedJob) -> None:
    ctx.store.save(replace(job, registered_s=time.time() - 9000, answered_s=time.time()))
    ctx.owner_record(job.id).write(Owner.this_process())


@pytest.mark.parametrize(("backend", "service"), [("ray", "192.0.2.1:8265"), ("ssh", "box"), ("pbs", "")])
def test_the_health_of_a_job_of_a_service_is_what_is_known_here_and_nothing_is_asked(
    ctx: Context, web: Web, backend: str, service: str
) -> None:
    job = job_of(running_task(now_s=time.time()), job_id=900)
    _save(ctx, replace(job, backend=backend, cluster=service, remote=bool(service)))
    page = web.ask("/job/900").body
    assert '<h2 id="health">Health</h2>' in page
    assert ("resources of the cluster: jobmon health 900 asks for them" in page) == (backend == "ray")


def test_the_page_of_an_array_leads_to_the_health_of_its_running_tasks(ctx: Context, web: Web) -> None:
    tasks = [running_task(key, now_s=time.time()) for key in ("0", "1")]
    _save(ctx, job_of(*tasks, failed("2"), job_id=901))
    about_the_failure = web.ask("/job/901").body
    assert "The health of a running task is on its page" in about_the_failure
    assert '<a class="ref" href="/job/901_1">901_1</a>' in about_the_failure
    assert '<h2 id="health">Health of 901_1</h2>' in web.ask("/job/901_1").body


def test_what_another_scheduler_says_of_a_pending_job_is_shown_as_it_is(ctx: Context, web: Web) -> None:
    for job_id, backend, reason in (
        (902, "pbs", "Not Running: Insufficient amount of resource: ngpus"),
        (903, "kubernetes", f"{KUBE_STUCK}: ImagePullBackOff"),
    ):
        job = job_of(replace(PENDING, reason=reason), job_id=job_id, name=f"of-{backend}")
        _save(ctx, replace(job, backend=backend))
    page = web.ask("/?q=of-").body
    attention, _, pending = page.partition('id="pending"')
    assert ">Not Running: Insufficient amount of resource: ngpus<" in pending
    assert "of-pbs" not in attention
    assert f"<p>{KUBE_STUCK}: ImagePullBackOff</p>" in attention
    assert "jobmon why" not in web.ask("/job/902").body  # it explains only jobs of Slurm


def test_the_page_of_a_run_at_a_tracker_is_linked_and_nothing_else_that_a_program_wrote(
    ctx: Context, web: Web
) -> None:
    addresses = {
        "good": "https://wandb.example/me/p/runs/3fk2a1?a=1&b=2",
        "script": "javascript:alert(1)",
        "data": "data:text/html,<script>alert(1)</script>",
        "quoted": 'https://wandb.example/"onmouseover="alert(1)',
        "user": "https://wandb.example@evil.example/",
    }
    runs = tuple(TrackerRun(Tracker.WANDB, name, url=url) for name, url in addresses.items())
    progress = ctx.progress_file("slurm-8123-x").read()
    tasks = {key: replace(task, tracked=runs) for key, task in progress.tasks.items()}
    ctx.progress_file("slurm-8123-x").write(replace(progress, tasks=tasks))
    page = web.ask("/job/8123").body
    links = [each for each in _parsed(page).iter("{http://www.w3.org/1999/xhtml}a") if each.get("target")]
    assert [each.get("href") for each in links] == [addresses["good"], addresses["quoted"]]
    assert {each.get("rel") for each in links} == {"noopener noreferrer"}
    assert not [each for each in links if each.get("onmouseover")]
    assert page.count("does not mean that the run is dead") == 1


def test_nodes_that_kill_runs_or_slow_them_down_come_first(ctx: Context, web: Web) -> None:
    add_history(ctx)
    page = html.unescape(re.sub(r"<[^>]*>", "", web.ask("/nodes").body))
    assert "4 of 13 runs died on gpu07, 0 of 147 elsewhere" in page
    assert "13 of 13 runs were slow on gpu04 (1.5 times the usual time per unit)" in page
    assert page.index("--exclude=gpu07") < page.index("--exclude=gpu04") < page.index("by node")


def test_a_scheduler_that_does_not_answer_is_no_full_cluster(web: Web) -> None:
    page = web.ask("/nodes").body
    assert "What is free is not known: the scheduler did not answer" in page


def test_a_page_is_sent_again_only_if_it_has_changed(ctx: Context, web: Web) -> None:
    add_running(ctx, "mine")
    path = "/?q=mine"
    etag = web.ask(path).headers["etag"]
    assert web.ask(path, If_None_Match=etag).status in (200, 304)
    advance(ctx, "slurm-12-x", 999)
    eventually(lambda: "99.9%" in web.ask(path).body)
    assert web.ask(path, If_None_Match=etag).status == 200


def test_a_filter_leaves_the_jobs_that_match(web: Web) -> None:
    page = web.ask("/?q=llama").body
    assert "train-llama-7b" in page
    assert "resnet50" not in page
    assert "No job matches" in web.ask("/?q=%3Cb%3E").body
    assert "<b>”" not in web.ask("/?q=%3Cb%3E").body


def test_the_runs_of_a_group_are_sorted_by_a_figure(web: Web) -> None:
    def losses(sort: str) -> list[float]:
        page = web.ask(f"/group/{GROUP}?sort={sort}").body
        return [float(each) for each in re.findall(r'data-label="loss" class="number"><div>([\d.]+)', page)]

    assert losses("%3Dloss") == sorted(losses(""))
    assert losses("-%3Dloss") == sorted(losses(""), reverse=True)


_NOTHING = (
    *("/nothing", "/job/", "/job/999999", "/job/no-such-name", "/group/none", "/group/", "/jobs.json"),
    *("/../etc/passwd", "/job/../../../etc/passwd", "/job/..%2f..%2f..%2fetc%2fpasswd", "/style.css/x"),
    *("/job/%2Fetc%2Fpasswd", "/group/..%2F..%2Fconfig", "/job/8123%00", "/%2e%2e/config.json", "/act"),
    "/job/" + "x" * 5000,
)


def test_no_other_address_shows_anything_and_no_path_is_opened(web: Web) -> None:
    for path in _NOTHING:
        answer = web.ask(path)
        assert answer.status == 404, path
        assert "There is no such page" in answer.body, path
        assert "root:" not in answer.body, path


def test_without_the_cookie_nothing_is_shown(web: Web) -> None:
    for path in ("/", "/job/8123", "/style.css", "/script.js", "/nothing"):
        answer = web.ask(path, cookie="")
        assert answer.status == 401
        assert "train" not in answer.body


def test_under_another_name_nothing_is_shown_even_with_the_cookie(web: Web) -> None:
    for host in ("evil.example", "evil.example:8765", "127.0.0.1.evil.example", ""):
        assert web.ask("/", host=host).status == 421


def test_nothing_is_changed_without_origin_key_or_permission(ctx: Context, web: Web) -> None:
    key = _form_key(web.ask("/job/8123").body)
    origin = f"http://{web.host}"
    good = f"key={key}&act=note&job=8123&text=changed"
    for origin_sent, body in (("", good), ("http://evil.example", good), (origin, good.replace(key, "x"))):
        assert web.ask("/act", "POST", body, origin=origin_sent).status == 403
    assert web.ask(f"/act?{good}", origin=origin).status == 404
    assert ctx.notes("slurm-8123-x").read().notes == ()


def test_with_permission_a_job_is_noted_muted_and_acknowledged(ctx: Context, web: Web) -> None:
    key = _form_key(web.ask("/job/8123").body)

    def act(fields: str) -> int:
        return web.ask("/act", "POST", f"key={key}&job=8123&{fields}", origin=f"http://{web.host}").status

    assert act("act=note&text=NCCL+on+n17") == 303
    assert act("act=mute&time=8h") == 303
    assert act("act=ack") == 303
    (note,) = ctx.notes("slurm-8123-x").read().notes
    assert isinstance(note, Note)
    assert note.text == "NCCL on n17"
    user = ctx.alerts.user()
    assert "slurm-8123-x" in user.acks
    assert len(user.mutes) == 1
    page = web.ask("/job/8123?done=note").body
    assert "Noted." in page
    assert "NCCL on n17" in page
    assert act("act=mute&time=forever") == 422
    assert act("act=note&text=") == 422
    assert act("act=cancel") == 400


def test_an_acknowledged_failure_needs_no_attention_any_more(web: Web) -> None:
    page = web.ask("/").body
    assert page.count(">Acknowledge<") == 2
    body = f"key={_form_key(page)}&act=ack&job=7001"
    assert web.ask("/act", "POST", body, origin=f"http://{web.host}").status == 303
    assert web.ask("/").body.count(">Acknowledge<") == 1


def test_without_permission_there_are_no_forms_and_no_actions(ctx: Context, tmp_path: Path) -> None:
    with Web(ctx.home.root, tmp_path) as web:
        web.enter()
        page = web.ask("/job/8123").body
        assert 'method="post"' not in page
        body = "act=note&job=8123&text=x"
        assert web.ask("/act", "POST", body, origin=f"http://{web.host}").status == 403


def test_hostile_names_and_log_lines_are_text(ctx: Context, web: Web, tmp_path: Path) -> None:
    log = tmp_path / "hostile.log"
    log.write_text(f"{_HOSTILE}\npassword=hunter2hunter2\n", encoding="utf-8")
    add_running(ctx, _HOSTILE, log=log)
    for path in ("/?q=12", "/job/12"):
        page = web.ask(path).body
        assert web.ask(path).status == 200
        _parsed(page)
        assert "<img" not in page
        assert "&lt;img src=x onerror=alert(1)&gt;" in page
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b\x07]", page)
        assert "hunter2hunter2" not in page
        assert len(page) < 100_000


def test_a_log_that_is_a_link_of_another_user_or_no_file_is_not_read(
    ctx: Context, web: Web, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("my private key")
    link = tmp_path / "shared.log"
    link.symlink_to(secret)
    fifo = tmp_path / "fifo.log"
    os.mkfifo(fifo)
    if os.geteuid() == 0:
        os.chown(link, _NOBODY, _NOBODY, follow_symlinks=False)
        add_running(ctx, "linked", job_id=13, log=link)
        page = web.ask("/job/13").body
        assert "another user made" in page
        assert "my private key" not in page
    add_running(ctx, "pipe", job_id=14, log=fifo)
    assert "stores nothing" in web.ask("/job/14").body


def test_a_damaged_state_file_is_counted_and_the_rest_shown(ctx: Context, web: Web) -> None:
    (ctx.home.state / "slurm-66-x.json").write_text("{")
    eventually(lambda: "1 state file cannot be read" in web.ask("/").body)
    assert "train-llama-7b" in web.ask("/").body


def test_a_home_without_jobs_says_what_to_do(tmp_path: Path) -> None:
    ctx = fill(tmp_path / "home", 0)
    with Web(ctx.home.root, tmp_path) as web:
        web.enter()
        assert "No job is watched" in web.ask("/").body
        assert "There is no group" in web.ask("/groups").body


def test_nothing_of_the_home_is_changed_by_looking(ctx: Context, web: Web) -> None:
    def stamps() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in ctx.home.root.rglob("*") if path.is_file()}

    before = stamps()
    for path in ("/", "/job/8123", f"/job/{EVENTFUL}", "/groups", f"/group/{GROUP}"):
        assert web.ask(path).status == 200
    assert stamps() == before


def _worker(web: Web) -> str:
    """Return the PID of the process that makes the pages, once there is one."""
    children = Path(f"/proc/{web.process.pid}/task/{web.process.pid}/children")
    eventually(lambda: children.read_text() != "")
    return children.read_text().split()[0]


def test_a_crash_of_what_makes_the_pages_is_survived(web: Web) -> None:
    before = _worker(web)
    os.kill(int(before), 9)
    assert web.ask("/").status == 200
    assert _worker(web) != before


def test_what_makes_the_pages_ends_with_a_server_that_is_killed(web: Web) -> None:
    pages = Path("/proc", _worker(web), "cmdline")
    assert pages.exists()
    web.process.kill()
    eventually(lambda: not pages.exists() or not pages.read_bytes())


def test_a_second_server_of_the_same_user_is_refused(ctx: Context, web: Web) -> None:
    environment = {
        **os.environ,
        "JOBMON_HOME": str(ctx.home.root),
        "TMPDIR": str(Path(web.socket).parents[1]),
    }
    environment.pop("XDG_RUNTIME_DIR", None)
    argv = [sys.executable, "-m", "jobmon", "web"]
    done = subprocess.run(
        argv, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 2
    assert f"kill {web.process.pid}" in done.stderr
    assert web.ask("/").status == 200


def test_it_ends_by_itself_when_nobody_looks(tmp_path: Path) -> None:
    ctx = fill(tmp_path / "home", 0)
    with Web(ctx.home.root, tmp_path, "--idle", "1s") as web:
        assert web.process.wait(PATIENCE_S) == 0
        assert "nobody has looked" in web.stop()


def test_a_port_is_warned_about_and_needs_the_token(ctx: Context, tmp_path: Path) -> None:
    with Web(ctx.home.root, tmp_path, "--port", "0") as web:
        assert web.ask("/").status == 401
        assert web.ask("/?token=guess").status == 401
        web.enter()
        assert "train-llama-7b" in web.ask("/").body
        assert web.ask("/", host="evil.example").status == 421
        assert "every user of this machine" in web.stop()


@as_root
def test_another_user_cannot_open_the_socket_and_gets_nothing_at_the_port(
    ctx: Context, tmp_path: Path
) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    with Web(ctx.home.root, tmp_path) as at_socket, Web(ctx.home.root, tmp_path, "--port", "0") as at_port:
        at_port.enter()  # its token is spent
        at_port.cookie = ""
        reading, writing = os.pipe()
        if not (pid := os.fork()):
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            try:
                at_socket.connection()
                text = "the socket was opened"
            except PermissionError:
                asked = ("/", "/?token=" + "x" * 43, f"/?token={at_port.token}", "/job/8123", "/style.css")
                text = f"refused {[at_port.ask(path).status for path in asked]}"
            os.write(writing, text.encode())
            os._exit(0)
        os.waitpid(pid, 0)
        assert os.read(reading, 1000) == b"refused [401, 401, 401, 401, 401]"
        assert at_socket.enter().status == 303


def test_the_first_page_of_200_jobs_is_complete_and_its_memory_is_given_back(tmp_path: Path) -> None:
    ctx = fill(tmp_path / "home", 200)
    with Web(ctx.home.root, tmp_path) as web:
        web.enter()
        page = web.ask("/").body
        assert page.count("<tr>") + page.count('<tr class="old">') >= 200
        assert len(page) < 400_000
        assert web.ask(re.findall(r'href="(/job/[^"]+)"', page)[0]).status == 200
        rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in (web.process.pid, _worker(web))]
        private_kib = sum(map(int, re.findall(r"^Private_\w+: +(\d+)", "".join(rollups), re.MULTILINE)))
        assert private_kib < 14_000  # 11,300 where it was measured


def test_what_makes_the_pages_answers_by_lines_and_survives_nonsense(ctx: Context) -> None:
    argv = [sys.executable, "-m", "jobmon", "web", "--stdio"]
    asked = "\n".join(json.dumps({"method": "GET", "path": path}) for path in ("/", "/nothing")) + "\n"
    environment = {**os.environ, "JOBMON_HOME": str(ctx.home.root)}
    done = subprocess.run(
        argv, input=asked, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    greeting, now, missing = done.stdout.splitlines()
    assert greeting == "jobmon-web 1"
    assert "train-llama-7b" in json.loads(now)["body"]
    assert json.loads(missing)["status"] == 404


def test_a_laptop_shows_the_jobs_of_a_host_that_ssh_reaches(
    ctx: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    ssh = programs / "ssh"  # it prints a banner, then runs here what it should run there
    ssh.write_text(
        '#!/bin/bash\necho "Welcome to {login}"\n[ "$2" = login ] || exit 1\n'
        f"export JOBMON_HOME={ctx.home.root}\nexec {sys.executable} -m $3\n"
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with Web(tmp_path / "empty", tmp_path, "--connect", "login") as web:
        assert web.ask("/").status == 401
        web.enter()
        assert "train-llama-7b" in web.ask("/").body


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--connect", "-oProxyCommand=touch x"], "not the name of a host"),
        (["--stdio", "--port", "1"], "--stdio opens no port"),
        (["--port", "70000"], "70000"),
        (["--connect", "no-such-host.invalid"], "no page can be shown"),
    ],
)
def test_what_cannot_work_is_refused(tmp_path: Path, arguments: list[str], text: str) -> None:
    argv = [sys.executable, "-m", "jobmon", "web", *arguments]
    if arguments[1].startswith("-o"):
        argv = [*argv[:4], "--connect=-oProxyCommand=touch x"]
    environment = {**os.environ, "JOBMON_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode != 0
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_no_visitor_no_work(web: Web) -> None:
    def cpu_ticks() -> int:
        paths = [Path(f"/proc/{pid}/stat") for pid in (web.process.pid, _worker(web))]
        fields = [path.read_text().rpartition(")")[2].split() for path in paths]
        return sum(int(each[11]) + int(each[12]) for each in fields)

    def rests() -> bool:
        before, began_s = cpu_ticks(), time.monotonic()
        while time.monotonic() - began_s < 2:
            time.sleep(0.5)
        return cpu_ticks() == before

    assert web.ask("/").status == 200
    eventually(rests)  # on a busy machine, the last answer may still be cleared away
