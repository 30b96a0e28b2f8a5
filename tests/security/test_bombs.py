"""Small files that cost a reader minutes, or that it answers with an error of its own kind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.errors import ConfigError
from xun_cli.agents_file import starter
from xun_cli.config import load_settings
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.toml_file import read_toml
from xun_policies.errors import PolicyError
from xun_policies.policy_file import parse_toml

GIANT = "9" * 5000
BIG = (f"x = {GIANT}", f"x = 0x{'F' * 5000}", "x = 9223372036854775808", "[a]\nx = [[{b = -99999999999999999999}]]")


@pytest.mark.row("sec-trust-014")
@pytest.mark.parametrize("text", BIG)
def test_a_number_that_no_setting_has_is_one_sentence(tmp_path: Path, text: str) -> None:
    project = tmp_path / "project"
    (project / ".xun").mkdir(parents=True)
    (project / ".xun" / "config.toml").write_text(text)
    places = Places.from_environment({"XUN_HOME": str(tmp_path / "home")})
    settings = load_settings(places, StartOptions(cwd=project), {})
    assert len(settings.warnings) == 1 and "a whole number is too large" in settings.warnings[0]
    with pytest.raises(ConfigError, match="too large"):
        read_toml(project / ".xun" / "config.toml", leaves=())


def test_the_largest_number_of_toml_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("x = [9223372036854775807, -9223372036854775808, true]")
    found = read_toml(tmp_path / "a.toml", leaves=())
    assert found is not None and found.values == {"x": [2**63 - 1, -(2**63), True]}


def test_other_readers_of_toml_say_so_too(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="too large"):
        parse_toml(f"version = {GIANT}\n")
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest]\nx = {GIANT}\n")
    assert "pytest" in starter(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.toml", ".".join("a" * 30_000) + " = 1"),
        ("a.toml", f"x = {GIANT}"),
        ("a.toml", "x = " + "[" * 30_000),
        ("a.yaml", "[" * 30_000),
        ("a.yaml", "{a: " * 9_000),
        ("a.yaml", "- " * 30_000),
        ("a.json", f'{{"a": {GIANT}}}'),
        ("a.json", "[" * 100_000),
    ],
)
def test_writing_and_checking_take_no_time(tmp_path: Path, name: str, text: str) -> None:
    box = ToolBox().with_defaults("fs", "diagnostic")
    with Agent(toolbox=box, workspace=Workspace(tmp_path), config=AgentConfig(auto_confirm=True)) as agent:
        begun = time.process_time()
        assert agent.toolbox.call_tool(agent, "write_file", {"path": name, "content": text}, None).is_ok()
        checked = agent.toolbox.call_tool(agent, "check_syntax", {"path": name}, None)
        assert time.process_time() - begun < 3
    assert not checked.is_ok() or checked.value["valid"] is False
    assert (tmp_path / name).read_text() == text
