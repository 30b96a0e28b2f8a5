"""One running language server: what it is told of files, and what it says of them."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from xun.errors import ToolError
from xun_builtin_tools.diagnostic.rpc import Connection

if TYPE_CHECKING:
    from xun.environment.base import Process
    from xun_builtin_tools.diagnostic.watching import Happened

START_SECONDS = 30.0
"""The longest that a server may take to begin."""

SETTLED = 0.4
"""Seconds without news of a file after which what was said of it counts as all."""

FOR_NEWS = 4.0
"""Seconds in which a server may change its mind on a file after it heard that others changed on disk."""

_END_SECONDS = 1.0
_HAPPENED = {"created": 1, "changed": 2, "deleted": 3}
_SEVERITIES = {1: "error", 2: "warning", 3: "information", 4: "hint"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a server says of a file.

    Attributes:
        line: From 1.
        column: From 1, in characters of UTF-16 as servers count.
        severity: error, warning, information or hint.
        message: What it says.
        code: Its name for that, or "".
        source: Which part of the server says so, or "".
    """

    line: int
    column: int
    severity: str
    message: str
    code: str = ""
    source: str = ""


@dataclass(slots=True)
class _File:
    path: str
    version: int = 0
    text: str = ""
    findings: tuple[Finding, ...] = ()
    heard: float = 0.0


class LanguageServer:
    """A server for one folder.

    Args:
        process: It, started with its input open.
        name: What it is called in messages.
        folder: The folder of the project.
        settings: What it gets when it asks for settings, by section.
    """

    def __init__(self, process: Process, name: str, folder: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self._process, self._folder, self._settings = process, folder, settings
        self._files: dict[str, _File] = {}
        self._news = threading.Condition()
        self._told = 0.0
        answers: dict[str, Callable[[Any], Any]] = {
            "workspace/configuration": self._configuration,
            "workspace/workspaceFolders": lambda params: [self._place],
            "client/registerCapability": lambda params: None,
            "client/unregisterCapability": lambda params: None,
            "window/workDoneProgress/create": lambda params: None,
            "window/showMessageRequest": lambda params: None,
        }
        self._connection = Connection(process, answers, self._heard)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return not self._connection.ended.is_set() and self._process.poll() is None

    @property
    def _place(self) -> dict[str, str]:
        return {"uri": PurePath(self._folder).as_uri(), "name": PurePath(self._folder).name}

    def begin(self, check: Callable[[], None]) -> None:
        """Introduce xun to the server.

        Raises:
            ToolError: It does not speak the protocol, or takes too long.
        """
        diagnostics = {"versionSupport": True, "relatedInformation": False}
        params = {
            "processId": None,
            "rootUri": self._place["uri"],
            "workspaceFolders": [self._place],
            "capabilities": {
                "textDocument": {"publishDiagnostics": diagnostics, "synchronization": {"dynamicRegistration": False}},
                "workspace": {
                    "configuration": True,
                    "workspaceFolders": True,
                    "didChangeConfiguration": {},
                    "didChangeWatchedFiles": {"dynamicRegistration": True},
                },
                "window": {"workDoneProgress": True},
            },
        }
        try:
            self._connection.request("initialize", params, START_SECONDS, check)
            self._connection.notify("initialized", {})
            self._connection.notify("workspace/didChangeConfiguration", {"settings": dict(self._settings)})
        except TimeoutError:
            raise ToolError(f"{self.name} did not begin within {START_SECONDS:g} s, so it was ended.") from None
        except OSError as exc:
            raise ToolError(f"{self.name} ended at once. {self._connection.errors or exc}") from None

    def findings(
        self, texts: Mapping[str, str], seconds: float, check: Callable[[], None]
    ) -> dict[str, tuple[Finding, ...] | None]:
        """Return what the server says of files with these texts, by path; None where it said nothing in time.

        Raises:
            ToolError: It ended.
        """
        sent = time.monotonic()
        try:
            uris = {path: self._show(path, text) for path, text in texts.items()}
        except OSError:
            raise self._gone() from None
        until = sent + seconds
        with self._news:
            while not all(self._is_settled(uri) for uri in uris.values()):
                if time.monotonic() > until:
                    break
                if not self.alive:
                    raise self._gone()
                self._news.wait(0.05)
                check()
            return {path: self._said(uri) for path, uri in uris.items()}

    @property
    def opened(self) -> tuple[str, ...]:
        """The paths of the files whose text it was given."""
        with self._news:
            return tuple(file.path for file in self._files.values())

    def disk_changed(self, happened: Mapping[str, Happened], text: Callable[[str], str | None]) -> None:
        """Tell the server what happened to files on disk; of those that it has open it gets the new *text*, and one
        that has none any more is closed.

        Raises:
            ToolError: It ended.
        """
        try:
            rows = [
                {"uri": PurePath(path).as_uri(), "type": _HAPPENED[what]}
                for path, what in happened.items()
                if self._is_news(path, text)
            ]
            if rows:
                self._connection.notify("workspace/didChangeWatchedFiles", {"changes": rows})
                self._told = time.monotonic()
        except OSError:
            raise self._gone() from None

    def _is_news(self, path: str, text: Callable[[str], str | None]) -> bool:
        """Tell whether the server does not know yet what is at *path*, and give it the text if it is open there."""
        uri = PurePath(path).as_uri()
        with self._news:
            file = self._files.get(uri)
        if file is None:
            return True
        new = text(path)
        if new is None:
            with self._news:
                del self._files[uri]
            self._connection.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            return True
        if file.text == new:
            return False
        self._show(path, new)
        return True

    def _gone(self) -> ToolError:
        return ToolError(f"{self.name} ended. {self._connection.errors}".strip())

    def end(self) -> None:
        """Ask it to end, and see to it."""
        with contextlib.suppress(OSError, ToolError, TimeoutError):
            self._connection.request("shutdown", None, _END_SECONDS)
            self._connection.notify("exit", None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_END_SECONDS)
        self._process.kill(0.0)
        self._process.close()

    def _show(self, path: str, text: str) -> str:
        uri = PurePath(path).as_uri()
        with self._news:
            file = self._files.get(uri)
            fresh = file is None
            if file is None:
                file = self._files[uri] = _File(path)
            if not fresh and file.text == text:
                return uri
            file.version, file.text, file.heard = file.version + 1, text, 0.0
        if fresh:
            item = {"uri": uri, "languageId": "python", "version": file.version, "text": text}
            self._connection.notify("textDocument/didOpen", {"textDocument": item})
        else:
            document = {"uri": uri, "version": file.version}
            change = {"textDocument": document, "contentChanges": [{"text": text}]}
            self._connection.notify("textDocument/didChange", change)
        self._connection.notify("textDocument/didSave", {"textDocument": {"uri": uri}, "text": text})
        return uri

    def _is_settled(self, uri: str) -> bool:
        file = self._files[uri]
        # What was said before it heard of changes on disk may be said anew.
        heard = file.heard if file.heard > self._told else max(file.heard, self._told + FOR_NEWS - SETTLED)
        return bool(file.heard) and time.monotonic() - heard >= SETTLED

    def _said(self, uri: str) -> tuple[Finding, ...] | None:
        file = self._files[uri]
        return file.findings if file.heard else None

    def _heard(self, method: str, params: Any) -> None:
        if method != "textDocument/publishDiagnostics" or not isinstance(params, dict):
            return
        with self._news:
            file = self._files.get(_same(str(params.get("uri", "")), self._files))
            version = params.get("version")
            if file is None or (isinstance(version, int) and version < file.version):
                return
            rows = params.get("diagnostics")
            file.findings = tuple(_finding(row) for row in rows if isinstance(row, dict)) if rows else ()
            file.heard = time.monotonic()
            self._news.notify_all()

    def _configuration(self, params: Any) -> list[Any]:
        items = params.get("items", []) if isinstance(params, dict) else []
        return [_section(self._settings, item.get("section", "") if isinstance(item, dict) else "") for item in items]


def _same(uri: str, known: Mapping[str, Any]) -> str:
    """Return the known spelling of *uri*: servers escape more or less than we do."""
    if uri in known:
        return uri
    path = unquote(urlsplit(uri).path)
    return next((other for other in known if unquote(urlsplit(other).path) == path), uri)


def _section(settings: Mapping[str, Any], name: str) -> Any:
    here: Any = settings
    for part in name.split(".") if name else ():
        here = here.get(part) if isinstance(here, Mapping) else None
    return here


def _finding(row: Mapping[str, Any]) -> Finding:
    start = (row.get("range") or {}).get("start") or {}
    return Finding(
        line=int(start.get("line", 0)) + 1,
        column=int(start.get("character", 0)) + 1,
        severity=_SEVERITIES.get(row.get("severity", 1), "error"),
        message=" ".join(str(row.get("message", "")).split()),
        code="" if row.get("code") is None else str(row["code"]),
        source=str(row.get("source") or ""),
    )


def worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return *findings*, errors before warnings, each by line."""
    order = list(_SEVERITIES.values())
    return sorted(findings, key=lambda item: (order.index(item.severity), item.line, item.column))
