"""`xun -p` as a real process, with scripted turns and a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

XUN = Path(sys.executable).with_name("xun")


def call(name: str, **arguments: Any) -> dict[str, Any]:
    """Return a scripted turn that makes one call."""
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


class Headless:
    """Runs xun in ``base/project``, with its home in ``base/home``."""

    def __init__(self, base: Path) -> None:
        self.project, self.home = base / "project", base / "home"
        self._turns = base / "turns.json"
        self.project.mkdir()

    def command(self, turns: list[dict[str, Any]], *arguments: str) -> list[str]:
        """Return the command line of a run that plays *turns*."""
        self._turns.write_text(json.dumps(turns))
        return [str(XUN), "-p", *arguments, "--model", f"scripted:{self._turns}", "go on"]

    def environment(self, **extra: str | None) -> dict[str, str]:
        """Return the variables of a run; None leaves one out."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("XUN_", "OPENAI_"))}
        given = {**kept, "XUN_HOME": str(self.home), **extra}
        return {key: value for key, value in given.items() if value is not None}

    def run(
        self, turns: list[dict[str, Any]], *arguments: str, **extra: str | None
    ) -> subprocess.CompletedProcess[str]:
        """Play *turns* to their end."""
        done = subprocess.run(
            self.command(turns, *arguments),
            cwd=self.project,
            env=self.environment(**extra),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        )

    def results(self, done: subprocess.CompletedProcess[str]) -> list[Any]:
        """Return the results of the calls of a run with ``--output stream-json``."""
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return [event for event in events if event["type"] == "tool.completed"]

    def stored(self) -> list[dict[str, Any]]:
        """Return the records of the only session."""
        (path,) = (self.home / "data" / "sessions").glob("*/*.jsonl")
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
