"""Run a program for which the kernel refuses flock, as on Lustre mounted without locks."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys

_FLOCK = {"x86_64": (0xC000003E, 73), "aarch64": (0xC00000B7, 32)}  # audit architecture, number of the call
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUALS, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_AT, _ARCHITECTURE_AT = 0, 4  # in struct seccomp_data


def refuse_locks() -> bool:
    """Make flock fail with ENOSYS in this process and its children; return False if that is not possible."""
    if platform.machine() not in _FLOCK:
        return False
    architecture, number = _FLOCK[platform.machine()]
    steps = (
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUALS, 0, 3, architecture),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_EQUALS, 0, 1, number),
        (_RETURN, 0, 0, _ERRNO | errno.ENOSYS),
        (_RETURN, 0, 0, _ALLOW),
    )
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    header = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(program)))
    call = ctypes.CDLL(None).prctl
    return not (call(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or call(_PR_SET_SECCOMP, _FILTER, header))


if __name__ == "__main__":
    import os

    if not refuse_locks():
        sys.exit("cannot make the kernel refuse locks here")
    os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - what the test asks for
