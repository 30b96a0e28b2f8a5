"""Version managers on PATH: files of the workspace say which program a listed name runs.

Sources: the manuals of asdf (``path:`` versions), mise (tools, automatic installs), pyenv and its kin (CVE-2022-35861),
proto and Volta. What a file names is free where it is a plain version that is there already.
"""

from __future__ import annotations

import os
import re

from xun_policies.shell.places import Places

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Iterator

_VOLTA = "/.volta/bin"
_FOLDERS = ("/shims", _VOLTA)
_FETCHING = ("/mise/shims", "/.proto/shims")
"""Folders whose programs install a version that is not there."""
_TOML = ("mise.toml", ".mise.toml", "mise.local.toml", ".mise.local.toml", ".prototools", ".config/mise.toml")
_PLAIN = (".tool-versions", ".python-version", ".node-version", ".nvmrc", ".ruby-version", ".go-version")
_FILES = {
    ".pyenv": (".python-version",),
    ".nodenv": (".node-version",),
    ".rbenv": (".ruby-version",),
    ".goenv": (".go-version",),
    ".asdf": _PLAIN,
}
"""The files that a manager reads, by its folder; any other may read them all."""
_LEADS = r"(?:^|[\s\"'=:])(?:path:|\.{0,2}/|~)|\.\.(?:/|$)|\bpath\s*="
"""A version that is a path, or a table that holds one."""
_CHOICE = r"^[ \t]*\"?([A-Za-z][\w.-]*)\"?(?:[ \t]*=[ \t]*|[ \t]+)[\"']?([^\s\"'#]+)"


_COMMENT = r"(?:^|(?<=[ \t]))#[^\n]*"
_SECTION = r"^\[tools\][^\n]*\n([\s\S]*?)(?=^\[|\Z)"
_THERE = ("latest", "system", "lts", "lts/*")
"""Names for a version that is there: which one is the manager's choice."""


def folders(path: str) -> bool:
    """Tell whether PATH *path* holds the folder of a version manager."""
    return any(folder.endswith(_FOLDERS) for folder in path.split(":"))


def finding(file: str, places: Places, cwds: tuple[str, ...]) -> str | None:
    """Return what makes *file*, which a listed name runs, run or fetch something else in one of *cwds*, or None."""
    folder, _, name = file.rpartition("/")
    if not folder.endswith(_FOLDERS):
        return None
    try:
        if folder.endswith(_VOLTA):
            return _volta(name, folder, places, cwds)
        names = _FILES.get(os.path.basename(os.path.dirname(folder)), (*_PLAIN, *_TOML))
        for found, text in _texts(places, cwds, names):
            text = re.sub(_COMMENT, "", text, flags=re.M)
            if re.search(_LEADS, text, re.M):
                return f"{found} can make {name} run a program of the workspace"
            if folder.endswith(_FETCHING) and not _there(f"{folder[:-6]}/installs", found, text):
                return f"{found} can make {name} fetch and run another version"
    except OSError as exc:
        return f"{exc.filename} can't be read, and may make {name} run another program"
    return None


def _texts(places: Places, cwds: tuple[str, ...], names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for cwd in cwds:
        for name in names:
            yield from places.texts_upward(cwd, name)


def _there(installs: str, file: str, text: str) -> bool:
    """Tell whether each version that *text* names is in the folder *installs*."""
    name = os.path.basename(file)
    if name in _PLAIN and name != ".tool-versions":
        tool = "node" if name == ".nvmrc" else name[1:].partition("-")[0]
        text = "\n".join(f"{tool} {line}" for line in text.split())
    elif name.endswith(".toml"):
        text = "".join(re.findall(_SECTION, text, re.M))
    for tool, version in re.findall(_CHOICE, text, re.M):
        try:
            known = os.listdir(f"{installs}/{tool}")
        except OSError:
            return False
        wanted = version.removeprefix("v")
        if wanted not in _THERE and not any(f"{one}.".startswith(f"{wanted}.") for one in known):
            return False
    return True


def _volta(name: str, folder: str, places: Places, cwds: tuple[str, ...]) -> str | None:
    images = f"{os.path.dirname(folder)}/tools/image"
    for file, text in _texts(places, cwds, ("package.json",)):
        pinned = re.search(r'"volta"\s*:\s*\{([^}]*)\}', text)
        for tool, version in re.findall(r'"(\w+)"\s*:\s*"([^"]*)"', pinned[1] if pinned else ""):
            if tool == "extends" or not os.path.isdir(f"{images}/{tool}/{version}"):
                return f"{file} can make {name} fetch and run another version"
    return None
