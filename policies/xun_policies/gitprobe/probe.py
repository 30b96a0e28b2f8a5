"""Finds the repository of a folder as git would, and says what in it is loaded."""

from __future__ import annotations

import os
import re
import stat
from typing import Any

from xun_policies.gitprobe.config import ConfigFault, Setting, read
from xun_policies.gitprobe.index import IndexFault, submodules
from xun_policies.gitprobe.keys import include_value, loaded, path_value
from xun_policies.shell.places import Places, real_path

_MAX_CONFIG = 1_000_000
_MAX_INDEX = 100_000_000
_MAX_FILES = 200
_HEAD = r"ref:[ \t\n\v\f\r]*refs/|[0-9a-f]{40}"
_OF_USER = (".gitconfig", ".config/git/config")
_HOOK = "post-index-change"
"""The one hook that a reading command runs: after it refreshed the index."""
_RUN_BY_READING = frozenset({"attributesfile", "clean", "command", "external", "hookspath", "process", "textconv"})
"""Last parts of settings; pagers and the watcher of files are switched off by the environment of the command."""


def finding(cwd: str, places: Places, home: str = "") -> str | None:
    """Return why git is not free in *cwd* (a real path), or None for an inert repository or none at all.

    The user's own configuration in *home* counts where it lies in the workspace, so that the agent may have
    written it. The answer is remembered in the cache of *places* until a file or folder that it rests on changes.
    """
    key = ("git", cwd, places.roots, home)
    known = places.cache.get(key)
    if known is not None and _unchanged(known[0]):
        return known[1]  # type: ignore[no-any-return]
    probe = _Probe(places)
    try:
        reason = probe.users_own(home) or probe.repository_of(cwd)
    except (OSError, ValueError) as exc:
        reason = f"the repository's configuration can't be read ({exc})"
    places.cache[key] = (tuple(probe.marks.items()), reason)
    return reason


def _runs(setting: Setting) -> bool:
    """Tell whether *setting* of the user makes a reading command run a program that the workspace may have chosen."""
    if setting.section == "trace2" or setting.name == "log.showsignature":
        return True  # a trace is written to the file that a trace2 setting names
    return setting.key in _RUN_BY_READING or include_value(setting) is not None


def _unchanged(marks: tuple[tuple[str, Any], ...]) -> bool:
    for path, mark in marks:
        # A mark of two fields is that of a folder on the way up.
        now = _folder_mark(path) if type(mark) is tuple and len(mark) == 2 else _mark(path)
        if now != mark:
            return False
    return True


def _folder_mark(path: str) -> Any:
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return info.st_ino, info.st_mtime_ns


def _mark(path: str) -> Any:
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    # A folder counts by its existence only: what matters in it is marked by itself.
    return (
        info.st_ino
        if stat.S_ISDIR(info.st_mode)
        else (info.st_ino, info.st_mtime_ns, info.st_size, info.st_ctime_ns, info.st_mode)
    )


def _name_in(text: str) -> str:
    """Return the path that a file of git's holds: only line ends behind it are not part of it."""
    name = text.rstrip("\r\n")
    if not name or "\0" in name:
        raise ValueError("a file of git's names no folder")
    return name


class _Probe:
    """One walk over a repository's files; `marks` holds what the answer rests on."""

    __slots__ = ("_hash_size", "_places", "marks")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._hash_size = 20
        self.marks: dict[str, Any] = {}

    def _stat(self, path: str) -> Any:
        if len(self.marks) > _MAX_FILES:
            raise ValueError("too many files")
        mark = self.marks[path] = _mark(path)
        return mark

    def _text(self, path: str, limit: int = _MAX_CONFIG) -> str | None:
        data = self._bytes(path, limit)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def _bytes(self, path: str, limit: int) -> bytes | None:
        if self._stat(path) is None or not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise ValueError(f"{os.path.basename(path)} is too large")
        return data

    def users_own(self, home: str) -> str | None:
        """Return what the files of the user's configuration load that lie in the workspace."""
        for name in _OF_USER if home else ():
            real = real_path(f"{home}/{name}")
            if not self._places.holds(real):
                continue
            try:
                settings = read(self._text(real) or "")
            except ConfigFault as exc:
                return f"~/{name}, a file of the workspace, is not understood ({exc})"
            found = next((one.name for one in settings if _runs(one)), None)
            if found is not None:
                return f"{found} is set in ~/{name}, a file of the workspace"
        return None

    def repository_of(self, cwd: str) -> str | None:
        """Walk upwards as git's discovery does."""
        folder = cwd
        self.marks[cwd] = _folder_mark(cwd)
        if self.marks[cwd] is None:
            return None  # nothing runs in a folder that is not there
        while True:
            # The folder's own time tells when a .git or HEAD appears in it.
            self.marks[folder] = _folder_mark(folder)
            if self.marks[folder] is not None and os.path.lexists(os.path.join(folder, ".git")):
                reason = self.work_tree(folder, depth=0)
                if reason is not None or self._complete(f"{folder}/.git"):
                    return reason
                # Git passes a folder that is no repository by, and takes the one above it.
            if self.marks[folder] is not None and self._bare(folder):
                return f"{folder} is a bare repository; git would take its configuration"
            if folder == "/":
                return None
            folder = os.path.dirname(folder)

    def _complete(self, link: str) -> bool:
        """Tell whether git takes *link* for a repository (setup.c, is_git_directory), or stops at it."""
        if not os.path.isdir(link):
            return True
        folder = real_path(link)
        head = self._text(f"{folder}/HEAD", 8192) or ""
        if os.path.islink(f"{folder}/HEAD"):
            head = f"ref:{os.readlink(f'{folder}/HEAD')}"
        common = self._common(folder)
        for part in ("objects", "refs"):
            if self._stat(f"{common}/{part}") is None or not os.access(f"{common}/{part}", os.X_OK):
                return False
        return re.match(_HEAD, head) is not None

    def _bare(self, folder: str) -> bool:
        return os.path.lexists(f"{folder}/HEAD") and os.path.lexists(f"{folder}/objects")

    def work_tree(self, folder: str, depth: int) -> str | None:
        """Return what is loaded in the repository whose work tree is *folder*."""
        if depth > 4:
            return "submodules are nested too deep to check them"
        git_folder = self._git_folder(folder)
        if git_folder is None:
            return None
        common = self._common(git_folder)
        for config in (f"{common}/config", f"{git_folder}/config.worktree"):
            reason = self._config(config, folder, 0)
            if reason is not None:
                return reason
        hook = f"{common}/hooks/{_HOOK}"
        if self._stat(hook) is not None and os.access(hook, os.X_OK):
            return f"the hook {_HOOK} would run"
        return self._modules(folder, git_folder, depth)

    def _git_folder(self, folder: str) -> str | None:
        link = f"{folder}/.git"
        if self._stat(link) is None:
            return None
        if os.path.isdir(link):
            return real_path(link)
        text = self._text(link, 8192) or ""
        if not text.startswith("gitdir: "):
            raise ValueError("the .git file names no folder")
        return real_path(os.path.join(folder, _name_in(text[8:])))

    def _common(self, git_folder: str) -> str:
        text = self._text(f"{git_folder}/commondir", 8192)
        return git_folder if text is None else real_path(os.path.join(git_folder, _name_in(text)))

    def _config(self, path: str, folder: str, depth: int) -> str | None:
        if depth > 10:
            return "the configuration includes files too deep"
        text = self._text(path)
        if text is None:
            return None
        try:
            settings = read(text)
        except ConfigFault as exc:
            return f"{path} is not understood ({exc})"
        for setting in settings:
            reason = self._setting(setting, path, folder, depth)
            if reason is not None:
                return reason
        return None

    def _setting(self, setting: Setting, path: str, folder: str, depth: int) -> str | None:
        where = f"{os.path.basename(os.path.dirname(path))}/{os.path.basename(path)}"
        if loaded(setting):
            return f"{setting.name} is set in {where}"
        if setting.name == "extensions.objectformat" and setting.value == "sha256":
            self._hash_size = 32
        elsewhere = path_value(setting)
        base = os.path.dirname(path) if setting.key == "worktree" else folder
        if elsewhere is not None and not self._inside(elsewhere, base):
            return f"{setting.name} in {where} leads outside the workspace"
        included = include_value(setting)
        if included is None:
            return None
        if not included or not self._inside(included, os.path.dirname(path)):
            return f"{setting.name} in {where} includes a file outside the workspace"
        return self._config(real_path(os.path.join(os.path.dirname(path), included)), folder, depth + 1)

    def _inside(self, path: str, base: str) -> bool:
        if path.startswith(("~", "%(prefix)")):
            return False
        return self._places.holds(real_path(os.path.join(base, path))) if path else True

    def _modules(self, folder: str, git_folder: str, depth: int) -> str | None:
        data = self._bytes(f"{git_folder}/index", _MAX_INDEX)
        if data is None:
            return None
        try:
            paths = submodules(data, self._hash_size)
        except IndexFault as exc:
            return f"the index can't be searched for submodules ({exc})"
        for path in paths:
            reason = self.work_tree(os.path.join(folder, path), depth + 1)
            if reason is not None:
                return f"submodule {path}: {reason}"
        return None
