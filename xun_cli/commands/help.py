"""/help, /keys, /redraw, /copy and /quit."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from xun_cli.commands.custom import TOPIC as CUSTOM
from xun_cli.commands.output import CommandResult, Output, error, failed, table, text
from xun_cli.commands.registry import FIRST, CommandContext, Registry, SlashCommand

if TYPE_CHECKING:
    from collections.abc import Iterable

TOPICS: dict[str, str] = {
    "approvals": """\
Changes to existing files, and commands that no list allows, wait for one of three answers:
  g  allow and grant       this one, and what the row shows for the rest of the session
  o  allow this time only
  d  deny                  Tab adds a reason, which the model reads
New files are not asked about. Esc denies and interrupts the turn. `e` edits a command before it runs,
Ctrl-E shows all of it, ? explains it. /policy shows, adds and takes back grants; /policy test COMMAND
tells what would be asked, and runs nothing. /auto 5 answers the next five ordinary questions.""",
    "files": """\
@name completes a path of the project; the model gets the path and reads the file itself. Names with blanks are
put into quotes: @"my file.txt". !command runs a command as you, without a question; its output joins the context.
/diff shows what changed, /undo takes back the writes of the last turn, /add-dir opens one more folder.""",
    "modes": """\
  ask        changes and unknown commands ask (the default)
  plan       nothing is changed; commands that no list allows ask
  auto-edit  changes inside the project do not ask; commands as in ask
/mode NAME or Shift-Tab changes it. /auto N answers the next N questions in any mode; protected paths still ask.""",
    "sessions": """\
Every session is kept on disk. /sessions lists those of this folder, /resume continues one, /clear begins a new one,
/rename names it, /export writes it to a file. `xun -c` continues the last one. /rewind goes back before a turn, with
its files if you want; /fork goes on in a copy; /compact sums up older messages, which also happens by itself.""",
}
"""Longer help by topic."""

ALL = "all"
"""The topic that lists every command."""

_BEGIN = (
    "Say what you want in your own words. xun reads and searches by itself; before it changes a file, or runs "
    "a command that no list allows, it asks you."
)


def commands(registry: Registry) -> list[SlashCommand]:
    """Return this family; help speaks about *registry*."""

    async def run_help(ctx: CommandContext, rest: str) -> CommandResult:
        return _help(registry, rest)

    def complete_help(ctx: CommandContext, typed: str) -> list[str]:
        names = [ALL, *TOPICS, *(command.name for command in registry.all())]
        return [name for name in names if name.startswith(typed)]

    return [
        SlashCommand(
            "help",
            "/help [topic]",
            "what to begin with; all commands, one of them, or a topic",
            run_help,
            aliases=("?", "h"),
            while_running=True,
            complete=complete_help,
            topic="Help",
        ),
        SlashCommand("keys", "/keys", "the keys and what they do", _keys, while_running=True, topic="Help"),
        SlashCommand(
            "redraw", "/redraw", "draw the last turns again at this width", _redraw, while_running=True, topic="Session"
        ),
        SlashCommand(
            "copy",
            "/copy [n]",
            "copy the last answer (or the nth last)",
            _copy,
            while_running=True,
            topic="Conversation",
        ),
        SlashCommand("quit", "/quit", "end; the session is kept", _quit, aliases=("exit", "q"), while_running=True),
    ]


def _help(registry: Registry, rest: str) -> CommandResult:
    wanted = rest.strip().removeprefix("/").lower()
    if not wanted:
        return CommandResult((text(_BEGIN), *_first(registry), text(_footer())))
    if wanted == ALL:
        return CommandResult(tuple(_overview(registry.all())))
    command = registry.get(wanted)
    if command is not None:
        return CommandResult((text(*_describe(command)),))
    if wanted in TOPICS:
        return CommandResult((text(_flowing(TOPICS[wanted])),))
    near = [*difflib.get_close_matches(wanted, [ALL, *TOPICS], 1), *registry.nearest(wanted)]
    hint = "Try " + " or ".join(f"/help {name}" for name in near[:3]) if near else f"/help {ALL} lists everything"
    return failed(f"No help about {wanted!r}. {hint}.")


def _flowing(topic: str) -> str:
    """Return *topic* with its paragraphs in one line each, for any width; indented lines stay as they are."""
    lines: list[str] = []
    for line in topic.split("\n"):
        if lines and not line.startswith(" ") and not lines[-1].startswith(" "):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _overview(commands: Iterable[SlashCommand]) -> list[Output]:
    groups: dict[str, list[tuple[str, str]]] = {}
    for command in commands:
        groups.setdefault(command.topic, []).append((command.usage, command.summary))
    outputs: list[Output] = []
    for topic, rows in groups.items():
        shown = [(f"  {usage}", summary) for usage, summary in rows]
        outputs.append(table((), shown, topic))
    return outputs


def _first(registry: Registry) -> list[Output]:
    """Return the commands that people begin with, then those of their own."""
    found = [command for name in FIRST if (command := registry.get(name)) is not None]
    own = [command for command in registry.all() if command.topic == CUSTOM]
    tables = [table((), [(f"  /{item.name}", item.summary) for item in found])]
    return [*tables, *(_overview(own) if own else [])]


def _footer() -> str:
    more = f"More: /help {ALL} (every command), or /help with {', '.join(TOPICS)} or a command's name"
    return f"@path names a file · !command runs one yourself · /keys lists the keys\n{more}"


def _describe(command: SlashCommand) -> list[str]:
    lines = [command.usage, f"  {command.summary}"]
    if command.aliases:
        lines.append("  also: " + ", ".join(f"/{alias}" for alias in command.aliases))
    if not command.while_running:
        lines.append("  not while a turn runs")
    if command.details:
        lines += ["", command.details]
    return lines


KEYS: tuple[tuple[str, str], ...] = (
    ("Enter", "send; while a turn runs: queue the message"),
    ("Ctrl-J, Alt-Enter, \\ then Enter", "new line"),
    ("Ctrl-S", "send into the running turn"),
    ("Esc", "interrupt the turn, keeping what came; in a question: deny and interrupt"),
    ("Esc Esc", "when nothing runs: go back to an earlier message"),
    ("Ctrl-C", "clear the input, or interrupt; twice within 2 s: leave"),
    ("Ctrl-D", "leave, when the input is empty"),
    ("Up, Down", "earlier and later inputs; Up on an empty input takes back the last queued message"),
    ("Ctrl-R", "search the history"),
    ("Ctrl-G", "write in $EDITOR"),
    ("Tab", "complete; in a question: the reason field"),
    ("Shift-Tab", "mode: ask, plan, auto-edit"),
    ("Ctrl-O", "open the last folded output"),
    ("PgUp", "read the whole session: / searches, [ and ] jump between turns; full screen: scroll"),
    ("Ctrl-B", "sub-agents and background commands; full screen: the side panel"),
    ("Ctrl-V", "send the image of the clipboard with the next message"),
    ("Ctrl-T", "the todo list"),
    ("Ctrl-E", "end of line; in a question: all of the command or diff"),
    ("e", "in a question: edit the command, or what would be written in $EDITOR"),
    ("s, ?", "in a question: the diff side by side; how it was judged"),
    ("Ctrl-L", "redraw"),
    ("Ctrl-Z", "suspend"),
    ("g o d, or 1 2 3", "in a question: allow and grant, allow once, deny"),
)


async def _keys(ctx: CommandContext, rest: str) -> CommandResult:
    changed = getattr(ctx.settings, "keys", None)
    outputs = [table(("key", "what it does"), KEYS)]
    if changed:
        rows = [
            (name, ", ".join(value) if isinstance(value, list | tuple) else str(value))
            for name, value in changed.items()
        ]
        outputs.append(table(("action", "your keys"), rows, "From [keys] of your settings:"))
    return CommandResult(tuple(outputs))


async def _redraw(ctx: CommandContext, rest: str) -> CommandResult:
    return CommandResult(action="redraw")


async def _quit(ctx: CommandContext, rest: str) -> CommandResult:
    return CommandResult(action="quit")


async def _copy(ctx: CommandContext, rest: str) -> CommandResult:
    from xun.events import MessageCompleted

    number = rest.strip() or "1"
    if not number.isdecimal() or int(number) < 1:
        return CommandResult((error(f"/copy takes a number from 1, not {rest!r}: 1 is the last answer."),))
    answers = [
        envelope.event.text
        for envelope in ctx.session.history()
        if isinstance(envelope.event, MessageCompleted) and envelope.event.agent == "main" and envelope.event.text
    ]
    if int(number) > len(answers):
        have = f"there are {len(answers)}" if answers else "there is none yet"
        return failed(f"No answer {number} from the end: {have}.")
    return CommandResult(action="copy", data=answers[-int(number)])
