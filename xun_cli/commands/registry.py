"""The slash commands by name: finding, completing and running them."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xun_cli.commands.output import CommandResult, failed
from xun_policies.errors import XunError

if TYPE_CHECKING:
    from xun_cli.config import Settings
    from xun_cli.places import Places
    from xun_cli.session.session import Session

WIDEST = 120
"""Columns that a command's text fills at most: longer lines are hard to read."""

FIRST = ("help", "model", "policy", "mode", "undo", "diff", "resume", "clear", "compact", "quit")
"""The commands that people begin with: the first in a list of all, and those of the short help."""

Run = Callable[["CommandContext", str], Awaitable[CommandResult]]
"""Runs a command with the rest of its line."""

Complete = Callable[["CommandContext", str], list[str]]
"""Gives whole argument texts that begin with what is typed so far."""


@dataclass(slots=True)
class CommandContext:
    """What a command works on.

    Attributes:
        session: The session that it was typed in.
        places: The folders and files of this user.
        settings: The settings in force.
        width: Columns to write for; 0 for those of the terminal.
    """

    session: Session
    places: Places
    settings: Settings
    width: int = 0

    @property
    def columns(self) -> int:
        """How many columns a text may fill."""
        if self.width:
            return self.width
        import shutil

        return min(shutil.get_terminal_size().columns, WIDEST)

    async def confirm(self, prompt: str, message: str) -> bool:
        """Ask the person; True only for a yes that a person gave."""
        from uuid import uuid4

        from xun.choice import ChoiceRequest, Option

        request = ChoiceRequest(
            id=uuid4().hex,
            kind="confirm",
            prompt=prompt,
            message=message,
            options=(Option(True, "Yes", "y"), Option(False, "No", "n")),
            default=False,
            skip_auto_confirm=True,
        )
        outcome = await self.session.choose(request)
        return outcome.choice is True and outcome.source == "user"

    async def choose(
        self, prompt: str, choices: Sequence[tuple[str, str]], message: str = "", none: str = "none of them"
    ) -> str | None:
        """Let the person pick one of *choices*, each a value and what is shown for it; the first is preselected.

        Any front end shows them as a list: numbered lines, a menu, a picker of its own. *none* is the last answer,
        which leaves all as it is.

        Returns:
            The value; None when the person picked none, or nobody can be asked.
        """
        from uuid import uuid4

        from xun.choice import ChoiceRequest, Option

        request = ChoiceRequest(
            id=uuid4().hex,
            kind="choice",
            prompt=prompt,
            message=message,
            options=(*(Option(value, label) for value, label in choices), Option("", none)),
            default=choices[0][0],
            skip_auto_confirm=True,
        )
        outcome = await self.session.choose(request)
        return next((value for value, _ in choices if value == outcome.choice and outcome.source == "user"), None)


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """One command.

    Attributes:
        name: Without the slash.
        usage: The whole line as help shows it, such as ``/undo [n]``.
        summary: One line that says what it does.
        run: What runs it.
        aliases: Other names, without the slash.
        while_running: Whether it may be used while a turn runs.
        complete: Completions of its arguments.
        topic: The heading that help lists it under.
        details: More lines for ``/help NAME``.
    """

    name: str
    usage: str
    summary: str
    run: Run
    aliases: tuple[str, ...] = ()
    while_running: bool = False
    complete: Complete | None = None
    topic: str = "Session"
    details: str = ""


def is_command(line: str) -> bool:
    """Tell whether *line* is a slash command; a line that begins with a blank or a path (``/etc/hosts``) never is."""
    return line.startswith("/") and "/" not in split_line(line)[0]


More = Callable[["CommandContext"], Iterable[SlashCommand]]
"""Finds commands that are no part of xun, such as those in the user's files."""


class Registry:
    """All slash commands of a session.

    Args:
        commands: Commands to hold; a later one of the same name is refused.
        more: Finds further ones when the first command is run or completed; none of them takes the name of another.
    """

    def __init__(self, commands: Iterable[SlashCommand] = (), more: More | None = None) -> None:
        self._commands: dict[str, SlashCommand] = {}
        self._names: dict[str, str] = {}
        self._more = more
        self._found: frozenset[str] | None = None
        for command in commands:
            self.add(command)

    def add(self, command: SlashCommand) -> None:
        """Take *command* in.

        Raises:
            ValueError: Its name or one of its aliases is taken.
        """
        names = (command.name, *command.aliases)
        for name in names:
            if name in self._names:
                raise ValueError(f"Two slash commands are named /{name}: give one of them another name")
        self._commands[command.name] = command
        self._names.update(dict.fromkeys(names, command.name))

    def refresh(self, ctx: CommandContext) -> list[str]:
        """Look for further commands again; returns the names that are taken, and so were left out."""
        for name in self._found or ():
            del self._commands[name], self._names[name]
        found, taken = [], []
        for command in self._more(ctx) if self._more is not None else ():
            if command.name in self._names:
                taken.append(command.name)
            else:
                self.add(command)
                found.append(command.name)
        self._found = frozenset(found)
        return taken

    def _complete_self(self, ctx: CommandContext) -> None:
        if self._found is None:
            self.refresh(ctx)

    def all(self) -> list[SlashCommand]:
        """Return the commands in the order in which they were added."""
        return list(self._commands.values())

    def get(self, name: str) -> SlashCommand | None:
        """Return the command of that name or alias, with or without the slash; case does not matter."""
        found = self._names.get(name.removeprefix("/").lower())
        return self._commands[found] if found is not None else None

    def nearest(self, name: str) -> list[str]:
        """Return up to three names that are close to *name*, closest first, without the slash."""
        wanted = name.removeprefix("/").lower()
        begins = sorted(known for known in self._names if wanted and known.startswith(wanted))
        close = difflib.get_close_matches(wanted, list(self._names), n=3, cutoff=0.6)
        return list(dict.fromkeys([*begins, *close]))[:3]

    async def run(self, ctx: CommandContext, line: str) -> CommandResult:
        """Run the command that *line* names; nothing of the line ever goes to the model.

        A wrong name, a command that has to wait for the turn, and an error that xun raises on
        purpose become an error output.
        """
        self._complete_self(ctx)
        name, rest = split_line(line)
        command = self.get(name or "help")
        if command is None:
            return failed(self._unknown(name))
        if ctx.session.running and not command.while_running:
            return failed(f"/{command.name} works after this turn: wait for it, or press Esc to interrupt it.")
        try:
            return await command.run(ctx, rest)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return failed(f"/{command.name} was interrupted; nothing was changed.")
        except XunError as exc:
            return failed(str(exc) or f"/{command.name} failed.")
        except OSError as exc:
            return failed(_os_error(exc))

    def complete(self, ctx: CommandContext, text: str) -> list[tuple[str, str]]:
        """Return ``(value, meta)`` pairs; each value replaces the whole of *text*."""
        if not is_command(text):
            return []
        self._complete_self(ctx)
        name, blank, rest = text[1:].partition(" ")
        if not blank:
            return self._complete_name(name.lower())
        command = self.get(name)
        if command is None or command.complete is None:
            return []
        return [(f"/{name} {value}", "") for value in command.complete(ctx, rest)]

    def _complete_name(self, typed: str) -> list[tuple[str, str]]:
        found = [(f"/{c.name}", c.summary) for c in self.all() if c.name.startswith(typed)]
        if not typed:
            place = {f"/{name}": at for at, name in enumerate(FIRST)}
            return sorted(found, key=lambda item: place.get(item[0], len(place)))
        for alias, name in self._names.items():
            if alias != name and alias.startswith(typed) and not name.startswith(typed):
                found.append((f"/{alias}", self._commands[name].summary))
        if not found:
            # One wrong letter should not leave the person without a list.
            found = [(f"/{near}", self._commands[self._names[near]].summary) for near in self.nearest(typed)]
        return found

    def _unknown(self, name: str) -> str:
        near = " or ".join(f"/{item}" for item in self.nearest(name))
        hint = f"Did you mean {near}?" if near else "/help all lists the commands."
        return f"Unknown command /{name}. {hint} (A message that begins with a slash: put a blank before it.)"


def split_line(line: str) -> tuple[str, str]:
    """Split ``/name rest`` into the name and the rest; the rest keeps its inner blanks."""
    head = line.removeprefix("/")
    parts = head.split(None, 1) if head[:1].strip() else []
    name = parts[0] if parts else ""
    rest = head[len(name) :] if name else head
    return name, rest.strip()


def default_registry() -> Registry:
    """Return a registry with all built-in commands."""
    from xun_cli.commands import builtin

    return builtin.build()


def _os_error(exc: OSError) -> str:
    what = exc.strerror or str(exc)
    return f"{exc.filename}: {what}." if exc.filename else f"{what}."
