"""What the inside of bwrap looks like, as its arguments."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xun.environment.confinement import READ_ONLY, View
from xun.environment.shield import Pin
from xun_policies.paths.real import within

_MASKED = ("/tmp", "/var/tmp", "/run")
"""Folders of the machine that the inside does not have: sockets of services can be used through a read-only mount."""
_RESOLVER = "/etc/resolv.conf"


@dataclass(frozen=True, slots=True)
class Inside:
    """What one command is to see.

    Attributes:
        view: closed, reading, network or machine.
        writable: Folders of the machine that can be written, where the view has any, outer before inner.
        readable: Folders that can be read although they are below one that the inside does not have.
        pins: Paths that are mounted over themselves, outer before inner.
        secrets: Paths that are not there for the inside.
        sockets: Services that can't be used from the inside, but those in a folder that can be written.
        temporary: A folder of the machine that is ``/tmp`` inside, with one beside it for ``/var/tmp``; "" for fresh
            ones that end with the command.
        nested: False forbids user namespaces inside, which takes bwrap 0.8.
        own_user: As root no user namespace is needed, and without one the users of the machine keep their names.
    """

    view: View
    writable: tuple[str, ...]
    readable: tuple[str, ...] = ()
    pins: tuple[Pin, ...] = ()
    secrets: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    temporary: str = ""
    nested: bool = False
    own_user: bool = False


def masked(path: str) -> bool:
    """Tell whether *path* is in a folder of the machine that the inside does not have."""
    return any(within(path, folder) for folder in _MASKED)


def arguments(inside: Inside) -> list[str]:
    """Return the arguments of bwrap, without the command: the later mount wins."""
    reads = inside.view in READ_ONLY
    whole = "/" in inside.writable and not reads
    args = [*_namespaces(inside), "--bind" if whole else "--ro-bind", "/", "/", "--dev", "/dev"]
    # Without a process namespace a new /proc would show the machine too. Root inside is the root that owns the settings
    # of the kernel in it, core_pattern among them, so it has to be read-only as well.
    args += (
        ["--ro-bind", "/proc", "/proc"] if inside.view == "machine" else ["--proc", "/proc", "--remount-ro", "/proc"]
    )
    args += _temporary(inside.temporary)
    if inside.view != "machine" and os.path.isdir("/run"):
        args += ["--tmpfs", "/run"]
        resolver = os.path.dirname(os.path.realpath(_RESOLVER))
        if inside.view == "network" and within(resolver, "/run/") and os.path.isdir(resolver):
            args += ["--ro-bind", resolver, resolver]
    for folder in inside.readable:
        args += ["--ro-bind", folder, folder]
    around = [path for path in inside.secrets if any(within(root, path) for root in inside.writable)]
    for path in around:
        args += _hidden(path)
    for root in inside.writable:
        args += [] if root == "/" else ["--ro-bind" if reads else "--bind", root, root]
    for pin in inside.pins:
        args += ["--bind" if pin.writable else "--ro-bind", pin.path, pin.path]
    shown = (*inside.writable, *inside.readable)
    for path in inside.secrets:
        # Where nothing of this machine is any more, there is nothing to hide.
        if path not in around and (not masked(path) or any(within(path, root) for root in shown if root != "/")):
            args += _hidden(path)
    if inside.view != "machine":
        for path in inside.sockets:
            there = not masked(path) or any(within(path, root) for root in inside.readable)
            if there and not any(within(path, root) for root in (*inside.writable, *inside.secrets)):
                args += _hidden(path)
    return args


def _namespaces(inside: Inside) -> list[str]:
    args = ["--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    if inside.view == "machine":
        return args if inside.own_user else [*args, "--unshare-user"]
    args += ["--unshare-all", "--unshare-user"]
    if not inside.nested:
        args.append("--disable-userns")
    return [*args, "--share-net"] if inside.view == "network" else args


def _temporary(folder: str) -> list[str]:
    if not folder:
        return ["--perms", "1777", "--tmpfs", "/tmp", "--perms", "1777", "--tmpfs", "/var/tmp"]
    return ["--bind", f"{folder}/tmp", "/tmp", "--bind", f"{folder}/var", "/var/tmp"]


def _hidden(path: str) -> list[str]:
    return ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]


def readable_folders(env: Mapping[str, str], extra: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the folders that a command needs to read, of those that the inside would not have: home, PATH, *extra*."""
    named = [env.get("HOME", ""), *(_installed(entry) for entry in env.get("PATH", "").split(os.pathsep)), *extra]
    found = {os.path.realpath(path) for path in named if os.path.isabs(path)}
    return tuple(sorted(path for path in found if masked(path) and path not in _MASKED and os.path.isdir(path)))


def _installed(entry: str) -> str:
    """Return the folder of a program on PATH, or all of the Python environment that it belongs to."""
    above = os.path.dirname(entry)
    return above if os.path.isfile(f"{above}/pyvenv.cfg") else entry


def interpreter_folders() -> tuple[str, ...]:
    """Return where this interpreter is installed."""
    return sys.base_prefix, sys.prefix
