"""Is a text well-formed in its language? Nothing of it is run, and nothing is written."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from xun.errors import ToolError
from xun_builtin_tools.programs import run

YAML_LIMIT = 2_000_000
"""Bytes of YAML that are checked: its parser is slow."""

_DEEPEST = 500
_MOST_PARTS = 100
# The look-behind and the possessive repeats keep the search linear.
_LONG_KEY = re.compile(rf"""(?<![\w"'-])(?:[\w"'-]++\s*+\.\s*+){{{_MOST_PARTS}}}""", re.ASCII)
_MESSAGE = 1000

# The parser of Python runs in a process of its own, which a hostile text can bring down without harm.
_PYTHON = """
import json, sys
name = sys.argv[1]
try:
    compile(sys.stdin.buffer.read(), name, "exec", dont_inherit=True)
except SyntaxError as exc:
    print(json.dumps([type(exc).__name__ + ": " + (exc.msg or ""), exc.lineno, exc.offset]))
except (ValueError, RecursionError, MemoryError, OverflowError) as exc:
    print(json.dumps([str(exc) or type(exc).__name__ + ": nested too deeply", None, None]))
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong.

    Attributes:
        message: In one sentence.
        line: The line, from 1; None when it is not known.
        column: The column, from 1; None when it is not known.
    """

    message: str
    line: int | None = None
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """The text to check.

    Attributes:
        name: The name of its file, for messages.
        data: Its bytes.
        environment: That of programs which check it.
        find: Returns the path of a program, or None.
        check: Raises when the run was cancelled.
    """

    name: str
    data: bytes
    environment: Mapping[str, str]
    find: Callable[[str], str | None]
    check: Callable[[], None]

    def text(self) -> str:
        """Return the text without its mark.

        Raises:
            UnicodeDecodeError: It is not UTF-8.
        """
        return self.data.decode("utf-8-sig")


def check_python(source: Source) -> Fault | None:
    """Compile *source* as this Python would, in a process of its own."""
    arguments = [sys.executable, "-I", "-S", "-B", "-W", "ignore", "-c", _PYTHON, source.name]
    ended = run(arguments, source.data, source.environment, source.check)
    if ended.status != 0:
        return Fault("Python's parser gave up on it: nested too deeply or too large")
    if not ended.output.strip():
        return None
    message, line, column = json.loads(ended.output)
    return Fault(message[:_MESSAGE], line, column)


def check_json(source: Source) -> Fault | None:
    """Read *source* as JSON; ``NaN`` and its like are no JSON."""
    text = source.text()
    try:
        json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as exc:
        return Fault(exc.msg, exc.lineno, exc.colno)
    except ValueError as exc:
        return Fault(str(exc)[:_MESSAGE])
    return None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


def check_yaml(source: Source) -> Fault | None:
    """Parse *source* as YAML, all of its documents, without making objects of it.

    Raises:
        ToolError: It is too large.
    """
    import yaml

    if len(source.data) > YAML_LIMIT:
        raise ToolError(f"{source.name} has {len(source.data):,} bytes; {YAML_LIMIT:,} is the limit for YAML.")
    text = source.text()
    if _depth(text) > _DEEPEST:
        return Fault("nested too deeply to be read")
    try:
        for _ in yaml.compose_all(text, Loader=yaml.SafeLoader):
            source.check()
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        message = ": ".join(filter(None, (exc.context, exc.problem)))
        return Fault(message[:_MESSAGE], *((mark.line + 1, mark.column + 1) if mark is not None else ()))
    except yaml.YAMLError as exc:
        return Fault(str(exc)[:_MESSAGE])
    return None


def _depth(text: str) -> int:
    """Return how deep brackets are in brackets, those in texts counted too; the reader takes the square of it."""
    depth = deepest = 0
    for found in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if found[0] in "[{" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def check_toml(source: Source) -> Fault | None:
    """Read *source* as TOML.

    Raises:
        ToolError: It has a key that Python's reader would take minutes for.
    """
    import tomllib

    text = source.text()
    if _LONG_KEY.search(text):
        raise ToolError(f"{source.name} has a key of more than {_MOST_PARTS} parts, which is not checked.")
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(exc))
        if place is None:
            return Fault(str(exc)[:_MESSAGE])
        return Fault(str(exc)[: place.start()][:_MESSAGE], int(place[1]), int(place[2]))
    except ValueError as exc:  # a number of thousands of digits
        return Fault(str(exc)[:_MESSAGE])
    return None


def check_bash(source: Source) -> Fault | None:
    """Let bash parse *source* and run none of it.

    Raises:
        ToolError: There is no bash.
    """
    bash = source.find("bash")
    if bash is None:
        raise ToolError("There is no bash on PATH outside the workspace, so a bash script can't be checked.")
    ended = run([bash, "--noprofile", "--norc", "-n"], source.data, source.environment, source.check)
    if ended.status == 0:
        return None
    found = re.search(r"^(?:.*?: )?line (\d+): (.*)", ended.errors, re.M)
    if found is None:
        return Fault(ended.errors.strip()[:_MESSAGE] or f"bash ended with the status {ended.status}")
    return Fault(found[2][:_MESSAGE], int(found[1]))


CHECKS: Mapping[str, Callable[[Source], Fault | None]] = {
    "python": check_python,
    "json": check_json,
    "yaml": check_yaml,
    "toml": check_toml,
    "bash": check_bash,
}
"""The languages, and how each is checked."""

_ENDINGS = {
    ".py": "python",
    ".pyi": "python",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".sh": "bash",
    ".bash": "bash",
}


def language_of(name: str, data: bytes) -> str | None:
    """Return the language that the name or the first line of a file says; None when neither does."""
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    if ending in _ENDINGS:
        return _ENDINGS[ending]
    first = data[:200].split(b"\n", 1)[0]
    if not first.startswith(b"#!"):
        return None
    if re.search(rb"\bpython[0-9.]*\b", first):
        return "python"
    return "bash" if re.search(rb"\b(?:bash|sh)\b", first) else None


def find_fault(source: Source, language: str) -> Fault | None:
    """Return what is wrong with *source*, None when nothing is.

    Raises:
        ToolError: It can't be checked.
    """
    try:
        return CHECKS[language](source)
    except UnicodeDecodeError as exc:
        line = source.data.count(b"\n", 0, exc.start) + 1
        return Fault(f"not UTF-8: the byte 0x{source.data[exc.start]:02x}", line)
    except RecursionError:
        return Fault("nested too deeply to be read")
