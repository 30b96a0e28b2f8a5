"""What can be done with the permissions of a session: functions on a `PolicyState`.

They serve ``/policy`` in a session and ``xun policy`` on the command line alike. None of them runs a
command or asks a person; a change comes back as a `Change`, which says what to record.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from xun_cli.commands.arguments import BadArguments
from xun_cli.commands.output import Output, text
from xun_cli.commands.policy_change import HERE, Change, now, numbered, require_some
from xun_cli.commands.policy_view import builtin_prefixes, command_text, describe

if TYPE_CHECKING:
    from xun_policies.commands import CommandScope, CommandVerdict
    from xun_policies.store import PolicyState
    from xun_policies.workspace import ResolvedPath, Workspace


def parse_command(typed: str, policy: PolicyState) -> tuple[str, ...]:
    """Return the tokens of a prefix that somebody typed.

    Raises:
        BadArguments: It is empty, or holds operators, redirections, assignments, substitutions or a pattern.
    """
    from xun_policies.commands import CommandScope, evaluate
    from xun_policies.shell.grammar import parse

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
    words = parse(typed.strip()).commands[0].words
    if any(word.glob for word in words) or len({word.start for word in words}) < len(words):
        raise BadArguments(
            f"{typed.strip()!r} can't be a prefix: its words stand for themselves, and whatever follows them is "
            "covered too. Leave the pattern out: npm run covers npm run build. Quote it where it is meant as it stands."
        )
    return tokens


def allow_command(policy: PolicyState, tokens: tuple[str, ...], *, source: str = "user", where: str = HERE) -> Change:
    """Add a prefix; doing it twice changes nothing. A built-in one that was excluded comes back."""
    shown = command_text(tokens)
    if " ".join(tokens) in policy.excluded:
        policy.snapshot()
        policy.excluded.discard(" ".join(tokens))
        return Change(
            (text(f"The built-in prefix {shown!r} counts again, with its guards."),), "include", "commands", shown
        )
    if any(entry.tokens == tokens and not entry.exact for entry in policy.command_allowlist):
        return Change((text(f"{shown} is granted already."),))
    policy.snapshot()
    policy.command_allowlist.add(tokens, source=source, when=now())
    lines = [f"{shown} and whatever follows it now runs unasked {where}."]
    if tokens in builtin_prefixes():
        lines.append("It is built in as well; what you granted is not held back by the guards of its options.")
    return Change((text(*lines),), "add", "commands", shown)


def remove_command(policy: PolicyState, typed: str, *, every: bool = False) -> Change:
    """Remove by tokens, by number (``c2``) or by a glob over the text; a built-in prefix becomes excluded.

    Args:
        policy: The permissions.
        typed: What to remove.
        every: Remove all that match, where several do.

    Raises:
        BadArguments: Nothing matches, or several do and *every* is false.
    """
    entries = list(policy.command_allowlist)
    at = numbered(typed, "c", len(entries))
    if at is not None:
        chosen, built = [entries[at]], []
    else:
        chosen = [entry for entry in entries if _matches(entry.tokens, typed)]
        built = [
            tokens
            for tokens in builtin_prefixes()
            if _matches(tokens, typed) and " ".join(tokens) not in policy.excluded
        ]
        if chosen and not _is_glob(typed):
            # The same words as a built-in entry: what the user made goes first.
            built = []
    names = [command_text(entry.tokens) for entry in chosen] + [command_text(tokens) for tokens in built]
    require_some(names, typed, every, "command", "/policy show --builtin")
    policy.snapshot()
    for entry in chosen:
        policy.command_allowlist.remove(entry.tokens, entry.exact)
    policy.excluded.update(" ".join(tokens) for tokens in built)
    lines = [f"Removed: {command_text(entry.tokens)}" for entry in chosen]
    lines += [f"Excluded for this session, though built in: {command_text(tokens)}" for tokens in built]
    return Change((text(*lines),), "remove" if chosen else "exclude", "commands", "; ".join(names))


def allow_write(
    policy: PolicyState,
    path: str,
    workspace: Workspace,
    *,
    directory: bool,
    source: str = "user",
    where: str = HERE,
) -> Change:
    """Add a path, by what it really is; *directory* covers all below it.

    Raises:
        PathOutsideWorkspace: As for any tool.
        BadArguments: No grant can cover it.
    """
    if not path:
        raise BadArguments("There is no path to allow. Usage: /policy allow write PATH [--dir]")
    resolved = workspace.resolve(path)
    if resolved.protected:
        raise BadArguments(f"{resolved.display} is protected and asks each time: it {resolved.why_protected}.")
    if resolved.path.is_dir() and not directory:
        raise BadArguments(f"{resolved.display} is a folder: add --dir to allow writing everything below it.")
    if directory and resolved.path.exists() and not resolved.path.is_dir():
        raise BadArguments(f"{resolved.display} is a file: leave --dir out.")
    covering = policy.write_allowlist.covers(str(resolved.path))
    if covering is not None and (covering.directory or not directory):
        return Change((text(f"{resolved.display} is covered already, by {covering.path}."),))
    policy.snapshot()
    policy.write_allowlist.add(str(resolved.path), directory, source, now())
    below = " and everything below it" if directory else ""
    shown = f"{resolved.display}{below} is now written unasked {where}. Protected paths still ask."
    return Change((text(shown),), "add", "writes", str(resolved.path))


def remove_write(policy: PolicyState, typed: str, workspace: Workspace, *, every: bool = False) -> Change:
    """Remove by path, by number (``w1``) or by a glob over the path.

    Raises:
        BadArguments: Nothing matches, or several do and *every* is false.
    """
    entries = list(policy.write_allowlist)
    at = numbered(typed, "w", len(entries))
    if at is not None:
        chosen = [entries[at]]
    else:
        real = str(workspace.resolve(typed, raise_on_invalid=False).path)
        chosen = [entry for entry in entries if entry.path == real or fnmatch.fnmatchcase(entry.path, typed)]
    names = [entry.path for entry in chosen]
    require_some(names, typed, every, "path", "/policy show writes")
    policy.snapshot()
    for entry in chosen:
        policy.write_allowlist.remove(entry.path)
    return Change((text(*(f"Removed: {name}" for name in names)),), "remove", "writes", "; ".join(names))


def _is_glob(typed: str) -> bool:
    return any(char in typed for char in "*?[")


def _matches(tokens: Sequence[str], typed: str) -> bool:
    shown = command_text(tokens)
    return (
        shown == typed
        or " ".join(tokens) == typed
        or (_is_glob(typed) and fnmatch.fnmatchcase(" ".join(tokens), typed))
    )


def going(policy: PolicyState, what: str) -> list[str]:
    """Return what a reset of *what* (commands, writes, hosts, all) takes away, as lines."""
    commands = what in ("all", "commands")
    return describe(
        policy.command_allowlist if commands else (),
        policy.write_allowlist if what in ("all", "writes") else (),
        policy.excluded if commands else (),
        policy.host_allowlist if what in ("all", "hosts") else (),
    )


def reset(policy: PolicyState, what: str) -> Change:
    """Go back to the built-in commands, and to no granted path or host."""
    lines = going(policy, what)
    if not lines:
        return Change((text("There is nothing to reset: only the built-in list is in force."),))
    policy.snapshot()
    if what in ("all", "commands"):
        policy.command_allowlist.clear()
        policy.excluded.clear()
    if what in ("all", "writes"):
        policy.write_allowlist.clear()
    if what in ("all", "hosts"):
        policy.host_allowlist.clear()
    return Change((text("Gone:", *lines),), "reset", what, "; ".join(lines))


def undo(policy: PolicyState) -> Change:
    """Take back the last change of the lists."""
    before = set(going(policy, "all"))
    if not policy.undo():
        return Change((text("There is no change of the lists to take back."),))
    after = set(going(policy, "all"))
    lines = [f"- {line}" for line in sorted(before - after)] + [f"+ {line}" for line in sorted(after - before)]
    return Change((text("Took back the last change:", *lines),), "undo", "all", "; ".join(lines))


def test(typed: str, policy: PolicyState, scope: CommandScope, *, width: int = 80) -> tuple[Output, CommandVerdict]:
    """Explain what the gate says of a command, segment by segment; runs nothing."""
    from xun_policies.commands import evaluate

    if not typed.strip():
        raise BadArguments("There is no command to test. Usage: /policy test COMMAND")
    verdict = evaluate(typed, policy, scope)
    return text(verdict.explain(width)), verdict


def write_facts(path: str, policy: PolicyState, workspace: Workspace) -> dict[str, Any]:
    """Return what holds for writing *path*: where it leads, which entry grants it, and the verdict.

    Raises:
        BadArguments: There is no path.
    """
    if not path:
        raise BadArguments("There is no path to test. Usage: /policy test-write PATH")
    resolved = workspace.resolve(path, raise_on_invalid=False)
    exists = resolved.valid and resolved.path.exists()
    entry = policy.write_allowlist.covers(str(resolved.path)) if resolved.valid else None
    return {
        "path": resolved.display,
        "in_workspace": resolved.valid,
        "temporary": resolved.in_tempdir,
        "protected": resolved.protected,
        "exists": exists,
        "granted_by": None if entry is None else entry.to_json(),
        "verdict": _write_verdict(resolved, exists, entry is not None, policy.mode),
    }


def test_write(path: str, policy: PolicyState, workspace: Workspace) -> Output:
    """Tell whether writing *path* would ask, and why."""
    facts = write_facts(path, policy, workspace)
    inside = "yes" if facts["in_workspace"] else "no"
    temporary = ", in the temporary folder" if facts["temporary"] else ""
    lines = [f"path: {facts['path']}", f"in the workspace: {inside}{temporary}"]
    if facts["in_workspace"]:
        lines.append(f"exists: {'yes' if facts['exists'] else 'no'}")
    entry = facts["granted_by"]
    if entry is not None:
        lines.append(f"granted by: {entry['path']}{' and all below' if entry['directory'] else ''} ({entry['source']})")
    return text(*lines, f"verdict: {facts['verdict']}", "Nothing was written.")


def _write_verdict(resolved: ResolvedPath, exists: bool, granted: bool, mode: str) -> str:
    if not resolved.valid:
        return "REFUSED, no tool can write there; /add-dir opens a folder."
    if resolved.in_tempdir:
        return "ALLOW, in the temporary folder nothing asks."
    if mode == "plan":
        return "REFUSED, in plan mode nothing is written."
    if resolved.protected:
        return f"ASK, always: it {resolved.why_protected}, and no grant covers it."
    if granted:
        return "ALLOW, by that grant."
    if mode == "auto-edit":
        return "ALLOW, in mode auto-edit."
    if not exists:
        return "ALLOW, a new file is not asked about (replacing, moving or deleting one is)."
    return "ASK, it exists and nothing grants it."
