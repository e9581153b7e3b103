"""Dereference a null pointer."""

import ctypes


def read() -> bytes:
    return ctypes.string_at(0)


read()
