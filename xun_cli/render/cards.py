"""Tool cards: a finished call in one line, and below it what a person wants to see of it."""

from __future__ import annotations

import re
from typing import Any

from xun_cli.render.calls import Call, relative
from xun_cli.render.diff import count_changes, diff_rows, made_diff
from xun_cli.render.safe import safe
from xun_cli.render.text import (
    ACCENT,
    BAD,
    BOLD,
    DIM,
    GOOD,
    NAME,
    PLAIN,
    WARN,
    Line,
    cut,
    cut_line,
    expand_tabs,
    hard_wrap,
    line_width,
    width,
    wrap,
)

DOT = "●"
OUTPUT_ROWS = 5
FAILED_ROWS = 12
DIFF_ROWS = 40
EXPANDED_ROWS = 2_000
DIFF_LIMIT = 200_000
"""Characters of arguments above which no diff is made of them; the counts of lines are there anyway."""
_INDENT = "  "
_ANSWERING = ("agent_run", "agent_wait", "agent_resume")
"""Tools whose result is an answer, of which a person wants to see the beginning."""
_RUN = re.compile(r"(?<=\S) {4,}(?=\S)")


def card_lines(call: Call, columns: int, cwd: str) -> list[Line]:
    """Return the card of a finished *call*."""
    head = _head(call, columns, cwd)
    body = _body(call, columns, cwd)
    return [head, *(cut_line(row, columns) for row in body)]


def whole_card(call: Call, columns: int, cwd: str) -> list[Line]:
    """Return the card of a finished *call* with all that it gave back."""
    if not has_more(call, columns, cwd):
        return card_lines(call, columns, cwd)
    head, *rest = expanded_lines(call, columns, cwd, limit=0)
    return [head, *(cut_line(row, columns) for row in [*_remarks(call, columns), *rest])]


def expanded_lines(call: Call, columns: int, cwd: str, *, limit: int = EXPANDED_ROWS) -> list[Line]:
    """Return all that *call* gave back, for the key that opens a folded card; at most *limit* rows, 0 for all."""
    text = _output(call) or _value_text(call)
    diff = _diff_rows(call, columns, cwd)
    rows = diff or _text_rows(text, columns)
    if limit and len(rows) > limit:
        rows = [*rows[:limit], [(DIM, f"{_INDENT}… {len(rows) - limit} more lines")]]
    return [_head(call, columns, cwd), *rows]


def has_more(call: Call, columns: int, cwd: str) -> bool:
    """Tell whether the card of *call* leaves anything out."""
    if call.done is None:
        return False
    if _diff_rows(call, columns, cwd):
        return len(_diff_rows(call, columns, cwd)) > DIFF_ROWS
    text = _output(call) or _value_text(call)
    return bool(text.strip()) and len(_text_rows(text, columns)) > _room(call)


def live_card(call: Call, columns: int, cwd: str, now: float, spinner: str) -> Line:
    """Return the line of a call that still runs."""
    seconds = f"{int(max(0.0, now - call.started))}s"
    left: Line = [(ACCENT, f"{spinner} "), *_agent(call), (NAME, safe(call.tool, multiline=False)), (PLAIN, "  ")]
    end = "waiting for you" if call.waiting else f"checking {seconds}" if call.checking else seconds
    room = columns - line_width(left) - width(end) - 2
    return [*left, (PLAIN, call.shown(cwd, max(4, room))), (DIM, f"  {end}")]


def live_output(call: Call, columns: int, rows: int) -> list[Line]:
    """Return the last *rows* rows that a running call has written."""
    if rows <= 0:
        return []
    if call.progress and not call.output:
        return [[(DIM, cut(_INDENT + safe(call.progress, multiline=False), columns))]]
    text = expand_tabs(safe(_after_returns(call.output.rstrip("\n"))))
    lines = [row for row in text.split("\n")[-rows:] if row.strip()]
    return [[(DIM, cut(_INDENT + row, columns))] for row in lines[-rows:]]


def _after_returns(text: str) -> str:
    """Keep of each line what a lone carriage return (a progress bar) leaves on the screen."""
    return "\n".join(row.rstrip("\r").rsplit("\r", 1)[-1] for row in text.split("\n"))


def _head(call: Call, columns: int, cwd: str) -> Line:
    done = call.done
    status = done.status if done else "ok"
    color = GOOD if done is None or done.ok else WARN if status in ("denied", "cancelled") else BAD
    if done is not None and done.ok and _exit_code(call):
        color = BAD
    left: Line = [(color, f"{DOT} "), *_agent(call), (NAME, safe(call.tool, multiline=False)), (PLAIN, "  ")]
    facts = "  ".join(_facts(call))
    took = f"{call.took:.1f}s" if call.took >= 0.05 else ""
    room = columns - line_width(left) - width(facts) - width(took) - 4
    line: Line = [*left, (PLAIN, call.shown(cwd, max(8, room)))]
    if facts:
        line += [(PLAIN, "  "), ({GOOD: PLAIN, WARN: BOLD}.get(color, color), facts)]
    if took:
        line.append((DIM, f"  {took}"))
    return cut_line(line, columns)


def _agent(call: Call) -> Line:
    return [] if call.agent == "main" else [(DIM, safe(call.agent, multiline=False) + " ")]


def _facts(call: Call) -> list[str]:
    done = call.done
    if done is None:
        return []
    facts = _state_facts(call)
    if done.files:
        added = sum(int(item.get("added", 0)) for item in done.files)
        removed = sum(int(item.get("removed", 0)) for item in done.files)
        if len(done.files) > 1:
            facts.append(f"{len(done.files)} files")
        if added or removed:
            facts.append(f"+{added} −{removed}")
    elif done.ok and isinstance(done.result, dict):
        facts += _result_facts(call.tool, done.result)
    return [safe(fact, multiline=False) for fact in facts]


def _state_facts(call: Call) -> list[str]:
    facts: list[str] = []
    if call.done is not None and not call.done.ok and call.tool != "shell":
        facts.append(call.done.status.replace("_", " ") if call.done.status != "error" else "failed")
    code = _exit_code(call)
    if code is not None and call.tool in ("bash", "shell"):
        facts.append(f"exit {code}")
    by = call.resolved.source if call.resolved is not None else ""
    if call.risk is not None and call.risk.verdict == "allow" and by != "user":
        facts.append("risk: allow")
    elif by in ("auto", "auto_confirm") and call.done is not None and call.done.ok:
        facts.append("allowed by /auto" if by == "auto" else "allowed by auto_confirm")
    if _edited(call):
        facts.append("edited by you")
    if call.done is not None and isinstance(call.done.result, dict) and "syntax_error" in call.done.result:
        facts.append("does not parse")
    return facts


def _edited(call: Call) -> bool:
    """Tell whether the person changed the command, or what was written, before allowing it."""
    result = call.done.result if call.done is not None else None
    if isinstance(result, dict):
        files = result.get("files")
        first = files[0] if isinstance(files, list) and files and isinstance(files[0], dict) else {}
        if "edited_by_user" in result or "edited_by_user" in first:
            return True
    return call.resolved is not None and call.resolved.edited is not None


def _result_facts(tool: str, result: dict[str, Any]) -> list[str]:
    if "total_lines" in result:
        return [_count(result["total_lines"], "line")]
    for key, noun in (("matches", "match"), ("paths", "path"), ("files", "file"), ("counts", "file")):
        value = result.get(key)
        if isinstance(value, list | dict):
            total = result.get("total", len(value))
            return [_count(total, noun) + (" (cut)" if result.get("truncated") else "")]
    if tool == "bash_spawn" and "id" in result:
        return [f"in the background as {result['id']}"]
    if tool == "ask_preference" and "A" in result:
        return [f"→ {result['A']}"]
    if tool == "list_dir":
        sizes = [len(value) for value in result.values() if isinstance(value, list)]
        return [_count(sum(sizes), "entry")]
    return []


def _count(number: Any, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "es" if noun.endswith("ch") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def _exit_code(call: Call) -> int | None:
    result = call.done.result if call.done else None
    code = result.get("returncode") if isinstance(result, dict) else None
    return code if isinstance(code, int) else None


def _output(call: Call) -> str:
    done = call.done
    if done is None:
        return ""
    if done.display:
        return done.display
    if isinstance(done.result, dict) and "stdout" in done.result:
        parts = [str(done.result.get("stdout") or ""), str(done.result.get("stderr") or "")]
        return "\n".join(part.rstrip("\n") for part in parts if part.strip())
    return done.result if call.tool in _ANSWERING and isinstance(done.result, str) else ""


def _value_text(call: Call) -> str:
    """Return what a call gave back as a person reads it; the model's own form where there is no better one."""
    done = call.done
    if done is None:
        return ""
    result = done.result if done.ok and isinstance(done.result, dict) else {}
    if "stdout" in result:
        return ""  # a command that printed nothing
    if isinstance(result.get("text"), str):
        return str(result["text"])
    if isinstance(result.get("paths"), list):
        return "\n".join(str(path) for path in result["paths"])
    matches = result.get("matches")
    if isinstance(matches, list) and all(isinstance(match, dict) and "line" in match for match in matches):
        return "\n".join(f"{match.get('path', '')}:{match['line']}: {match.get('text', '')}" for match in matches)
    return done.content


def _room(call: Call) -> int:
    if call.done is not None and (not call.done.ok or _exit_code(call)):
        return FAILED_ROWS
    return OUTPUT_ROWS if _output(call) else 0


def _body(call: Call, columns: int, cwd: str) -> list[Line]:
    done = call.done
    lines = _remarks(call, columns)
    if done is None:
        return lines
    if not done.ok and not _output(call).strip():
        error = (done.error or {}).get("error") or done.content
        if not error:
            return lines
        return lines + _folded(_wrapped_rows(str(error), columns), FAILED_ROWS, head=True)
    diff = _diff_rows(call, columns, cwd)
    if diff:
        return lines + _folded(diff, DIFF_ROWS, head=True)
    output = _output(call)
    if output.strip():
        return lines + _folded(
            _text_rows(output, columns), _room(call), head=bool(done.display) or call.tool in _ANSWERING
        )
    return lines


def _remarks(call: Call, columns: int) -> list[Line]:
    lines: list[Line] = []
    if call.resolved is not None and call.resolved.granted:
        span = "session" if call.agent == "main" else "sub-agent"
        text = f"granted for this {span}: " + ", ".join(call.resolved.granted)
        lines += wrap([(DIM, safe(text, multiline=False))], columns, [(DIM, _INDENT)], [(DIM, _INDENT)])
    if call.resolved is not None and call.resolved.edited is not None and call.resolved.kind == "command":
        rows = safe(call.resolved.edited, prompt=True).split("\n")
        lines += [[(DIM, cut(f"{_INDENT}ran: {row}", columns))] for row in rows]
    return lines


def _wrapped_rows(text: str, columns: int) -> list[Line]:
    rows: list[Line] = []
    for row in expand_tabs(safe(text.rstrip("\n"))).split("\n"):
        rows += wrap([(PLAIN, row)], columns, [(PLAIN, _INDENT)], [(PLAIN, _INDENT)])
    return rows


def _text_rows(text: str, columns: int) -> list[Line]:
    rows = expand_tabs(safe(_after_returns(text.rstrip("\n")))).split("\n")
    room = columns - len(_INDENT)
    return [[(DIM, _INDENT), (PLAIN, piece)] for row in rows for piece in hard_wrap(_squeezed(row, room), room)]


def _squeezed(row: str, room: int) -> str:
    """Take what is too wide from the longest run of blanks inside *row*, as before a percentage at the right end."""
    over = width(row) - room
    widest = max(_RUN.findall(row), key=len, default="") if over > 0 else ""
    return row.replace(widest, widest[over:], 1) if len(widest) > over + 1 else row


def _folded(rows: list[Line], limit: int, *, head: bool) -> list[Line]:
    """Keep *limit* rows of the beginning or the end, and say how many are hidden."""
    if len(rows) <= limit + 1:
        return rows
    mark: Line = [(DIM, f"{_INDENT}… {len(rows) - limit} lines hidden, Ctrl-O shows all")]
    return [*rows[:limit], mark] if head else [mark, *rows[-limit:]]


def _diff_rows(call: Call, columns: int, cwd: str) -> list[Line]:
    if call.done is None or not call.done.ok:
        return []
    diffs = [(item.path, item.diff) for item in call.files if item.diff] or _from_arguments(call)
    rows: list[Line] = []
    for path, diff in diffs:
        if len(diffs) > 1:
            added, removed = count_changes(diff)
            name = safe(relative(path, cwd), multiline=False)
            rows.append([(PLAIN, _INDENT), (NAME, name), (DIM, f"  +{added} −{removed}")])
        rows += [[(PLAIN, _INDENT), *row] for row in diff_rows(diff, columns - len(_INDENT))]
    return rows


def _from_arguments(call: Call) -> list[tuple[str, str]]:
    """Make the diff of an edit that was not asked about from what the call says."""
    args, result = call.args, call.done.result if call.done else None
    if not isinstance(args, dict) or sum(len(str(value)) for value in args.values()) > DIFF_LIMIT:
        return []
    path = str(args.get("path", ""))
    if call.tool == "replace":
        return [(path, _replaced(args, result if isinstance(result, dict) else {}))]
    if call.tool == "write_file" and isinstance(result, dict) and result.get("created"):
        return [(path, made_diff("", str(args.get("content", ""))))]
    if call.tool == "multi_edit" and isinstance(args.get("edits"), list):
        edits = [edit for edit in args["edits"] if isinstance(edit, dict)]
        shown = result.get("edits", []) if isinstance(result, dict) else []
        facts = [item if isinstance(item, dict) else {} for item in shown]
        facts += [{}] * (len(edits) - len(facts))
        return [(path, "\n".join(_replaced(edit, fact) for edit, fact in zip(edits, facts, strict=False)))]
    if call.tool == "apply_patch":
        return [("", str(args.get("patch", "")))]
    return []


def _replaced(edit: dict[str, Any], fact: dict[str, Any]) -> str:
    lines = fact.get("lines")
    first = lines[0][0] if isinstance(lines, list) and lines and isinstance(lines[0], list | tuple) else 1
    return made_diff(str(edit.get("old", "")), str(edit.get("new", "")), int(first))
