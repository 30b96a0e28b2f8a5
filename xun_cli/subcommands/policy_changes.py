"""``xun policy allow``, ``remove``, ``reset``, ``undo`` and ``log``: entries of the settings or a saved session."""

from __future__ import annotations

import argparse
import shlex
from argparse import Namespace
from collections.abc import Callable, Sequence

from xun.errors import ConfigError, XunError
from xun_cli.commands import policy_hosts, policy_log, policy_ops, policy_view
from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.policy_change import Change
from xun_cli.config_write import set_value
from xun_cli.exit_codes import BAD_CALL, NOT_CONFIGURED
from xun_cli.places import Places
from xun_cli.subcommands.common import Parser, add_folder, fail, print_json, print_outputs
from xun_cli.subcommands.policy_lists import COMMAND, Target, agreed, record_change, target_of
from xun_policies.grants import is_wide, join_words

ALIASES = {
    "cmd_allowlist": ("show", "commands"),
    "cmd_allowlist_add": ("allow", "command"),
    "cmd_allowlist_remove": ("remove", "command"),
    "path_allowlist": ("show", "writes"),
    "path_allowlist_add": ("allow", "write"),
    "path_allowlist_remove": ("remove", "write"),
}
"""The specification's own names, as forms of this family."""


def run(word: str, argv: list[str]) -> int:
    """Run ``allow``, ``remove``, ``reset``, ``undo`` or ``log`` with the arguments after it."""
    if word == "log":
        return _log(argv)
    found = _parser(word).parse_args(argv)
    try:
        target = target_of(found)
        try:
            change = _WORDS[word](found, target)
            if change is None:
                return fail(COMMAND, "nothing is changed; add --yes where nobody can answer")
            _keep(target, change)
        finally:
            target.workspace.close()
    except ConfigError as error:
        return fail(COMMAND, error, NOT_CONFIGURED)
    except (XunError, ValueError, OSError) as error:
        return fail(COMMAND, error)
    if found.json:
        print_json({"op": change.op, "list": change.list, "entry": change.entry})
    else:
        print_outputs(change.outputs)
    return 0


def _parser(word: str) -> Parser:
    parser = Parser(prog=f"{COMMAND} {word}")
    add_folder(parser)
    parser.add_argument(
        "-s",
        "--session",
        metavar="ID",
        required=word == "undo",
        help="of a saved session" if word == "undo" else "of a saved session (default: of your settings)",
    )
    parser.add_argument("--json", action="store_true", help="as JSON (default: off)")
    if word == "undo":
        return parser
    parser.add_argument("--yes", action="store_true", help="do not ask (default: asks where much would change)")
    if word == "reset":
        parser.add_argument("what", nargs="?", default="all", choices=("all", "commands", "writes", "hosts"))
        return parser
    parser.add_argument("kind", choices=("command", "write", "host"))
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="ENTRY", help="a command, a path or a host")
    return parser


def _reset(found: Namespace, target: Target) -> Change | None:
    _add_configured_hosts(found, target)
    lines = policy_ops.going(target.state, found.what)
    if lines and not found.yes and not agreed("\n".join([*lines, "Take all of this back? [y/N] "])):
        return None
    return policy_ops.reset(target.state, found.what)


def _undo(found: Namespace, target: Target) -> Change:
    return policy_ops.undo(target.state)


def _typed(words: Sequence[str]) -> str:
    """One word is taken as it is; several are joined as a shell would quote them."""
    return words[0] if len(words) == 1 else join_words(words)


def _allow(found: Namespace, target: Target) -> Change | None:
    words = list(found.words)
    source, where = ("user", "in that session") if found.session else ("config", "in every new session")
    if found.kind == "host":
        return policy_hosts.allow_host(target.state, " ".join(words), source=source, where=where)
    if found.kind == "write":
        directory = "--dir" in words
        paths = [word for word in words if word != "--dir"]
        if len(paths) != 1:
            raise BadArguments(f"One path is needed. Usage: {COMMAND} allow write PATH [--dir]")
        return policy_ops.allow_write(
            target.state, paths[0], target.workspace, directory=directory, source=source, where=where
        )
    tokens = policy_ops.parse_command(_typed(words) if words else "", target.state)
    question = f"Let every command that begins with {policy_view.command_text(tokens)} run unasked? [y/N] "
    if is_wide(tokens) and not found.yes and not agreed(question):
        return None
    return policy_ops.allow_command(target.state, tokens, source=source, where=where)


def _remove(found: Namespace, target: Target) -> Change:
    every = "--all" in found.words
    words = [word for word in found.words if word != "--all"]
    if found.kind == "host":
        _add_configured_hosts(found, target)
        return policy_hosts.remove_host(target.state, " ".join(words), every=every)
    if found.kind == "write":
        return policy_ops.remove_write(target.state, " ".join(words), target.workspace, every=every)
    return policy_ops.remove_command(target.state, _typed(words) if words else "", every=every)


def _add_configured_hosts(found: Namespace, target: Target) -> None:
    if not found.session:
        for host in target.settings.tools.allowed_hosts:
            target.state.host_allowlist.add(host, "config")


_WORDS: dict[str, Callable[[Namespace, Target], Change | None]] = {
    "allow": _allow,
    "remove": _remove,
    "reset": _reset,
    "undo": _undo,
}


def _keep(target: Target, change: Change) -> None:
    if not change.op:
        return
    if target.session is not None:
        record_change(target.session, target.state, change, "user")
        return
    path, state, settings = target.places.config_file, target.state, target.settings
    if change.list in ("commands", "all"):
        set_value(path, "policy.commands.allow", [shlex.join(entry.tokens) for entry in state.command_allowlist])
        set_value(path, "policy.commands.exclude", sorted(state.excluded))
    if change.list in ("writes", "all"):
        known = {str(target.workspace.resolve(text).path): text for text in settings.policy.writes.allow}
        set_value(path, "policy.writes.allow", [known.get(entry.path, entry.path) for entry in state.write_allowlist])
    if change.list in ("hosts", "all"):
        hosts = [entry.host for entry in state.host_allowlist]
        kept = settings.tools.allowed_hosts if change.op == "add" else ()
        set_value(path, "tools.allowed_hosts", list(dict.fromkeys([*kept, *hosts])))


def _log(argv: list[str]) -> int:
    parser = Parser(prog=f"{COMMAND} log")
    parser.add_argument("count", nargs="?", default="20", metavar="N", help="how many decisions (default: 20)")
    parser.add_argument("-s", "--session", metavar="ID", default="", help="of one session (default: of all)")
    parser.add_argument("--json", action="store_true", help="as JSON, one a line (default: off)")
    found = parser.parse_args(argv)
    try:
        count, session = policy_log.log_arguments([found.count], f"{COMMAND} log [N]", found.session)
    except BadArguments as error:
        return fail(COMMAND, error, BAD_CALL)
    rows, note = policy_log.decisions(Places.from_environment().audit_file, count, session)
    if found.json:
        for row in rows:
            print_json(row)
        if note:
            fail(COMMAND, f"warning: {note}")
        return 0
    print_outputs(policy_log.log_table(rows, note, every=True))
    return 0
