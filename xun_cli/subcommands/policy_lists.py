"""``xun policy show``, ``export``, ``import`` and ``test-write``: the lists of a new or a saved session."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from xun.errors import ConfigError, XunError
from xun.events import PolicyChanged
from xun_cli.commands import policy_files, policy_ops, policy_view
from xun_cli.commands.policy_change import Change
from xun_cli.config import load_settings
from xun_cli.config_write import set_value
from xun_cli.exit_codes import NOT_CONFIGURED
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.policy_setup import fill_commands, fill_writes
from xun_cli.render.safe import safe
from xun_cli.session.envelope import Envelope
from xun_cli.session.rewinding import live
from xun_cli.session.store import SessionError, SessionStore, find, read_session
from xun_cli.session.tool_state import stored_policy
from xun_cli.settings import Settings
from xun_cli.subcommands.common import Parser, add_folder, fail, print_json, print_outputs, print_text
from xun_policies.grants import join_words
from xun_policies.store import PolicyState
from xun_policies.workspace import Workspace

COMMAND = "xun policy"


@dataclass(slots=True)
class Target:
    """What a command works on: the permissions of a new session, or of a stored one."""

    places: Places
    settings: Settings
    workspace: Workspace
    state: PolicyState
    session: Path | None


def run(word: str, argv: list[str]) -> int:
    """Run one of these words of ``xun policy`` with the arguments after it."""
    parser = Parser(prog=f"{COMMAND} {word}")
    add_folder(parser)
    parser.add_argument("-s", "--session", metavar="ID", help="of a saved session (default: of a new one)")
    if word == "show":
        parser.add_argument("what", nargs="?", choices=("commands", "writes", "hosts", "all"), default="all")
        parser.add_argument("--builtin", action="store_true", help="with the built-in prefixes (default: their number)")
        parser.add_argument("--json", action="store_true", help="as JSON (default: off)")
    elif word == "export":
        parser.add_argument("file", nargs="?", default="-", metavar="FILE", help="(default: standard output)")
        parser.add_argument("--format", choices=("toml", "json"), help="(default: by the file's ending, else toml)")
    elif word == "import":
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--dry-run", action="store_true", help="only show what would change (default: off)")
        parser.add_argument("--replace", action="store_true", help="what FILE lacks goes (default: it stays)")
        parser.add_argument("--yes", action="store_true", help="do not ask (default: asks)")
    else:
        parser.add_argument("path", metavar="PATH")
    found = parser.parse_args(argv)
    try:
        target = target_of(found)
        try:
            return _WORDS[word](found, target)
        finally:
            target.workspace.close()
    except ConfigError as error:
        return fail(COMMAND, error, NOT_CONFIGURED)
    except (XunError, ValueError, OSError) as error:
        return fail(COMMAND, error)


def target_of(found: Namespace) -> Target:
    """Return the permissions that the folder and the session of *found* name.

    Raises:
        ConfigError: A setting is wrong.
        SessionError: There is no such session.
    """
    places = Places.from_environment()
    settings = load_settings(places, StartOptions(cwd=found.folder))
    folders = [Path(os.path.expanduser(folder)) for folder in settings.workspace.add_dirs]
    workspace = Workspace(found.folder, add_dirs=folders, protect=settings.policy.writes.exclude)
    state, session = PolicyState(), None
    if found.session:
        session = find(places, found.folder, found.session).path
        kept, problems = stored_policy(item.event for item in live(read_session(session).envelopes))
        if problems:
            raise SessionError(f"The session {found.session} can't be used: {problems[0]}")
        state = kept or state
    else:
        fill_commands(state, settings)
        fill_writes(state, settings, workspace)
        state.mode = settings.mode
    return Target(places, settings, workspace, state, session)


def _show(found: Namespace, target: Target) -> int:
    if found.json:
        print_json(target.state.to_json(), indent=2)
        return 0
    hosts = () if target.session else target.settings.tools.allowed_hosts
    kept = target.workspace.protect.texts
    print_outputs(policy_view.show(target.state, found.what, builtin=found.builtin, hosts=hosts, kept=kept))
    return 0


def _export(found: Namespace, target: Target) -> int:
    form: policy_files.Kind = found.format or ("json" if found.file.endswith(".json") else "toml")
    content = policy_files.export(target.state, form, Path(target.workspace.workdir))
    if found.file == "-":
        sys.stdout.write(safe(content) if sys.stdout.isatty() else content)
        return 0
    path = Path(os.path.expanduser(found.file)).absolute()
    policy_files.write(path, content)
    print_text(f"Wrote {path}.")
    return 0


def _import(found: Namespace, target: Target) -> int:
    source = policy_files.read(Path(os.path.expanduser(found.file)).absolute(), Path(target.workspace.workdir))
    plan = policy_files.plan_import(target.state, source, replacing=found.replace)
    if not plan.lines:
        print_text("Nothing would change.")
        return 0
    for line in plan.lines:
        print_text(line)
    where = f"session {target.session.stem}" if target.session else str(target.places.config_file)
    if found.dry_run:
        print_text(f"Nothing is changed (--dry-run); it would go into {where}.")
        return 0
    if not found.yes and not agreed(f"Take this into {where}? [y/N] "):
        return fail(COMMAND, "nothing is changed; add --yes where nobody can answer")
    if target.session is not None:
        _into_session(target.session, target.state, plan)
    else:
        _into_settings(target, plan)
    print_text(f"Taken into {where}.")
    return 0


def agreed(question: str) -> bool:
    """Ask on the terminal; no where there is none."""
    if not sys.stdin.isatty():
        return False
    return input(question).strip().lower() in ("y", "yes")


def _into_session(path: Path, state: PolicyState, plan: policy_files.ImportPlan) -> None:
    record_change(path, state, policy_files.apply_import(state, plan), "import")


def record_change(path: Path, state: PolicyState, change: Change, source: str) -> None:
    """Append *change*, after which the policy is *state*, to the session stored at *path*.

    Raises:
        SessionError: Another xun has it open, or it can't be written.
    """
    store = SessionStore.open(path)
    try:
        seq = max((item.seq for item in store.load().envelopes), default=0) + 1
        event = PolicyChanged(op=change.op, list=change.list, entry=change.entry, source=source, state=state.to_json())
        stamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        store.append(Envelope(seq, stamp, store.id, None, event))
    finally:
        store.close()


def _into_settings(target: Target, plan: policy_files.ImportPlan) -> None:
    path = target.places.config_file
    exact = [entry.text for entry in plan.commands if entry.exact]
    if exact:
        raise ConfigError(
            f"Settings hold prefixes only, and these grants are for one exact command: {'; '.join(exact[:3])}. "
            "Take them into a session with -s, or remove them from the file"
        )
    set_value(path, "policy.commands.allow", [join_words(entry.tokens) for entry in plan.commands])
    set_value(path, "policy.commands.exclude", sorted(plan.excluded))
    set_value(path, "policy.writes.allow", [entry.path for entry in plan.writes])
    if plan.hosts:
        hosts = [*target.settings.tools.allowed_hosts, *(entry.host for entry in plan.hosts)]
        set_value(path, "tools.allowed_hosts", list(dict.fromkeys(hosts)))


def _test_write(found: Namespace, target: Target) -> int:
    path = os.path.join(target.workspace.workdir, os.path.expanduser(found.path))
    print_outputs([policy_ops.test_write(path, target.state, target.workspace)])
    return 0


_WORDS: dict[str, Callable[[Namespace, Target], int]] = {
    "show": _show,
    "export": _export,
    "import": _import,
    "test-write": _test_write,
}
