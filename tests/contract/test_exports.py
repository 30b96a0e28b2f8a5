"""The public names of the SDK, pinned, and what importing them may load."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import xun
import xun.events
import xun.models

NAMES = {
    "Agent",
    "AgentConfig",
    "AgentGetterParam",
    "CancelledError",
    "ChoiceOutcome",
    "ErrorInfo",
    "Hooks",
    "Result",
    "Suspend",
    "ToolBox",
    "ToolCallContext",
    "ToolCallFormatError",
    "ToolError",
    "ToolFailed",
    "ToolOutput",
    "Workspace",
    "XunError",
    "defer_tool_image",
    "events",
    "tool_attr",
}
ERRORS = """
XunError ConfigError ToolError ToolFailed EditError SearchError CommandError ToolCallFormatError ToolConflict
PolicyError
PathOutsideWorkspace Denied ModelError ModelUnreachable ModelTimeout ModelRateLimited ModelAuth ModelReplyInvalid
ContextOverflow RunError StepLimitReached BudgetReached LoopDetected CancelledError
"""


def test_public_names():
    assert set(xun.__all__) == NAMES == set(dir(xun))
    for name in NAMES:
        assert getattr(xun, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        xun.no_such_name


def test_star_import():
    space: dict[str, object] = {}
    exec("from xun import *", space)
    assert set(space) >= NAMES


def test_models():
    assert set(xun.models.__all__) == {"ChaosModel", "ChatModel", "OpenAIModel", "ScriptedModel"}
    for name in xun.models.__all__:
        assert getattr(xun.models, name).__name__ == name


def test_tree_of_errors():
    errors = importlib.import_module("xun.errors")
    assert set(errors.__all__) == set(ERRORS.split())
    for name in errors.__all__:
        cls = getattr(errors, name)
        if name == "CancelledError":
            assert cls.__mro__[1] is Exception and cls("why").reason == "why"
        else:
            assert issubclass(cls, errors.XunError) and isinstance(cls.kind, str)
    for name in ("ConfigError", "ToolCallFormatError", "ToolConflict", "PathOutsideWorkspace"):
        assert issubclass(getattr(errors, name), ValueError)
    assert issubclass(errors.ToolFailed, errors.ToolError) and issubclass(errors.StepLimitReached, errors.RunError)
    assert errors.PathOutsideWorkspace.kind == "outside" and errors.Denied.kind == "denied"


HEAVY = ("pydantic", "openai", "rich", "prompt_toolkit", "pathspec", "rapidfuzz", "httpx", "pygments")


def loaded_by(code: str) -> set[str]:
    report = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import xun", (*HEAVY, "asyncio", "xun.tools", "xun.agent", "xun_policies")),
        ("from xun import events", (*HEAVY, "asyncio")),
        ("from xun import ToolBox, tool_attr, ToolCallContext", HEAVY),
        ("from xun import Agent; Agent(); from xun.models import ScriptedModel", HEAVY),
        ("from xun import ToolBox; ToolBox(lambda: 1) if 0 else ToolBox().register(print)", HEAVY),
    ],
)
def test_import_budget(code: str, forbidden: tuple[str, ...]):
    loaded = loaded_by(code)
    assert "xun" in loaded and not loaded & set(forbidden)


@pytest.mark.parametrize("code", ["import xun", "from xun import Agent", "import xun.events, xun.models"])
def test_importing_prints_and_starts_nothing(code: str):
    check = f"import threading\n{code}\nassert threading.active_count() == 1"
    done = subprocess.run([sys.executable, "-W", "error", "-c", check], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_kinds_of_tools():
    tools = importlib.import_module("xun.tools")
    assert set(tools.__all__) == set(dir(tools)) == {"Function", "StatefulTool", "ToolBox", "ToolRegistry"}
    for name in tools.__all__:
        assert getattr(tools, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such_name"):
        tools.no_such_name
    loaded = loaded_by("from xun.tools import Function, StatefulTool, ToolBox, ToolRegistry")
    assert "xun.tools.stateful" in loaded and not loaded & {*HEAVY, "jsonschema", "yaml"}
