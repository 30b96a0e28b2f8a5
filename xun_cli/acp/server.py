"""The server: sessions by their id, and what an editor may ask for."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from acp import PROTOCOL_VERSION, AgentSideConnection
from acp.exceptions import RequestError
from acp.schema import (
    AgentCapabilities,
    ClientCapabilities,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SetSessionModeResponse,
)

from xun.errors import ConfigError, XunError
from xun_cli._version import __version__
from xun_cli.acp.conversation import AUTH_REQUIRED, Conversation
from xun_cli.acp.forms import has_forms
from xun_cli.acp.lines import Lines
from xun_cli.acp.servers import server_entries
from xun_cli.frontend.signals import handled
from xun_cli.options import StartOptions
from xun_cli.places import Places

if TYPE_CHECKING:
    from acp.interfaces import Client

    from xun_cli.session.session import Session
    from xun_cli.settings import Settings

Build = Callable[[StartOptions, dict[str, dict[str, Any]]], "tuple[Settings, Session]"]
"""Makes the session of a start, with the MCP servers of the editor beside those of the settings.

It raises ConfigError where a model or a key is missing.
"""

PAGE = 100
"""Sessions in one answer of the list."""

_ENDS = ("SIGINT", "SIGTERM", "SIGHUP")


class EditorAgent:
    """What an editor talks to; the methods are those of the protocol.

    Args:
        options: As xun was started; each session gets a copy with its own folder.
        build: Makes a session; blocking.
        places: The folders and files of this user.
    """

    def __init__(self, options: StartOptions, build: Build, places: Places) -> None:
        self._options, self._places = options, places
        self._build = build
        self._open: dict[str, Conversation] = {}
        self._client: Client | None = None
        self._forms = False

    def on_connect(self, conn: Client) -> None:
        """Take the editor's end of the connection."""
        self._client = conn

    async def initialize(
        self, protocol_version: int, client_capabilities: ClientCapabilities | None = None, **_: Any
    ) -> InitializeResponse:
        """Tell what this server can do, and note whether the editor has forms."""
        self._forms = has_forms(client_capabilities)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            agent_info=Implementation(name="xun", title="xun", version=__version__),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_: Any) -> None:
        """Refuse: keys are set up in a terminal.

        Raises:
            RequestError: Always.
        """
        raise RequestError(RequestError.invalid_params().code, "Run `xun setup` in a terminal, or set OPENAI_API_KEY.")

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **_: Any,
    ) -> NewSessionResponse:
        """Begin a session in the folder *cwd*."""
        options = self._options_for(cwd, additional_directories)
        made = await self._begin(options, mcp_servers or ())
        asyncio.get_running_loop().call_soon(self._offer, made)
        return NewSessionResponse(session_id=made.session.id, modes=_modes(made.session))

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> LoadSessionResponse:
        """Go on with an earlier session; what it said is sent again first."""
        from xun_cli.session.store import find

        if session_id in self._open:
            raise _refused(f"Session {session_id} is open already.")
        options = self._options_for(cwd, additional_directories)
        try:
            info = await asyncio.to_thread(find, self._places, options.cwd, session_id)
        except XunError as error:
            raise _refused(str(error)) from None
        made = await self._begin(replace(options, resume=info.id), mcp_servers or ())
        await made.replay()
        asyncio.get_running_loop().call_soon(self._offer, made)
        return LoadSessionResponse(modes=_modes(made.session))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """List the sessions of one folder, or of all, the last used first."""
        from xun_cli.session.store import list_sessions

        folder = None if cwd is None else _folder(cwd)
        start = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() else 0
        found = await asyncio.to_thread(list_sessions, self._places, folder)
        page = [
            SessionInfo(session_id=info.id, cwd=info.cwd, title=info.name or info.first_input, updated_at=info.updated)
            for info in found[start : start + PAGE]
            if info.cwd
        ]
        more = str(start + PAGE) if len(found) > start + PAGE else None
        return ListSessionsResponse(sessions=page, next_cursor=more)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> SetSessionModeResponse:
        """Change how much is asked: ask, plan or auto-edit."""
        await self._of(session_id).set_mode(mode_id)
        return SetSessionModeResponse()

    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> PromptResponse:
        """Take a message; the answer comes when its turn is over."""
        return await self._of(session_id).prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Interrupt the turn of a session."""
        if session_id in self._open:
            self._open[session_id].cancel()

    async def close(self, code: int = 0) -> None:
        """End all sessions."""
        while self._open:
            _, conversation = self._open.popitem()
            await conversation.close(code)

    # -- sessions -------------------------------------------------------------------------------

    def _of(self, session_id: str) -> Conversation:
        try:
            return self._open[session_id]
        except KeyError:
            raise RequestError(RequestError.resource_not_found().code, f"No session {session_id} is open.") from None

    def _options_for(self, cwd: str, more: list[str] | None) -> StartOptions:
        options = replace(self._options, cwd=_folder(cwd), images=[], config=list(self._options.config))
        options.add_dirs = [*self._options.add_dirs, *(str(_folder(folder)) for folder in more or ())]
        return options

    async def _begin(self, options: StartOptions, servers: Sequence[Any]) -> Conversation:
        from xun_cli.commands.builtin import build as build_registry

        if self._client is None:
            raise RequestError.internal_error()
        try:
            settings, session = await asyncio.to_thread(self._build, options, server_entries(servers))
        except ConfigError as error:
            raise RequestError(AUTH_REQUIRED, str(error)) from None
        except XunError as error:
            raise _refused(str(error)) from None
        made = Conversation(session, build_registry(), self._client, self._places, settings, forms=self._forms)
        self._open[session.id] = made
        return made

    def _offer(self, conversation: Conversation) -> None:
        # After the answer: before it the editor does not know the session.
        conversation.spawn(conversation.offer_commands())


def _refused(message: str) -> RequestError:
    return RequestError(RequestError.invalid_params().code, message)


def _folder(text: str) -> Path:
    if not os.path.isabs(text) or not os.path.isdir(text):
        raise _refused(f"{text} is no folder; the whole path of one is needed.")
    return Path(os.path.realpath(text))


def _modes(session: Session) -> SessionModeState:
    from xun_cli.commands.modes import MODES

    modes = [SessionMode(id=name, name=name, description=what) for name, what in MODES.items()]
    return SessionModeState(current_mode_id=session.policy.mode, available_modes=modes)


async def serve(options: StartOptions, build: Build, places: Places, streams: tuple[BinaryIO, BinaryIO]) -> int:
    """Serve one editor over *streams*, what it writes and what it reads, until it goes; return the exit code.

    Raises:
        UsageError: The streams are no pipes.
    """
    from xun_cli.usage import UsageError

    try:
        lines = await Lines.over(*streams)
    except ValueError:
        raise UsageError("an editor starts this and talks to it over pipes; here is none") from None
    # The protocol's package reports what it meets to the root logger; an error that matters reaches the editor.
    logging.getLogger().addHandler(logging.NullHandler())
    agent = EditorAgent(options, build, places)
    connection = AgentSideConnection(agent, lines, listening=False)
    listening = asyncio.ensure_future(connection.listen())
    ended: list[int] = []

    def end(number: int) -> None:
        ended.append(128 + number)
        listening.cancel()

    with handled({name: partial(end, int(getattr(signal, name, 0))) for name in _ENDS if hasattr(signal, name)}):
        with suppress(asyncio.CancelledError, ConnectionError):  # the editor is gone, which is the end of it
            await listening
        code = ended[0] if ended else 0
        await agent.close(code)
        with suppress(ConnectionError):
            await connection.close()
    return code


def private_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return standard input and output for the protocol alone: what else is printed goes to standard error."""
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    sys.stdout.flush()
    os.dup2(2, 1)
    return os.fdopen(incoming, "rb", buffering=0), os.fdopen(outgoing, "wb", buffering=0)
