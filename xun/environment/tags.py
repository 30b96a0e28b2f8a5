"""How processes are known as ours: by a variable that what they start carries on.

A tag names the process that made it, so that the next start of xun can end what a killed one left.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import sys
from collections.abc import Iterator, Sequence

TAG = "XUN_PROCESS_TAG"
"""The variable by which a process that left its group is still known as ours."""

_PREFIX = f"{TAG}=".encode()
_BASH = "bash"
_LOCKS = re.compile(rb"^Max file locks +(\d+) ", re.MULTILINE)
_NUMBER_BITS = 20
_SHOWN = 120


def owner_tag() -> str:
    """Return a new tag: it names this process, where the system lets one tell it from a later one of its number."""
    here, own = _namespace(), stat_of(os.getpid())
    mark = secrets.token_hex(8)
    return mark if own is None or not here else f"{mark}-{here}-{os.getpid()}-{own[1].decode()}"


def end_orphans() -> int:
    """Kill what processes of ours that are gone have left running, and return how many that were; Linux only.

    Only what carries a tag whose owner lived in this namespace of processes and does so no more: a number that was
    given to another process since is told apart by its start.
    """
    here = _namespace()
    if not here:
        return 0
    ended = 0
    for number, tag in carriers():
        _, *owner = tag.partition(".")[0].split("-")
        if len(owner) == 3 and owner[0] == here and owner[1].isdigit() and number != os.getpid():
            alive = stat_of(int(owner[1]))
            if alive is None or alive[1] != owner[2].encode():
                with contextlib.suppress(OSError):
                    os.kill(number, signal.SIGKILL)
                    ended += 1
    return ended


def carriers() -> Iterator[tuple[int, str]]:
    """Yield number and tag of each process that carries one and may be looked at; Linux only."""
    for number in numbers():
        with contextlib.suppress(OSError), open(f"/proc/{number}/environ", "rb") as stream:
            for variable in stream.read().split(b"\0"):
                if variable.startswith(_PREFIX):
                    yield number, variable[len(_PREFIX) :].decode("ascii", "replace")
                    break


def marked(argv: Sequence[str], tag: str) -> list[str]:
    """Return *argv* so that what it starts carries a mark of *tag* besides the variable, which a program may clear.

    The mark is a limit that no kernel of today looks at, of file locks: it passes to every child, whatever that does
    to its environment, its session and its files. It is set by a bash that then becomes *argv*; only a command that
    is one itself is started so.
    """
    if not argv[0].startswith("/") or os.path.basename(argv[0]) != _BASH or not sys.platform.startswith("linux"):
        return list(argv)
    script = 'ulimit -Sx "$0" 2>/dev/null; exec "$@"'
    return [argv[0], "--noprofile", "--norc", "-p", "-c", script, str(mark_of(tag)), *argv]


def mark_of(tag: str) -> int:
    """Return the mark of *tag*: that of its owner in the upper bits, its own number in the lower ones."""
    owner, _, number = tag.partition(".")
    return (int(owner.partition("-")[0][:10], 16) << _NUMBER_BITS) + int(number or 0) % (1 << _NUMBER_BITS)


def bearers(tag: str) -> Iterator[int]:
    """Yield each process that bears the mark of *tag*, or of any of its owner when *tag* has no number; Linux only."""
    wanted, shift = mark_of(tag), 0 if "." in tag else _NUMBER_BITS
    for number in numbers():
        with contextlib.suppress(OSError), open(f"/proc/{number}/limits", "rb") as stream:
            found = _LOCKS.search(stream.read())
            if found is not None and int(found[1]) >> shift == wanted >> shift:
                yield number


def command_line(number: int) -> str:
    """Return the command line of a process, cut to a line; "" when it is gone."""
    try:
        with open(f"/proc/{number}/cmdline", "rb") as stream:
            text = stream.read(4096).replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def stat_of(number: int) -> tuple[int, bytes] | None:
    """Return the parent and the start time of a process; None when it is gone."""
    try:
        with open(f"/proc/{number}/stat", "rb") as stream:
            fields = stream.read().rsplit(b")", 1)[1].split()
        return int(fields[1]), fields[19]
    except (OSError, ValueError, IndexError):
        return None


def group_lives(pgid: int) -> bool:
    """Tell whether something of a group of processes that is there still runs.

    What has ended and was not waited for yet does not: in a container nobody may ever wait for orphans. Where the
    system does not tell, everything counts as running.
    """
    known = numbers()
    for number in known:
        try:
            with open(f"/proc/{number}/stat", "rb") as stream:
                state, _, group = stream.read().rsplit(b")", 1)[1].split()[:3]
        except (OSError, ValueError, IndexError):
            continue
        if group == b"%d" % pgid and state not in (b"Z", b"X"):
            return True
    return not known


def numbers() -> list[int]:
    """Return the numbers of all processes; Linux only."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _namespace() -> str:
    try:
        link = os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
    return "".join(char for char in link if char.isdigit())
