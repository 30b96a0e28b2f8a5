"""/policy: the permissions of this session, shown, changed, tested, recorded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from xun_cli.commands import policy_files, policy_hosts, policy_log, policy_ops, policy_view
from xun_cli.commands.arguments import BadArguments, file_argument, take_flags, words
from xun_cli.commands.output import CommandResult, Output, said, text
from xun_cli.commands.policy_change import Change, emit_change
from xun_cli.commands.registry import CommandContext, SlashCommand

if TYPE_CHECKING:
    from xun_policies.commands import CommandScope, CommandVerdict

_Form = Callable[[CommandContext, str], Awaitable[CommandResult]]

USAGE: tuple[tuple[str, str], ...] = (
    ("/policy [show] [commands|writes|hosts|all] [--builtin]", "what is allowed, numbered c1…, w1… and h1…"),
    ("/policy allow command TOKENS", "let a command run unasked: a prefix, such as npm test"),
    ("/policy allow write PATH [--dir]", "let a file, or all below a folder, be written unasked"),
    ("/policy remove command TOKENS|cN|GLOB [--all]", "take one back; a built-in one is left out for this session"),
    ("/policy remove write PATH|wN [--all]", "take one back"),
    ("/policy reset [commands|writes|hosts|all] [--yes]", "only the built-in list again"),
    ("/policy test COMMAND", "what would be asked, segment by segment; runs nothing"),
    ("/policy test --risk COMMAND", "the same, and what the risk assessment says"),
    ("/policy test-write PATH", "whether writing there asks"),
    ("/policy log [n] [--all|--session ID]", "the last decisions, who made them, and what held them in"),
    ("/policy undo", "take back the last change of the lists"),
    ("/policy export [file] [--format toml|json]", "your entries into a file"),
    ("/policy import FILE [--merge|--replace] [--dry-run]", "entries from a file, after showing them"),
    ("/policy allow host HOST", "let a host be fetched from unasked, such as docs.python.org"),
    ("/policy remove host HOST|hN [--all]", "take one back"),
    ("/policy FORM --json", "the answer as JSON; before COMMAND for test"),
    ("/policy cmd_allowlist, cmd_allowlist_add, cmd_allowlist_remove", "other names for show, allow, remove command"),
    ("/policy path_allowlist, path_allowlist_add, path_allowlist_remove", "other names for show, allow, remove write"),
)
"""Every form, for help and for a wrong one."""

_LISTS = ("all", "commands", "writes", "hosts")


def commands() -> list[SlashCommand]:
    """Return this family."""
    details = "\n".join(f"{form}\n    {what}" for form, what in USAGE)
    return [
        SlashCommand(
            "policy",
            "/policy [show|allow|remove|test|...]",
            "what may run and be written unasked",
            _policy,
            while_running=True,
            complete=complete,
            topic="Permissions",
            details=details,
        )
    ]


async def _policy(ctx: CommandContext, rest: str) -> CommandResult:
    verb, _, argument = rest.strip().partition(" ")
    form = _forms().get(verb or "show")
    if form is None:
        import difflib

        near = difflib.get_close_matches(verb, _forms(), 1)
        hint = f"Did you mean /policy {near[0]}?" if near else "/help policy lists the forms."
        raise BadArguments(f"Unknown form /policy {verb}. {hint}")
    as_json, argument = _json_wanted(argument.strip(), raw=verb == "test")
    result = await form(ctx, argument)
    if not as_json or not result.ok:
        return result
    return said(json.dumps(result.data, ensure_ascii=False, indent=2))


def _json_wanted(argument: str, *, raw: bool) -> tuple[bool, str]:
    """Take ``--json`` off the front, or off the end where the rest is not taken raw."""
    if argument == "--json" or argument.startswith("--json "):
        return True, argument.removeprefix("--json").lstrip()
    if not raw and argument.endswith(" --json"):
        return True, argument.removesuffix("--json").rstrip()
    return False, argument


def _forms() -> dict[str, _Form]:
    return {
        "show": _show,
        "allow": _allow,
        "remove": _remove,
        "reset": _reset,
        "test": _test,
        "test-write": _test_write,
        "log": _log,
        "undo": _undo,
        "export": _export,
        "import": _import,
        "help": _help,
        "cmd_allowlist": lambda ctx, rest: _show(ctx, f"commands {rest}"),
        "cmd_allowlist_add": lambda ctx, rest: _allow(ctx, f"command {rest}"),
        "cmd_allowlist_remove": lambda ctx, rest: _remove(ctx, f"command {rest}"),
        "path_allowlist": lambda ctx, rest: _show(ctx, f"writes {rest}"),
        "path_allowlist_add": lambda ctx, rest: _allow(ctx, f"write {rest}"),
        "path_allowlist_remove": lambda ctx, rest: _remove(ctx, f"write {rest}"),
    }


def _done(ctx: CommandContext, change: Change) -> CommandResult:
    if change.op:
        emit_change(ctx.session, ctx.session.policy, change.op, change.list, change.entry)
    return CommandResult(change.outputs, data={"op": change.op, "list": change.list, "entry": change.entry})


async def _help(ctx: CommandContext, rest: str) -> CommandResult:
    return said(*(f"{form}\n    {what}" for form, what in USAGE))


async def _show(ctx: CommandContext, rest: str) -> CommandResult:
    usage = USAGE[0][0]
    names, flags = take_flags(words(rest, usage), ("--builtin",), usage)
    what = names[0] if names else "all"
    if what not in _LISTS or len(names) > 1:
        raise BadArguments(f"{rest!r} is no list. Usage: {usage}")
    risk = "on" if ctx.settings.risk.enabled else "off"
    confirm = "on" if ctx.session.agent.config.auto_confirm else "off"
    extra = f"auto_confirm {confirm} · risk assessment {risk}"
    hosts = ctx.session.agent.config.allowed_hosts
    kept = ctx.session.agent.workspace.protect.texts
    builtin = "--builtin" in flags
    outputs = policy_view.show(ctx.session.policy, what, builtin=builtin, extra=extra, hosts=hosts, kept=kept)
    state = {name: value for name, value in ctx.session.policy.to_json().items() if name != "log"}
    return CommandResult(outputs, data=state)


async def _allow(ctx: CommandContext, rest: str) -> CommandResult:
    kind, _, argument = rest.partition(" ")
    policy = ctx.session.policy
    if kind == "write":
        usage = USAGE[2][0]
        paths, flags = take_flags(words(argument, usage), ("--dir",), usage)
        if len(paths) != 1:
            raise BadArguments(f"One path is needed; put one with blanks into quotes. Usage: {usage}")
        workspace = ctx.session.agent.workspace
        return _done(ctx, policy_ops.allow_write(policy, paths[0], workspace, directory="--dir" in flags))
    if kind == "host":
        return _done(ctx, policy_hosts.allow_host(policy, argument.strip()))
    if kind != "command":
        raise BadArguments(f"/policy allow takes command, write or host first. Usage: {USAGE[1][0]}, or {USAGE[2][0]}")
    tokens = policy_ops.parse_command(argument, policy)
    from xun_policies.grants import is_wide

    shown = policy_view.command_text(tokens)
    if is_wide(tokens) and not await ctx.confirm(
        f"Let every command that begins with {shown} run unasked?",
        f"{shown} can change or send anything. A longer prefix, such as {shown} with a subcommand, is safer.",
    ):
        return said("Nothing granted.")
    return _done(ctx, policy_ops.allow_command(policy, tokens))


async def _remove(ctx: CommandContext, rest: str) -> CommandResult:
    kind, _, argument = rest.partition(" ")
    every = argument.endswith("--all")
    wanted = argument.removesuffix("--all").strip()
    policy = ctx.session.policy
    if kind == "command":
        return _done(ctx, policy_ops.remove_command(policy, wanted, every=every))
    if kind == "write":
        path = " ".join(words(wanted, USAGE[4][0]))
        return _done(ctx, policy_ops.remove_write(policy, path, ctx.session.agent.workspace, every=every))
    if kind == "host":
        return _done(ctx, policy_hosts.remove_host(policy, wanted, every=every))
    raise BadArguments(f"/policy remove takes command, write or host first. Usage: {USAGE[3][0]}, or {USAGE[4][0]}")


async def _reset(ctx: CommandContext, rest: str) -> CommandResult:
    usage = USAGE[5][0]
    names, flags = take_flags(words(rest, usage), ("--yes",), usage)
    what = names[0] if names else "all"
    if what not in _LISTS or len(names) > 1:
        raise BadArguments(f"{rest!r} is no list. Usage: {usage}")
    lines = policy_ops.going(ctx.session.policy, what)
    if lines and "--yes" not in flags and not await ctx.confirm("Take all of this back?", "\n".join(lines)):
        return said("Nothing changed.")
    return _done(ctx, policy_ops.reset(ctx.session.policy, what))


def scope_of(ctx: CommandContext) -> CommandScope:
    """Return where a command of this session would run."""
    import os

    from xun_builtin_tools.gate import command_scope
    from xun_policies.shell.environment import child_environment

    agent = ctx.session.agent
    child = child_environment(os.environ, {}, agent.config.command_env)
    return command_scope(agent, str(agent.workspace.workdir), child)


async def _test(ctx: CommandContext, rest: str) -> CommandResult:
    with_risk = rest == "--risk" or rest.startswith("--risk ")
    typed = rest.removeprefix("--risk").lstrip(" ") if with_risk else rest
    output, verdict = policy_ops.test(typed, ctx.session.policy, scope_of(ctx), width=ctx.columns)
    facts = verdict.to_json()
    if not with_risk:
        return CommandResult((output,), data=facts)
    assessed = await _assessed(ctx, verdict)
    return CommandResult((output, assessed), data={**facts, "risk": assessed.text})


async def _assessed(ctx: CommandContext, verdict: CommandVerdict) -> Output:
    from xun_builtin_tools.risk_agent import assess

    agent = ctx.session.agent
    model = agent.config.risk_model or agent.model
    if verdict.allowed:
        return text("risk: not asked, the list allows it. ALLOW")
    if not agent.config.risk_enabled or model is None or not getattr(model, "assesses_risk", True):
        return text("risk: no assessment here (switched off, or the model does none). ASK")
    risk = await assess(agent, model, verdict, scope_of(ctx))
    word = {"allow": "ALLOW", "unsure": "ASK", "reject": "ASK, with deny preselected"}[risk.verdict]
    failed = ", the assessment failed" if risk.failed else ""
    return text(f"risk: {risk.verdict}{failed} ({risk.seconds:.1f} s): {risk.reason}", f"so: {word}. Nothing was run.")


async def _test_write(ctx: CommandContext, rest: str) -> CommandResult:
    path = " ".join(words(rest, USAGE[8][0]))
    policy, workspace = ctx.session.policy, ctx.session.agent.workspace
    facts = policy_ops.write_facts(path, policy, workspace)
    return CommandResult((policy_ops.test_write(path, policy, workspace),), data=facts)


async def _log(ctx: CommandContext, rest: str) -> CommandResult:
    usage = next(form for form, _ in USAGE if form.startswith("/policy log"))
    count, session = policy_log.log_arguments(words(rest, usage), usage, ctx.session.id)
    own = session == ctx.session.id
    remembered = ctx.session.policy if own else None
    rows, note = await asyncio.to_thread(policy_log.decisions, ctx.places.audit_file, count, session, remembered)
    return CommandResult(policy_log.log_table(rows, note, every=not own), data=rows)


async def _undo(ctx: CommandContext, rest: str) -> CommandResult:
    return _done(ctx, policy_ops.undo(ctx.session.policy))


async def _export(ctx: CommandContext, rest: str) -> CommandResult:
    usage = USAGE[11][0]
    target, kind = policy_files.export_arguments(words(rest, usage), usage)
    path = file_argument(ctx.session.cwd, target)
    content = policy_files.export(ctx.session.policy, kind, ctx.session.agent.workspace.workdir)
    if path.exists() and not await ctx.confirm(f"Replace {path}?", "It exists."):
        return said("Nothing written.")
    await asyncio.to_thread(policy_files.write, path, content)
    return said(f"Wrote your entries to {path}.")


async def _import(ctx: CommandContext, rest: str) -> CommandResult:
    usage = USAGE[12][0]
    names, flags = take_flags(words(rest, usage), ("--merge", "--replace", "--dry-run"), usage)
    if len(names) != 1 or {"--merge", "--replace"} <= flags:
        raise BadArguments(f"One file is needed, and at most one of --merge and --replace. Usage: {usage}")
    workdir = ctx.session.agent.workspace.workdir
    path = file_argument(ctx.session.cwd, names[0])
    source = await asyncio.to_thread(policy_files.read, path, workdir)
    plan = policy_files.plan_import(ctx.session.policy, source, replacing="--replace" in flags)
    if not plan.lines:
        return said("The file holds nothing that is not in force already.")
    shown = text(*plan.lines)
    if "--dry-run" in flags:
        return CommandResult((shown, text("Nothing changed (--dry-run).")))
    if not await ctx.confirm(f"Take these entries from {names[0]}?", "\n".join(plan.lines)):
        return said("Nothing changed.")
    return _done(ctx, policy_files.apply_import(ctx.session.policy, plan))


def complete(ctx: CommandContext, typed: str) -> list[str]:
    """Complete the forms of ``/policy`` and the entries of the lists."""
    policy = ctx.session.policy
    fixed = {
        "allow ": ("command ", "write ", "host "),
        "remove ": ("command ", "write ", "host "),
        "show ": ("commands", "writes", "hosts", "all", "--builtin"),
        "reset ": ("commands", "writes", "hosts", "all"),
        "test ": ("--risk ",),
        "log ": ("--all", "--session "),
    }
    commands_now = [policy_view.command_text(entry.tokens) for entry in policy.command_allowlist]
    writes_now = [entry.path for entry in policy.write_allowlist]
    hosts_now = [entry.host for entry in policy.host_allowlist]
    lists = {"remove command ": commands_now, "remove write ": writes_now, "remove host ": hosts_now}
    lists |= {"cmd_allowlist_remove ": commands_now, "path_allowlist_remove ": writes_now}
    for head, options in (*lists.items(), *fixed.items()):
        if typed.startswith(head):
            rest = typed[len(head) :]
            found = [head + option for option in options if option.startswith(rest)]
            if found or head in lists:
                return found
    return [name for name in _forms() if name.startswith(typed) and name != "help"]
