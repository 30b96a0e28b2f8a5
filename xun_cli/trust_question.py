"""The question whether a project's settings are trusted, asked before anything of them counts."""

from __future__ import annotations

import sys

from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.render.safe import safe
from xun_cli.streams import say
from xun_cli.trust import ProjectSettings, TrustStore, difference, read_project

_SHOWN = 40  # lines of the question: what does not fit can't be agreed to
_WIDTH = 500  # characters of one of its lines


def ask_trust(options: StartOptions, places: Places) -> None:
    """Ask about the settings that come with the folder, when they were not answered as they are now.

    Anything but a plain yes leaves them unused; an end of input is no answer and is not kept.
    """
    project = read_project(options.cwd)
    store = TrustStore.load(places.trust_file)
    if not project.asked:
        return
    verdict = store.verdict(project)
    if verdict in ("trusted", "refused"):
        return
    if not _show(project, store, changed=verdict == "changed"):
        return
    try:
        answer = input("Use these settings? [y/N] ").strip().lower()
    except EOFError:
        sys.stdout.write("\n")
        return
    _record(store, project, answer in ("y", "yes"))


def trust_now(options: StartOptions, places: Places) -> None:
    """Trust the settings that come with the folder as they are now, as ``--trust`` asks."""
    project = read_project(options.cwd)
    store = TrustStore.load(places.trust_file)
    if project.asked and store.verdict(project) != "trusted":
        _record(store, project, True)


def _record(store: TrustStore, project: ProjectSettings, trusted: bool) -> None:
    try:
        store.record(project, trusted)
    except OSError as error:
        say(f"the answer could not be kept in {store.path}: {error.strerror}")


def _show(project: ProjectSettings, store: TrustStore, *, changed: bool) -> bool:
    """Print what would be switched on; False when that is too much to be read, and so to be agreed to."""
    folders = sorted({name.partition("/")[0] for name in project.extensions})
    names = ", ".join(f".xun/{name}" for name in [*(file.path.name for file in project.files), *folders])
    what = "has changed its settings since you answered" if changed else "brings settings of its own"
    lines = difference(store, project)
    head = f"{project.root} {what} ({names}):"
    fits = len(lines) <= _SHOWN and all(len(line) <= _WIDTH for line in lines)
    if not fits:
        tail = "They are too many to show, so they are not used. Read the file; --trust uses them."
        lines = [f"{line[:_WIDTH]} ..." if len(line) > _WIDTH else line for line in lines[:_SHOWN]]
    else:
        tail = "They may change how xun works here. No: xun works without them."
    shown = [head, *(f"  {line}" for line in lines), tail]
    sys.stdout.write("\n".join(safe(line, multiline=False) for line in shown) + "\n")
    return fits
