"""The offer of a model server that runs on this machine, when nothing is configured."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from xun_cli.model_choice import offer_local
from xun_cli.places import Places
from xun_cli.render.safe import safe
from xun_cli.settings import Settings

if TYPE_CHECKING:
    from xun.models.catalog import LocalServer


def offer(settings: Settings, places: Places, found: list[LocalServer]) -> None:
    """Ask about each of the local servers *found*; without a yes nothing of the person is sent to any."""
    always: list[LocalServer] = []

    def ask(server: LocalServer) -> bool:
        names = ", ".join(server.models[:3]) + (", ..." if len(server.models) > 3 else "")
        line = f"A model server runs on this machine: {server.base_url} ({names})."
        sys.stdout.write(safe(line, multiline=False) + "\n")
        try:
            answer = input("Use it? [y = now, a = always, N = no] ").strip().lower()
        except EOFError:
            sys.stdout.write("\n")
            return False
        if answer in ("a", "always"):
            always.append(server)
        return answer in ("y", "yes", "a", "always")

    if offer_local(settings, ask, found) and always:
        from xun_cli.config_write import set_value

        set_value(places.config_file, "provider.base_url", always[0].base_url)
