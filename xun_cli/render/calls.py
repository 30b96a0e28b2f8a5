"""One tool call as a person follows it: what the events have told about it so far."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xun_cli.render.safe import safe
from xun_cli.render.text import cut, cut_path
from xun_policies.paths.real import within

if TYPE_CHECKING:
    from xun.choice import FileDiff
    from xun.events import ApprovalResolved, RiskAssessed, ToolCompleted

OUTPUT_KEPT = 20_000
"""Characters of live output that are kept while a call runs; the whole comes with its result."""

MAIN_ARGUMENT: Mapping[str, str] = {
    "bash": "command",
    "shell": "command",
    "read_file": "path",
    "write_file": "path",
    "list_dir": "path",
    "file_info": "path",
    "delete": "path",
    "mkdir": "path",
    "replace": "path",
    "multi_edit": "path",
    "insert_lines": "path",
    "undo_edit": "path",
    "request_image": "src",
    "move": "src",
    "copy": "src",
    "glob": "pattern",
    "grep": "pattern",
    "ask_preference": "question",
}
"""The argument that says what a call is about."""

_PATHS = frozenset({"path", "src", "dst"})


@dataclass(slots=True)
class Call:
    """The state of one call.

    Attributes:
        call_id: Its id.
        tool: The tool's name.
        args: The arguments as JSON values, or text.
        agent: Who calls.
        started: When, by the clock of the transcript (seconds); after a question: when a person had answered it.
        output: The end of its live output.
        progress: The last progress text.
        waiting: A question about it is open.
        asked: One was answered.
        risk: What the assessment said.
        resolved: How its question was answered.
        files: What a write question showed.
        done: Its end.
        took: Seconds, without those of a person who was asked.
    """

    call_id: str
    tool: str
    args: Any
    agent: str = "main"
    started: float = 0.0
    output: str = ""
    progress: str = ""
    waiting: bool = False
    asked: bool = False
    risk: RiskAssessed | None = None
    resolved: ApprovalResolved | None = None
    files: tuple[FileDiff, ...] = field(default=())
    done: ToolCompleted | None = None
    took: float = 0.0

    @property
    def checking(self) -> bool:
        """Whether a command is still being judged: nothing of it runs yet."""
        return self.tool == "bash" and self.resolved is None and not self.waiting and not self.output

    def answer(self, event: ApprovalResolved, now: float) -> None:
        """Note how a question was answered."""
        if self.waiting:
            self.waiting, self.asked, self.started = False, True, now
        self.resolved = event

    def finish(self, event: ToolCompleted, now: float) -> None:
        """Note its end."""
        seconds = event.duration_ms / 1000
        self.done, self.took = event, min(seconds, now - self.started) if self.asked else seconds

    def add_output(self, stream: str, text: str) -> None:
        """Take in live output; only its end is kept."""
        if stream == "progress":
            self.progress = text
        else:
            self.output = (self.output + text)[-OUTPUT_KEPT:]

    def title(self, cwd: str) -> str:
        """Return in one safe line what the call is about; paths below *cwd* are shown relative to it."""
        args = self.args
        if not isinstance(args, dict):
            return one_line(str(args)) if args else ""
        if self.tool == "write_todos" and isinstance(args.get("todos"), list):
            done = sum(isinstance(item, dict) and item.get("status") == "completed" for item in args["todos"])
            return f"{done} of {len(args['todos'])} done"
        if self.tool in ("move", "copy"):
            ends = [args.get("src", ""), args.get("dst", "")]
            return " → ".join(one_line(relative(str(end), cwd)) for end in ends if end)
        if self.tool == "read_many_files" and isinstance(args.get("include"), list):
            return one_line(", ".join(relative(str(path), cwd) for path in args["include"]))
        name = MAIN_ARGUMENT.get(self.tool, "")
        if name not in args:
            name = next((key for key, value in args.items() if isinstance(value, str) and value), "")
        if not name and (texts := next((value for value in args.values() if _texts(value)), None)):
            return one_line(", ".join(texts))
        value = str(args.get(name, "")) if name else ""
        shown = one_line(relative(value, cwd) if name in _PATHS else value)
        where = args.get("path")
        if self.tool in ("glob", "grep") and isinstance(where, str) and where not in ("", "."):
            shown += f"  in {one_line(relative(where, cwd))}"
        return shown

    def shown(self, cwd: str, limit: int) -> str:
        """Return the title in *limit* cells; a path loses its middle, anything else its end."""
        title = self.title(cwd)
        is_path = isinstance(self.args, dict) and MAIN_ARGUMENT.get(self.tool) in _PATHS and " → " not in title
        return cut_path(title, limit) if is_path else cut(title, limit)


def _texts(value: Any) -> bool:
    """Tell whether *value* is a list of texts, such as the tasks of several sub-agents."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)


def relative(path: str, cwd: str) -> str:
    """Return *path* as seen from *cwd* when it is inside, else as it is."""
    if cwd and within(path, cwd):
        return os.path.relpath(path, cwd)
    return path


def one_line(text: str) -> str:
    """Return the first line of *text*, safe, with a count of what follows."""
    first, newline, rest = text.strip("\n").partition("\n")
    more = rest.count("\n") + 1 if newline else 0
    return safe(first, multiline=False) + (f" … +{more} lines" if more else "")
