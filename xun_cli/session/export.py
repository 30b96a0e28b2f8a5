"""A session as a document: Markdown, JSON, or one HTML file that loads nothing."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from xun.events import (
    ApprovalResolved,
    Compaction,
    ContextAdded,
    Error,
    Event,
    MessageCompleted,
    Rewound,
    SessionStarted,
    Steer,
    ToolCompleted,
    TurnCompleted,
    TurnStarted,
)
from xun_cli.render.safe import safe
from xun_cli.session.envelope import Envelope
from xun_cli.session.lines import to_line
from xun_cli.session.quiet import quiet, quiet_line
from xun_cli.session.redaction import redact, redact_values

Format = Literal["md", "json", "html"]

FORMATS: tuple[Format, ...] = ("md", "json", "html")
"""The formats, by the ending of a file's name."""

OUTPUT_SHOWN = 4000
"""Characters of one tool's result in a document for people; JSON holds all of it."""


def export(envelopes: Sequence[Envelope], form: Format, *, title: str = "", redacted: bool = False) -> str:
    """Return the session as one document.

    Args:
        envelopes: The records.
        form: md, json or html.
        title: The heading; "" makes one of the first input.
        redacted: Replace what looks like a secret.
    """
    if form == "json":
        records = [redact_values(item.to_json()) if redacted else item.to_json() for item in envelopes]
        return "[\n" + ",\n".join(to_line(record) for record in records) + "\n]\n"
    clean: Callable[[str], str] = _clean if redacted else safe
    heading = _line(clean(title)) or _title(envelopes, clean)
    # Cleaned before anything is cut: half a key looks like none.
    blocks = [_shown(block, clean) for block in _blocks(envelopes)]
    return _markdown(heading, blocks) if form == "md" else _html(heading, blocks)


def _clean(text: str) -> str:
    return safe(redact(text))


class _Block:
    """One piece of the document.

    Attributes:
        kind: user, assistant, tool or note.
        head: Its heading.
        text: Its text: Markdown for user and assistant, verbatim for tool.
    """

    __slots__ = ("head", "kind", "text")

    def __init__(self, kind: str, head: str, text: str) -> None:
        self.kind, self.head, self.text = kind, head, text


def _shown(block: _Block, clean: Callable[[str], str]) -> _Block:
    text = clean(block.text)
    return _Block(block.kind, _line(clean(block.head)), _shortened(text) if block.kind == "tool" else text)


def _title(envelopes: Iterable[Envelope], clean: Callable[[str], str]) -> str:
    for item in envelopes:
        if isinstance(item.event, TurnStarted):
            return _line(clean(item.event.shown or item.event.input))[:80]
    return "A session of xun"


def _blocks(envelopes: Iterable[Envelope]) -> Iterable[_Block]:
    for item in envelopes:
        block = _block(item.event)
        if block is not None:
            yield block


def _block(event: Event) -> _Block | None:
    who = "" if event.agent == "main" else f" ({event.agent})"
    if isinstance(event, TurnStarted | Steer):
        text = event.input if isinstance(event, TurnStarted) else event.text
        return _Block("user", "You" if not who else f"Task{who}", text)
    if isinstance(event, MessageCompleted) and event.text.strip():
        return _Block("assistant", f"Assistant{who}", event.text)
    if isinstance(event, ToolCompleted):
        return _Block("tool", f"{event.tool}: {event.status}{who}", event.content)
    if isinstance(event, ContextAdded):
        return _Block("tool", "added to the conversation", event.text)
    return _note(event)


def _note(event: Event) -> _Block | None:
    if isinstance(event, ApprovalResolved):
        reason = f": {event.reason}" if event.reason else ""
        return _Block("note", f"{event.kind} {event.choice} ({event.source}){reason}", "")
    if isinstance(event, Rewound) and event.restores:
        return _Block("note", "took the last going back back: what it had left out counts again", "")
    if isinstance(event, Rewound):
        return _Block("note", f"went back before turn {event.turn}: what stands above since then does not count", "")
    if isinstance(event, Compaction):
        return _Block(
            "tool", f"older messages were summed up ({event.before} tokens, now {event.after})", event.summary
        )
    if isinstance(event, Error):
        return _Block("note", f"error: {event.message}", "")
    if isinstance(event, TurnCompleted) and event.stop not in ("done", "error"):
        return _Block("note", f"the turn ended: {event.stop}", "")
    if isinstance(event, SessionStarted):
        return _Block("note", f"{event.cwd}, model {event.model}", "")
    return None


def _shortened(text: str) -> str:
    if len(text) <= OUTPUT_SHOWN:
        return text
    half = OUTPUT_SHOWN // 2
    return f"{text[:half]}\n... {len(text) - OUTPUT_SHOWN} characters left out ...\n{text[-half:]}"


def _markdown(heading: str, blocks: Iterable[_Block]) -> str:
    parts = [f"# {quiet_line(heading)}\n"]
    for block in blocks:
        head, text = quiet_line(block.head), block.text
        if block.kind == "note":
            parts.append(f"*{head}*\n")
        elif block.kind == "tool":
            longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
            fence = "`" * (longest + 1)
            parts.append(f"**{head}**\n\n{fence}\n{text.rstrip()}\n{fence}\n")
        else:
            parts.append(f"## {head}\n\n{quiet(text.strip())}\n")
    return _safe_utf8("\n".join(parts))


_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem;"
    "color:CanvasText;background:Canvas}:root{color-scheme:light dark}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.3rem 0}"
    "section{margin:1rem 0}.user{border-left:4px solid;padding-left:.8rem}"
    ".tool pre{font-size:13px;opacity:.85}.note{opacity:.7;font-size:14px}"
    "h2{font-size:1rem;margin:0}summary{cursor:pointer}"
)


def _html(heading: str, blocks: Iterable[_Block]) -> str:
    escape = html.escape
    title = escape(heading)
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n<h1>{title}</h1>",
    ]
    for block in blocks:
        head, text = escape(block.head), escape(block.text)
        if block.kind == "note":
            parts.append(f'<section class="note">{head}</section>')
        elif block.kind == "tool":
            parts.append(
                f'<section class="tool"><details><summary>{head}</summary><pre>{text}</pre></details></section>'
            )
        else:
            parts.append(f'<section class="{block.kind}"><h2>{head}</h2><pre>{text}</pre></section>')
    return _safe_utf8("\n".join([*parts, "</body></html>\n"]))


def _line(text: str) -> str:
    return " ".join(text.split())


def _safe_utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
