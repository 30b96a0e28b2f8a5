"""Plans that change files. Each says only what the tools' results show."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from xun_cli.demo.language import is_quoted, looks_like_path, path_of, unquote
from xun_cli.demo.look import read, target
from xun_cli.demo.results import Ask, Call, Plan, ToolResult, code, failed, plural
from xun_cli.demo.talk import which_file

UNDO = "`/undo` takes it back."

_DESCRIBED = re.compile(
    r"^(?:an? |some |the |two |three |several |all |simple |unit |new )*(?:\w+ ){0,3}"
    r"(?:functions?|class(?:es)?|methods?|tests?|code|scripts?|programs?|implementations?|parsers?|loops?|docstrings?)\b",
    re.IGNORECASE,
)
"""What to write, in words that only a language model could follow."""

_FENCED = re.compile(r"\s*(`{3,})[\w+-]*\n(.*?)\n?\1\s*", re.DOTALL)


def replace(ask: Ask) -> Plan | None:
    """Replace one text with another in a file, or in the one file that has it."""
    old, new = unquote(ask["old"]), unquote(ask["new"])
    if not old:
        return None
    every = bool(ask["all"] or ask["everywhere"] or ask["again"])
    if not ask["path"]:
        if any(not is_quoted(ask[n]) and re.search(r"\b(?:in|and|then)\b", ask[n], re.I) for n in ("old", "new")):
            # Bare words with an "in" or "and" in them are most likely two wishes, or a file that is not plainly one.
            return None
        return _replace_somewhere(old, new, every)
    path = target(ask)
    return _replace(path, old, new, every) if path else which_file(ask)


def remove_text(ask: Ask) -> Plan | None:
    """Remove a text from a file."""
    if path_of(ask["path"]) and not (looks_like_path(ask["path"]) or is_quoted(ask["path"])):
        return None
    return replace(Ask({**ask.words, "new": ""}, ask.text, ask.recent, ask.tools))


def _replace(path: str, old: str, new: str, every: bool) -> Plan:
    what = (
        f"Replacing {code(old)} with {code(new)} in {code(path)}" if new else f"Removing {code(old)} from {code(path)}"
    )
    if old == new:
        return f"{code(old)} is already what you want in its place, so nothing was changed."
    result = yield Call("replace", {"path": path, "old": old, "new": new, "replace_all": every})
    if result.ok:
        return _replaced(path, old, new, result)
    if not result.denied and _is_ambiguous(result):
        count = yield from _count(path, old)
        often = f"{plural(count, 'time')}" if count else "more than once"
        verb = (
            f"replace all {_word(old)} with {_word(new)} in {path}" if new else f"remove all {_word(old)} from {path}"
        )
        return (
            f"{code(old)} occurs {often} in {code(path)}, so I can't tell which one you mean; nothing was changed. "
            f"Say `{verb}` for all of them, or give more of the text around the one."
        )
    return failed(result, what)


def _replaced(path: str, old: str, new: str, result: ToolResult) -> str:
    if result.get("edited_by_user"):
        return f"{code(path)} is written as you edited it{_figures(result)}. {UNDO}"
    count = len(result.get("lines") or []) or 1
    times = f" at {plural(count, 'place')}" if count > 1 else ""
    done = f"Replaced {code(old)} with {code(new)}" if new else f"Removed {code(old)}"
    where = f"in {code(path)}" if new else f"from {code(path)}"
    return f"{done} {where}{times}{_figures(result)}. {UNDO}"


def _figures(result: ToolResult) -> str:
    added, removed = result.get("added"), result.get("removed")
    if not isinstance(added, int) or not isinstance(removed, int):
        return ""
    return f" ({plural(added, 'line')} added, {removed} removed)"


def _is_ambiguous(result: ToolResult) -> bool:
    pattern = r"ambiguous|more than once|\b\d+ (?:times|places|matches|occurrences)|occurs \d+|several"
    return re.search(pattern, result.text, re.IGNORECASE) is not None


def _count(path: str, old: str) -> Any:
    _, result = yield from read(path, 1, 2000)
    complete = result.ok and not result.clipped and result.get("next_offset") is None
    return str(result.get("text") or "").count(old) if complete else 0


def _word(text: str) -> str:
    return text if re.fullmatch(r"[\w.-]+", text) else f'"{text}"'


def _replace_somewhere(old: str, new: str, every: bool) -> Plan:
    result = yield Call("grep", {"pattern": old, "path": ".", "literal": True})
    if not result.ok:
        return failed(result, f"Looking for {code(old)}")
    hits = [hit for hit in result.get("matches") or [] if isinstance(hit, dict)]
    paths = list(dict.fromkeys(str(hit.get("path")) for hit in hits))
    if not paths:
        return (
            f"{code(old)} is not found in this folder, so nothing was changed. Name the file if it is an ignored one."
        )
    if len(paths) == 1 and not result.get("truncated"):
        return (yield from _replace(paths[0], old, new, every))
    listed = "\n".join(f"- {code(path)}" for path in paths[:20])
    example = f"replace {'all ' if every else ''}{_word(old)} with {_word(new)} in {paths[0]}"
    return (
        f"{code(old)} is in several files, and I change one at a time. Say which, for example `{example}`:\n\n{listed}"
    )


def replace_both(ask: Ask) -> Plan:
    """Make two replacements in one file, all or none."""
    path = target(ask)
    if not path:
        return (yield from which_file(ask))
    pairs = [(unquote(ask["old"]), unquote(ask["new"])), (unquote(ask["old2"]), unquote(ask["new2"]))]
    every = bool(ask["all"])
    edits = [{"old": old, "new": new, "replace_all": every} for old, new in pairs]
    result = yield Call("multi_edit", {"path": path, "edits": edits})
    said = " and ".join(f"{code(old)} with {code(new)}" for old, new in pairs)
    if not result.ok:
        return failed(result, f"Replacing {said} in {code(path)}") + (
            "" if result.denied else "\n\nBoth are made or none, so nothing was changed."
        )
    return f"Replaced {said} in {code(path)}. {UNDO}"


def create(ask: Ask) -> Plan | None:
    """Create a file, if it is plainly a file that is meant, and its content and not a description of it."""
    path = path_of(ask["path"])
    if not is_quoted(ask["content"]) and _DESCRIBED.search(ask["content"].split("\n", 1)[0]):
        return None
    if not path or not (ask["file"] or looks_like_path(ask["path"]) or is_quoted(ask["path"])):
        return None
    return _create(path, _content(ask["content"]))


def _content(text: str) -> str:
    block = _FENCED.fullmatch(text)
    content = block[2] if block else unquote(text)
    return content if not content or content.endswith("\n") else f"{content}\n"


def _create(path: str, content: str) -> Plan:
    result = yield Call("write_file", {"path": path, "content": content})
    if not result.ok:
        return failed(result, f"Writing {code(path)}")
    lines = plural(len(content.splitlines()), "line")
    if result.get("created") is False:
        return f"{code(path)} was there already; its content is replaced now{_figures(result)}. {UNDO}"
    return f"Created {code(path)} with {lines}. {UNDO}" if content else f"Created {code(path)}, empty. {UNDO}"


def append(ask: Ask) -> Plan | None:
    """Add a text at the end of a file; "add" needs it quoted, for bare words mostly describe it."""
    if not is_quoted(ask["content"]) and ask["verb"].lower() == "add" and not ask["line"]:
        return None
    if path_of(ask["path"]) and not (looks_like_path(ask["path"]) or is_quoted(ask["path"])):
        return None
    path = target(ask)
    return _append(path, _content(ask["content"])) if path else which_file(ask)


def _append(path: str, content: str) -> Plan:
    path, found = yield from read(path, 1, 1)
    if not found.ok:
        return failed(found, f"Reading {code(path)}")
    last = int(found.get("total_lines", 0))
    result = yield Call("insert_lines", {"path": path, "line": last, "text": content})
    if not result.ok:
        return failed(result, f"Adding to {code(path)}")
    return f"Added {plural(len(content.splitlines()), 'line')} at the end of {code(path)}. {UNDO}"


def delete(ask: Ask) -> Plan | None:
    """Delete a file."""
    path = target(ask)
    if not (ask["file"] or looks_like_path(ask["path"]) or is_quoted(ask["path"]) or not path_of(ask["path"])):
        return None
    return _delete(path) if path else which_file(ask)


def _delete(path: str) -> Plan:
    result = yield Call("delete", {"path": path})
    return f"Deleted {code(path)}. {UNDO}" if result.ok else failed(result, f"Deleting {code(path)}")


def make_folder(ask: Ask) -> Plan:
    """Make a folder."""
    path = path_of(ask["path"])
    result = yield Call("mkdir", {"path": path})
    return f"The folder {code(path)} is there now." if result.ok else failed(result, f"Making the folder {code(path)}")


def two_paths(tool: str, done: str, doing: str) -> Callable[[Ask], Plan | None]:
    """Return a plan for a tool that takes a file from one path to another."""

    def plan(ask: Ask) -> Plan | None:
        source, goal = target(ask), path_of(ask["goal"])
        if not goal or not any(ask["file"] or looks_like_path(ask[n]) or is_quoted(ask[n]) for n in ("path", "goal")):
            return None
        return _two_paths(source, goal) if source else which_file(ask)

    def _two_paths(source: str, goal: str) -> Plan:
        if goal.endswith("/"):
            goal += source.rstrip("/").rsplit("/", 1)[-1]
        result = yield Call(tool, {"src": source, "dst": goal})
        if not result.ok:
            return failed(result, f"{doing} {code(source)} to {code(goal)}")
        return f"{done} {code(source)} to {code(goal)}. {UNDO}"

    return plan
