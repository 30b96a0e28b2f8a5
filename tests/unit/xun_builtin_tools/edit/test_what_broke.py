"""What the result of a write says of a file that does not parse any more."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.choice import ChoiceOutcome
from xun_builtin_tools.edit.broken import LIMITS, MAX_SAID

Call = Callable[..., dict[str, Any]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "ws"
    made.mkdir()
    return made


@pytest.fixture
def make(root: Path) -> Iterator[Callable[..., Call]]:
    agents: list[Agent[Any]] = []

    def agent(**config: Any) -> Call:
        made: Agent[Any] = Agent(
            toolbox=ToolBox().with_defaults("fs", "patch", "editor"),
            workspace=Workspace(root),
            config=AgentConfig(**{"auto_confirm": True, **config}),
        ).initialize()
        agents.append(made)
        return lambda name, **arguments: made.toolbox.call_tool(made, name, arguments, None).unwrap()

    yield agent
    for one in agents:
        one.finalize()
        one.workspace.close()


@pytest.fixture
def call(make: Callable[..., Call]) -> Call:
    return make()


def wrong(value: dict[str, Any]) -> str:
    return str(value.get("syntax_error", ""))


GOOD = "def f():\n    return 1\n"
BAD = "def f(:\n    return 1\n"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("write_file", {"content": BAD}),
        ("replace", {"old": "f()", "new": "f("}),
        ("multi_edit", {"edits": [{"old": "f()", "new": "g()"}, {"old": "g()", "new": "g("}]}),
        ("insert_lines", {"line": 0, "text": "def f(:"}),
        ("apply_patch", {"patch": "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-def f():\n+def f(:\n"}),
        ("str_replace_editor", {"command": "str_replace", "old_str": "f()", "new_str": "f("}),
        ("str_replace_editor", {"command": "insert", "insert_line": 0, "new_str": "def f(:"}),
        ("str_replace_editor", {"command": "create", "file_text": BAD}),
    ],
)
def test_every_tool_that_writes_says_it_and_undo_is_silent(
    call: Call, root: Path, name: str, arguments: dict[str, Any]
) -> None:
    (root / "a.py").write_text(GOOD)
    where = {} if name == "apply_patch" else {"path": "a.py"}
    said = wrong(call(name, **where, **arguments))
    version = f"(Python 3.{sys.version_info.minor})"
    assert said.startswith(f"{root}/a.py:1: SyntaxError: ") and said.endswith(version) and "\n" not in said, said
    assert call("undo_edit") == {"restored": [str(root / "a.py")]}


def test_undo_that_breaks_says_so(call: Call, root: Path) -> None:
    assert wrong(call("write_file", path="a.py", content=BAD))
    assert call("replace", path="a.py", old="f(:", new="f():").keys() == {
        "path", "level", "lines", "added", "removed", "snippet"
    }  # fmt: skip
    assert wrong(call("undo_edit")).startswith(f"{root}/a.py:1: ")


def test_what_was_broken_before_is_not_said_again(call: Call, root: Path) -> None:
    (root / "a.py").write_text(BAD)
    assert not wrong(call("replace", path="a.py", old="return 1", new="return 2"))
    assert not wrong(call("write_file", path="a.py", content=GOOD))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '{"a": 1,\n}', "a.json:2: Expecting property name"),
        ("package.json", '{} // no', "package.json:1: Extra data"),
        ("a.toml", "a = 1\nb =\n", "a.toml:2: Invalid value"),
        ("a.yml", "a: b: c\n", "a.yml:1: mapping values"),
        ("run", "#!/usr/bin/env python3\nx =\n", "run:2: SyntaxError"),
        ("tsconfig.json", '{"a": /* one\n */ 1,\n "b": ]}', "tsconfig.json:3: Expecting value"),
    ],
)  # fmt: skip
def test_the_languages(call: Call, name: str, content: str, said: str) -> None:
    assert said in wrong(call("write_file", path=name, content=content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", '{"a": [1]}'),
        ("a.json", ""),
        ("tsconfig.json", '{\n  // why\n  "a": "http://x/*", /* b */\n  "c": [1, 2,],\n}'),
        (".vscode/settings.json", '{"a": 1, // why\n}'),
        ("a.toml", "[a]\nb = 1\n"),
        ("a.yaml", "a: 1\n---\nb: !x 2\n"),
        ("a.sh", "if then\n"),
        ("a.txt", "(((\n"),
        ("a.py", "x = '\\d'\nassert (1, 'x')\n"),
        ("deep.py", "-" * 100_000 + "1"),
        ("deep.json", "[" * 100_000),
        ("large.yaml", "a: b: c\n" + "x: 1\n" * (LIMITS["yaml"] // 5)),
        ("a.py", "x = 1 \x0c\n"),
    ],
)
def test_nothing_is_said(call: Call, name: str, content: str) -> None:
    assert call("write_file", path=name, content=content).keys() == {"path", "created", "added", "removed"}


def test_a_newer_python_than_ours_is_not_judged(call: Call, root: Path) -> None:
    newer = sys.version_info.minor + 1
    (root / "pyproject.toml").write_text(f'[project]\nrequires-python = ">=3.{newer - 1}"\n')
    assert wrong(call("write_file", path="a.py", content="x = <>\n"))
    (root / "pyproject.toml").write_text(f'[project]\nrequires-python = ">=3.{newer},<4"\n')
    assert not wrong(call("write_file", path="b.py", content="x = <>\n"))
    (root / "pyproject.toml").unlink()
    (root / ".python-version").write_text(f"3.{newer}.1\n")
    assert not wrong(call("write_file", path="c.py", content="x = <>\n"))


def test_many_files_in_one_line(call: Call) -> None:
    parts = "".join(f"*** Add File: {n}.json\n+]\n" for n in range(MAX_SAID + 2))
    said = wrong(call("apply_patch", patch=f"*** Begin Patch\n{parts}*** End Patch\n"))
    assert said.endswith("; and 2 more") and said.count(".json:1: ") == MAX_SAID and len(said) < 1000


def test_it_can_be_switched_off(make: Callable[..., Call]) -> None:
    assert not wrong(make(check_writes=False)("write_file", path="a.py", content=BAD))


def test_what_the_person_made_of_it_is_judged(root: Path) -> None:
    class Person:
        asked = 0

        async def choose(self, request: Any) -> ChoiceOutcome:
            # The changed text is shown, and asked about, again.
            self.asked += 1
            return ChoiceOutcome("once", edited="x = (\n" if self.asked == 1 else None)

    (root / "a.py").write_text(GOOD)
    with Agent(toolbox=ToolBox().with_defaults("fs"), workspace=Workspace(root), chooser=Person()) as agent:
        value = agent.toolbox.call_tool(agent, "write_file", {"path": "a.py", "content": "x = 1\n"}, None).unwrap()
    assert "never closed" in value["syntax_error"] and "edited_by_user" in value
    assert (root / "a.py").read_text() == "x = (\n"


def test_it_is_quick(call: Call) -> None:
    begun = time.process_time()
    for number in range(5):
        call("write_file", path=f"{number}.py", content=GOOD)
    assert time.process_time() - begun < 2.5


@pytest.mark.parametrize(
    "text",
    [",/**/" * 30_000, '["a"' + ", /* x" * 30_000, "/*" * 100_000, '"' + "\\" * 100_000, (", " + " " * 500) * 300],
)
def test_a_hostile_text_with_comments_takes_no_time(call: Call, text: str) -> None:
    begun = time.process_time()
    assert wrong(call("write_file", path=".vscode/settings.json", content=text))
    assert time.process_time() - begun < 2
