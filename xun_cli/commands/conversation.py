"""/clear, /sessions, /resume, /rename, /export, /queue and /todo."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from xun_cli.commands.arguments import BadArguments, file_argument, no_arguments, number, take_flags, words
from xun_cli.commands.output import CommandResult, failed, said, table
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_cli.session.listing import SessionInfo

_FORMS: dict[str, Literal["md", "json", "html"]] = {".md": "md", ".json": "json", ".html": "html"}
_SHOWN = 20
_ABOUT = 60
_NAME_LIMIT = 80


def commands() -> list[SlashCommand]:
    """Return this family."""
    return [
        SlashCommand("clear", "/clear", "begin a new session; the old one is kept", _clear, aliases=("new",)),
        SlashCommand(
            "sessions",
            "/sessions [all|TEXT]",
            "sessions of this folder, or of all; those that hold a text",
            _sessions,
            while_running=True,
        ),
        SlashCommand("resume", "/resume [id|name]", "continue an earlier session", _resume, complete=_complete_resume),
        SlashCommand("rename", "/rename NAME", "name this session", _rename, while_running=True),
        SlashCommand(
            "export",
            "/export [file] [--redact]",
            "write this session to a file",
            _export,
            while_running=True,
            complete=lambda ctx, typed: [word for word in ("--redact",) if word.startswith(typed)],
            details="The ending says how: .md, .json or .html; without a name xun-session-ID.md here. "
            "--redact replaces what looks like a key or a password.",
        ),
        SlashCommand(
            "queue",
            "/queue [clear|drop n]",
            "messages that wait for the turn to end",
            _queue,
            while_running=True,
            complete=lambda ctx, typed: [word for word in ("clear", "drop ") if word.startswith(typed)],
            topic="Conversation",
        ),
        SlashCommand("todo", "/todo", "the model's list of steps", _todo, while_running=True, topic="Conversation"),
    ]


async def _clear(ctx: CommandContext, rest: str) -> CommandResult:
    no_arguments(rest, "/clear")
    return CommandResult(action="new_session")


def _listed(ctx: CommandContext, everywhere: bool = False) -> list[SessionInfo]:
    from xun_cli.session.listing import list_sessions

    return list_sessions(ctx.places, None if everywhere else ctx.session.cwd)


def _when(stamp: str) -> str:
    return stamp[:16].replace("T", " ")


def _title(info: SessionInfo) -> str:
    title = info.name or info.first_input or "(nothing typed)"
    return title if len(title) <= _ABOUT else f"{title[: _ABOUT - 1]}…"


def _turns(info: SessionInfo) -> str:
    return "1 turn " if info.turns == 1 else f"{info.turns} turns"


async def _sessions(ctx: CommandContext, rest: str) -> CommandResult:
    if rest not in ("", "all"):
        return await _search(ctx, rest)
    found = _listed(ctx, rest == "all")
    if not found:
        return said("No stored sessions yet." if rest else "No stored sessions of this folder yet; try /sessions all.")
    rows = []
    for info in found[:_SHOWN]:
        mark = "this one" if info.id == ctx.session.id else info.cwd if rest else ""
        rows.append((info.id, _when(info.updated), str(info.turns), _title(info), mark))
    caption = f"the last {_SHOWN} of {len(found)}" if len(found) > _SHOWN else ""
    return CommandResult((table(("id", "last used (UTC)", "turns", "about", ""), rows, caption),))


async def _search(ctx: CommandContext, wanted: str) -> CommandResult:
    import asyncio

    from xun_cli.session.searching import MOST_HITS, search_sessions

    sessions = _listed(ctx)
    hits = await asyncio.to_thread(search_sessions, sessions, wanted)
    if not hits:
        return said(f"None of the {len(sessions)} sessions of this folder holds {wanted!r}.")
    rows = [(hit.info.name or hit.info.id, str(hit.turn or ""), hit.who, hit.text) for hit in hits]
    caption = f"the first {MOST_HITS} places" if len(hits) >= MOST_HITS else ""
    return CommandResult((table(("session", "turn", "who", "text"), rows, caption),))


async def _resume(ctx: CommandContext, rest: str) -> CommandResult:
    from xun_cli.session.listing import find

    wanted = rest.strip()
    if not wanted:
        chosen = await _pick(ctx)
        return CommandResult(action="resume", data=chosen) if chosen is not None else said("Nothing resumed.")
    info = find(ctx.places, ctx.session.cwd, wanted)
    if info.id == ctx.session.id:
        return said("You are in this session already.")
    return CommandResult(action="resume", data=info)


async def _pick(ctx: CommandContext) -> SessionInfo | None:
    from uuid import uuid4

    from xun.choice import ChoiceRequest, Option

    found = [info for info in _listed(ctx) if info.id != ctx.session.id][:_SHOWN]
    if not found:
        raise BadArguments("There is no other session of this folder. /sessions all lists those of other folders.")
    options = tuple(Option(info.id, f"{_when(info.updated)}  {_turns(info):>9}  {_title(info)}") for info in found)
    request = ChoiceRequest(
        id=uuid4().hex,
        kind="choice",
        prompt="Which session?",
        options=(*options, Option("", "none of them")),
        default=found[0].id,
        skip_auto_confirm=True,
    )
    outcome = await ctx.session.choose(request)
    return next((info for info in found if info.id == outcome.choice and outcome.source == "user"), None)


def _complete_resume(ctx: CommandContext, typed: str) -> list[str]:
    try:
        found = _listed(ctx)
    except OSError:
        return []
    names = [name for info in found for name in (info.name, info.id) if name and info.id != ctx.session.id]
    return [name for name in names if name.startswith(typed)][:_SHOWN]


def checked_name(typed: str) -> str:
    """Return the name of a session that was typed, blanks around and within it made single.

    Raises:
        BadArguments: It is too long, or holds what can't be seen.
    """
    name = " ".join(typed.split())
    if len(name) > _NAME_LIMIT or not name.isprintable():
        raise BadArguments(f"A session's name is one line of at most {_NAME_LIMIT} printable characters.")
    return name


async def _rename(ctx: CommandContext, rest: str) -> CommandResult:
    from xun.events import SessionStarted
    from xun_cli._version import __version__

    name = checked_name(rest)
    if not name:
        raise BadArguments("/rename needs a name, such as /rename login bug.")
    session = ctx.session
    taken = next((info for info in _listed(ctx) if info.name == name and info.id != session.id), None)
    if taken is not None:
        raise BadArguments(f"Session {taken.id} of this folder is called {name!r} already; take another name.")
    session.name = name
    # The store has no event of its own for names: the latest start record gives the name.
    session.emit(
        SessionStarted(
            cwd=str(session.cwd),
            model=session.model_name,
            version=__version__,
            mode=session.policy.mode,
            resumed=True,
            name=name,
        )
    )
    return said(f"This session is now called {name!r}. `xun -r` with that name continues it.")


async def _export(ctx: CommandContext, rest: str) -> CommandResult:
    import asyncio

    from xun_cli.event_log import masked
    from xun_cli.places import write_private
    from xun_cli.session.export import export

    usage = "/export [FILE.md|FILE.json|FILE.html] [--redact]"
    names, flags = take_flags(words(rest, usage), ("--redact",), usage)
    if len(names) > 1:
        raise BadArguments(f"One file at most; put a name with blanks into quotes. Usage: {usage}")
    session = ctx.session
    path = file_argument(session.cwd, names[0] if names else f"xun-session-{session.id}.md")
    form = _FORMS.get(path.suffix.lower())
    if form is None:
        raise BadArguments(f"The ending of {path.name} has to be .md, .json or .html: it says how to write.")
    if not path.parent.is_dir():
        raise BadArguments(f"There is no folder {path.parent}.")
    if path.exists() and not await ctx.confirm(f"Replace {path}?", "The file exists."):
        return said("Nothing written.")
    content = masked(export(session.history(), form, title=session.name, redacted="--redact" in flags), ctx.settings)
    await asyncio.to_thread(write_private, path, content.encode("utf-8", "replace"))
    return said(f"Wrote this session to {path}. Only you can read it; look through it before you share it.")


async def _queue(ctx: CommandContext, rest: str) -> CommandResult:
    queue = ctx.session.queue
    verb, _, argument = rest.strip().partition(" ")
    if verb == "clear" and not argument:
        dropped = ctx.session.drop_queue()
        return said(f"Dropped {_messages(len(dropped))}.", *_numbered(dropped))
    if verb == "drop":
        at = number(argument.strip(), "The message to drop")
        if at > len(queue):
            return failed(f"There is no message {at}: {_messages(len(queue))} wait. /queue lists them.")
        return said("Dropped:", *_numbered(ctx.session.drop_queue(at - 1)))
    if verb:
        raise BadArguments(f"/queue takes clear or drop N, not {rest!r}.")
    return said(*_numbered(queue)) if queue else said("No message waits.")


def _messages(count: int) -> str:
    return f"{count} message" if count == 1 else f"{count} messages"


def _numbered(texts: list[str]) -> list[str]:
    return [f"{at}  {' '.join(text.split())[:200]}" for at, text in enumerate(texts, 1)]


_MARKS = {"pending": "☐", "in_progress": "▸", "completed": "☑", "cancelled": "☒"}


async def _todo(ctx: CommandContext, rest: str) -> CommandResult:
    no_arguments(rest, "/todo")
    todos = ctx.session.todos
    if not todos:
        return said("No todo list. The model makes one for work of several steps.")
    done = sum(item.get("status") == "completed" for item in todos)
    lines = [f"{_MARKS.get(item.get('status', ''), '?')} {item.get('description', '')}" for item in todos]
    return said(f"{done} of {len(todos)} done", *lines)
