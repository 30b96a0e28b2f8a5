"""Runs front ends one after the other over the same conversation, in one event loop."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xun_cli.frontend.conversation import Conversation
from xun_cli.frontend.folds import Folds
from xun_cli.frontend.history import InputHistory
from xun_cli.frontend.outcome import Carried, Leave, Switch

if TYPE_CHECKING:
    from xun_cli.options import StartOptions
    from xun_cli.places import Places
    from xun_cli.session.session import Session
    from xun_cli.settings import Settings


@dataclass(frozen=True, slots=True)
class Start:
    """What an interactive start has settled.

    Attributes:
        options: As xun was started.
        settings: The settings in force.
        places: The user's files.
        build: Makes the session of this start; runs in a thread behind the drawn prompt.
        rebuild: Makes another session, for ``/clear`` and ``/resume``; None: by the composition root.
    """

    options: StartOptions
    settings: Settings
    places: Places
    build: Callable[[], Session]
    rebuild: Callable[[StartOptions], Session] | None = None


def run_front_ends(start: Start, first: str) -> int:
    """Run the front end *first* and those that follow it until the person leaves; returns the exit code.

    Raises:
        ConfigError: The session can't be built (the plain front end only, the others say so themselves).
    """
    code, farewell = asyncio.run(_drive(start, first))
    try:
        if farewell:
            sys.stdout.write(farewell + "\n")
        sys.stdout.flush()
    except OSError:
        # Nobody reads this terminal any more; what is left in the buffer must not fail at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def carried(start: Start, clock: Callable[[], float] = time.monotonic) -> Carried:
    """Return what the first front end begins with; called in the event loop. *clock* is that of the front ends."""
    options, settings = start.options, start.settings

    def compose(changed: StartOptions) -> Session:
        from xun_cli.compose import build_session

        return build_session(changed, settings, interactive=True)

    conversation = Conversation(
        options=options,
        settings=settings,
        places=start.places,
        build=start.build,
        rebuild=start.rebuild or compose,
        clock=clock,
    )
    conversation.prepare = load_front_end
    history = InputHistory(None if options.no_session else start.places.history_file)
    return Carried(conversation, history, Folds(settings.ui.paste_fold_lines, settings.ui.paste_fold_chars))


def load_front_end(name: str) -> None:
    """Load what the front end *name* needs: between two of them the terminal echoes what is typed, so that is short."""
    with suppress(ImportError):  # the front end itself says what is missing
        if name == "inline":
            import xun_cli.repl.app
        elif name == "full":
            import xun_cli.tui.app  # noqa: F401


async def _drive(start: Start, first: str) -> Leave:
    going = carried(start)
    outcome: Leave | Switch = Switch(first)
    while isinstance(outcome, Switch):
        if (code := going.conversation.ended) is not None:
            await going.conversation.close(code)
            return Leave(code)
        if outcome.problem:
            going.conversation.warn(outcome.problem)
        outcome = await _run(start, going, outcome.to)
    return outcome


async def _run(start: Start, going: Carried, name: str) -> Leave | Switch:
    if name == "plain":
        from xun_cli.plain import Plain

        plain = Plain(start.options, start.settings, start.places, going.conversation, seen=going.seen)
        outcome = await plain.run(start.build)
        going.seen = going.conversation.detach()
        if isinstance(outcome, Leave):
            await going.conversation.close(outcome.code)
        return outcome
    if name == "full":
        return await _run_full(start, going)
    from xun_cli.repl.app import Repl

    return await Repl(start.options, start.settings, going).run()


async def _run_full(start: Start, going: Carried) -> Leave | Switch:
    """Run the full-screen front end; where it can't be, the inline one takes its place."""
    if not (sys.__stderr__ is not None and sys.__stderr__.isatty()):
        return Switch("inline", "no full screen where standard error is no terminal, so this is the inline front end")
    import gc

    gc.disable()  # until the first frame is drawn: so much is loaded that collecting would cost a tenth of the start
    try:
        from xun_cli.tui.app import run_full
    except ImportError as error:
        gc.enable()
        return Switch("inline", f"no full screen ({error.name or 'textual'} can't be loaded), this is the inline one")
    return await run_full(start.options, start.settings, going)
