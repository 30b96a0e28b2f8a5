"""Whether a command can change what later commands mean in the shell that it ran in.

The allowlist judges each text as if a new bash ran it. That holds in a shell that stays only as long as nothing has
changed its variables, functions, aliases, options, traps or open files. So a command leaves the shell as it was only
when all of it is understood, and all its commands are programs, or one of the few words of bash that change nothing
but the folder. What is not known to be harmless counts as a change.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xun_policies.wordset import wordset

if TYPE_CHECKING:
    from xun_policies.commands import CommandVerdict, Segment

_HARMLESS = frozenset({"cd", "pwd", "echo", "true", "false", "type"})

_WORDS_OF_BASH = wordset(
    """
    . : [ [[ ]] { } ! alias bg bind break builtin caller case cd command compgen complete compopt continue coproc
    declare dirs disown do done echo elif else enable esac eval exec exit export false fc fg fi for function getopts
    hash help history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return
    select set shift shopt source suspend test then time times trap true type typeset ulimit umask unalias unset
    until wait while
    """
)
"""Every builtin and reserved word of bash 5: such a word runs in the shell itself."""

_UNDERSTOOD = frozenset({"granted", "not-listed", "path", "guard", "excluded", "glob", "git-config"})
"""Why a command may ask although all its words, the first above all, are what they look like."""

_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_SHOWN = 60


def what_changes(verdict: CommandVerdict) -> str:
    """Return the part of a command that may change the shell it runs in; "" when there is none."""
    changing = next((segment for segment in verdict.segments if not _harmless(segment)), None)
    if changing is None and verdict.syntax_ok and verdict.segments:
        return ""
    shown = "" if changing is None else _one_line(changing.text)
    # Never empty, since that would say that nothing changes: an end of line, for one, shows as nothing.
    return shown or _one_line(verdict.text) or "text that is not fully understood"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _harmless(segment: Segment) -> bool:
    if segment.kind != "command":
        # A redirection, an assignment, an unusual operator: harmless only when nothing was found wrong with it.
        return segment.status in ("ok", "allow")
    if segment.rule == "builtin":
        return True
    if segment.rule not in _UNDERSTOOD or not segment.argv:
        return False
    first = segment.argv[0]
    return first in _HARMLESS or (first not in _WORDS_OF_BASH and _PROGRAM.fullmatch(first) is not None)
