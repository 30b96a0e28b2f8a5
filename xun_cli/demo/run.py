"""Plans that run commands."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Generator

from xun_cli.demo.language import is_quoted, unquote
from xun_cli.demo.look import entries, target
from xun_cli.demo.results import Ask, Call, Plan, ToolResult, code, failed, fenced
from xun_cli.demo.talk import which_command

OUTPUT_LINES = 40
"""How many of a command's last lines one answer shows."""

_VAGUE = re.compile(r"(?:the|my|our|your|a|an|all|some|any|this|that|it|them|everything)\b", re.IGNORECASE)


def run_command(ask: Ask) -> Plan | None:
    """Run the command that is given word for word."""
    given = ask["command"].strip()
    quoted = re.sub(r"\s*[.!]$", "", given)
    if is_quoted(quoted):
        return _run(unquote(quoted).strip())
    if _VAGUE.match(given) or not given:
        return which_command(ask)
    # The dot of a sentence is no part of a command; that of a path such as "." is.
    return _run(re.sub(r"(?<=\w)\.$", "", given))


def fixed(command: str) -> Callable[[Ask], Plan]:
    """Return a plan that runs one known command."""

    def plan(ask: Ask) -> Plan:
        return _run(command)

    return plan


def _run(command: str) -> Plan:
    result = yield Call("bash", {"command": command})
    return ran(command, result)


def ran(command: str, result: ToolResult) -> str:
    """Report how a command ended, from its exit code and output alone."""
    if not result.ok:
        return failed(result, f"Running {code(command)}")
    if result.clipped:
        return f"{code(command)} ran; its output is too long to repeat here, and so I can't tell its exit code."
    status = result.get("returncode")
    if status == 0:
        head = f"{code(command)} ended with exit code 0"
    else:
        head = f"{code(command)} failed with exit code {status}"
    output = "\n".join(
        text for text in (str(result.get("stdout") or "").rstrip(), str(result.get("stderr") or "").rstrip()) if text
    )
    if not output:
        return f"{head} and printed nothing."
    lines = output.splitlines()
    cut = f" (the last {OUTPUT_LINES} of {len(lines)} lines)" if len(lines) > OUTPUT_LINES else ""
    return f"{head}{cut}:\n\n{fenced(chr(10).join(lines[-OUTPUT_LINES:]))}"


def run_tests(ask: Ask) -> Plan:
    """Find out how this project runs its tests, and run them."""
    path = target(ask) if ask["path"] else ""
    if path:
        command = f"python3 -m pytest -q {shlex.quote(path)}"
        return _with_hint(command, (yield Call("bash", {"command": command})))
    result = yield Call("list_dir", {"path": "."})
    if not result.ok:
        return failed(result, "Looking for tests")
    command = yield from _test_command(result)
    if not command:
        return (
            "I found no tests that I know how to run here (pytest, a `test` target in a Makefile, package.json, "
            "cargo or go). Give the command itself, for example ``run `./test.sh` ``."
        )
    return _with_hint(command, (yield Call("bash", {"command": command})))


def _with_hint(command: str, result: ToolResult) -> str:
    text = ran(command, result)
    if result.ok and "No module named pytest" in str(result.get("stderr")):
        text += "\n\npytest is not installed for this Python; activate the project's environment, or install it."
    return text


def _test_command(result: ToolResult) -> Generator[Call, ToolResult, str]:
    folders, files = entries(result)
    folders = [name.rstrip("/") for name in folders]
    has_tests = any(re.fullmatch(r"(test_.*|.*_test)\.py", name) for name in files)
    if has_tests or {"pytest.ini", "conftest.py"} & set(files):
        return "python3 -m pytest -q"
    # A target of the project's own says best how its tests are run.
    makefile = next((name for name in ("GNUmakefile", "makefile", "Makefile") if name in files), "")
    if makefile:
        text = yield from _text_of(makefile)
        if re.search(r"^test\s*:(?!=)", text, re.MULTILINE):
            return "make test"
    if {"tests", "test"} & set(folders) and {"pyproject.toml", "setup.py", "setup.cfg", "tox.ini"} & set(files):
        return "python3 -m pytest -q"
    if "package.json" in files and _has_test_script((yield from _text_of("package.json"))):
        return "npm test"
    if "Cargo.toml" in files:
        return "cargo test"
    if "go.mod" in files:
        return "go test ./..."
    if {"tests", "test"} & set(folders):
        folder = "tests" if "tests" in folders else "test"
        found = yield Call("glob", {"pattern": f"{folder}/**/test_*.py"})
        if found.ok and found.get("paths"):
            return "python3 -m pytest -q"
    return ""


def _text_of(path: str) -> Generator[Call, ToolResult, str]:
    result = yield Call("read_file", {"path": path, "offset": 1, "limit": 2000})
    return str(result.get("text") or "") if result.ok else ""


def _has_test_script(text: str) -> bool:
    try:
        data = json.loads(text)
    except ValueError:
        return False
    scripts = data.get("scripts") if isinstance(data, dict) else None
    script = scripts.get("test") if isinstance(scripts, dict) else None
    # The script that npm itself puts there only fails.
    return isinstance(script, str) and bool(script) and "no test specified" not in script
