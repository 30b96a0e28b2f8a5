"""What the demo plans and what it gets back."""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

_DONE = frozenset({"OK", '"OK"', "null", "true"})
"""How tools without a value of their own say that they did it."""

_CLIPPED = re.compile(r"\n\[\.\.\. \d+ characters cut of \d+ \.\.\.\]\n")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call to make.

    Attributes:
        tool: The tool's name.
        arguments: Its arguments.
        text: What is said before it.
    """

    tool: str
    arguments: dict[str, Any]
    text: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came back from a call.

    Attributes:
        ok: The tool succeeded.
        value: Its value; an empty dict when the value was too long to come back whole.
        text: What the history holds of it.
        clipped: The value was too long to come back whole.
    """

    ok: bool
    value: Any
    text: str
    clipped: bool = False

    @property
    def denied(self) -> bool:
        """Whether a person or a rule refused the call."""
        return not self.ok and self.text.lstrip().lower().startswith("denied")

    def get(self, key: str, default: Any = None) -> Any:
        """Return a member of the value."""
        return self.value.get(key, default) if isinstance(self.value, dict) else default


Plan = Generator[Call, ToolResult, str]
"""A plan yields calls, is sent their results, and returns the answer. It depends on nothing else, so that
it can be run again from the history at each step."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, as a rule matched it.

    Attributes:
        words: What the rule's named parts matched.
        text: The whole request.
        recent: The path that was spoken of last, or "".
        tools: The tools on offer.
    """

    words: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    recent: str = ""
    tools: frozenset[str] = frozenset()

    def __getitem__(self, name: str) -> str:
        return self.words.get(name) or ""


def result_of(text: str) -> ToolResult:
    """Read the text of a tool message: JSON of a value, or the sentence of an error."""
    stripped = text.strip()
    if stripped in _DONE:
        return ToolResult(True, None, stripped)
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        clipped = stripped.startswith(("{", "[")) and _CLIPPED.search(stripped) is not None
        return ToolResult(clipped, {}, stripped, clipped)
    if isinstance(value, dict) and (value.get("is_ok") is False or ("error" in value and "details" in value)):
        return ToolResult(False, value, str(value.get("error") or value.get("value") or stripped))
    if not isinstance(value, dict | list):
        # Any other bare text is an error that happens to be JSON.
        return ToolResult(False, value, stripped)
    return ToolResult(True, value, stripped)


def failed(result: ToolResult, what: str) -> str:
    """Say that *what* was not done, in the tool's own words."""
    said = re.sub(r"\s*Do not try the same .*$", "", result.text, flags=re.DOTALL).strip() or "no reason was given"
    said = said if len(said) <= 800 else f"{said[:800]}…"
    quoted = "\n".join(f"> {line}" for line in said.splitlines())
    if result.denied:
        return f"{what}: not allowed, so it was not done.\n\n{quoted}"
    return f"{what}: this did not work.\n\n{quoted}"


def fenced(text: str, language: str = "") -> str:
    """Return *text* as a code block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def code(text: str) -> str:
    """Return *text* as inline code that nothing in it can end."""
    text = " ".join(text.split()) if "\n" in text else text
    if "`" not in text:
        return f"`{text}`"
    ticks = "`" * (max(len(run) for run in re.findall(r"`+", text)) + 1)
    return f"{ticks} {text} {ticks}"


def plural(count: int, word: str) -> str:
    """Return a number with its noun."""
    return f"{count} {word if count == 1 else word + 's'}"


def names(items: Any) -> list[str]:
    """Return the names in a tool's list, of strings or of objects."""
    found = []
    for item in items if isinstance(items, list) else ():
        name = item.get("name", item.get("path")) if isinstance(item, dict) else item
        if isinstance(name, str):
            found.append(name)
    return found
