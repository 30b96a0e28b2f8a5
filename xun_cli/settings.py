"""Settings as data: every key, its type, its default. Read by `xun_cli.config`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xun_cli.keys import Credentials


@dataclass(slots=True)
class ProviderSettings:
    """``[provider]``: where the model is.

    Attributes:
        base_url: Of an OpenAI-compatible server; "" means OpenAI's own.
        api_key_env: The variable that holds the key; "" means XUN_API_KEY, then OPENAI_API_KEY.
        kind: What the server speaks: openai, which is chat completions; xun speaks nothing else.
        headers: Sent with each request.
        timeout: Seconds without any progress until a request counts as failed.
        retries: How often a failed request is made again.
        context_window: The model's size in tokens; 0 when unknown.
    """

    base_url: str = ""
    api_key_env: str = ""
    kind: str = "openai"
    headers: dict[str, str] = field(default_factory=dict)
    timeout: float = 120.0
    retries: int = 4
    context_window: int = 0


@dataclass(slots=True)
class WorkspaceSettings:
    """``[workspace]``: more folders for the tools, and what they leave out.

    Attributes:
        add_dirs: Folders that tools may enter besides the one that xun starts in.
        ignore: Patterns as in a .gitignore for what lists, searches and completion leave out.
    """

    add_dirs: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CommandListSettings:
    """``[policy.commands]``: prefixes that run unasked, built-in prefixes that don't."""

    allow: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)


@dataclass(slots=True)
class WriteListSettings:
    """``[policy.writes]``: paths that are written unasked, and patterns for those that never are.

    Attributes:
        allow: Files, and folders with all below them.
        exclude: Patterns as in a .gitignore; a write there asks each time, and no grant and no mode covers it.
    """

    allow: list[str] = field(default_factory=list)
    exclude: list[str] = field(default_factory=list)


@dataclass(slots=True)
class PolicySettings:
    """``[policy]``: what runs and what is written unasked."""

    commands: CommandListSettings = field(default_factory=CommandListSettings)
    writes: WriteListSettings = field(default_factory=WriteListSettings)


@dataclass(slots=True)
class RiskSettings:
    """``[risk]``: the assessment of commands that no list allows.

    Attributes:
        enabled: Ask the assessor before the person.
        model: Its model; "" means the session's.
        timeout: Seconds until it counts as failed.
        on_error: What an assessment that failed counts as: unsure (a person is asked) or reject.
    """

    enabled: bool = True
    model: str = ""
    timeout: float = 30.0
    on_error: str = "unsure"


@dataclass(slots=True)
class BashSettings:
    """``[bash]``: how commands run.

    Attributes:
        timeout: Seconds, where the model names none.
        output_limit: Characters of each output, stdout and stderr, that the model gets.
        shell: The absolute path of another bash, of version 4 or newer; "" for /bin/bash.
        env_keep: Names of variables that commands see although they look like secrets.
    """

    timeout: float = 120.0
    output_limit: int = 30_000
    shell: str = ""
    env_keep: list[str] = field(default_factory=list)


@dataclass(slots=True)
class SandboxSettings:
    """``[sandbox]``: the wall around commands.

    Attributes:
        mode: auto takes the best wall that there is, required runs nothing without one, off wants none.
        network: All commands have the network; else only approved ones.
        writable: More folders that commands may write to, such as caches.
    """

    mode: str = "auto"
    network: bool = False
    writable: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ToolSettings:
    """``[tools]``: which tools there are, and what they may do unasked.

    Attributes:
        groups: The groups of built-in tools that there are; empty for all of the usual ones.
        disable: Names or patterns of tools that are switched off.
        allowed_hosts: Hosts that are fetched from without a question.
        check_writes: A write tells the model when the file does not parse any more.
    """

    groups: list[str] = field(default_factory=list)
    disable: list[str] = field(default_factory=list)
    allowed_hosts: list[str] = field(default_factory=list)
    check_writes: bool = True


@dataclass(slots=True)
class SearchSettings:
    """``[search]``: who answers ``web_search``.

    Attributes:
        engine: searxng, serper, brave, tavily or exa; "" for the first that has a key or URL.
        url: The search URL of a SearXNG server, or another place of the engine; "" for its own.
        api_key_env: The variable that holds the engine's key; "" for its usual one.
    """

    engine: str = ""
    url: str = ""
    api_key_env: str = ""


@dataclass(slots=True)
class UiSettings:
    """``[ui]``: the front end.

    Attributes:
        mode: inline, full (the whole terminal) or plain.
        editing: emacs or vi.
        animations: Spinners move.
        screen_reader: Never move the cursor, print each line once.
        notify: auto, bell, osc9 or off: how a wait for you is announced.
        notify_when: unfocused or always.
        title: The title of the window or tab says what the session does.
        progress: auto, on or off: whether the tab shows that xun works; auto: in terminals that are known to draw it.
        status_command: A line for bash that gets the session's facts as JSON and prints the status line; "" for none.
        paste_fold_lines: A paste of more lines is shown folded.
        paste_fold_chars: A paste of more characters is shown folded.
        hints: Show hints.
        copy_on_select: Text that is selected with the mouse goes to the clipboard (full screen).
        max_mounted: Messages that are kept drawn; older ones come back when you scroll up (full screen).
        theme: default, light-safe, high-contrast or mono; all of them use the terminal's own 16 colours.
        diff: auto, unified or split: how the diff of a question is shown first; auto: side by side on the whole screen.
        diff_split_min: Columns from which a diff can be shown side by side.
    """

    mode: str = "inline"
    editing: str = "emacs"
    animations: bool = True
    screen_reader: bool = False
    notify: str = "auto"
    notify_when: str = "unfocused"
    title: bool = True
    progress: str = "auto"
    status_command: str = ""
    paste_fold_lines: int = 15
    paste_fold_chars: int = 1000
    hints: bool = True
    copy_on_select: bool = True
    max_mounted: int = 200
    theme: str = "default"
    diff: str = "auto"
    diff_split_min: int = 140


@dataclass(slots=True)
class SessionSettings:
    """``[session]``: what is kept.

    Attributes:
        save: Store sessions.
        keep_days: Sessions that were not used for longer are deleted at a start; 0 keeps all.
        snapshot: Keep what a tool's write replaces, so that it can be undone.
        snapshot_max_mb: Megabytes of that which one session keeps; the oldest goes first.
    """

    save: bool = True
    keep_days: int = 30
    snapshot: bool = True
    snapshot_max_mb: int = 50


@dataclass(slots=True)
class CompactSettings:
    """``[compact]``: summing up older messages.

    Attributes:
        auto: Do it before the model's window is full.
        at_pct: How full the window may be, in percent.
        model: The model that sums up; "" means the session's.
    """

    auto: bool = True
    at_pct: int = 85
    model: str = ""


@dataclass(slots=True)
class HookSettings:
    """``[hooks]``: commands that run at points of a session, each a line for bash.

    Attributes:
        session_start: When a session begins or goes on.
        before_tool: Before each tool call; one that does not end with exit code 0 denies it.
        after_tool: After each tool call; what one that fails prints goes to the model.
        turn_end: When a turn is over.
        session_end: When the session is closed.
        timeout: Seconds that one may take.
    """

    session_start: list[str] = field(default_factory=list)
    before_tool: list[str] = field(default_factory=list)
    after_tool: list[str] = field(default_factory=list)
    turn_end: list[str] = field(default_factory=list)
    session_end: list[str] = field(default_factory=list)
    timeout: float = 10.0


@dataclass(slots=True)
class McpSettings:
    """``[mcp]``: servers of the Model Context Protocol, each in a table ``[mcp.servers.NAME]``.

    Attributes:
        servers: By name: command and args, or url; env, headers, cwd, timeout, enabled.
    """

    servers: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class LimitSettings:
    """``[limits]``: the most that a turn or session may use; 0 means no limit.

    Attributes:
        steps: Model requests of one turn.
        cost_usd: US dollars of one session, where prices are known.
        equal_steps: Equal steps in a row after which you are asked whether the model may go on.
        failed_steps: Steps in a row all of whose calls failed after which you are asked.
    """

    steps: int = 512
    cost_usd: float = 0.0
    equal_steps: int = 3
    failed_steps: int = 5


@dataclass(slots=True)
class UpdateSettings:
    """``[update]``: nothing but the word that xun looks for no newer version of itself.

    Attributes:
        check: false; there is no other value (docs/adr/0023).
    """

    check: bool = False


@dataclass(slots=True)
class Settings:
    """Every setting, after all layers.

    Attributes:
        model: The model's name; "" means: ask the server for its first.
        mode: ask, plan or auto-edit.
        auto_confirm: Answer ordinary questions with their default.
        telemetry: false; there is no other value, since xun tells nobody what you do.
        keys: Key bindings: the name of an action to its keys; an empty list unbinds.
        profile: The profile that was chosen, or "".
        log: debug, or "" for no log.
        origins: Where each value comes from, by dotted key; missing means built in.
        warnings: What the user should know: unknown keys, ignored project settings.
        safe: Nothing of the project's own is used, and no hook and no MCP server runs.
        credentials: The keys of this process; never shown.
    """

    model: str = ""
    mode: str = "ask"
    auto_confirm: bool = False
    telemetry: bool = False
    provider: ProviderSettings = field(default_factory=ProviderSettings)
    workspace: WorkspaceSettings = field(default_factory=WorkspaceSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    risk: RiskSettings = field(default_factory=RiskSettings)
    bash: BashSettings = field(default_factory=BashSettings)
    sandbox: SandboxSettings = field(default_factory=SandboxSettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    ui: UiSettings = field(default_factory=UiSettings)
    session: SessionSettings = field(default_factory=SessionSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    compact: CompactSettings = field(default_factory=CompactSettings)
    hooks: HookSettings = field(default_factory=HookSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    update: UpdateSettings = field(default_factory=UpdateSettings)
    keys: dict[str, list[str]] = field(default_factory=dict)
    profile: str = ""
    log: str = ""
    origins: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    safe: bool = False
    credentials: Credentials | None = field(default=None, repr=False)

    def get(self, key: str) -> Any:
        """Return the value of a dotted key.

        Raises:
            KeyError: There is no such key.
        """
        value: Any = self
        for part in key.split("."):
            if not (dataclasses.is_dataclass(value) and part in {f.name for f in dataclasses.fields(value)}):
                raise KeyError(key)
            value = getattr(value, part)
        if dataclasses.is_dataclass(value) or key in NOT_KEYS:
            raise KeyError(key)
        return value

    def put(self, key: str, value: Any, origin: str) -> None:
        """Set the value of a dotted key, checked before by `xun_cli.config.check_value`."""
        *parts, last = key.split(".")
        at: Any = self
        for part in parts:
            at = getattr(at, part)
        setattr(at, last, value)
        self.origins[key] = origin


NOT_KEYS = frozenset({"credentials", "log", "origins", "profile", "safe", "warnings"})
"""Attributes of `Settings` that no file sets."""


def displayed(key: str, value: Any) -> Any:
    """Return *value* as a person may see it: headers and variables often hold a token, so their values are masked."""
    if key == "provider.headers":
        return dict.fromkeys(value, "***")
    if key == "mcp.servers":
        return {name: {key: _masked(key, item) for key, item in entry.items()} for name, entry in value.items()}
    return value


def _masked(key: str, value: Any) -> Any:
    return dict.fromkeys(value, "***") if key in ("env", "headers") and isinstance(value, dict) else value


CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("ask", "plan", "auto-edit"),
    "risk.on_error": ("unsure", "reject"),
    "ui.mode": ("inline", "full", "plain"),
    "sandbox.mode": ("auto", "required", "off"),
    "search.engine": ("", "searxng", "serper", "brave", "tavily", "exa"),
    "ui.editing": ("emacs", "vi"),
    "ui.notify": ("auto", "bell", "osc9", "off"),
    "ui.notify_when": ("unfocused", "always"),
    "ui.progress": ("auto", "on", "off"),
    "ui.theme": ("default", "light-safe", "high-contrast", "mono"),
    "ui.diff": ("auto", "unified", "split"),
}
"""The values that a text setting may have, where they are limited."""

FIXED: dict[str, tuple[Any, str]] = {
    "provider.kind": (
        "openai",
        "xun speaks the chat completions of OpenAI-compatible servers only; provider.base_url names the server",
    ),
    "telemetry": (False, "xun tells nobody what you do, and has nothing to switch on"),
    "update.check": (False, "xun has no place to ask for newer versions of itself"),
}
"""Settings with one value, which is there to be written down, and why there is no other."""


def all_keys() -> dict[str, tuple[str, Any]]:
    """Return every dotted key with its type as written and its default."""
    return dict(_walk(Settings(), ""))


def _walk(section: Any, prefix: str) -> Iterator[tuple[str, tuple[str, Any]]]:
    for item in dataclasses.fields(section):
        value = getattr(section, item.name)
        if dataclasses.is_dataclass(value):
            yield from _walk(value, f"{prefix}{item.name}.")
        elif prefix or item.name not in NOT_KEYS:
            yield prefix + item.name, (str(item.type), value)
