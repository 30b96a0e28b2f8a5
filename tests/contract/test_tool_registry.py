"""Names, attributes and visibility of tools: statements 38 to 54 of the tool contract."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from typing import Any

import pytest

from xun import ToolBox, tool_attr
from xun.errors import ToolConflict
from xun.tools.attr import ToolAttr, attr_of


def make(name: str, text: str = "", **attr: Any) -> Any:
    @tool_attr(name=name, description=text, **attr)
    def tool() -> str:
        return text

    return tool


def names(box: ToolBox, *args: Any) -> list[str]:
    return [tool.name for tool in box.list_tools(*args)]


def texts(box: ToolBox) -> list[tuple[str, str]]:
    return [(tool.name, tool.description) for tool in box.list_tools()]


def test_038_two_plain_tools_of_one_name():
    box = ToolBox(make("a", "old"))
    with pytest.raises(ValueError, match=r"^Conflict tool name.*'a'") as caught:
        box.register(make("a", "new"))
    assert isinstance(caught.value, ToolConflict)
    assert texts(box) == [("a", "old")]


def test_039_override_replaces_in_place(capsys: pytest.CaptureFixture[str]):
    box = ToolBox(make("a", "old"), make("b"))
    box.register(make("a", "new", override=True))
    assert texts(box) == [("a", "new"), ("b", "")]
    assert capsys.readouterr() == ("", "")


def test_040_overriding_old_one_stays(capsys: pytest.CaptureFixture[str]):
    box = ToolBox(make("a", "old", override=True))
    box.register(make("a", "new"))
    assert texts(box) == [("a", "old")]
    assert capsys.readouterr() == ("", "")


def test_041_both_override_the_later_wins():
    box = ToolBox(make("a", "old", override=True), make("a", "new", override=True))
    assert texts(box) == [("a", "new")]


def test_042_override_information(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    box = ToolBox(make("a", override=True), make("b"))
    monkeypatch.setenv("_XUN_INFO_TOOL_OVERRIDE", "1")
    box.register(make("a"), make("b", override=True))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and "'a' kept" in lines[0] and "'b' replaced" in lines[1]
    monkeypatch.setenv("_XUN_INFO_TOOL_OVERRIDE", "0")
    box.register(make("a"))
    assert capsys.readouterr() == ("", "")


def test_043_register_all_or_none():
    box = ToolBox(make("a"))
    with pytest.raises(ValueError, match="Conflict"):
        box.register(make("b"), make("a"))
    assert names(box) == ["a"]
    with pytest.raises(TypeError, match="callable"):
        box.register(make("c"), 5)
    assert names(box) == ["a"]


def test_044_tool_attr_changes_nothing_else():
    @tool_attr(name="Other", override=True)
    def plain(a: int, b: str = "x") -> str:
        """Say it."""
        return b * a

    assert plain(2) == "xx" and plain.__name__ == "plain" and plain.__doc__ == "Say it."
    assert str(inspect.signature(plain)) == "(a: 'int', b: 'str' = 'x') -> 'str'"


def test_045_defaults_of_attributes():
    @tool_attr()
    def marked(): ...

    def unmarked(): ...

    for func in (marked, unmarked):
        assert attr_of(func) == ToolAttr(name=None, required_capabilities=(), override=False)


def test_046_decorator_form():
    box = ToolBox()

    @box.tool
    def plain() -> int:
        return 1

    @box.tool
    @tool_attr(name="under_it", description="u")
    def first() -> int:
        return 2

    @tool_attr(name="over_it", description="o", sequential=True)
    @box.tool
    def second() -> int:
        return 3

    @box.tool(name="given")
    def third() -> int:
        return 4

    @box.tool
    def last() -> int:
        return 5

    assert [func() for func in (plain, first, second, third, last)] == [1, 2, 3, 4, 5]
    assert texts(box) == [("plain", ""), ("under_it", "u"), ("over_it", "o"), ("given", ""), ("last", "")]
    assert box.get("over_it").attr.sequential and box.get("second") is None


def test_046_attributes_that_come_late_may_conflict():
    box = ToolBox(make("taken", "old"))

    @box.tool
    def second(): ...

    with pytest.raises(ToolConflict):
        tool_attr(name="taken")(second)
    assert names(box) == ["taken", "second"]


def test_047_disable_hides_and_enable_restores():
    box = ToolBox(make("bash"), make("ls"))
    box.disable("bash")
    assert names(box) == ["ls"] and [entry["function"]["name"] for entry in box.list_tools_json()] == ["ls"]
    assert box.get("bash") is not None and box.is_disabled("bash")
    box.enable("bash")
    assert names(box) == ["bash", "ls"]


def test_048_patterns():
    box = ToolBox(*(make(name) for name in ("browser_page", "browser_logs", "a", "b", "c", "Browser_x")))
    assert names(box.disable("browser_*")) == ["a", "b", "c", "Browser_x"]
    assert names(box.disable("[ab]")) == ["c", "Browser_x"]
    assert names(box.disable("?", "nothing_like_it*")) == ["Browser_x"]
    assert names(box.enable("browser_*", "?")) == ["browser_page", "browser_logs", "a", "b", "c", "Browser_x"]


def test_049_both_return_the_box():
    box = ToolBox(make("a"))
    assert box.disable("a") is box and box.enable("a") is box
    assert box.disable_subagent() is box and box.enable_subagent() is box


def test_050_pattern_covers_now_and_name_covers_later():
    box = ToolBox(make("web_a")).disable("web_*", "bash")
    box.register(make("web_b"), make("bash"))
    assert names(box) == ["web_b"]


def test_051_capabilities():
    box = ToolBox(make("plain"), make("eyes", required_capabilities=["vision"]))
    assert names(box) == names(box, None) == names(box, {"vision"}) == names(box, ["vision"]) == ["plain", "eyes"]
    assert names(box, set()) == names(box, iter(())) == ["plain"]


def test_052_tools_array():
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    assert ToolBox().list_tools_json() == []
    [entry] = ToolBox(add).list_tools_json()
    assert entry == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"a": {"title": "A", "type": "integer"}, "b": {"title": "B", "type": "integer"}},
                "required": ["a", "b"],
            },
        },
    }
    assert json.loads(json.dumps(entry)) == entry


def test_053_clone():
    box = ToolBox(make("a"), make("b")).disable("b")
    copy = box.clone()
    assert copy.list_tools()[0] is box.list_tools()[0] and copy.is_disabled("b")
    copy.register(make("c")).enable("b")
    box.register(make("d")).disable("a")
    assert names(copy) == ["a", "b", "c"] and names(box) == ["d"]


def test_054_subagent_switch():
    box = ToolBox(make("other")).with_subagent_provider()
    assert names(box.disable_subagent()) == ["other"]
    tools = ["agent_run", "agent_run_parallel", "agent_spawn", "agent_wait", "agent_list", "agent_resume"]
    assert names(box.enable_subagent()) == ["other", *tools]


def test_nothing_of_the_groups_is_loaded_before_it_is_asked_for():
    code = (
        "import sys; from xun import ToolBox; ToolBox(); "
        "print(sorted(name for name in sys.modules if name.startswith('xun_builtin_tools')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
