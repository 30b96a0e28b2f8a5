"""Questions as an editor asks them, and what its answers mean."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from acp import helpers
from acp.schema import PermissionOption, ToolCallUpdate

from xun.choice import DENY, GRANT, ChoiceOutcome, ChoiceRequest, Option
from xun_cli.acp.updates import COLUMNS, KINDS, call_key, fenced
from xun_cli.plain_questions import grant_text, refusal, scope_text
from xun_cli.render.safe import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp.helpers import ToolCallContentVariant

MAX_DIFFED = 1_000_000
"""Bytes of a file up to which an editor gets both of its versions to compare."""


def tool_call_of(request: ChoiceRequest) -> ToolCallUpdate:
    """Return what *request* is about: everything that a person needs to decide; blocking, as files are read."""
    who = "" if request.agent == "main" else f"{safe(request.agent, multiline=False)}: "
    return ToolCallUpdate(
        tool_call_id=call_key(request.agent, request.call_id or request.id),
        title=who + safe(request.prompt, multiline=False, prompt=True),
        kind=KINDS.get(request.tool, {"command": "execute", "write": "edit"}.get(request.kind, "other")),  # type: ignore[arg-type]
        status="pending",
        content=list(_content(request)),
    )


def _content(request: ChoiceRequest) -> Iterator[ToolCallContentVariant]:
    from xun_cli.render.approval_content import content_lines, risk_words
    from xun_cli.render.text import plain_lines

    risk, _ = risk_words(request.risk)
    # A diff that the editor draws itself is not said twice, but what a diff can't show is.
    text = plain_lines(content_lines(request, COLUMNS))
    if whole := "\n".join(part for part in (risk, text) if part.strip()):
        yield helpers.tool_content(helpers.text_block(fenced(whole)))
    for file in request.files:
        if file.proposed is not None and not file.protected and (old := _old_text(file.path)) is not None:
            yield helpers.tool_diff_content(file.path, file.proposed, old or None)


def _old_text(path: str) -> str | None:
    """Return the text of a file as it is, "" when there is none; None when it can't be shown."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(fd, "rb") as file:
            data = file.read(MAX_DIFFED + 1)
        return data.decode("utf-8") if len(data) <= MAX_DIFFED else None
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError):
        return None


def options_of(request: ChoiceRequest) -> list[PermissionOption]:
    """Return the answers that an editor offers, each with an id that `outcome_of` knows."""
    made = []
    for index, option in enumerate(request.options):
        if not option.available:
            continue
        label = safe(option.label, multiline=False, prompt=True)
        if option.value == GRANT and request.kind == "command":
            made.append(_option(str(index), f"{label}: {grant_text(request)}", "allow_always"))
        elif option.value == GRANT and request.kind == "write":
            for at, scope in enumerate(request.write_scopes):
                made.append(_option(f"{index}.{at}", f"{label}: {scope_text(scope)}", "allow_always"))
        else:
            made.append(_option(str(index), label, "reject_once" if _refuses(request, option) else "allow_once"))
    return made


def _option(option_id: str, name: str, kind: Any) -> PermissionOption:
    return PermissionOption(option_id=option_id, name=name, kind=kind)


def _refuses(request: ChoiceRequest, option: Option) -> bool:
    return option.value == DENY if request.kind in ("command", "write") else option.value is False


def outcome_of(request: ChoiceRequest, option_id: str | None) -> ChoiceOutcome[Any]:
    """Return what the chosen option means; None, and an id that was never offered, are a refusal."""
    if option_id is None or option_id not in {option.option_id for option in options_of(request)}:
        return refusal(request)
    index, _, scope = option_id.partition(".")
    option = request.options[int(index)]
    if option.value != GRANT or request.kind not in ("command", "write"):
        return ChoiceOutcome(option.value)
    if request.command is not None:
        return ChoiceOutcome(GRANT, grants=tuple(request.command.grants))
    return ChoiceOutcome(GRANT, grants=tuple(request.write_scopes[int(scope)]) if scope else None)
