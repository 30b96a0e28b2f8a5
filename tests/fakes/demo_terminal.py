"""The inline front end with a scripted session, on a pseudo terminal: the body of a fixture."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.fakes.terminal import Terminal

DEMO = Path(__file__).resolve().parent / "repl_demo.py"
READY = "scripted · ask"


def demo_terminals(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Yield what starts such terminals; all of them are ended afterwards."""
    started: list[Terminal] = []
    project = tmp_path / "proj"
    (project / "src").mkdir(parents=True)
    (project / "src" / "app.py").write_text("x = 1\n")

    def run(
        *arguments: str, columns: int = 80, rows: int = 24, ready: str = READY, shell: bool = False, **env: str
    ) -> Terminal:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "XUN_HOME": str(tmp_path / "xun"),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            **env,
        }
        command = [sys.executable, str(DEMO), str(project), *arguments]
        if shell:
            environment["PS1"] = "$ "
        line = ["bash", "--norc", "-i"] if shell else command
        terminal = Terminal(line, env=environment, cwd=project, columns=columns, rows=rows)
        started.append(terminal)
        if shell:
            terminal.send(shlex.join(command) + "\r")
        if ready:
            terminal.wait(ready)
        return terminal

    yield run
    for terminal in started:
        terminal.__exit__()
