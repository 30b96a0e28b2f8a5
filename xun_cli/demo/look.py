"""Plans that only look: list, show, find, count."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

from xun_cli.demo.language import ending_of, is_quoted, looks_like_path, path_of, unquote
from xun_cli.demo.results import Ask, Call, Plan, ToolResult, code, failed, fenced, names, plural
from xun_cli.demo.talk import which_file

SHOWN_LINES = 100
"""How many lines of a file one answer shows."""

SHOWN_NAMES = 60
"""How many names one answer lists."""

_LANGUAGES = {"py": "python", "js": "javascript", "ts": "typescript", "rs": "rust", "md": "markdown", "sh": "bash"}
_OUTLINE = re.compile(
    r"\s*(?:(?:async\s+)?def|class|func|fn|pub fn|function|export|interface|struct|impl)\s+\w|#{1,4} \S"
)

Reading = Generator[Call, ToolResult, tuple[str, ToolResult]]


def target(ask: Ask, name: str = "path") -> str:
    """Return the path that is meant: the one named, or the last one for "it"; "" when neither."""
    return path_of(ask[name]) or ask.recent


def list_here(ask: Ask) -> Plan | None:
    """List the folder that is named, or this one; not where the contents of a file are meant."""
    if "content" in ask.text.lower() and ask["path"] and looks_like_path(ask["path"]):
        return None
    return _list_here(ask)


def look_into(ask: Ask) -> Plan | None:
    """List what is in something that is named without an ending, as folders are."""
    return None if looks_like_path(ask["path"]) or not path_of(ask["path"]) else _list_here(ask)


def _list_here(ask: Ask) -> Plan:
    path = target(ask) if ask["path"] else "."
    result = yield Call("list_dir", {"path": path or "."})
    is_file = re.search(r"not_dir|not a (dir|folder)|is a (regular )?file", result.text, re.IGNORECASE)
    if not result.ok and not result.denied and (is_file or is_missing(result)):
        return (yield from _show(path, 1, SHOWN_LINES, None))
    return listing(path or ".", result)


def listing(path: str, result: ToolResult) -> str:
    """Report what is in a folder."""
    if not result.ok:
        return failed(result, f"Listing {code(path)}")
    if result.clipped:
        return f"{code(path)} holds more names than fit here; list a folder below it."
    folders, files = entries(result)
    lines = [f"- {code(name.rstrip('/') + '/')}" for name in folders] + [f"- {code(name)}" for name in files]
    head = f"{code(path)} holds {plural(len(folders), 'folder')} and {plural(len(files), 'file')}"
    if not lines:
        return f"{code(path)} is empty."
    more = f"\n- … and {len(lines) - SHOWN_NAMES} more" if len(lines) > SHOWN_NAMES else ""
    return f"{head}:\n\n" + "\n".join(lines[:SHOWN_NAMES]) + more


def entries(result: ToolResult) -> tuple[list[str], list[str]]:
    """Return the folders and the files that `list_dir` found."""
    folders, files = names(result.get("directories")), names(result.get("files"))
    for entry in result.get("entries") or ():
        if isinstance(entry, dict) and isinstance(entry.get("name"), str):
            is_folder = entry.get("type") in ("dir", "directory", "folder")
            (folders if is_folder else files).append(entry["name"])
    return folders, files


def show(ask: Ask) -> Plan:
    """Show a file, or what a folder holds."""
    path = target(ask)
    if not path:
        return (yield from which_file(ask))
    return (yield from _show(path, 1, SHOWN_LINES, None))


def show_two(ask: Ask) -> Plan | None:
    """Show two files; not where the second word is no file's name."""
    if not (looks_like_path(ask["path"]) and looks_like_path(ask["second"])):
        return None
    return _show_two(ask)


def _show_two(ask: Ask) -> Plan:
    one = yield from _show(path_of(ask["path"]), 1, SHOWN_LINES, None)
    two = yield from _show(path_of(ask["second"]), 1, SHOWN_LINES, None)
    return f"{one}\n\n{two}"


def show_lines(ask: Ask) -> Plan:
    """Show some lines of a file."""
    path = target(ask)
    if not path:
        return (yield from which_file(ask))
    first = int(ask["first"] or 1)
    last = int(ask["last"] or first)
    first, last = max(1, min(first, last)), max(first, last, 1)
    return (yield from _show(path, first, min(last - first + 1, 2000), last))


def show_end(ask: Ask) -> Plan:
    """Show the last lines of a file."""
    path = target(ask)
    if not path:
        return (yield from which_file(ask))
    wanted = max(1, int(ask["last"] or 10))
    path, result = yield from read(path, 1, 1)
    total = int(result.get("total_lines", 0)) if result.ok else 0
    if total <= 1:
        return shown(path, result, 1, None)
    first = max(1, total - wanted + 1)
    return (yield from _show(path, first, min(wanted, 2000), total))


def _show(path: str, first: int, count: int, last: int | None) -> Plan:
    path, result = yield from read(path, first, count)
    if not result.ok and _is_folder(result):
        return listing(path, (yield Call("list_dir", {"path": path})))
    return shown(path, result, first, last)


def read(path: str, first: int = 1, count: int = SHOWN_LINES) -> Reading:
    """Read a file; a name that is not there is looked up once. Returns the path that was read, too."""
    result = yield Call("read_file", {"path": path, "offset": first, "limit": count})
    if result.ok or result.denied or _is_folder(result) or not is_missing(result):
        return path, result
    stem = re.sub(r"[*?\[\]{}]", "?", path.rsplit("/", 1)[-1])
    found = yield Call("glob", {"pattern": f"**/*{stem}*", "case_sensitive": False})
    near = names(found.get("paths")) if found.ok else []
    if len(near) == 1:
        said = f"There is no {code(path)} here; the nearest name is {code(near[0])}."
        return near[0], (yield Call("read_file", {"path": near[0], "offset": first, "limit": count}, said))
    if near:
        listed = ", ".join(code(name) for name in near[:8])
        text = f"There is no {code(path)}. Names like it: {listed}"
        return path, ToolResult(False, None, text)
    return path, result


def _is_folder(result: ToolResult) -> bool:
    return (
        not result.ok
        and re.search(r"is_dir|is a (dir|folder)|directory", result.text, re.I) is not None
        and (not is_missing(result))
    )


def is_missing(result: ToolResult) -> bool:
    """Tell whether a tool failed because there is no such file."""
    return not result.ok and (
        re.search(r"no such|not exist|missing|there is no|no file", result.text, re.IGNORECASE) is not None
    )


def shown(path: str, result: ToolResult, first: int, last: int | None) -> str:
    """Report a file's text, and what of it is not shown."""
    if not result.ok:
        return failed(result, f"Reading {code(path)}")
    if result.clipped:
        return f"{code(path)} is too long to show at once; ask for some lines, such as `lines 1-40 of {path}`."
    text, total = str(result.get("text", "")), int(result.get("total_lines", 0))
    if not text:
        return f"{code(path)} is empty." if not total else f"{code(path)} has {plural(total, 'line')}; none is there."
    body = fenced(text, language_of(path))
    until = first - 1 + len(text.splitlines())
    if first == 1 and until >= total:
        return f"{code(path)}, {plural(total, 'line')}:\n\n{body}"
    more = "" if last is not None or until >= total else f"\n\nGo on with `lines {until + 1}-{until + 100} of {path}`."
    return f"{code(path)}, lines {first} to {until} of {total}:\n\n{body}{more}"


def language_of(path: str) -> str:
    """Return the language of a file for a code block."""
    ending = path.rsplit(".", 1)[-1].lower() if "." in path.rsplit("/", 1)[-1] else ""
    return _LANGUAGES.get(ending, ending if re.fullmatch(r"[a-z0-9]{1,10}", ending) else "")


def outline(ask: Ask) -> Plan | None:
    """Answer a wish to explain a file with its outline, and say that it is no more."""
    if not (looks_like_path(ask["path"]) or is_quoted(ask["path"])) and path_of(ask["path"]):
        return None
    return _outline(ask)


def _outline(ask: Ask) -> Plan:
    path = target(ask)
    if not path:
        return (yield from which_file(ask))
    path, result = yield from read(path, 1, 2000)
    if not result.ok or result.clipped:
        return shown(path, result, 1, None)
    lines = str(result.get("text", "")).splitlines()
    found = [line.rstrip() for line in lines if _OUTLINE.match(line)][:40]
    head = f"I have no language model to explain it, but I can read it. {code(path)} has " + plural(
        int(result.get("total_lines", len(lines))), "line"
    )
    if not found:
        return f"{head}. It begins:\n\n{fenced(chr(10).join(lines[:20]), language_of(path))}"
    return f"{head}, with these headings and definitions:\n\n{fenced(chr(10).join(found), language_of(path))}"


def overview(ask: Ask) -> Plan:
    """Show what a newcomer to the project would look at."""
    result = yield Call("list_dir", {"path": "."})
    text = listing(".", result)
    readme = next((name for name in entries(result)[1] if name.lower().startswith("readme")), "")
    if not readme:
        return f"{text}\n\nThere is no README here. I have no language model to say more."
    page = yield Call("read_file", {"path": readme, "offset": 1, "limit": 40})
    if not page.ok:
        return f"{text}\n\n{failed(page, f'Reading {code(readme)}')}"
    return f"{text}\n\n{code(readme)} begins:\n\n{fenced(str(page.get('text', '')), language_of(readme))}"


def find_files(ask: Ask) -> Plan | None:
    """Find files by name or kind."""
    if ask["kind"]:
        return _find_files(f"**/*.{ending_of(ask['kind'])}")
    wanted = path_of(ask["path"])
    if not wanted:
        return None
    has_wildcard = re.search(r"[*?\[{]", wanted) is not None
    inner = wanted if has_wildcard else f"*{wanted}*"
    return _find_files(inner if "/" in inner else f"**/{inner}")


def find_named(ask: Ask) -> Plan | None:
    """Find files, where the words could also mean a text: only for what is plainly a file's name."""
    is_listed = re.match(r"list|ls|dir", ask.text, re.IGNORECASE) is not None
    pattern = r"[*?]" if is_listed else r"[*?]|\w\.\w+$"
    return find_files(ask) if re.search(pattern, path_of(ask["path"])) else None


def _find_files(pattern: str) -> Plan:
    result = yield Call("glob", {"pattern": pattern})
    if not result.ok:
        return failed(result, f"Looking for {code(pattern)}")
    paths = names(result.get("paths"))
    total = int(result.get("total", len(paths)))
    if result.clipped:
        return f"More files match {code(pattern)} than fit here; name a narrower pattern."
    if not paths:
        return f"No file matches {code(pattern)}."
    rest = total - min(len(paths), SHOWN_NAMES)
    more = f"\n- … and {rest} more" if rest > 0 else ""
    listed = "\n".join(f"- {code(name)}" for name in paths[:SHOWN_NAMES])
    verb = "matches" if total == 1 else "match"
    return f"{plural(total, 'file')} {verb} {code(pattern)}:\n\n{listed}{more}"


def count_files(ask: Ask) -> Plan:
    """Count files."""
    pattern = f"**/*.{ending_of(ask['kind'])}" if ask["kind"] else "**/*"
    result = yield Call("glob", {"pattern": pattern})
    if not result.ok:
        return failed(result, f"Counting {code(pattern)}")
    if result.clipped:
        return f"More files match {code(pattern)} than fit here; ask for one kind, such as `how many python files`."
    total = int(result.get("total", len(names(result.get("paths")))))
    verb = "matches" if total == 1 else "match"
    return f"{plural(total, 'file')} {verb} {code(pattern)} (ignored files do not count)."


def count_lines(ask: Ask) -> Plan:
    """Count the lines of a file."""
    path = target(ask)
    if not path:
        return (yield from which_file(ask))
    path, result = yield from read(path, 1, 1)
    if not result.ok:
        return failed(result, f"Reading {code(path)}")
    return f"{code(path)} has {plural(int(result.get('total_lines', 0)), 'line')}."


def find_text(ask: Ask) -> Plan | None:
    """Find a text, in a file or everywhere."""
    wanted = unquote(ask["what"])
    if not wanted.strip():
        return None
    if ask["path"] and not target(ask):
        return which_file(ask)
    return _find_text(wanted, target(ask) if ask["path"] else "")


def _find_text(wanted: str, path: str) -> Plan:
    arguments: dict[str, Any] = {"pattern": wanted, "path": path or ".", "literal": True}
    if re.search(r"[*?]", path):
        arguments |= {"path": ".", "glob": path}
    result = yield Call("grep", arguments)
    place = f" in {code(path)}" if path and path != "." else ""
    if not result.ok:
        return failed(result, f"Looking for {code(wanted)}{place}")
    if result.clipped:
        return f"{code(wanted)} is found more often{place} than fits here; name a file or a longer text."
    hits = [hit for hit in result.get("matches") or [] if isinstance(hit, dict) and not hit.get("context")]
    total = int(result.get("total", len(hits)))
    if not total:
        return f"{code(wanted)} is not found{place}."
    files = len({hit.get("path") for hit in hits})
    lines = [f"{hit.get('path')}:{hit.get('line')}: {str(hit.get('text', '')).strip()[:160]}" for hit in hits[:50]]
    more = f"\n\n… and {total - 50} more." if total > 50 else ""
    head = f"{code(wanted)} is found on {plural(total, 'line')} of {plural(files, 'file')}"
    return f"{head}:\n\n{fenced(chr(10).join(lines))}{more}"
