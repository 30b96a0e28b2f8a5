"""Commands of the user's own: Markdown files whose text becomes a message, and /commands.

``review.md`` makes ``/review``. ``$ARGUMENTS`` stands for all that follows the name, ``$1`` to ``$9`` for single
words. The files of a project count only while the user trusts it with exactly these contents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from xun.errors import ConfigError
from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import CommandResult, said, table, text
from xun_cli.commands.registry import CommandContext, Registry, SlashCommand
from xun_cli.places import Places, open_plain

MAX_BYTES = 100_000
"""Bytes of one file."""

TOPIC = "Your own"
"""The heading that help lists them under."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}\Z")
_HEAD = re.compile(r"\ufeff?---[ \t]*\r?\n(?P<head>.*?)\r?\n?^---[ \t]*$\r?\n?", re.DOTALL | re.MULTILINE)
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])(?![A-Za-z0-9_])")
_SUMMARY = 80


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """One command of the user's own.

    Attributes:
        name: Without the slash.
        origin: yours or project.
        path: The file.
        template: The text with its places.
        description: What help says about it.
        hint: What its arguments are.
    """

    name: str
    origin: str
    path: Path
    template: str
    description: str
    hint: str = ""

    def expand(self, rest: str) -> str:
        """Return the message for the arguments *rest*; they are put in as they are, and not looked at again."""
        parts = rest.split()

        def put(found: re.Match[str]) -> str:
            which = found[1]
            if which == "ARGUMENTS":
                return rest
            return parts[int(which) - 1] if int(which) <= len(parts) else ""

        message, count = _PLACE.subn(put, self.template)
        return f"{message.rstrip()}\n\n{rest}" if rest and not count else message


@dataclass(slots=True)
class Found:
    """What there is of custom commands.

    Attributes:
        commands: Those that can be used, the user's own before the project's.
        problems: One sentence for each file that is left out.
    """

    commands: list[CustomCommand]
    problems: list[str]


def find_custom(places: Places, cwd: Path, *, safe: bool = False) -> Found:
    """Return the commands in the user's folder and, where it is trusted as it is now, in the project's; blocking."""
    found = Found([], [])
    for path, data in (*_users(places.config / "commands", found.problems), *(() if safe else _projects(places, cwd))):
        origin = "yours" if path.is_relative_to(places.config) else "project"
        try:
            command = _parsed(path, data, origin)
        except ConfigError as exc:
            found.problems.append(str(exc))
            continue
        if any(other.name == command.name for other in found.commands):
            found.problems.append(f"{path}: there is a /{command.name} of your own already; this one is left out.")
        else:
            found.commands.append(command)
    return found


def _users(folder: Path, problems: list[str]) -> Iterator[tuple[Path, bytes]]:
    if not folder.is_dir():
        return
    for path in sorted(folder.glob("*.md")):
        try:
            with open_plain(path) as file:
                yield path, file.read(MAX_BYTES + 1)
        except OSError as exc:
            problems.append(f"{path}: can't be read: {exc.strerror}.")


def _projects(places: Places, cwd: Path) -> list[tuple[Path, bytes]]:
    from xun_cli.trust import trusted_project

    project = trusted_project(places, cwd)
    if project is None:
        return []
    folder = Path(project.root) / ".xun"
    # The very bytes that were compared with what the user trusts, not those that the file may hold by now.
    return [(folder / name, data) for name, data in project.extensions.items() if name.startswith("commands/")]


def _parsed(path: Path, data: bytes, origin: str) -> CustomCommand:
    name = path.stem
    if not _NAME.match(name):
        raise ConfigError(f"{path}: a command's name is 1 to 40 of a-z, 0-9, '-' and '_'; rename the file.")
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: longer than {MAX_BYTES:,} bytes; a command is a message, shorten it.")
    try:
        content = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not valid UTF-8; save the file as UTF-8.") from None
    head, body = _split(content)
    if not body.strip():
        raise ConfigError(f"{path}: it holds no text that could be sent.")
    first = next(line.strip("# ").strip() for line in body.splitlines() if line.strip("# ").strip())
    return CustomCommand(
        name, origin, path, body.strip(), head.get("description", first), head.get("argument-hint", "")
    )


def _split(content: str) -> tuple[dict[str, str], str]:
    """Return the ``key: value`` lines between two lines of ``---`` at the beginning, and what follows."""
    found = _HEAD.match(content)
    if found is None:
        return {}, content
    head: dict[str, str] = {}
    for line in found["head"].split("\n"):
        key, colon, value = line.partition(":")
        if colon:
            head[key.strip().lower()] = value.strip().strip("\"'")
    return head, content[found.end() :]


def slash_commands(ctx: CommandContext) -> Iterable[SlashCommand]:
    """Return what `find_custom` finds as commands of the registry."""
    for item in find_custom(ctx.places, ctx.session.cwd, safe=ctx.settings.safe).commands:
        yield _as_slash(item)


def _as_slash(item: CustomCommand) -> SlashCommand:
    async def run(ctx: CommandContext, rest: str) -> CommandResult:
        return CommandResult(action="submit", data=item.expand(rest))

    summary = " ".join(item.description.split())[:_SUMMARY]
    usage = f"/{item.name} {item.hint}".strip()
    details = f"From {item.path}. Its text becomes a message, with your arguments in it."
    return SlashCommand(
        item.name, usage, f"{summary} ({item.origin})", run, while_running=True, topic=TOPIC, details=details
    )


def commands(registry: Registry) -> list[SlashCommand]:
    """Return the command that lists them; it speaks about *registry*."""

    async def run(ctx: CommandContext, rest: str) -> CommandResult:
        return _commands(registry, ctx, rest)

    return [
        SlashCommand(
            "commands",
            "/commands [reload]",
            "commands of your own and of the project; read them again",
            run,
            while_running=True,
            complete=lambda ctx, typed: [word for word in ("reload",) if word.startswith(typed)],
            topic="Extending",
            details="NAME.md in the folder commands of your settings, or in .xun/commands of a project that you trust, "
            "makes /NAME: its text is sent, with $ARGUMENTS and $1 to $9 replaced.",
        )
    ]


def _commands(registry: Registry, ctx: CommandContext, rest: str) -> CommandResult:
    if rest.strip() not in ("", "reload"):
        raise BadArguments(f"/commands takes nothing or the word reload, not {rest!r}.")
    taken = registry.refresh(ctx)
    found = find_custom(ctx.places, ctx.session.cwd, safe=ctx.settings.safe)
    rows = [
        (f"/{item.name} {item.hint}".strip(), item.origin, " ".join(item.description.split())[:_SUMMARY])
        for item in found.commands
        if item.name not in taken
    ]
    notes = [*found.problems, *(f"/{name} is a command of xun; the file of that name is left out." for name in taken)]
    folder = ctx.places.config / "commands"
    if not rows and not notes:
        return said(f"No commands of your own. A file {folder / 'review.md'} would make /review.")
    shown = (table(("command", "from", "what it does"), rows),) if rows else ()
    return CommandResult((*shown, *((text(*notes),) if notes else ())))
