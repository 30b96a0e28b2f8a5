"""``xun policy``: what runs and what is written unasked, explained and moved, without a session.

``test`` imports nothing but the policy layer: it is made to be called often.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xun_cli.policy_setup import command_policy
from xun_cli.usage import UsageError, usage_error

if TYPE_CHECKING:
    from xun_policies.commands import CommandScope
    from xun_policies.store import PolicyState

ALLOWED, ASSESSED = 0, 4
"""Exit codes of ``xun policy test``: would run unasked; would be assessed, and then perhaps asked about."""

HELP = """\
usage: xun policy test [-C DIR] COMMAND...   explain the gate's answer; runs nothing
       xun policy test --stdin --json        the same for JSON lines {"id", "command"}
       xun policy test-write [-C DIR] PATH   would writing PATH ask?
       xun policy [show] [--builtin] [-s ID] the lists; -s: of a saved session
       xun policy export [FILE] [-s ID]      user-made entries as TOML  (default: stdout)
       xun policy import FILE [--dry-run]    check FILE and add it to your settings
       xun policy allow KIND ENTRY [-s ID]   KIND: command, write, host; into your settings
       xun policy remove KIND ENTRY [-s ID]  take it back; -s: of a saved session
       xun policy reset [WHAT] [-s ID]       back to the built-in list; WHAT: commands, writes, hosts
       xun policy undo -s ID                 take back the last change of a saved session
       xun policy log [N] [-s ID] [--json]   the last decisions, of all sessions or one

One COMMAND argument is taken as it is; several are joined as a shell would quote them.
test: exit 0 = would run unasked, 4 = would be assessed. -C DIR: where  (default: .)
"""


def main(argv: list[str]) -> int:
    """Run ``xun policy`` with the arguments *argv*."""
    folder, rest = _leading_folder(argv)
    if not rest or (rest[0].startswith("-") and rest[0] not in ("-h", "--help")):
        rest = ["show", *rest]
    word = rest[0]
    try:
        if word in ("-h", "--help"):
            sys.stdout.write(HELP)
            return 0
        if word == "test":
            return _test(rest[1:], folder)
        if word in ("allow", "remove", "reset", "undo", "log", *_ALIASES):
            return _change(word, rest[1:], folder)
        if word in ("show", "export", "import", "test-write"):
            from xun_cli.subcommands.policy_lists import run

            return run(word, [*(["-C", folder] if folder else []), *rest[1:]])
    except UsageError as error:
        return usage_error(str(error), "xun policy")
    known = "test, test-write, show, allow, remove, reset, undo, log, export, import"
    return usage_error(f'"{word}" is none of {known}', "xun policy")


_ALIASES = (
    "cmd_allowlist",
    "cmd_allowlist_add",
    "cmd_allowlist_remove",
    "path_allowlist",
    "path_allowlist_add",
    "path_allowlist_remove",
)


def _change(word: str, argv: list[str], folder: str) -> int:
    from xun_cli.subcommands import policy_changes, policy_lists

    options, rest = _leading_options(argv)
    word, *kind = policy_changes.ALIASES.get(word, (word,))
    given = [*(["-C", folder] if folder and word != "log" else []), *options, *kind, *rest]
    return (policy_lists.run if word == "show" else policy_changes.run)(word, given)


def _leading_options(argv: list[str]) -> tuple[list[str], list[str]]:
    """Part the options before the first word from the rest, so that an alias can put its own word between them."""
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] in ("-C", "-s", "--session") else 1
    return argv[:at], argv[at:]


def _leading_folder(argv: list[str]) -> tuple[str, list[str]]:
    return (argv[1], argv[2:]) if argv[:1] == ["-C"] and len(argv) > 1 else ("", argv)


@dataclass(slots=True)
class _Asked:
    folder: str
    words: list[str]
    stdin: bool = False
    json: bool = False


def _parse(argv: list[str], folder: str) -> _Asked:
    """Options end at the first word: what follows belongs to the tested command."""
    asked = _Asked(folder or ".", [])
    at = 0
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-":
        if argv[at] == "--":
            at += 1
            break
        if argv[at] in ("-h", "--help"):
            raise UsageError("run `xun policy -h` for the help")
        if argv[at] == "-C":
            at += 1
            if at >= len(argv):
                raise UsageError("-C needs a folder")
            asked.folder = argv[at]
        elif argv[at] == "--stdin":
            asked.stdin = True
        elif argv[at] == "--json":
            asked.json = True
        else:
            raise UsageError(
                f"unknown option {argv[at]} before the command (put -- before a command that begins with -)"
            )
        at += 1
    asked.words = argv[at:]
    if asked.stdin and (not asked.json or asked.words):
        raise UsageError("--stdin reads JSON lines: use `xun policy test --stdin --json` without a command")
    if not asked.stdin and not asked.words:
        raise UsageError("test needs a command")
    return asked


def _test(argv: list[str], folder: str) -> int:
    asked = _parse(argv, folder)
    scope, policy = _scope(asked.folder), command_policy(asked.folder)
    if asked.stdin:
        _answer_lines(sys.stdin.buffer, policy, scope)
        return 0
    from xun_policies.commands import evaluate, join_words

    text = asked.words[0] if len(asked.words) == 1 else join_words(asked.words)
    verdict = evaluate(text, policy, scope)
    if asked.json:
        from xun_cli.subcommands.common import print_json

        print_json({"id": None, **verdict.to_json()})
    else:
        import shutil

        sys.stdout.write(verdict.explain(min(shutil.get_terminal_size().columns, 120)) + "\n")
    return ALLOWED if verdict.allowed else ASSESSED


def _scope(folder: str) -> CommandScope:
    from xun_policies.commands import CommandScope

    cwd = os.path.realpath(os.path.expanduser(folder))
    return CommandScope(cwd=cwd, roots=(cwd,), home=os.environ.get("HOME", os.path.expanduser("~")), path=None)


def _answer_lines(lines: Iterable[bytes], policy: PolicyState, scope: CommandScope) -> None:
    import json

    from xun_policies.commands import evaluate

    write = sys.stdout.write
    for line in lines:
        if not line.strip():
            continue
        row: dict[str, Any]
        ident: Any = None
        try:
            data = json.loads(line)
            ident = data.get("id")
            command = data["command"]
            if not isinstance(command, str):
                raise TypeError("command is no text")
            row = {"id": ident, **evaluate(command, policy, scope).to_json()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            reason = f'a line must be a JSON object {{"id", "command"}} ({error})'
            row = {"id": ident, "decision": "ask", "segments": [], "grantable": [], "error": reason}
        write(json.dumps(row) + "\n")
