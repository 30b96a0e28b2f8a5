"""A filter for system calls that leaves no way to the network but TCP, for what Landlock does not know.

The values are those of linux/seccomp.h, linux/bpf_common.h, linux/audit.h and the tables of system calls. The filter
holds for the calling thread and all that it starts; it needs no privilege once no_new_privs is set.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_SET_SECCOMP, _MODE_FILTER = 22, 2
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _ARCH, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32
_IO_URING_SETUP = 425
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _TCP = 1, 6
_X32 = 0x40000000

_MACHINES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""By machine: the word of linux/audit.h, and the number of socket()."""

_Line = tuple[str, int, int, str, str]


def supported() -> bool:
    """Tell whether there is a filter for this machine."""
    return os.uname().machine in _MACHINES


def program(*, tcp: bool) -> bytes:
    """Return the filter: sockets of the machine itself, and with *tcp* those of TCP; no others, and no io_uring."""
    arch, socket = _MACHINES[os.uname().machine]
    inet = "stream" if tcp else "refuse"
    lines: list[_Line] = [
        ("", _LOAD, _ARCH, "", ""),
        ("", _EQUAL, arch, "", "refuse"),  # another table of calls
        ("", _LOAD, _NUMBER, "", ""),
        ("", _AT_LEAST, _X32, "refuse", ""),
        ("", _EQUAL, _IO_URING_SETUP, "unknown", ""),
        ("", _EQUAL, socket, "", "allow"),
        ("", _LOAD, _FIRST, "", ""),
        ("", _EQUAL, _UNIX, "allow", ""),
        ("", _EQUAL, _NETLINK, "allow", ""),
        ("", _EQUAL, _INET, inet, ""),
        ("", _EQUAL, _INET6, inet, "refuse"),
        ("stream", _LOAD, _SECOND, "", ""),
        ("", _AND, 0xF, "", ""),  # without SOCK_NONBLOCK and SOCK_CLOEXEC
        ("", _EQUAL, _STREAM, "", "refuse"),
        ("", _LOAD, _THIRD, "", ""),
        ("", _EQUAL, 0, "allow", ""),
        ("", _EQUAL, _TCP, "allow", "refuse"),
        ("allow", _RETURN, _ALLOW, "", ""),
        ("refuse", _RETURN, _ERRNO | errno.EACCES, "", ""),
        ("unknown", _RETURN, _ERRNO | errno.ENOSYS, "", ""),
    ]
    places = {label: index for index, (label, *_) in enumerate(lines) if label}
    return b"".join(_packed(index, line, places) for index, line in enumerate(lines))


def _packed(index: int, line: _Line, places: dict[str, int]) -> bytes:
    _, operation, value, if_true, if_false = line
    skips = [places[label] - index - 1 if label else 0 for label in (if_true, if_false)]
    return struct.pack("=HBBI", operation, *skips, value)


def apply(code: bytes, libc: ctypes.CDLL) -> None:
    """Put the filter *code* on the calling thread.

    Raises:
        OSError: The kernel does not take it.
    """
    text = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(text))  # struct sock_fprog
    if libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(head), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "the filter for system calls is not accepted")
