"""What front ends say of themselves: the welcome, the status line's content, the last line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xun_cli._version import __version__
from xun_cli.frontend.threads import in_thread
from xun_cli.render.safe import safe
from xun_cli.render.status import Status
from xun_cli.render.text import ACCENT, BOLD, DIM, PLAIN, Line, cut, cut_left, fitting, line_width
from xun_cli.sandboxing import sandbox_mark

if TYPE_CHECKING:
    from pathlib import Path

    from xun_cli.frontend.conversation import Conversation
    from xun_cli.frontend.status_command import StatusCommand
    from xun_cli.session.session import Session


def welcome_lines(folder: Path, columns: int, *, hints: bool) -> list[Line]:
    """Return the first lines of a session: the version, the folder, one hint."""
    shown, home = str(folder), os.path.expanduser("~")
    if shown == home or shown.startswith(home + os.sep):
        shown = "~" + shown[len(home) :]
    head: Line = [(f"{BOLD} {ACCENT}", "xun"), (DIM, f" {__version__}  ")]
    lines: list[Line] = [[*head, (PLAIN, cut_left(safe(shown, multiline=False), columns - line_width(head)))]]
    if hints:
        lines.append([(DIM, fitting(("/help lists the commands", "Esc interrupts", "Ctrl-D leaves"), columns))])
    return lines


def status_of(session: Session | None, *, hint: str, branch: str, command: StatusCommand) -> Status:
    """Return what the status line tells of *session*; None while it is opened."""
    if session is None:
        return Status(hint=hint)
    policy, usage = session.policy, session.usage
    status = Status(
        model=session.model_name,
        context_pct=session.context_pct,
        cost_usd=usage.cost_usd,
        tokens=usage.input + usage.output,
        mode=policy.mode,
        auto=policy.auto_remaining,
        branch=branch,
        sandbox=sandbox_mark(session.agent),
        background=_beside(session),
        granted=(len(policy.command_allowlist), len(policy.write_allowlist)),
        hint=hint,
    )
    return command.over(status, session)


def _beside(session: Session) -> int:
    """Return how many commands and sub-agents run beside the turn."""
    from xun_builtin_tools.cmd.tasks import Tasks  # loaded with the tools of the session

    agents = [session.agent, *getattr(session.agent, "background", ())]
    return sum(task.status == "running" for agent in agents for task in Tasks.among(agent))


async def branch_now(folder: Path, *, known: bool) -> str:
    """Return the branch of *folder*; one that was not *known* is read in the way that loads least."""

    def read() -> str:
        from xun_cli.vcs import branch, read_branch

        # GitPython takes a tenth of a second to load: not while xun starts.
        return (branch if known else read_branch)(folder)

    name: str = await in_thread(read)
    return name


def input_mark(draft: str, vi: str = "") -> str:
    """Return what stands before the draft: vi's mode, when there is one, and whether a shell command is typed."""
    mark = "! " if draft.startswith("!") else "› "
    return f"{vi} {mark}" if vi else mark


def farewell(session: Session | None) -> Line:
    """Return the last line: how to go on with *session*; empty when there is nothing to go on with."""
    if session is None or session.store is None or not session.turn:
        return []
    return [(DIM, "Go on with this session: "), (PLAIN, f"xun -r {safe(session.id)}")]


def notes_of(conversation: Conversation, columns: int) -> list[Line]:
    """Return the short lines above the composer: what waits for the start, what goes with the next message."""
    session = conversation.session
    attached = session.attached if session is not None else ()
    return [*held_note(conversation.held, columns), *attached_note(attached, columns)]


def attached_note(names: Sequence[str], columns: int) -> list[Line]:
    """Say which images go along with the next message."""
    if not names:
        return []
    what = names[0] if len(names) == 1 else f"{len(names)} images"
    return [[(DIM, cut(f"+ {safe(what, multiline=False)}, sent with your next message", columns))]]


def held_note(count: int, columns: int) -> list[Line]:
    """Say that *count* messages wait for the start to be over."""
    if not count:
        return []
    what = "your message goes" if count == 1 else f"your {count} messages go"
    return [[(DIM, cut(f"One moment: {what} out as soon as xun is ready.", columns))]]
