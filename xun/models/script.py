"""Scripts of model answers: their form, and one clear sentence for each way to get it wrong."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from xun.errors import ConfigError

TURN_KEYS = ("text", "reasoning", "tool_calls", "usage", "delay", "pieces", "finish_reason")
"""What a turn may hold."""

VERDICTS = ("allow", "unsure", "reject")
"""What a scripted risk answer may say."""


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """One tool call of a turn.

    Attributes:
        name: The tool's name.
        arguments: JSON text, sent as it is; may be broken on purpose.
        id: The call's id, or "" for one that is made when the turn is played.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a script.

    Attributes:
        text: The answer's text.
        reasoning: The model's own notes.
        tool_calls: Calls, in order.
        input: Prompt tokens to report.
        output: Tokens written, to report.
        delay: Seconds before the answer begins.
        pieces: In how many pieces the text is streamed.
        finish_reason: The provider's word, or "" for the one that fits.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    input: int = 0
    output: int = 0
    delay: float = 0.0
    pieces: int = 3
    finish_reason: str = ""


def sequence_of(data: object, name: str) -> list[Any]:
    """Return the objects of *data* when it is a list of some.

    Raises:
        ConfigError: It is something else, such as one turn alone.
    """
    if isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable):
        raise ConfigError(f"{name} must be a list of objects, such as [{{'text': 'hello'}}], not {_kind(data)}")
    return list(data)


def parse_turn(data: object, where: str) -> Turn:
    """Check one turn.

    Raises:
        ConfigError: *data* is no turn; the text names *where* and the key.
    """
    turn = _object(data, where)
    _known_keys(turn, TURN_KEYS, where)
    calls = turn.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise ConfigError(f"{where}: tool_calls must be a list of objects, not {_kind(calls)}")
    usage = _object(turn.get("usage") or {}, f"{where}: usage")
    _known_keys(usage, ("input", "output"), f"{where}: usage")
    return Turn(
        text=_text(turn, "text", where),
        reasoning=_text(turn, "reasoning", where),
        tool_calls=tuple(_call(item, f"{where}, tool_calls[{n}]") for n, item in enumerate(calls)),
        input=int(_number(usage, "input", 0, where)),
        output=int(_number(usage, "output", 0, where)),
        delay=_number(turn, "delay", 0.0, where),
        pieces=max(1, int(_number(turn, "pieces", 3, where))),
        finish_reason=_text(turn, "finish_reason", where),
    )


def parse_risk(data: object, where: str) -> Turn:
    """Check one risk answer: ``{"verdict", "reason"?}``, or a turn that is played as it is.

    Raises:
        ConfigError: *data* is neither.
    """
    item = _object(data, where)
    if "verdict" not in item:
        return parse_turn(item, where)
    _known_keys(item, ("verdict", "reason", "delay"), where)
    if item["verdict"] not in VERDICTS:
        raise ConfigError(f"{where}: verdict must be one of {', '.join(VERDICTS)}, not {item['verdict']!r}")
    return Turn(
        text=risk_text(str(item["verdict"]), _text(item, "reason", where)),
        delay=_number(item, "delay", 0.0, where),
        pieces=1,
    )


def risk_text(verdict: str, reason: str) -> str:
    """Return the JSON text of a risk answer."""
    return json.dumps({"verdict": verdict, "reason": reason}, ensure_ascii=False)


def read_script(path: str | Path) -> tuple[list[Any], list[Any]]:
    """Read a script file and return its turns and its risk answers, unchecked.

    The file holds a JSON list of turns, or ``{"turns": [...], "risk": [...]}``.

    Raises:
        ConfigError: The file can't be read, is no JSON, or has another form.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ConfigError(f"The script {path} is not UTF-8 text (byte {exc.start}); save it as UTF-8") from None
    except OSError as exc:
        raise ConfigError(f"The script {path} can't be read: {exc.strerror or exc}") from None
    try:
        data = json.loads(text)
    except json.JSONDecodeError as exc:
        raise ConfigError(f"The script {path} is no valid JSON: {exc.msg} at line {exc.lineno}") from None
    except RecursionError:
        raise ConfigError(f"The script {path} is no valid script: it is nested too deeply") from None
    if isinstance(data, list):
        return data, []
    if not isinstance(data, dict) or "turns" not in data:
        raise ConfigError(
            f'The script {path} must hold a list of turns, or an object {{"turns": [...], "risk": [...]}}'
        )
    _known_keys(data, ("turns", "risk"), f"The script {path}")
    for key in ("turns", "risk"):
        if not isinstance(data.get(key, []), list):
            raise ConfigError(f"The script {path}: {key} must be a list, not {_kind(data[key])}")
    return data["turns"], data.get("risk", [])


def _call(data: object, where: str) -> ScriptedCall:
    call = _object(data, where)
    _known_keys(call, ("name", "arguments", "id"), where)
    if "name" not in call:
        raise ConfigError(f"{where}: a tool call needs a name")
    arguments = call.get("arguments", {})
    if not isinstance(arguments, str):
        try:
            arguments = json.dumps(arguments, ensure_ascii=False)
        except (TypeError, ValueError) as exc:
            raise ConfigError(f"{where}: arguments must be JSON values: {exc}") from None
    return ScriptedCall(name=_text(call, "name", where), arguments=arguments, id=_text(call, "id", where))


def _object(data: object, where: str) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where} must be an object, not {_kind(data)}")
    return cast("Mapping[str, Any]", data)


def _known_keys(data: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in data:
        if key not in known:
            near = get_close_matches(str(key), known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
            raise ConfigError(f"{where}: unknown key {key!r}; {hint}")


def _text(data: Mapping[str, Any], key: str, where: str) -> str:
    value = data.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {key} must be a string, not {_kind(value)}")
    return value


def _number(data: Mapping[str, Any], key: str, default: float, where: str) -> float:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        raise ConfigError(f"{where}: {key} must be a number from 0, not {value!r}")
    return value


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else f"a {type(value).__name__}")
