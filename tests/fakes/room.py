"""A workspace with something secret beside it, and the real tools to try to reach it.

`Room.verify` is the oracle: nothing outside may have changed, and nothing of it may have come back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.fakes.persons import Person
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.result import Result

NOBODY = 65534
SECRET = "SECRET-e3b0c442"
OUTSIDE = "not within the agent's workspace"
GROUPS = ("fs", "patch", "search", "cmd", "diagnostic", "editor")

Arguments = dict[str, Any]

TAKES_PATH: tuple[tuple[str, str, Callable[[str], Arguments]], ...] = (
    ("read", "read_file", lambda p: {"path": p}),
    ("read_many", "read_many_files", lambda p: {"include": [p]}),
    ("list", "list_dir", lambda p: {"path": p}),
    ("info", "file_info", lambda p: {"path": p}),
    ("write", "write_file", lambda p: {"path": p, "content": "x"}),
    ("replace", "replace", lambda p: {"path": p, "old": "a", "new": "b"}),
    ("multi_edit", "multi_edit", lambda p: {"path": p, "edits": [{"old": "a", "new": "b"}]}),
    ("insert", "insert_lines", lambda p: {"path": p, "line": 1, "text": "x"}),
    ("move from", "move", lambda p: {"src": p, "dst": "moved"}),
    ("move to", "move", lambda p: {"src": "spare", "dst": p}),
    ("copy from", "copy", lambda p: {"src": p, "dst": "copied"}),
    ("copy to", "copy", lambda p: {"src": "spare", "dst": p}),
    ("delete", "delete", lambda p: {"path": p}),
    ("mkdir", "mkdir", lambda p: {"path": p}),
    ("image", "request_image", lambda p: {"src": p}),
    ("patch add", "apply_patch", lambda p: {"patch": f"*** Begin Patch\n*** Add File: {p}\n+x\n*** End Patch\n"}),
    ("patch delete", "apply_patch", lambda p: {"patch": f"*** Begin Patch\n*** Delete File: {p}\n*** End Patch\n"}),
    ("patch in", "apply_patch", lambda p: {"patch": "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n", "directory": p}),
    ("diff a", "diff_files", lambda p: {"path_a": p, "path_b": "spare"}),
    ("diff b", "diff_files", lambda p: {"path_a": "spare", "path_b": p}),
    ("glob in", "glob", lambda p: {"pattern": "**/*", "path": p}),
    ("grep in", "grep", lambda p: {"pattern": "SECRET", "path": p}),
    ("bash cwd", "bash", lambda p: {"command": "pwd; ls", "cwd": p}),
    ("spawn cwd", "bash_spawn", lambda p: {"command": "pwd; ls", "cwd": p}),
    ("syntax", "check_syntax", lambda p: {"path": p, "language": "python"}),
    ("lint", "check_lint", lambda p: {"path": p}),
    ("editor view", "str_replace_editor", lambda p: {"command": "view", "path": p}),
    ("editor create", "str_replace_editor", lambda p: {"command": "create", "path": p, "file_text": "x"}),
)
"""Every way in which a model names a path: what it is called here, the tool, and its arguments."""


class Room:
    """Folders ``w`` (the workspace) and ``out`` (what nobody may touch) below *base*.

    Attributes:
        user: The number of the user as whom the test runs.
        asker: Says yes to everything, so that what is refused is refused by the rules.
    """

    def __init__(self, base: Path, user: int) -> None:
        self.base, self.user = base, user
        self.w, self.out = base / "w", base / "out"
        self.asker = Person()
        self._agent: Agent[Any] | None = None
        self._seen: list[str] = []
        self._before: dict[str, tuple[int, int, bytes]] = {}

    def furnish(self) -> None:
        """Make the two folders; the first thing that a test's own process does."""
        self.w.mkdir()
        for name in ("secret", "b", "deep/c"):
            path = self.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{SECRET} a root\n")
        (self.w / "spare").write_text("spare\n")
        self.freeze()

    def freeze(self) -> None:
        """Take what is outside now for what must be there at the end."""
        self._before = self._outside()

    def file(self, name: str, text: str = "inside\n") -> Path:
        path = self.w / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def link(self, name: str, target: str | Path) -> Path:
        path = self.w / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)
        return path

    @property
    def agent(self) -> Agent[Any]:
        if self._agent is None:
            self._agent = self.new_agent(self.w)
        return self._agent

    def new_agent(self, root: str | Path, groups: Sequence[str] = GROUPS) -> Agent[Any]:
        """Return an agent whose workspace is *root*, and use it from now on."""
        self._agent = Agent(
            toolbox=ToolBox().with_defaults(*groups),
            workspace=Workspace(root),
            chooser=self.asker,
            config=AgentConfig(risk_enabled=False),
        ).initialize()
        return self._agent

    def call(self, tool: str, **arguments: Any) -> Result[Any, Any]:
        result = self.agent.toolbox.call_tool(self.agent, tool, arguments, None)
        self._seen.append(f"{tool} {arguments}: {result.value!r}")
        return result

    def refused(self, tool: str, *, naming: str | Path = "", **arguments: Any) -> str:
        """Call a tool that has to say that a path is not in the workspace; returns the text."""
        text = self.failed(tool, **arguments)
        assert OUTSIDE in text and str(naming) in text, text
        return text

    def failed(self, tool: str, **arguments: Any) -> str:
        """Call a tool that has to fail in one sentence, whichever; returns the text."""
        text = error_of(self.call(tool, **arguments))
        assert text, (tool, arguments, self._seen[-1])
        assert "Traceback" not in text and len(text) < 1500, text
        return text

    def verify(self) -> None:
        """Fail when anything outside was changed or its content came back."""
        after = self._outside()
        assert after == self._before, sorted(set(after.items()) ^ set(self._before.items()))
        leaks = [text for text in self._seen if SECRET in text]
        assert leaks == []

    def close(self) -> None:
        if self._agent is not None:
            self._agent.finalize()
            self._agent.workspace.close()

    def _outside(self) -> dict[str, tuple[int, int, bytes]]:
        found = {}
        for folder, names, files in os.walk(self.out):
            for name in (".", *names, *files):
                path = os.path.join(folder, name)
                info = os.lstat(path)
                data = b""
                if stat.S_ISREG(info.st_mode):
                    data = Path(path).read_bytes()
                elif stat.S_ISLNK(info.st_mode):
                    data = os.fsencode(os.readlink(path))
                found[path] = (info.st_ino, info.st_mode, data)
        return found


def error_of(result: Result[Any, Any]) -> str:
    """Return why a call failed, also where every file has an error of its own; "" when it did not."""
    if result.is_err():
        return str(result.value.error) or "an error without a text"
    rows = result.value if isinstance(result.value, list) else []
    errors = [str(row["error"]) for row in rows if isinstance(row, dict) and "error" in row]
    return errors[0] if rows and len(errors) == len(rows) else ""


def become(user: int, home: Path) -> None:
    """Give up root for *user*, for good."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    os.environ["HOME"] = str(home)
    os.chdir(home)
