"""What can be done with the permissions of a session: functions on a `PolicyState`.

They serve ``/policy`` in a session and ``xun policy`` on the command line alike. None of them runs a
command or asks a person; a change comes back as a `Change`, which says what to record.
"""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import Output, text

if TYPE_CHECKING:
    from xun_cli.session.session import Session
    from xun_policies.commands import CommandVerdict
    from xun_policies.store import PolicyState
    from xun_policies.workspace import Workspace

WIDE = frozenset(
    "bash sh zsh dash ksh fish pwsh python python2 python3 node deno bun perl ruby php lua env sudo doas su command exec "
    "eval source xargs nice nohup timeout time watch stdbuf setsid ssh scp npx uvx rm mv chmod chown dd curl wget awk sed "
    "tee make docker git find ln kill".split()
)
"""Commands whose bare prefix allows nearly anything; granting one is confirmed first."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an operation did.

    Attributes:
        outputs: What to show.
        op: add, remove, exclude, include, reset, undo or import; "" when nothing changed.
        list: commands, writes or all.
        entry: The entries concerned, as text.
    """

    outputs: tuple[Output, ...]
    op: str = ""
    list: str = ""
    entry: str = ""


def emit_change(session: Session, policy: PolicyState, op: str, which: str, entry: str) -> None:
    """Record a change of the policy, with the whole policy, so that a resumed session has it."""
    from xun.events import PolicyChanged

    session.emit(PolicyChanged(op=op, list=which, entry=entry, source="user", state=policy.to_json()))


def command_text(tokens: Sequence[str]) -> str:
    """Return *tokens* as a shell would quote them."""
    return shlex.join(tokens)


def parse_command(typed: str, policy: PolicyState) -> tuple[str, ...]:
    """Return the tokens of a prefix that somebody typed.

    Raises:
        BadArguments: It is empty, or holds operators, redirections, assignments or substitutions.
    """
    from xun_policies.commands import CommandScope, evaluate

    if not typed.strip():
        raise BadArguments("There is no command to allow. Usage: /policy allow command TOKENS, such as npm test.")
    verdict = evaluate(typed.strip(), policy, CommandScope("/", ("/",), "/", None, git_probe=False))
    segments = [segment for segment in verdict.segments if segment.status != "ok" or segment.kind != "other"]
    commands = [segment for segment in segments if segment.kind == "command"]
    if not verdict.syntax_ok or len(commands) != 1 or len(segments) != 1:
        raise BadArguments(
            f"{typed.strip()!r} can't be a prefix: it has to be one plain command, without operators, redirections, "
            "assignments or substitutions. Quote a token that holds such a character."
        )
    tokens = commands[0].argv
    if not tokens or "/" in tokens[0]:
        raise BadArguments(f"{typed.strip()!r} can't be a prefix: name the command without a path, as PATH finds it.")
    return tokens


def is_wide(tokens: Sequence[str]) -> bool:
    """Tell whether a prefix allows nearly anything, so that a person should confirm it."""
    return len(tokens) == 1 and tokens[0] in WIDE
