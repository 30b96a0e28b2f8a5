"""The decisions of a session, or of all: from the audit trail, else from what the session remembers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun_cli.commands.arguments import BadArguments, number
from xun_cli.commands.output import Output, table, text

if TYPE_CHECKING:
    from xun_policies.store import PolicyState

MOST = 10_000
"""Most decisions that are shown at once."""
_SHOWN = 60


def log_arguments(given: Sequence[str], usage: str, session: str) -> tuple[int, str]:
    """Read ``[n] [--all | --session ID]``; return how many, and of which session ("" for all).

    Raises:
        BadArguments: They are something else.
    """
    names = list(given)
    if "--session" in names:
        at = names.index("--session")
        if at + 1 >= len(names):
            raise BadArguments(f"--session needs the id of a session, or its beginning. Usage: {usage}")
        session = names[at + 1]
        del names[at : at + 2]
    elif "--all" in names:
        names.remove("--all")
        session = ""
    if len(names) > 1 or any(name.startswith("--") for name in names):
        raise BadArguments(f"{' '.join(given)!r} is not understood. Usage: {usage}")
    return (number(names[0], "The number of decisions", most=MOST) if names else 20), session


def decisions(
    trail: Path, count: int, session: str, remembered: PolicyState | None = None
) -> tuple[list[dict[str, Any]], str]:
    """Return the last *count* decisions of *session* ("" for all), newest last, and a note about what can't be read.

    Args:
        trail: The file of the audit trail.
        count: Most decisions.
        session: An id, or its beginning.
        remembered: The policy of the session itself, for when the trail has nothing of it.
    """
    from xun_policies.audit import read_audit

    try:
        rows, bad = read_audit(trail, count, session)
    except OSError as exc:
        rows, bad = [], 0
        note = f"The audit trail {trail} can't be read: {exc.strerror or exc}."
    else:
        note = f"{bad} damaged lines of {trail} are left out." if bad else ""
    if not rows and remembered is not None:
        rows = [record.to_json() for record in list(remembered.log)[-count:]]
    return rows, note


def log_table(rows: Sequence[dict[str, Any]], note: str, *, every: bool) -> tuple[Output, ...]:
    """Return *rows* as a table; with *every* it tells the day and the session too."""
    notes = (text(note),) if note else ()
    if not rows:
        return (text("No decision yet." if every else "No decision yet in this session."), *notes)
    header = ("time", "tool", "what", "decision", "because")
    return (table((*header, "session") if every else header, [_row(row, every) for row in rows]), *notes)


def _row(row: dict[str, Any], every: bool) -> tuple[str, ...]:
    when = str(row.get("when", ""))[:16].replace("T", " ")
    agent = str(row.get("agent", ""))
    tool = str(row.get("tool", "")) + (f" ({agent})" if agent not in ("", "main") else "")
    risk, held = str(row.get("risk", "")), str(row.get("held", ""))
    because = (str(row.get("rule", "")), f"risk {risk}" if risk else "", f"in {held}" if held else "")
    shown = (
        when[5:] if every else when[-5:],
        tool,
        _short(str(row.get("subject", ""))),
        f"{row.get('decision', '')}: {row.get('source', '')}",
        ", ".join(part for part in because if part),
    )
    return (*shown, str(row.get("session", ""))) if every else shown


def _short(subject: str) -> str:
    line = subject.replace("\n", "⏎")
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
