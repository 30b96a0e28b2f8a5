"""The one composition root: options and settings in, a session out.

It imports what is heavy and reads files, so the inline front end runs it in a thread behind the
prompt that is drawn already.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.agent.agent import Agent
from xun.agent.config import AgentConfig
from xun.environment.tags import end_orphans
from xun.errors import ConfigError
from xun.events import Notice
from xun.tools.attr import tool_attr
from xun.tools.groups import USUAL
from xun.tools.toolbox import ToolBox
from xun_builtin_tools.edit.state import EditState
from xun_cli import system_prompt
from xun_cli._version import __version__
from xun_cli.attachments import ImageError, read_image
from xun_cli.event_log import hidden_keys, log_events
from xun_cli.extensions import Extensions
from xun_cli.log import configure_log
from xun_cli.model_choice import ModelChoice, at_local_server, build_model, choose_model
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.policy_setup import audit_trail, fill_commands, fill_writes
from xun_cli.sandboxing import notice, put_in_sandbox
from xun_cli.search_engine import search_config
from xun_cli.session.forking import fork_session
from xun_cli.session.lock import SessionError
from xun_cli.session.session import Session, shown_name
from xun_cli.session.store import SessionStore, find, latest
from xun_cli.session_hooks import SessionHooks
from xun_cli.settings import HookSettings
from xun_policies.policy_file import parse_toml
from xun_policies.store import PolicyState
from xun_policies.workspace import Workspace

if TYPE_CHECKING:
    from xun.models.base import ChatModel
    from xun_cli.session.envelope import Envelope
    from xun_cli.settings import Settings

DEFAULT_BASH_TIMEOUT = 120.0

SELDOM = (
    "datetime",
    "system_info",
    "sleep",
    "read_many_files",
    "file_info",
    "diff_files",
    "temp_dir",
    "request_image",
    "copy",
    "mkdir",
    "insert_lines",
    "undo_edit",
    "read_output",
    "agent_run_parallel",
    "agent_spawn",
    "agent_wait",
    "agent_list",
    "agent_resume",
)
"""Tools that are not in every request."""


@dataclass(slots=True)
class _Stored:
    """Where a session is kept, and what it held before."""

    store: SessionStore | None = None
    envelopes: list[Envelope] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    unsaved: str = ""


def build_session(options: StartOptions, settings: Settings, *, interactive: bool) -> Session:
    """Build the session of a start; blocking, and not for the event loop's thread.

    Raises:
        ConfigError: No model, a wrong setting, a file that can't be used; the text names the way out.
        SessionError: The session to resume can't be opened.
    """
    places = Places.from_environment()
    configure_log(places, debug=settings.log == "debug")
    # What a xun that was killed left running belongs to nobody any more.
    end_orphans()
    choice = choose_model(options, settings, interactive=interactive)
    model = _preloaded(build_model(choice, settings))
    agent, extensions = _agent(options, settings, places, model)
    instructions = functools.partial(_system_text, options, agent, places, settings.mode, interactive)
    agent.system(instructions())
    stored = _open_store(options, settings, places, agent)
    session = Session(
        agent,
        store=stored.store,
        model_name=shown_name(model),
        model_factory=functools.partial(_named_model, options, settings),
        max_steps=options.max_steps or settings.limits.steps or 512,
        schema=_schema(options),
        version=__version__,
    )
    session.instructions = instructions
    log_events(session, settings)
    if stored.store is not None:
        stored.store.hidden = hidden_keys(settings)
    agent.config.audit = audit_trail(places, settings, session.id)
    try:
        session.start(resumed=stored.envelopes, dropped=stored.dropped)
        _apply_policy(options, settings, session)
        for found in filter(None, (stored.unsaved, notice(agent))):
            session.emit(Notice(level="warning", text=found))
        extensions.attach(session, resumed=bool(stored.envelopes))
        _attach_images(options, session)
    except BaseException:
        if stored.store is not None:
            stored.store.close()
        agent.workspace.close()
        raise
    return session


def _agent(
    options: StartOptions, settings: Settings, places: Places, model: ChatModel
) -> tuple[Agent[Any], Extensions]:
    workspace = _workspace(options, settings)
    hooks = SessionHooks(HookSettings() if settings.safe else settings.hooks, options.cwd, settings.bash.shell)
    toolbox = build_toolbox(settings, hooks.make_child if hooks.any else None)
    extensions = Extensions.load(settings, places, toolbox, hooks, options.cwd)
    agent: Agent[Any] = Agent(model=model, toolbox=toolbox, workspace=workspace, config=_config(options, settings))
    agent.initialize()
    put_in_sandbox(agent, settings)
    hooks.guard(agent)
    return agent, extensions


def _attach_images(options: StartOptions, session: Session) -> None:
    try:
        for name in options.images:
            path = options.cwd / Path(os.path.expanduser(name))
            session.attach(read_image(path), path.name)
    except ImageError as exc:
        raise ConfigError(f"-i: {exc}") from None
    # They go with one message: another session of this process, as /clear begins it, has none.
    options.images.clear()


def _keep_undo(agent: Agent[Any], store: SessionStore) -> None:
    folder = store.path.with_suffix(".undo")
    try:
        EditState.of(agent).journal.persist_to(folder)
    except OSError as exc:
        store.close()
        raise SessionError(
            f"Can't keep what /undo needs in {folder}: {_cause(exc)}; free some space there, or start with --no-session"
        ) from None


def build_toolbox(settings: Settings, make_child: Callable[[Any], Any] | None = None) -> ToolBox:
    """Return the built-in tools as the settings want them; *make_child* makes the sub-agents."""
    groups = settings.tools.groups or USUAL
    box = ToolBox()
    if named := [group for group in groups if group != "agents"]:
        box.with_defaults(*named)
    if "framework" not in groups:
        from xun_builtin_tools.session_tools import tool_search

        box.register(tool_search)  # else nobody could find the tools for seldom work
    if "agents" in groups:
        box.with_subagent_provider(make_child)
    if settings.bash.timeout != DEFAULT_BASH_TIMEOUT and box.get("bash") is not None:
        from xun_builtin_tools.cmd.bash import bash

        changed = functools.partial(bash, timeout=settings.bash.timeout)
        box.register(tool_attr(override=True, sequential=True, expose="direct")(changed))
    # The everyday request stays small: these are found by tool_search, or run when the model names them.
    box.defer(*SELDOM)
    if importlib.util.find_spec("playwright") is None:
        # What could only answer that it is not installed need not be offered.
        box.disable("browser_*")
    box.disable(*settings.tools.disable)
    return box


def _workspace(options: StartOptions, settings: Settings) -> Workspace:
    extra = [*settings.workspace.add_dirs, *options.add_dirs]
    try:
        return Workspace(
            options.cwd,
            add_dirs=[Path(os.path.expanduser(folder)) for folder in extra],
            protect=settings.policy.writes.exclude,
            ignore=settings.workspace.ignore,
        )
    except (OSError, ValueError) as exc:
        raise ConfigError(f"The folder can't be used as a workspace: {exc}") from None


def _config(options: StartOptions, settings: Settings) -> AgentConfig:
    return AgentConfig(
        auto_confirm=options.auto_confirm or settings.auto_confirm,
        retry_attempts=settings.provider.retries + 1,
        max_cost_usd=options.max_cost or settings.limits.cost_usd or None,
        max_seconds=options.timeout,
        risk_enabled=settings.risk.enabled,
        risk_model=_other_model(options, settings, settings.risk.model),
        risk_timeout=settings.risk.timeout,
        risk_on_error="reject" if settings.risk.on_error == "reject" else "unsure",
        command_output=settings.bash.output_limit,
        command_env=tuple(settings.bash.env_keep),
        allowed_hosts=tuple(settings.tools.allowed_hosts),
        check_writes=settings.tools.check_writes,
        undo_bytes=undo_bytes(settings),
        **search_config(settings),
        compact_at_pct=settings.compact.at_pct if settings.compact.auto else 0,
        images_need_vision=True,
        max_equal_steps=settings.limits.equal_steps,
        max_failed_steps=settings.limits.failed_steps,
        compact_model=_other_model(options, settings, settings.compact.model),
    )


def undo_bytes(settings: Settings) -> int:
    """Return how many bytes of replaced content a session keeps; 0 for none."""
    return settings.session.snapshot_max_mb * 1_000_000 if settings.session.snapshot else 0


def _other_model(options: StartOptions, settings: Settings, name: str) -> ChatModel | None:
    """Return the model *name* of the session's server, for work beside the conversation; None for the session's own."""
    choice = choose_model(options, settings, interactive=True)
    if not name or choice.kind != "openai":
        return None
    return build_model(ModelChoice("openai", name, choice.base_url, choice.key_source), settings)


def _named_model(options: StartOptions, settings: Settings, name: str) -> ChatModel:
    import dataclasses

    changed = dataclasses.replace(settings, model=name)
    asked = dataclasses.replace(options, model=name, demo=name == "demo")
    try:
        choice = choose_model(asked, changed, interactive=True)
    except ConfigError:
        from xun.models.catalog import probe_loopback

        local = at_local_server(changed, name, probe_loopback())
        if local is None:
            raise
        changed, choice = local, choose_model(asked, local, interactive=True)
    return _preloaded(build_model(choice, changed))


def _preloaded(model: ChatModel) -> ChatModel:
    """Return *model* with what it needs imported, where it knows how to."""
    preload = getattr(model, "preload", None)
    if preload is not None:
        preload()
    return model


def _system_text(options: StartOptions, agent: Agent[Any], places: Places, mode: str, interactive: bool) -> str:
    names = {tool.name for tool in agent.toolbox.list_tools()}
    return system_prompt.system_prompt(
        options.cwd,
        config_dir=places.config,
        tools=names,
        add_dirs=agent.workspace.add_dirs,
        mode=options.mode or mode,
        headless=not interactive,
    )


def _open_store(options: StartOptions, settings: Settings, places: Places, agent: Agent[Any]) -> _Stored:
    wanted = options.resume is not None or options.continue_
    if not wanted:
        if not settings.session.save or options.no_session:
            return _Stored()
        try:
            store = SessionStore.create(places, options.cwd)
            _keep_undo(agent, store)
        except SessionError as exc:
            # Without a home, or without room there, the work itself is still possible.
            return _Stored(unsaved=f"This session is not saved. {exc}")
        return _Stored(store)
    if options.continue_:
        info = latest(places, options.cwd)
        if info is None:
            raise ConfigError(f"There is no session of {options.cwd} to go on with; start one without --continue.")
    else:
        info = find(places, options.cwd, options.resume or "")
    path = fork_session(info.path, places, options.cwd).path if options.fork else info.path
    store = SessionStore.open(path)
    _keep_undo(agent, store)
    loaded = store.load()
    return _Stored(store, loaded.envelopes, loaded.dropped)


def _apply_policy(options: StartOptions, settings: Settings, session: Session) -> None:
    """Add what flags and settings allow, and set the mode; a resumed session keeps what it had."""
    policy = session.policy
    fill_commands(policy, settings, options.allow_command)
    fill_writes(policy, settings, session.agent.workspace, options.allow_write)
    if options.policy_file:
        _import(policy, Path(options.policy_file), str(session.cwd))
    mode = options.mode or ("" if session.history()[:-1] else settings.mode)
    if mode:
        policy.mode = mode


def _import(policy: PolicyState, path: Path, base: str) -> None:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"The policy file {path} can't be read: {_cause(exc)}.") from None
    read = parse_toml(text, base)
    policy.replace_lists(
        (*policy.command_allowlist, *read.commands),
        (*policy.write_allowlist, *read.writes),
        policy.excluded | set(read.excluded),
        (*policy.host_allowlist, *read.hosts),
    )


def _cause(error: OSError | ValueError) -> str:
    """Return what went wrong without the error's number and the path that the sentence names already."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _schema(options: StartOptions) -> Any:
    if not options.schema_file:
        return None
    try:
        schema = json.loads(Path(options.schema_file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"The schema file {options.schema_file} can't be read: {_cause(exc)}.") from None
    if not isinstance(schema, dict):
        raise ConfigError(f"The schema file {options.schema_file} must hold a JSON object.")
    return schema
