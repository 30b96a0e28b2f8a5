"""The language server of an agent: found outside the workspace, started as a command is, kept from call to call."""

from __future__ import annotations

import os
import shlex
import shutil
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from xun.environment.base import EnvironmentUnusable
from xun.environment.confinement import in_view
from xun.errors import ToolError
from xun_builtin_tools import gate
from xun_builtin_tools.diagnostic.server import LanguageServer
from xun_builtin_tools.diagnostic.watching import Look
from xun_builtin_tools.edit.changes import read_state
from xun_builtin_tools.edit.state import EditState
from xun_builtin_tools.per_agent import PerAgent
from xun_builtin_tools.programs import find_checker
from xun_policies.errors import PathOutsideWorkspace
from xun_policies.shell.environment import child_environment

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.tools.context import ToolCallContext

SERVERS = (("basedpyright-langserver", "--stdio"), ("pyright-langserver", "--stdio"), ("pylsp",))
"""The language servers for Python that are looked for, in this order, with their arguments."""

MAX_FILES = 20
"""Files that one call looks at."""

_SIZE_LIMIT = 2_000_000
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


class LanguageSession(PerAgent):
    """The server of one agent, and what was asked before.

    Attributes:
        seen: The number of the last write that was looked at.
        before: What was found in each file at the call before.
        lock: Is held while the server is asked.
        running: The server; None when there is none.
    """

    key = "__language_server"

    def __init__(self, agent: Agent[Any]) -> None:
        super().__init__(agent)
        self.seen = 0
        self.before: dict[str, frozenset[tuple[str, str, str]]] = {}
        self.lock = threading.Lock()
        self.running: LanguageServer | None = None
        self._look: Look | None = None

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
        self.end()
        server = _start(ctx)
        try:
            server.begin(ctx.check_cancel)
        except BaseException:
            server.end()
            raise
        self.running, self._look = server, None
        return server

    def tell_of_disk(self, ctx: ToolCallContext[Any], server: LanguageServer) -> None:
        """Tell the server what changed on disk since it was told last, by commands and other programs too.

        Raises:
            ToolError: It ended.
        """

        def text(path: str) -> str | None:
            return texts_of(ctx, [path])[0].get(path)

        opened = server.opened
        look = Look.at(str(self.agent.workspace.workdir), opened)
        if self._look is not None:
            server.disk_changed(look.since(self._look, opened), text)
        self._look = look

    def end(self) -> None:
        """End the server; the next call starts another one."""
        server, self.running = self.running, None
        if server is not None:
            server.end()


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


def texts_of(ctx: ToolCallContext[Any], paths: list[str]) -> tuple[dict[str, str], list[str]]:
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
