"""Tapes: tool calls recorded to a file, or answered from one."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, get_args

from xun._serialize import to_jsonable
from xun.errors import ConfigError, ToolError
from xun.result import ErrorInfo, Result, Status
from xun.tools.function import failure
from xun.tools.ledger import canonical


class Recorder:
    """Writes each call with its result as one JSON line.

    Args:
        path: The file; what it held is replaced.

    Raises:
        ConfigError: It can't be written.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._write("", "w")

    def note(self, tool: str, arguments: dict[str, Any], result: Result[Any, Any]) -> None:
        """Add a call."""
        line: dict[str, Any] = {"tool": tool, "arguments": arguments, "status": result.status}
        if result.is_ok():
            try:
                line["value"] = to_jsonable(result.value)
            except TypeError as exc:
                line.update(status="error", error={"error": str(exc), "details": repr(exc), "kind": "TypeError"})
        else:
            error = result.value
            info = error if isinstance(error, ErrorInfo) else ErrorInfo(str(error), repr(error))
            line["error"] = {"error": info.error, "details": info.details, "kind": info.kind, "facts": info.facts}
        self._write(json.dumps(line, default=str) + "\n", "a")

    def _write(self, text: str, mode: str) -> None:
        try:
            with self._lock, self._path.open(mode, encoding="utf-8") as file:
                file.write(text)
        except OSError as exc:
            raise ConfigError(f"The calls can't be recorded to {self._path}: {exc.strerror or exc}.") from None


class Player:
    """Answers calls with what was recorded: equal calls in the order in which they were made.

    Args:
        path: A file that `Recorder` wrote.

    Raises:
        ConfigError: It can't be read, or a line of it is no recorded call.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], list[Result[Any, Any]]] = {}
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as exc:
            raise ConfigError(f"The recorded calls of {path} can't be read: {exc}.") from None
        for number, line in enumerate(lines, 1):
            try:
                self._add(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError) as exc:
                raise ConfigError(f"Line {number} of {path} is no recorded call ({exc!r}).") from None

    def _add(self, data: dict[str, Any]) -> None:
        status = data["status"]
        if status not in get_args(Status):
            raise ValueError(f"unknown status {status!r}")
        result: Result[Any, Any]
        if status == "ok":
            result = Result.Ok(data["value"])
        else:
            result = Result.Err(ErrorInfo(**data["error"]), status)
        self._kept.setdefault((data["tool"], canonical(data["arguments"])), []).append(result)

    def answer(self, tool: str, arguments: dict[str, Any]) -> Result[Any, Any]:
        """Return the recorded result of this call; an Err when there is none left."""
        with self._lock:
            kept = self._kept.get((tool, canonical(arguments)))
            if kept:
                return kept.pop(0)
            others = sorted({name for name, _ in self._kept})
        text = (
            f"No recorded call of {tool} with these arguments is left, and replayed tools do not run. "
            f"Recorded are calls of: {', '.join(others) or 'none'}."
        )
        return failure(ToolError(text, kind="not_recorded"))
