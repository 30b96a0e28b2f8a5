"""Files of the workspace that make a listed program run, fetch or write something else.

Sources: the manuals of npm (npmrc), Corepack (packageManager), rustup (overrides), go (toolchains), curl, pip and jq.
"""

from __future__ import annotations

import os
import re

from xun_policies.shell.places import Places, real_path

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from collections.abc import Iterator

_NPM = (
    r"(?m)^\s*[\"']?(?:path|onload-script|node-options|script-shell|shell|git|editor|viewer|globalconfig|userconfig|"
    r"prefix|cache|browser|init-module)[\"']?\s*(?:\[[^\]\n]*\][\"']?\s*)?="
)
_RUST_PATH = r"(?m)^\s*path\s*="
_RUST_CHANNEL = r"(?m)^\s*(?:channel\s*=\s*[\"']([\w.-]+)[\"']|([\w.-]+)\s*$)"
_GO_VERSION = r"(?m)^\s*(?:go\s+|toolchain\s+go)([0-9]+)\.([0-9]+)"
_RUST_FILES = ("rust-toolchain.toml", "rust-toolchain")
_GO_FILES = ("go.mod", "go.work")
_GO_SWITCHES = (1, 21)
"""The first version that fetches the version which a project names."""

_OF_HOME = {
    "cargo": (".rustup/settings.toml",),
    "curl": (".curlrc", ".config/curlrc"),
    "go": (".config/go/env",),
    "jq": (".jq",),
    "npm": (".npmrc",),
    "pip": (".config/pip/pip.conf", ".pip/pip.conf"),
    "rustc": (".rustup/settings.toml",),
}
"""Settings of the user by program, which count where they lie in the workspace."""

_COREPACK = r"\"(?:packageManager|devEngines)\"\s*:"

PROGRAMS = frozenset({*_OF_HOME, "pip freeze"})
"""The listed programs, and forms of one, that `finding` knows something about."""


def finding(name: str, places: Places, cwds: tuple[str, ...], home: str, path: str) -> str | None:
    """Return what makes the listed program *name* do more than it says in one of *cwds*, or None.

    Args:
        name: A listed command name, or a prefix in `PROGRAMS`.
        places: Tells what is in the workspace.
        cwds: The folders that the command may run in.
        home: The user's home folder.
        path: The PATH that bash will get.
    """
    for file in _OF_HOME.get(name, ()):
        real = real_path(f"{home}/{file}")
        if places.holds(real) and os.path.lexists(real):
            return f"~/{file}, a file of the workspace, may hold options of {name}"
    if name == "pip":
        for real in _user_packages(home):
            if places.holds(real):
                return f"{real}, a file of the workspace, runs when pip starts"
    try:
        return _of_project(name, places, cwds, home, path)
    except OSError as exc:
        return f"{exc.filename} can't be read, and may make {name} run another program"


def _user_packages(home: str) -> Iterator[str]:
    """Yield the files that Python runs by itself from the user's own packages (site, "usercustomize")."""
    base = f"{home}/.local/lib"
    for folder in _names(base):
        for name in _names(f"{base}/{folder}/site-packages"):
            if name.endswith(".pth") or name.startswith(("usercustomize", "sitecustomize")):
                yield real_path(f"{base}/{folder}/site-packages/{name}")


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _of_project(name: str, places: Places, cwds: tuple[str, ...], home: str, path: str) -> str | None:
    if name == "npm":
        for file, text in places.texts_upward(cwds, (".npmrc",)):
            if re.search(_NPM, text):
                return f"{file} can make npm run another program"
        if "/corepack/" in _file("npm", path):
            for file, text in places.texts_upward(cwds, ("package.json",)):
                if re.search(_COREPACK, text):
                    return f"{file} can make npm, which is Corepack here, fetch and run another one"
    elif name == "pip freeze":
        # pip asks each version control that it knows about the folder of an editable package.
        if _file("hg", path):
            return "it runs hg in the folders of editable packages, whose .hg/hgrc can name code to load"
    elif name in ("cargo", "rustc"):
        for file, text in places.texts_upward(cwds, _RUST_FILES):
            if re.search(_RUST_PATH, text) or not _installed(text, home):
                return f"{file} can make {name} fetch or run another version"
    elif name == "go":
        for file, text in places.texts_upward(cwds, _GO_FILES):
            if any(version > _go_version(path) for version in _versions(text)):
                return f"{file} can make go fetch and run another version"
    return None


def _file(name: str, path: str) -> str:
    """Return the real path of the program *name*, "" when *path* does not hold it."""
    found = (f"{folder}/{name}" for folder in path.split(":"))
    return next((real_path(file) for file in found if file[0] == "/" and _runs(file)), "")


def _runs(file: str) -> bool:
    return os.path.isfile(file) and os.access(file, os.X_OK)


def _installed(text: str, home: str) -> bool:
    """Tell whether rustup has the channel that *text* names, so that it need not be fetched."""
    found = re.search(_RUST_CHANNEL, text)
    if found is None:
        return True
    channel = found[1] or found[2]
    try:
        known = os.listdir(f"{home}/.rustup/toolchains")
    except OSError:
        return False
    return any(name == channel or name.startswith(f"{channel}-") for name in known)


def _versions(text: str) -> list[tuple[int, int]]:
    return [(int(found[1]), int(found[2])) for found in re.finditer(_GO_VERSION, text)]


def _go_version(path: str) -> tuple[int, int]:
    """Return the version of the go that *path* finds; where it is not known, the last that fetches no other."""
    for folder in path.split(":"):
        if folder.startswith("/") and os.path.lexists(f"{folder}/go"):
            root = os.path.dirname(os.path.dirname(real_path(f"{folder}/go")))
            try:
                with open(f"{root}/VERSION", encoding="utf-8", errors="replace") as file:
                    found = re.match(r"go([0-9]+)\.([0-9]+)", file.read(200))
            except OSError:
                break
            return (int(found[1]), int(found[2])) if found else _GO_SWITCHES
    return (_GO_SWITCHES[0], _GO_SWITCHES[1] - 1)
