"""Records as JSON, each in a file of its own that only the user can read and write."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.system.files import failure_reason, read_dated, read_own, write_atomically
from jobmon_core.system.json_codec import from_json, to_json

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

SMALL_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class JsonFile(Generic[T]):
    """A file that holds one record of ``kind``, whose fields all have defaults."""

    path: Path
    kind: type[T]
    max_bytes: int = SMALL_BYTES  # a larger file counts as damaged
    durable: bool = True  # whether a written record survives a power cut

    @property
    def lock_path(self) -> Path:
        """The lock to hold while changing the record."""
        return self.path.with_suffix(".lock")

    def read(self) -> T:
        """Return the record; a default one if the file is missing, too large, damaged or not the user's."""
        dated_record = read_record(self.path, self.kind, self.max_bytes)
        return dated_record[0] if dated_record else self.kind()

    def read_to_change(self) -> T:
        """Return the record; a default one only if the file is missing.

        StorageFailed if it exists and cannot be read: a new record would replace an unknown one.
        """
        try:
            return from_json(self.kind, json.loads(read_own(self.path, self.max_bytes)))
        except FileNotFoundError:
            return self.kind()
        except OSError as error:
            reason = failure_reason(self.path, error)
        except (ValueError, RecursionError) as error:  # DecodeError is a ValueError
            reason = f"it is damaged ({error})"
        raise StorageFailed(
            f"{self.path} cannot be read, so it is left as it is: {reason}; repair it, or move it away"
        )

    def write(self, record: T) -> None:
        """Replace the record; after StorageFailed, the new one may be there, but not survive a power cut."""
        write_atomically(self.path, encoded(record), durable=self.durable)


def read_record(path: Path, kind: type[T], max_bytes: int = SMALL_BYTES) -> tuple[T, float] | None:
    """Return the record of a file and its modification time (Unix seconds).

    None if the file is missing, larger than ``max_bytes``, damaged or not the user's.
    """
    try:
        content, modified_s = read_dated(path, max_bytes)
        return from_json(kind, json.loads(content)), modified_s
    except (OSError, ValueError, RecursionError):  # DecodeError is a ValueError
        return None


def encoded(record: object) -> bytes:
    """Return the content of a file that holds ``record``."""
    return json.dumps(to_json(record)).encode()
