"""Version managers on PATH: files of the workspace say which program a listed name runs.

Sources: the manuals of asdf (``path:`` versions), mise (tools, automatic installs), pyenv and its kin (CVE-2022-35861),
proto, Volta, Rye and aqua. What a file names is free where it is a plain version that is there already.
"""

from __future__ import annotations

import os
import re

from xun_policies import tool_tables
from xun_policies.shell.places import Places

_VOLTA = "/.volta/bin"
_AQUA = "/aquaproj-aqua/bin"
_FOLDERS = ("/shims", _VOLTA, _AQUA)
_FETCHING = ("/mise/shims", "/rtx/shims", "/.proto/shims")
"""Folders whose programs install a version that is not there."""
_TOML = (
    ".prototools",
    ".rtx.toml",
    *(f"{start}mise{end}" for start in ("", ".", ".config/") for end in (".toml", ".local.toml")),
    *(f"{start}mise/config{end}" for start in ("", ".", ".config/") for end in (".toml", ".local.toml")),
)
_FURTHER = (".config/mise/conf.d", ".miserc.toml")
"""What adds further files to those of mise."""
_PROJECTS = {
    "/.rye/shims": ("pyproject.toml",),
    _AQUA: tuple(
        f"{start}{end}" for start in ("aqua", ".aqua", "aqua/aqua", ".aqua/aqua") for end in (".yaml", ".yml")
    ),
}
"""Files that alone make a shim run the project's own program or fetch one, by the end of its folder."""
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
_CHOICE = r"^[ \t]*([A-Za-z][\w.-]*)[ \t]+([^\s#]+)"


_COMMENT = r"(?:^|(?<=[ \t]))#[^\n]*"
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
        for end, names in _PROJECTS.items():
            if folder.endswith(end):
                return next((_other(found, name) for found, _ in places.texts_upward(cwds, names)), None)
        names = _FILES.get(os.path.basename(os.path.dirname(folder)), (*_PLAIN, *_TOML))
        for found, text in places.texts_upward(cwds, names):
            reason = _of_file(folder, name, found, text)
            if reason is not None:
                return reason
        return _further(name, places, cwds) if ".prototools" in names else None
    except OSError as exc:
        return f"{exc.filename} can't be read, and may make {name} run another program"


def _of_file(folder: str, name: str, file: str, text: str) -> str | None:
    """Return what *file* makes *name* do, whose shim is in *folder*."""
    if re.search(_LEADS, re.sub(_COMMENT, "", text, flags=re.M), re.M):
        return f"{file} can make {name} run a program of the workspace"
    chosen = _chosen(os.path.basename(file), text)
    if chosen is None:
        return f"{file} can make {name} run a program of the workspace: it holds more than tools and versions"
    if folder.endswith(_FETCHING) and not _there(f"{folder[:-6]}/installs", chosen):
        return _other(file, name)
    return None


def _other(file: str, name: str) -> str:
    return f"{file} can make {name} fetch and run another version"


def _further(name: str, places: Places, cwds: tuple[str, ...]) -> str | None:
    """Return what adds files of mise that are not looked into."""
    for cwd in cwds:
        for end in _FURTHER:
            for folder in places.upward(cwd):
                if os.path.lexists(f"{folder}/{end}"):
                    return f"{folder}/{end} can make {name} run a program of the workspace"
    return None


def _chosen(name: str, text: str) -> tool_tables.Versions | None:
    """Return tool and version of each entry of a file *name* that holds *text*; None when it may do more."""
    if name.endswith(".toml") or name == ".prototools":
        return tool_tables.versions(name, text)
    text = re.sub(_COMMENT, "", text, flags=re.M)
    if name != ".tool-versions":
        tool = "node" if name == ".nvmrc" else name[1:].partition("-")[0]
        text = "\n".join(f"{tool} {line}" for line in text.split())
    return re.findall(_CHOICE, text, re.M)


def _there(installs: str, chosen: tool_tables.Versions) -> bool:
    """Tell whether each of the *chosen* versions is in the folder *installs*."""
    for tool, version in chosen:
        try:
            known = os.listdir(f"{installs}/{re.sub('[:/@]', '-', tool)}")
        except OSError:
            return False
        wanted = version.removeprefix("v")
        if wanted not in _THERE and not any(f"{one}.".startswith(f"{wanted}.") for one in known):
            return False
    return True


def _volta(name: str, folder: str, places: Places, cwds: tuple[str, ...]) -> str | None:
    images = f"{os.path.dirname(folder)}/tools/image"
    for file, text in places.texts_upward(cwds, ("package.json",)):
        pinned = re.search(r'"volta"\s*:\s*\{([^}]*)\}', text)
        for tool, version in re.findall(r'"(\w+)"\s*:\s*"([^"]*)"', pinned[1] if pinned else ""):
            if tool == "extends" or not os.path.isdir(f"{images}/{tool}/{version}"):
                return f"{file} can make {name} fetch and run another version"
    return None
