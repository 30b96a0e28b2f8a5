"""/compact, /rewind and /fork: what becomes of the conversation so far."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments, no_arguments, number, take_flags, words
from xun_cli.commands.changes import preview_lines, tell_model
from xun_cli.commands.output import CommandResult, failed, said, text
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_cli.session.rewinding import RewindPoint

_USAGE = "/rewind [n|back] [--files|--keep-files]"
_LISTED = 30


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "compact",
            "/compact [focus]",
            "sum up the older messages to free the window",
            _compact,
            topic="Conversation",
            details="The last turns stay as they are; your own words, the files and what was denied are kept by rule. "
            "focus says what the summary is to keep above all. It happens by itself, too (compact.at_pct).",
        ),
        SlashCommand(
            "rewind",
            _USAGE,
            "go back before a turn, with its files if you want; back: forward again",
            _rewind,
            complete=_complete_rewind,
            topic="Conversation",
            details="Without a number it lists the turns. --files puts back what tools wrote since, --keep-files does "
            "not; otherwise it asks. What is left out stays in the session file and does not count any more: "
            "/rewind back takes the last /rewind back, with its files unless --keep-files.",
        ),
        SlashCommand("fork", "/fork [name]", "go on in a copy of this session; the old one stays", _fork),
    ]


async def _compact(ctx: CommandContext, rest: str) -> CommandResult:
    try:
        event = await ctx.session.compact(rest.strip())
    except RuntimeError as exc:
        return failed(str(exc))
    if event is None:
        return said("There is too little to sum up; nothing was changed.")
    return said(f"Summed up: about {event.before:,} tokens before, {event.after:,} now.")


# -- rewind -------------------------------------------------------------------------------------


async def _rewind(ctx: CommandContext, rest: str) -> CommandResult:
    given, flags = take_flags(words(rest, _USAGE), ("--files", "--keep-files"), _USAGE)
    if len(given) > 1 or len(flags) > 1:
        raise BadArguments(f"One turn, and one of --files and --keep-files. Usage: {_USAGE}")
    if given == ["back"]:
        return await _back(ctx, files="--keep-files" not in flags)
    points = await asyncio.to_thread(ctx.session.rewind_points)
    if not points:
        return said("There is no turn to go back before.")
    point = await _point(ctx, points, given)
    if point is None:
        return said("Nothing was changed.")
    files = await _with_files(ctx, point, flags)
    if files is None:
        return said("Nothing was changed.")
    try:
        paths = await ctx.session.rewind_to(point.turn, files=files)
    except RuntimeError as exc:
        return failed(str(exc))
    lines = [
        f"Back before turn {point.turn}: {_line(point.text)}",
        *(f"Put back: {_shown(ctx, path)}" for path in paths),
        "/rewind back takes this back.",
    ]
    return CommandResult((text(*lines),), "rewound", point.text)


async def _back(ctx: CommandContext, *, files: bool) -> CommandResult:
    found = await asyncio.to_thread(ctx.session.last_rewind)
    if found is None:
        return said("There is no /rewind to take back.")
    if found.since and not await ctx.confirm(
        f"Take the last /rewind back? {turns_named(found.since)}, begun since, will not count then.",
        "Nothing is deleted: /rewind back brings it back again.",
    ):
        return said("Nothing was changed.")
    try:
        paths = await ctx.session.take_rewind_back(files=files)
    except RuntimeError as exc:
        return failed(str(exc))
    lines = [f"Taken back: {turns_named(found.turns)} count{'s' * (len(found.turns) == 1)} again."]
    lines += [f"Written again: {_shown(ctx, path)}" for path in paths]
    if found.files and not paths:
        lines.append(f"The files stay as they are: {', '.join(_shown(ctx, path) for path in found.files)}.")
        tell_model(ctx, "went back to this point of the conversation, but not with the files", found.files)
    return CommandResult((text(*lines),), "redraw")


def turns_named(turns: tuple[int, ...]) -> str:
    """Return ``turn 3`` or ``turns 3 to 5``, of rising numbers."""
    if len(turns) < 2:
        return f"turn {turns[0]}" if turns else "no turn"
    return f"turns {turns[0]} to {turns[-1]}"


async def _point(ctx: CommandContext, points: list[RewindPoint], given: list[str]) -> RewindPoint | None:
    if given:
        wanted = number(given[0], "The turn", most=1_000_000)
        found = next((point for point in points if point.turn == wanted), None)
        if found is None:
            turns = ", ".join(str(point.turn) for point in points[-10:])
            raise BadArguments(f"There is no turn {wanted} to go back before; the last ones are {turns}.")
        return found
    latest = list(reversed(points))[:_LISTED]
    choices = [(str(point.turn), _described(point)) for point in latest]
    chosen = await ctx.choose("Go back before which turn?", choices)
    return next((point for point in latest if str(point.turn) == chosen), None)


def _described(point: RewindPoint) -> str:
    count = len(point.files)
    files = f"  ({count} file{'s' * (count != 1)} written since)" if count else ""
    return f"{point.turn:>3}  {point.ts[11:16]}  {_line(point.text)}{files}"


async def _with_files(ctx: CommandContext, point: RewindPoint, flags: set[str]) -> bool | None:
    """Tell whether files go back too; None when the person takes it all back."""
    from xun_builtin_tools.edit.journal import NOT_KEPT
    from xun_builtin_tools.edit.state import EditState

    if "--files" in flags and not EditState.of(ctx.session.agent).journal.keeps:
        raise BadArguments(f"The files can't go back: {NOT_KEPT}. --keep-files goes back without them.")
    if not point.files or "--keep-files" in flags:
        return False
    items = await asyncio.to_thread(ctx.session.rewind_preview, point.turn)
    if "--files" in flags:
        asked = await ctx.confirm(
            f"Go back before turn {point.turn}, with its files?", "\n".join(preview_lines(ctx, items))
        )
        return True if asked else None
    choices = [
        ("both", "the conversation and the files"),
        ("conversation", "the conversation only; the files stay as they are"),
    ]
    message = "\n".join(preview_lines(ctx, items))
    chosen = await ctx.choose(f"Go back before turn {point.turn}: what goes back?", choices, message, "nothing")
    return None if chosen is None else chosen == "both"


def _line(typed: str) -> str:
    line = " ".join(typed.split())
    return line if len(line) <= 60 else f"{line[:59]}…"


def _shown(ctx: CommandContext, path: str) -> str:
    return path.removeprefix(f"{ctx.session.cwd}/")


def _complete_rewind(ctx: CommandContext, typed: str) -> list[str]:
    turns = [str(point.turn) for point in reversed(ctx.session.rewind_points())]
    return [name for name in (*turns, "back", "--files", "--keep-files") if name.startswith(typed)][:_LISTED]


# -- fork ---------------------------------------------------------------------------------------


async def _fork(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.commands.conversation import checked_name
    from xun_cli.session.forking import fork_session

    session = ctx.session
    if session.store is None or not session.store.saved:
        no_arguments("", "/fork")
        return failed("This session is not stored (yet), so there is nothing to copy.")
    name = checked_name(rest) if rest.strip() else ""
    session.store.flush()
    info = await asyncio.to_thread(fork_session, session.store.path, ctx.places, session.cwd, name)
    note = text(f"Going on in the copy {info.name or info.id}; /resume {session.name or session.id} goes back.")
    return CommandResult((note,), "resume", info)
