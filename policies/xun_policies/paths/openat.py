"""Open below a folder in one step, with no link followed on the way.

Linux: ``openat2`` with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_MAGICLINKS. Where the
kernel lacks it or a filter refuses it, one ``openat`` per part with O_NOFOLLOW. A path must be
canonical before: a link found here means that somebody swapped it in after the check.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable

OPENAT2 = 437
"""The number of openat2(2): the same on every architecture that Linux 5.6 and later number alike."""

_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_TRIES = 8

Opener = Callable[[int, str, int, int], int]


def open_beneath(root: int, path: str, flags: int, mode: int = 0, *, kernel: bool = True) -> int:
    """Open *path*, relative to the folder *root*, and return the descriptor.

    Args:
        root: A descriptor of the folder that may not be left.
        path: Parts joined with ``/``, without ``.``, ``..`` and empty parts; ``.`` alone is the root.
        flags: As for `os.open`; close-on-exec is added.
        mode: The mode of a file that is created.
        kernel: False takes the walk by parts even where the kernel could do it in one step.

    Raises:
        OSError: ELOOP when a part is a link; otherwise as `os.open`.
        ValueError: The path has a part that could lead upwards, or a NUL byte.
    """
    if "\0" in path or (path != "." and any(part in ("", ".", "..") for part in path.split("/"))):
        raise ValueError("a path below a held folder has plain names only")
    flags |= os.O_CLOEXEC
    call = _kernel_opener() if kernel else None
    if call is not None:
        try:
            return _retry(call, root, path, flags, mode)
        except OSError as exc:
            if exc.errno not in (errno.ENOSYS, errno.EPERM):
                raise
    return open_by_parts(root, path, flags, mode)


def open_by_parts(root: int, path: str, flags: int, mode: int = 0) -> int:
    """Open as `open_beneath`, one part at a time."""
    folder_flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
    *folders, last = path.split("/")
    held = root
    try:
        for name in folders:
            below = os.open(name, folder_flags, dir_fd=held)
            if held != root:
                os.close(held)
            held = below
        return os.open(last, flags | os.O_NOFOLLOW | os.O_CLOEXEC, mode, dir_fd=held)
    finally:
        if held != root:
            os.close(held)


def _retry(call: Opener, root: int, path: str, flags: int, mode: int) -> int:
    # EAGAIN: a rename somewhere on the way made the kernel unsure; it asks to try again.
    for left in range(_TRIES, 0, -1):
        try:
            return call(root, path, flags, mode)
        except BlockingIOError:
            if left == 1:
                raise
    raise AssertionError("unreachable")  # pragma: no cover


@functools.cache
def _kernel_opener() -> Opener | None:
    """Return a call of openat2, or None where there is none; loading ctypes waits until the first use."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    class OpenHow(ctypes.Structure):
        _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    resolve = _NO_MAGICLINKS | _NO_SYMLINKS | _BENEATH

    def opener(root: int, path: str, flags: int, mode: int) -> int:
        how = OpenHow(flags, mode if flags & os.O_CREAT else 0, resolve)
        number = syscall(
            ctypes.c_long(OPENAT2),
            ctypes.c_int(root),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if number < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
        return int(number)

    return opener
