"""The question whether a project's settings are trusted, asked before anything of them counts."""

from __future__ import annotations

import sys

from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.render.safe import safe
from xun_cli.trust import ProjectSettings, TrustStore, difference, read_project

_SHOWN = 30  # lines of the question; more are counted


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
    _show(project, store, changed=verdict == "changed")
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
        sys.stderr.write(f"xun: the answer could not be kept in {store.path}: {error.strerror}\n")


def _show(project: ProjectSettings, store: TrustStore, *, changed: bool) -> None:
    names = ", ".join(f".xun/{file.path.name}" for file in project.files)
    what = "has changed its settings since you answered" if changed else "brings settings of its own"
    lines = [f"{project.root} {what} ({names}):", *(f"  {line}" for line in difference(store, project))]
    hidden = len(lines) - _SHOWN
    if hidden > 0:
        lines = [*lines[:_SHOWN], f"  ... {hidden} more lines, see the file"]
    lines.append("They may change how xun works here. No: xun works without them.")
    sys.stdout.write("\n".join(safe(line, multiline=False) for line in lines) + "\n")
