"""Submit a job to a Ray cluster once, also if answers get lost.

Its submission id is recorded first. Ray starts a job only once under an id, so after a request without an
answer the same id is sent again. That Ray does not know it then proves nothing: a request may be on its way.

A user may name the id, so two homes or attempts may send the same one; Ray starts the first. A token in the
metadata, which Ray shows, says whose it is. A job that shows none, e.g. one of `ray job submit` that was sent
at the same moment, counts as ours.
"""

from __future__ import annotations

import hashlib
import io
import os
import time
import uuid
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.scheduler.base import Fate, SubmitResult
from jobmon_core.scheduler.ray.ray_job import SUBMISSION_KEY, RayFailed
from jobmon_core.scheduler.ray.records import RayJobFolder, Registered
from jobmon_core.scheduler.services import JobSubmission
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.lock import command_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.scheduler.ray.api import RayApi

# Source: Ray's ``working_dir`` of a runtime environment: ``gcs://_ray_pkg_HASH.zip``, sent with
# ``PUT /api/packages/gcs/NAME``. Ray's own client leaves out ``.git`` and refuses large folders, too.
_LEFT_OUT = frozenset({".git", ".hg", ".venv", "venv", "__pycache__", ".mypy_cache", ".ruff_cache"})
_MAX_BYTES = 100 << 20
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content has the same name

_LOCK_TIMEOUT_S = 30.0
_WITHIN_S = 60.0
_WAIT_S = 1.0
_UPLOAD_TIMEOUT_S = 300.0
_MAX_UNSENT = 3
_WORKING_DIR = "working_dir"
FOLDER_KEY = "jobmon_folder"  # in the metadata of a job: HOST:PATH of the folder that was sent for it
_TAKEN = "the Ray cluster has a job with this submission id already"


def new_submission_id() -> str:
    """Ray accepts letters, digits and hyphens everywhere."""
    return f"jobmon-{uuid.uuid4().hex[:16]}"


class RaySubmission(JobSubmission[Registered]):
    """One job that is to be submitted."""

    FOLDER = RayJobFolder

    def job(self) -> Registered:
        """What identifies it."""
        return Registered(
            self.service,
            str(self.request["submission_id"]),
            at_s=time.time(),
            is_confirmed=False,
            entrypoint=str(self.request["entrypoint"]),
            token=uuid.uuid4().hex,
        )

    def new_folder(self, job: Registered) -> RayJobFolder:
        """Make the files of the job, unless another submission of its id is under way."""
        root = self.resources.folder()
        with command_lock(root / "submit.lock", "jobmon submit", _LOCK_TIMEOUT_S):
            self._refuse_twin(root, job)
            folder = RayJobFolder.new(self.resources, job)
        folder.save_attempt(is_sent=False)
        return folder

    def _refuse_twin(self, root: Path, job: Registered) -> None:
        for folder in RayJobFolder.all(root):
            other = folder.registered()
            if (
                other
                and (other.service, other.name) == (job.service, job.name)
                and not other.is_confirmed
                and (folder.may_appear(other) or not other.token)
            ):
                raise SchedulerRejected(
                    f"jobmon has submitted {job.name} to this cluster as job {folder.job_id}, and Ray has "
                    "not shown it yet; use another --submission-id"
                )

    def submit(self) -> SubmitResult:
        """In a helper."""
        folder, service = RayJobFolder(self.resources.folder() / str(self.number)), self.service
        description = self._with_token(folder)
        try:
            return Helper(self.resources.locks).run(
                SubmitResult, lambda: _submit(folder, service, description), _WITHIN_S + _UPLOAD_TIMEOUT_S
            )
        except HelperFailed as error:
            attempt = folder.attempt()
            is_unsent = attempt is not None and not attempt.is_sent
            return SubmitResult(Fate.REFUSED if is_unsent else Fate.UNKNOWN, error.reason)

    def _with_token(self, folder: RayJobFolder) -> dict[str, object]:
        metadata, job = self.request.get("metadata") or {}, folder.registered()
        if job is None or not isinstance(metadata, Mapping):
            return dict(self.request)
        return {**self.request, "metadata": {**metadata, SUBMISSION_KEY: job.token}}


def _submit(folder: RayJobFolder, service: str, description: dict[str, object]) -> SubmitResult:
    from jobmon_core.scheduler.ray.api import RayApi

    folder.save_attempt(is_sent=False)  # names this helper, which may outlive the command
    return submit_through(RayApi(service, os.environ), description, folder)


def submit_through(
    api: RayApi, description: Mapping[str, object], folder: RayJobFolder | None = None
) -> SubmitResult:
    """Submit a job unless Ray has one with its id, after its working folder if that is of this host."""
    try:
        api.version()
    except RayFailed as error:
        return SubmitResult(Fate.REFUSED, str(error))
    known, registered = None, folder.registered() if folder else None
    with suppress(RayFailed):
        known = api.job(str(description["submission_id"]))
    if known:
        if registered is not None and known.token == registered.token != "":
            return SubmitResult(Fate.ACCEPTED)
        return SubmitResult(Fate.REFUSED, _TAKEN)
    environment = description.get("runtime_env")
    working_dir = None
    if isinstance(environment, dict):
        working_dir = environment.get(_WORKING_DIR)
    if isinstance(environment, dict) and isinstance(working_dir, str) and is_folder_here(working_dir):
        try:
            package, content = package_of(Path(working_dir))
        except SchedulerRejected as error:
            return SubmitResult(Fate.REFUSED, str(error))
        try:
            if not api.has_package(package):
                api.upload_package(package, content, _UPLOAD_TIMEOUT_S)
        except RayFailed as error:
            return SubmitResult(Fate.REFUSED, f"the working folder was not sent: {error}")
        description = _with_package(description, environment, package)
    return send(api, description, _WITHIN_S, folder)


def _with_package(
    description: Mapping[str, object], environment: Mapping[str, object], package: str
) -> Mapping[str, object]:
    """So the folder can be sent again: Ray deletes the package when no job uses it any more (ray#24719)."""
    metadata = description.get("metadata") or {}
    if isinstance(metadata, Mapping):
        folder = os.path.abspath(str(environment[_WORKING_DIR]))  # noqa: PTH100 - links stay
        metadata = {**metadata, FOLDER_KEY: f"{os.uname().nodename}:{folder}"}
    changed = {"metadata": metadata, "runtime_env": {**environment, _WORKING_DIR: f"gcs://{package}"}}
    return {**description, **changed}


def send(
    api: RayApi, description: Mapping[str, object], within_s: float, folder: RayJobFolder | None = None
) -> SubmitResult:
    """Until the fate of the request is known or the time is over."""
    name, deadline_s = str(description["submission_id"]), time.monotonic() + within_s
    may_have_arrived, unsent = False, 0
    while True:
        if folder:
            folder.save_attempt(is_sent=True)
        try:
            api.submit(description)
        except RayFailed as error:
            failed = error
        else:
            return SubmitResult(Fate.ACCEPTED)
        if failed.is_refusal and not may_have_arrived:
            return SubmitResult(Fate.REFUSED, str(failed))
        unsent += not failed.is_sent
        may_have_arrived = may_have_arrived or (failed.is_sent and not failed.is_refusal)
        if not may_have_arrived and unsent >= _MAX_UNSENT:
            return SubmitResult(Fate.REFUSED, str(failed))
        # a refusal, perhaps since the job exists already
        if may_have_arrived and failed.status is not None and (found := _found(api, name, folder)):
            return found
        if time.monotonic() + _WAIT_S > deadline_s:
            return SubmitResult(Fate.UNKNOWN if may_have_arrived else Fate.REFUSED, str(failed))
        time.sleep(_WAIT_S)


def _found(api: RayApi, name: str, folder: RayJobFolder | None) -> SubmitResult | None:
    with suppress(RayFailed):
        if job := api.job(name):
            registered = None
            if folder:
                registered = folder.registered()
            if registered and registered.is_of_another_submission(job):
                return SubmitResult(Fate.REFUSED, _TAKEN)
            return SubmitResult(Fate.ACCEPTED)
    return None


def is_folder_here(working_dir: str) -> bool:
    """Whether a ``working_dir`` is no address of an archive."""
    return "://" not in working_dir


def package_of(folder: Path) -> tuple[str, bytes]:
    """The name of a folder as a package on the cluster, and the archive."""
    buffer, size = io.BytesIO(), 0
    try:
        if not folder.is_dir():
            raise SchedulerRejected(f"--working-dir: {folder} is not a folder")
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in _files(folder):
                status = path.stat()
                size += status.st_size
                if size > _MAX_BYTES:  # before the file is read: it may not fit into memory
                    raise SchedulerRejected(
                        f"--working-dir: {folder} is larger than {_MAX_BYTES >> 20} MiB; move data out, or "
                        "put it where all nodes see it and use `cd` in the command"
                    )
                info = zipfile.ZipInfo(str(path.relative_to(folder)), _DATE)
                info.external_attr = (status.st_mode & 0o777) << 16
                archive.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
    except UnicodeEncodeError as error:
        name = os.fsencode(error.object).decode("utf-8", "backslashreplace")
        raise SchedulerRejected(f"--working-dir: the file name {name} is not UTF-8; rename it") from error
    except OSError as error:
        raise SchedulerRejected(f"--working-dir: {error.filename or folder}: {error.strerror}") from error
    content = buffer.getvalue()
    return f"_ray_pkg_{hashlib.sha256(content).hexdigest()[:16]}.zip", content


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir() and not entry.is_symlink():
            yield from _files(entry)
        elif entry.is_file():
            yield entry
