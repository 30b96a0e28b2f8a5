"""Events and answers as plain lines, for pipes, logs and line-based terminals."""

from __future__ import annotations

import re

from xun.events import ApprovalResolved, Compaction, Error, Event, Notice, Retry, RiskAssessed, ToolCompleted
from xun_cli.render.safe import safe

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_ARGUMENT = 100


def answer_text(text: str, *, terminal: bool) -> str:
    """Return an answer as it is written to stdout, with a final newline.

    A terminal gets only what can't deceive it; a pipe gets the text, without control characters.
    """
    clean = safe(text) if terminal else _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    return clean if clean.endswith("\n") else clean + "\n"


def event_line(event: Event, *, detail: bool = False) -> str:
    """Return the line that stands for *event* beside the answer, "" for none; *detail* adds one per tool call."""
    if isinstance(event, Notice):
        return event.text if event.level == "info" else f"warning: {event.text}"
    if isinstance(event, Error):
        return f"error: {event.message}"
    if isinstance(event, Retry):
        when = f"in {event.delay:.0f} s" if event.delay >= 0.5 else "now"
        return f"{event.reason} Next try {when} ({event.attempt} of {event.attempts})."
    if isinstance(event, ApprovalResolved):
        return _resolved(event)
    if isinstance(event, RiskAssessed) and event.verdict == "reject":
        return f"risk assessment refused a command: {event.command[:_ARGUMENT]} ({event.reason})"
    if isinstance(event, Compaction):
        return f"old messages were summed up ({event.before} tokens, now {event.after})"
    if detail and isinstance(event, ToolCompleted):
        return f"{event.tool}: {event.status}, {event.duration_ms / 1000:.1f} s"
    return ""


def _resolved(event: ApprovalResolved) -> str:
    if event.source not in ("headless", "none") or event.choice in ("grant", "once", "allow"):
        return ""
    ways = {
        "command": "allow it with --allow-command, or a policy file",
        "write": "allow it with --allow-write PATH, or --mode auto-edit; a protected path only with --auto-confirm",
    }
    way = ways.get(event.kind, "answer it in an interactive session")
    return f"denied, nobody can be asked: {event.kind} {event.subject[:_ARGUMENT]}\n{way}"
