"""/undo, /redo and /diff: what the tools wrote, shown and taken back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments, file_argument, no_arguments, number, take_flags, words
from xun_cli.commands.output import CommandResult, Output, failed, said, text
from xun_cli.commands.registry import CommandContext, SlashCommand
from xun_policies.paths.real import within

if TYPE_CHECKING:
    from xun.choice import FileDiff
    from xun.events import Event
    from xun_builtin_tools.edit.entries import Entry
    from xun_builtin_tools.edit.journal import EditJournal

_ALL_TURNS = 1_000_000
_PREVIEW_LINES = 60
_HUNK = re.compile(r"@@ -(\S+) \+(\S+) @@(.*)")
_LETTERS = {"add": "A", "update": "M", "delete": "D"}
_DIFF_USAGE = "/diff [path] [--session|--git]"


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand(
            "undo",
            "/undo [n]",
            "take back what the tools wrote in the last turn(s)",
            _undo,
            topic="Changes",
            details="It shows what goes back and asks first. A file that was changed since, by you or by a command, "
            "stops all of it. What commands did is not taken back; /undo lists them.",
        ),
        SlashCommand("redo", "/redo", "do again what /undo took back", _redo, topic="Changes"),
        SlashCommand(
            "diff",
            _DIFF_USAGE,
            "what changed, in this session or against git",
            _diff,
            while_running=True,
            complete=_complete_diff,
            topic="Changes",
        ),
    ]


def _journal(ctx: CommandContext) -> EditJournal:
    from xun_builtin_tools.edit.state import EditState

    return EditState.of(ctx.session.agent).journal


# -- undo and redo ----------------------------------------------------------------------------


async def _undo(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_builtin_tools.edit.journal import NOT_KEPT
    from xun_builtin_tools.edit.undoing import check_undo

    turns = number(rest.strip() or "1", "The number of turns", most=1_000)
    journal = _journal(ctx)
    entries = journal.last_turns(turns)
    workspace = ctx.session.agent.workspace
    if not entries:
        why = "no tool wrote a file" if journal.keeps else NOT_KEPT
        return CommandResult((text(f"There is nothing to undo: {why}."), *_not_undone(ctx, 1)))
    commands_run = _not_undone(ctx, min(entry.turn for entry in entries))
    await asyncio.to_thread(check_undo, workspace, entries)
    items = await asyncio.to_thread(journal.preview_last_turns, turns, workspace)
    message = "\n".join([*preview_lines(ctx, items), *(output.text for output in commands_run)])
    if not await ctx.confirm(f"Take back {_described(entries)}?", message):
        return said("Nothing was undone.")
    paths = await asyncio.to_thread(journal.undo_last_turns, turns, workspace)
    tell_model(ctx, "took back by /undo the changes to", paths)
    shown = [f"Undone: {_shown(ctx, path)}" for path in paths]
    return CommandResult((text(*shown, "/redo does it again, until something else is written."), *commands_run))


def _described(entries: Sequence[Entry]) -> str:
    turns = len({(entry.run, entry.turn) for entry in entries})
    files = len({path for entry in entries for path in entry.paths})
    of = "the last turn" if turns == 1 else f"the last {turns} turns that wrote"
    return f"what the tools wrote in {of} ({files} {'path' if files == 1 else 'paths'})"


def preview_lines(ctx: CommandContext, items: Sequence[FileDiff]) -> list[str]:
    """Return the lines that show *items* in a question."""
    lines: list[str] = []
    for item in items:
        lines.append(_headline(ctx, item, _LETTERS.get(item.action, "?")))
        lines += item.diff.splitlines()
    if len(lines) > _PREVIEW_LINES:
        lines = [*lines[:_PREVIEW_LINES], f"… {len(lines) - _PREVIEW_LINES} more lines; /diff shows all changes"]
    return lines


def _headline(ctx: CommandContext, item: FileDiff, letter: str) -> str:
    note = f"  {item.note}" if item.note else ""
    return f"{letter} {_shown(ctx, item.path)}  +{item.added} −{item.removed}{note}"


def _shown(ctx: CommandContext, path: str) -> str:
    return path.removeprefix(f"{ctx.session.cwd}/")


def _not_undone(ctx: CommandContext, since: int) -> tuple[Output, ...]:
    """The commands that ran in these turns and may have changed something: their effects are not in the journal."""
    ran = [
        command
        for envelope in ctx.session.history()
        if (envelope.turn or 0) >= since and (command := _unlisted_command(envelope.event))
    ]
    if not ran:
        return ()
    lines = [f"  {' '.join(command.split())[:100]}" for command in ran[-5:]]
    more = f" (the last 5 of {len(ran)})" if len(ran) > 5 else ""
    return (text(f"What commands changed is not undone{more}:", *lines),)


def _unlisted_command(event: Event) -> str:
    """Return the command that *event* let run, but for those that the allowlist holds to be harmless."""
    from xun.events import ApprovalResolved, ToolStarted

    if isinstance(event, ToolStarted) and event.tool == "shell" and isinstance(event.args, dict):
        return str(event.args.get("command", ""))
    if not isinstance(event, ApprovalResolved) or event.kind != "command" or event.source == "allowlist":
        return ""
    return (event.edited or event.subject) if event.choice in ("grant", "once", "allow") else ""


def tell_model(ctx: CommandContext, what: str, paths: Sequence[str]) -> None:
    """Put it into the conversation, so that the model does not go on with what it believes of these files."""
    from xun.events import ContextAdded
    from xun.messages import Message

    note = f"The user {what}: {', '.join(paths)}. Read them again before you edit them."
    ctx.session.agent.history.append(Message("user", note))
    ctx.session.emit(ContextAdded(text=note))


async def _redo(ctx: CommandContext, rest: str) -> CommandResult:
    no_arguments(rest, "/redo")
    journal = _journal(ctx)
    if not journal.can_redo:
        return said("There is nothing to redo.")
    paths = await asyncio.to_thread(journal.redo, ctx.session.agent.workspace)
    tell_model(ctx, "did again by /redo the changes to", paths)
    return said(*(f"Done again: {_shown(ctx, path)}" for path in paths))


# -- diff -------------------------------------------------------------------------------------


async def _diff(ctx: CommandContext, rest: str) -> CommandResult:
    paths, flags = take_flags(words(rest, _DIFF_USAGE), ("--session", "--git"), _DIFF_USAGE)
    if len(paths) > 1 or len(flags) > 1:
        raise BadArguments(f"One path and one of --session and --git at most. Usage: {_DIFF_USAGE}")
    path = str(file_argument(ctx.session.cwd, paths[0])) if paths else None
    if "--git" in flags or ("--session" not in flags and not _journal(ctx).entries):
        return await _git_diff(ctx, path, asked="--git" in flags)
    return await _session_diff(ctx, path)


async def _session_diff(ctx: CommandContext, path: str | None) -> CommandResult:
    workspace = ctx.session.agent.workspace
    items = await asyncio.to_thread(_journal(ctx).preview_last_turns, _ALL_TURNS, workspace)
    if path is not None:
        real = str(workspace.resolve(path).path)
        items = [item for item in items if within(item.path, real)]
    items = [item for item in items if item.diff or item.action != "update" or _is_binary(item)]
    if not items:
        of = f" to {_shown(ctx, path)}" if path is not None else ""
        return said(f"The tools made no change{of} in this session that is still there. /diff --git compares with git.")
    outputs: list[Output] = []
    for item in sorted(items, key=lambda item: item.path):
        outputs += _forward(ctx, item)
    return CommandResult(tuple(outputs))


def _forward(ctx: CommandContext, item: FileDiff) -> list[Output]:
    # The journal knows the way back; a person wants to read the way there.
    letter = {"add": "D", "delete": "A"}.get(item.action, "M")
    if _is_binary(item):
        return [text(f"{letter} {_shown(ctx, item.path)}  no text, or too large for a diff")]
    head = text(f"{letter} {_shown(ctx, item.path)}  +{item.removed} −{item.added}")
    return [head, Output("diff", invert(item.diff))] if item.diff else [head]


def _is_binary(item: FileDiff) -> bool:
    # Sizes and hashes stand in the note where no diff can be made.
    return not item.diff and "sha256" in item.note


def invert(diff: str) -> str:
    """Turn the hunks of a unified diff round: what it adds is removed, and removed lines come first."""
    result: list[str] = []
    removed: list[str] = []
    added: list[str] = []
    last: list[str] = result

    def flush() -> None:
        result.extend([*removed, *added])
        removed.clear()
        added.clear()

    for line in diff.splitlines(keepends=True):
        if line.startswith("+"):
            last = removed
            removed.append(f"-{line[1:]}")
        elif line.startswith("-"):
            last = added
            added.append(f"+{line[1:]}")
        elif line.startswith("\\"):
            # "No newline at end of file" belongs to the line above it.
            last.append(line)
        else:
            flush()
            last = result
            result.append(_HUNK.sub(r"@@ -\2 +\1 @@\3", line))
    flush()
    return "".join(result)


async def _git_diff(ctx: CommandContext, path: str | None, *, asked: bool) -> CommandResult:
    from xun_cli import vcs

    found = await asyncio.to_thread(vcs.diff, ctx.session.cwd, path)
    if found.problem:
        if asked:
            return failed(found.problem)
        return said("The tools changed no file in this session, and there is no git repository to compare with.")
    outputs = [Output("diff", found.text)] if found.text else []
    if found.cut:
        outputs.append(text("The diff is longer; name a path to see the rest."))
    if found.untracked:
        outputs.append(text("Not tracked by git:", *(f"  {name}" for name in found.untracked[:50])))
    return CommandResult(tuple(outputs) or (text("Nothing differs from the last commit."),))


def _complete_diff(ctx: CommandContext, typed: str) -> list[str]:
    head, _, last = typed.rpartition(" ")
    head = f"{head} " if head else ""
    flags = [flag for flag in ("--session", "--git") if last and flag.startswith(last)]
    changed = sorted({_shown(ctx, path) for entry in _journal(ctx).entries for path in entry.paths})
    return [head + option for option in (*flags, *(path for path in changed if path.startswith(last)))]
