"""The tool diagnostics: what a language server says of the files that were edited."""

from __future__ import annotations

import os
import shlex
import shutil
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xun.environment.base import EnvironmentUnusable
from xun.environment.confinement import in_view
from xun.errors import ToolError
from xun.tools.attr import tool_attr
from xun.tools.context import ToolCallContext
from xun_builtin_tools import gate
from xun_builtin_tools.diagnostic.after_write import KEY
from xun_builtin_tools.diagnostic.server import Finding, LanguageServer, worst_first
from xun_builtin_tools.diagnostic.watching import Look
from xun_builtin_tools.edit.changes import read_state
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.programs import find_checker
from xun_policies.errors import PathOutsideWorkspace
from xun_policies.paths.names import shown_name
from xun_policies.shell.environment import child_environment

if TYPE_CHECKING:
    from xun.agent.agent import Agent

SERVERS = (("basedpyright-langserver", "--stdio"), ("pyright-langserver", "--stdio"), ("pylsp",))
"""The language servers for Python that are looked for, in this order, with their arguments."""

MAX_FILES = 20
"""Files that one call looks at."""

MAX_FINDINGS = 50
"""Findings that one call gives back."""

MAX_SECONDS = 120.0
_SIZE_LIMIT = 2_000_000
_MESSAGE = 300
_ENDINGS = (".py", ".pyi")
_HERE = ("local", "sandbox", "bubblewrap")
_PYRIGHT = {"diagnosticMode": "openFilesOnly", "typeCheckingMode": "basic", "useLibraryCodeForTypes": True}
_OFF = {"enabled": False}
SETTINGS: Mapping[str, Any] = {
    "python": {"analysis": _PYRIGHT},
    "basedpyright": {"analysis": _PYRIGHT},
    # Mistakes, no matters of style; what runs code of the project's settings stays off.
    "pylsp": {
        "plugins": dict.fromkeys(("pycodestyle", "pydocstyle", "mccabe", "pylint", "flake8", "autopep8", "yapf"), _OFF)
        | {"pyflakes": {"enabled": True}}
    },
}
"""What the servers are told when they ask for their settings."""


@tool_attr(
    sequential=True,
    deferred=True,
    search_hint="language server lsp pyright pylsp type errors check problems after edit undefined import",
)
def diagnostics(ctx: ToolCallContext[Any], paths: list[str] | None = None, timeout: float = 20) -> dict[str, Any]:
    """Return the errors and warnings that a Python language server finds in files.

    paths are the files; without it those that were written since the last call. It needs basedpyright, pyright or
    pylsp installed outside the workspace; its start is asked for as that of a command, once for a session. timeout is
    in seconds.

    Returns server, files (with the number of findings of each, null when the server did not finish) and findings, the
    errors first, with new=true where a file did not have them at the call before."""
    if not 0 < timeout <= MAX_SECONDS:
        raise ToolError(f"timeout must be above 0 and at most {MAX_SECONDS:g} seconds, got {timeout:g}.")
    session = LanguageSession.of(ctx.agent)
    with session.lock:
        wanted = session.edited() if paths is None else list(dict.fromkeys(paths))
        texts, skipped = _texts(ctx, wanted)
        if not texts:
            why = f" {'; '.join(skipped)}." if skipped else ""
            raise ToolError(f"There is no Python file to look at.{why} Name files in paths.")
        server = session.server(ctx)
        session.tell_of_disk(ctx, server)
        said = server.findings(texts, timeout, ctx.check_cancel)
        value = _value(server.name, said, session.before, skipped)
        session.before.update({path: frozenset(map(_gist, rows)) for path, rows in said.items() if rows is not None})
        session.seen = session.latest()
    return value


@dataclass(slots=True)
class LanguageSession:
    """The server of one agent, and what was asked before.

    Attributes:
        agent: Whose it is.
        seen: The number of the last write that was looked at.
        before: What was found in each file at the call before.
        lock: Is held while the server is asked.
        running: The server; None when there is none.
        look: What the server knows to be on disk.
    """

    agent: Agent[Any]
    seen: int = 0
    before: dict[str, frozenset[tuple[str, str, str]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: LanguageServer | None = None
    look: Look | None = None

    @classmethod
    def of(cls, agent: Agent[Any]) -> LanguageSession:
        """Return that of *agent*."""
        found = agent.state.get(KEY)
        if isinstance(found, LanguageSession) and found.agent is agent:
            return found
        made = agent.state[KEY] = cls(agent)
        agent.hooks.before_finalize.add(made.end)
        return made

    def latest(self) -> int:
        """Return the number of the last call that wrote."""
        entries = EditState.of(self.agent).journal.entries
        return entries[-1].number if entries else 0

    def edited(self) -> list[str]:
        """Return the Python files that were written since the last call, the latest first."""
        entries = [entry for entry in EditState.of(self.agent).journal.entries if entry.number > self.seen]
        paths = dict.fromkeys(path for entry in reversed(entries) for path in entry.paths)
        return [path for path in paths if path.endswith(_ENDINGS) and os.path.isfile(path)]

    def server(self, ctx: ToolCallContext[Any]) -> LanguageServer:
        """Return the server, started when there is none.

        Raises:
            ToolError: There is none to start, or it does not begin.
            Denied: It may not be started.
        """
        if self.running is not None and self.running.alive:
            return self.running
        self.stop()
        server = _start(ctx)
        try:
            server.begin(ctx.check_cancel)
        except BaseException:
            server.end()
            raise
        self.running, self.look = server, None
        return server

    def tell_of_disk(self, ctx: ToolCallContext[Any], server: LanguageServer) -> None:
        """Tell the server what changed on disk since it was told last, by commands and other programs too.

        Raises:
            ToolError: It ended.
        """

        def text(path: str) -> str | None:
            return _texts(ctx, [path])[0].get(path)

        opened = server.opened
        look = Look.at(str(self.agent.workspace.workdir), opened)
        if self.look is not None:
            server.disk_changed(look.since(self.look, opened), text)
        self.look = look

    def stop(self) -> None:
        """End the server."""
        server, self.running = self.running, None
        if server is not None:
            server.end()

    def end(self, agent: Agent[Any]) -> None:
        """End with the agent."""
        if agent is self.agent:
            self.stop()
            agent.state.pop(KEY, None)
            agent.hooks.before_finalize.remove(self.end)


def _start(ctx: ToolCallContext[Any]) -> LanguageServer:
    agent = ctx.agent
    if agent.environment.name not in _HERE:
        raise ToolError(f"Language servers run on this machine only, and this agent works in {agent.environment.name}.")
    program, arguments = _find(ctx)
    folder = str(agent.workspace.workdir)
    approved = gate.command(ctx, shlex.join([_called(ctx, program), *arguments]), folder)
    place = in_view(agent.environment, approved.confinement.view)
    try:
        process = place.spawn(approved.text, cwd=approved.cwd, env=approved.environment, stdin=True)
    except (OSError, ValueError, EnvironmentUnusable) as exc:
        raise ToolError(f"{program} could not be started: {exc}") from exc
    return LanguageServer(process, os.path.basename(program), folder, SETTINGS)


def _called(ctx: ToolCallContext[Any], program: str) -> str:
    """Return the name of a program where bash finds this very one by it, so that a grant for the name holds."""
    name = os.path.basename(program)
    path = child_environment(os.environ, {}, ctx.agent.config.command_env).get("PATH", "")
    found = shutil.which(name, path=os.pathsep.join(part for part in path.split(os.pathsep) if os.path.isabs(part)))
    absolute = all(os.path.isabs(part) for part in path.split(os.pathsep))
    return name if absolute and found is not None and os.path.realpath(found) == program else program


def _find(ctx: ToolCallContext[Any]) -> tuple[str, tuple[str, ...]]:
    workspace = ctx.agent.workspace

    for name, *arguments in SERVERS:
        found = find_checker(name, workspace.roots)
        if found is not None:
            return found, tuple(arguments)
    for name, *_ in SERVERS:
        for folder in (".venv", "venv"):
            own = workspace.workdir / folder / "bin" / name
            if own.exists():
                raise ToolError(
                    f"{own} is a program of the workspace, and such a program is never started; a person can install "
                    "one outside of it, for example with pipx install python-lsp-server."
                )
    names = ", ".join(name for name, *_ in SERVERS)
    raise ToolError(
        f"No language server was found on PATH outside the workspace ({names}); a person can install one, for example "
        "with pipx install python-lsp-server."
    )


def _texts(ctx: ToolCallContext[Any], paths: list[str]) -> tuple[dict[str, str], list[str]]:
    """Return the texts of files by absolute path, and why others are left out."""
    workspace = ctx.agent.workspace
    texts: dict[str, str] = {}
    skipped = []
    for path in paths[:MAX_FILES]:
        try:
            resolved = workspace.resolve(path)
        except PathOutsideWorkspace as exc:
            skipped.append(str(exc).rstrip("."))
            continue
        if not resolved.path.name.endswith(_ENDINGS):
            skipped.append(f"{resolved.display} is no Python file")
            continue
        state = read_state(workspace, resolved, keep=_SIZE_LIMIT)
        if state.kind != "file" or state.data is None:
            skipped.append(f"{resolved.display} is no file of at most {_SIZE_LIMIT:,} bytes")
        else:
            texts[str(resolved.path)] = state.data.decode("utf-8-sig", "replace")
    if len(paths) > MAX_FILES:
        skipped.append(f"{len(paths) - MAX_FILES} more files: name fewer")
    return texts, skipped


def _gist(finding: Finding) -> tuple[str, str, str]:
    # Without the place: what stood in the file before may stand elsewhere now.
    return finding.severity, finding.code, finding.message


def _value(
    name: str,
    said: dict[str, tuple[Finding, ...] | None],
    before: dict[str, frozenset[tuple[str, str, str]]],
    skipped: list[str],
) -> dict[str, Any]:
    rows = [
        (item, path) for path, found in said.items() for item in found or () if item.severity in ("error", "warning")
    ]
    order = {id(item): at for at, item in enumerate(worst_first([item for item, _ in rows]))}
    rows.sort(key=lambda row: order[id(row[0])])
    value: dict[str, Any] = {
        "server": name,
        "files": {shown_name(path): None if found is None else len(found) for path, found in said.items()},
        "findings": [_shown(item, path, before.get(path)) for item, path in rows[:MAX_FINDINGS]],
    }
    notes = list(skipped)
    if len(rows) > MAX_FINDINGS:
        notes.append(f"{len(rows) - MAX_FINDINGS} more findings are left out")
    if any(found is None for found in said.values()):
        notes.append("the server did not finish in time: call again, with a longer timeout")
    if notes:
        value["note"] = f"{'; '.join(notes)}."
    return value


def _shown(item: Finding, path: str, before: frozenset[tuple[str, str, str]] | None) -> dict[str, Any]:
    message = item.message if len(item.message) <= _MESSAGE else f"{item.message[:_MESSAGE]}..."
    row: dict[str, Any] = {
        "path": shown_name(path),
        "line": item.line,
        "column": item.column,
        "severity": item.severity,
        "message": message,
    }
    if item.code:
        row["code"] = item.code[:80]
    if before is not None and _gist(item) not in before:
        row["new"] = True
    return row
