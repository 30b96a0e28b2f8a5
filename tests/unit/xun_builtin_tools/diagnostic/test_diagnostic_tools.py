"""check_syntax and check_lint through the toolbox."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, ToolBox, Workspace


@pytest.fixture
def agent(tmp_path: Path) -> Agent[Any]:
    root = tmp_path / "ws"
    root.mkdir()
    made: Agent[Any] = Agent(toolbox=ToolBox().with_defaults("diagnostic"), workspace=Workspace(root))
    return made.initialize()


def syntax(agent: Agent[Any], name: str, content: str | bytes, **arguments: Any) -> Any:
    data = content.encode() if isinstance(content, str) else content
    (agent.workspace.workdir / name).write_bytes(data)
    return agent.toolbox.call_tool(agent, "check_syntax", {"path": name, **arguments}, None)


@pytest.mark.parametrize(
    ("name", "content", "language"),
    [
        ("a.py", "x = 1\n", "python"),
        ("a.pyi", "def f(x: int) -> int: ...\n", "python"),
        ("latin.py", b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "python"),
        ("a.py", "x = '\\d'\nassert (1, 'x')\n", "python"),
        ("run", "#!/usr/bin/env python3\nx = 1\n", "python"),
        ("a.json", '{"a": [1, 2.5e3, null]}', "json"),
        ("a.json", '\ufeff{"a": 1}', "json"),
        ("a.yml", "a: &x [1]\nb: *x\n---\n!tag {c: d}\n", "yaml"),
        ("a.toml", "[a]\nb = 1\n", "toml"),
        ("a.sh", "for x in a b; do echo $x; done\n", "bash"),
        ("run", "#!/bin/sh\necho $((1 + 2))\n", "bash"),
    ],
)
def test_what_is_well_formed(agent, name, content, language):
    assert syntax(agent, name, content).unwrap() == {"valid": True, "language": language, "error_msg": ""}


@pytest.mark.parametrize(
    ("name", "content", "line", "word"),
    [
        ("a.py", "x = 1\ndef f(:\n", 2, "SyntaxError"),
        ("a.py", "if x:\n\ty\n        z\n", 3, "TabError"),
        ("a.py", "def f():\n    pass\nreturn 1\n", 3, "outside function"),
        ("a.py", b"x = '\xff'\n", 1, "utf-8"),
        ("a.py", "x = 1\0", None, "null bytes"),
        ("a.json", '{"a": 1,\n "b": }', 2, "Expecting value"),
        ("a.json", '{"a": NaN}', None, "NaN"),
        ("a.json", "", 1, "Expecting value"),
        ("a.json", b'\n"\xff"', 2, "not UTF-8"),
        ("a.yaml", "a: 1\nb: [1\n", 3, "flow sequence"),
        ("a.yaml", "a: b: c\n", 1, "not allowed"),
        ("a.yaml", "a: *none\n", 1, "undefined alias"),
        ("a.toml", "a = 1\nb = \n", 2, "Invalid value"),
        ("a.sh", "echo a\nif true; then\n", 3, "syntax error"),
        ("a.sh", "case x in\n", 2, "syntax error"),
    ],
)
def test_what_is_not(agent, name, content, line, word):
    value = syntax(agent, name, content).unwrap()
    assert value["valid"] is False and word in value["error_msg"], value
    assert value.get("line") == line, value


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.py", "(" * 100_000),
        ("a.py", "-" * 100_000 + "1"),
        ("a.json", "[" * 100_000),
        ("a.yaml", "[" * 2_000),
        ("a.toml", "a = " + "[" * 100_000),
        ("a.sh", "$(" * 2_000),
    ],
)
def test_hostile_nesting_is_an_answer(agent, name, content):
    assert syntax(agent, name, content).unwrap()["valid"] is False


def test_nothing_is_run_and_nothing_written(agent, monkeypatch):
    root = agent.workspace.workdir
    (root / "startup").write_text(f"touch {root}/startup-ran\n")
    monkeypatch.setenv("BASH_ENV", str(root / "startup"))
    monkeypatch.setenv("PYTHONPATH", str(root))
    (root / "json.py").write_text(f"open({str(root / 'module-ran')!r}, 'w')\n")
    syntax(agent, "a.py", f"open({str(root / 'ran')!r}, 'w')\n").unwrap()
    syntax(agent, "a.sh", f"touch {root}/ran $(touch {root}/ran2)\n").unwrap()
    assert sorted(os.listdir(root)) == ["a.py", "a.sh", "json.py", "startup"]


def test_language_is_asked_for_and_can_be_given(agent):
    assert "python, json" in syntax(agent, "notes", "x").unwrap_err().error
    assert syntax(agent, "notes", "{}", language="json").unwrap()["valid"]
    assert syntax(agent, "a.py", "{]", language="json").unwrap()["language"] == "json"


def test_paths(agent, tmp_path):
    (tmp_path / "out.py").write_text("x")
    for path, kind in [("none.py", "missing"), (".", "is_dir"), ("../out.py", "outside")]:
        info = agent.toolbox.call_tool(agent, "check_syntax", {"path": path}, None).unwrap_err()
        assert info.kind == kind


# -- check_lint


def lint(agent: Agent[Any], content: str, name: str = "a.py") -> Any:
    (agent.workspace.workdir / name).write_text(content)
    return agent.toolbox.call_tool(agent, "check_lint", {"path": name}, None)


@pytest.mark.skipif(not shutil.which("ruff", path=os.path.dirname(sys.executable)), reason="there is no ruff")
def test_findings_by_fixed_rules(agent):
    # Settings of the project do not count: they are for its own runs of ruff.
    (agent.workspace.workdir / "ruff.toml").write_text("lint.ignore = ['F401']\n")
    value = lint(agent, "import os\nx = 1\n").unwrap()
    assert value["valid"] is False and value["findings"][0] == {
        "line": 1,
        "column": 8,
        "code": "F401",
        "message": "`os` imported but unused",
    }
    assert value["error_msg"].startswith("1 findings; the first: line 1")
    assert lint(agent, "x = 1\n").unwrap() == {"valid": True, "error_msg": "", "findings": []}
    assert lint(agent, "def f(:\n").unwrap()["valid"] is False
    assert lint(agent, "import os\n", "script").unwrap()["valid"] is False
    assert not (agent.workspace.workdir / ".ruff_cache").exists()


def test_a_linter_of_the_project_is_never_run(agent, monkeypatch):
    root = agent.workspace.workdir
    fake = root / "bin" / "ruff"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntouch {root}/ran\necho '[]'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{root}/bin:bin:.")
    monkeypatch.setattr(sys, "executable", str(root / "bin" / "python"))
    info = lint(agent, "import os\n").unwrap_err()
    assert "There is no ruff" in info.error and not (root / "ran").exists()


def test_a_linter_that_says_no_json_is_an_error(agent, monkeypatch, tmp_path):
    fake = tmp_path / "bin" / "ruff"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho broken >&2\nexit 2\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    assert "broken" in lint(agent, "x = 1\n").unwrap_err().error


def test_they_are_found_and_not_offered_at_first():
    box = ToolBox().with_defaults("diagnostic")
    assert box.list_tools_json() == []
    assert [tool.name for tool in box.search("syntax", 1)] == ["check_syntax"]
