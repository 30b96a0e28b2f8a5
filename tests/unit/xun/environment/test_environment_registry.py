from __future__ import annotations

import sys
from pathlib import Path

import pytest

from xun import Agent, AgentConfig, ToolBox, ToolCallContext, Workspace
from xun.environment.bubblewrap import BubblewrapEnvironment
from xun.environment.docker import DockerEnvironment
from xun.environment.local import LocalEnvironment
from xun.environment.registry import EnvironmentRegistry
from xun.errors import ConfigError


@pytest.fixture
def workspace(tmp_path):
    made = Workspace(tmp_path)
    yield made
    made.close()


class Counting(LocalEnvironment):
    """Knows how often it was closed."""

    def __init__(self, workspace):
        super().__init__(workspace)
        self.closed = 0

    def close(self):
        self.closed += 1
        super().close()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("local", LocalEnvironment),
        ("docker", DockerEnvironment),
        ("docker:python:3.13", DockerEnvironment),
        ("bubblewrap", BubblewrapEnvironment),
        ("bubblewrap:network", BubblewrapEnvironment),
    ],
)
def test_the_names_of_xun(workspace, name, kind):
    made = EnvironmentRegistry().make(name, workspace)
    assert type(made) is kind and made.name == name.partition(":")[0] and made.workspace == str(workspace.workdir)


@pytest.mark.parametrize("name", ["nowhere", "", "local:x", "bubblewrap:net", "Docker"])
def test_a_wrong_name_is_told(workspace, name):
    with pytest.raises(ConfigError):
        EnvironmentRegistry().make(name, workspace)


def test_an_unknown_name_comes_with_those_there_are(workspace):
    with pytest.raises(ConfigError, match="'nowhere'; the environments are bubblewrap, docker, local, sandbox"):
        EnvironmentRegistry().make("nowhere", workspace)


def test_one_of_a_program(workspace):
    seen = []

    def factory(given, argument):
        seen.append(argument)
        return LocalEnvironment(given)

    registry = EnvironmentRegistry().register_environment("mine", factory)
    registry.make("mine:a:b", workspace)
    registry.make("mine", workspace)
    assert seen == ["a:b", ""] and "mine" in registry.names()
    assert "mine" not in EnvironmentRegistry().names()


@pytest.mark.parametrize("name", ["", "a:b", "local", "mine"])
def test_a_name_that_can_not_be_registered(name):
    registry = EnvironmentRegistry().register_environment(
        "mine", lambda workspace, argument: LocalEnvironment(workspace)
    )
    with pytest.raises(ValueError, match="environment"):
        registry.register_environment(name, lambda workspace, argument: LocalEnvironment(workspace))


def installed(folder: Path, target: str) -> None:
    """Lay out an installed package with an entry point."""
    (folder / "third_party_env.py").write_text(
        "from xun.environment.local import LocalEnvironment\n"
        "class Third(LocalEnvironment):\n    name = 'third'\n"
        "def make(workspace, argument):\n    return Third(workspace)\n"
    )
    info = folder / "third_party_env-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party-env\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[xun.environments]\nthird = {target}\n")


def test_one_of_an_installed_package(workspace, tmp_path, monkeypatch):
    installed(tmp_path, "third_party_env:make")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "third_party_env", raising=False)
    assert "third" in EnvironmentRegistry().names()
    assert EnvironmentRegistry().make("third", workspace).name == "third"


def test_one_that_can_not_be_loaded_is_told(workspace, tmp_path, monkeypatch):
    installed(tmp_path, "no_such_module_of_ours:make")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigError, match="'third' of no_such_module_of_ours:make can't be loaded"):
        EnvironmentRegistry().make("third", workspace)


# -- the environment of an agent ------------------------------------------------------------------


def test_an_agent_makes_its_environment_once(workspace):
    with Agent(workspace=workspace) as agent:
        assert isinstance(agent.environment, LocalEnvironment) and agent.environment is agent.environment


def test_a_wrong_name_is_told_at_first_use(workspace):
    agent = Agent(workspace=workspace, config=AgentConfig(environment="nowhere"))
    with pytest.raises(ConfigError, match="nowhere"):
        _ = agent.environment


def test_one_that_was_given_is_used_and_left_open(workspace):
    mine = Counting(workspace)
    with Agent(workspace=workspace, config=AgentConfig(environment=mine)) as agent:
        assert agent.environment is mine
    assert mine.closed == 0


def test_what_an_agent_made_ends_with_it(workspace):
    with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=workspace, config=AgentConfig(True)) as agent:
        process = agent.environment.spawn("sleep 450")
        assert process.poll() is None
    assert process.wait(5) < 0
    process.close()


def test_a_tool_gets_the_environment_of_its_agent(workspace):
    def where(ctx: ToolCallContext[None]) -> str:
        """Say where."""
        return ctx.environment.workspace if ctx.environment is ctx.agent.environment else ""

    with Agent(toolbox=ToolBox(where), workspace=workspace) as agent:
        assert agent.toolbox.call_tool(agent, "where", {}, None).unwrap() == str(workspace.workdir)


def test_a_sub_agent_stays_where_its_parent_is(workspace):
    mine = Counting(workspace)
    parent = Agent(workspace=workspace, config=AgentConfig(environment=mine))
    assert Agent(workspace=workspace, parent=parent).environment is mine
    own = LocalEnvironment(workspace)
    assert Agent(workspace=workspace, parent=parent, config=AgentConfig(environment=own)).environment is own
    boxed = Agent(workspace=workspace, config=AgentConfig(environment="bubblewrap"))
    assert Agent(workspace=workspace, parent=boxed, config=boxed.config).environment is boxed.environment
    assert Agent(workspace=workspace, parent=boxed).environment is boxed.environment


def test_a_local_sub_agent_has_an_environment_of_its_own(workspace):
    parent = Agent(workspace=workspace)
    assert Agent(workspace=workspace, parent=parent).environment is not parent.environment


def test_an_environment_that_can_not_be_closed_does_not_keep_the_agent_open(workspace, tmp_path, monkeypatch, caplog):
    (tmp_path / "third_party_env.py").write_text(
        "from xun.environment import LocalEnvironment\n"
        "class Bad(LocalEnvironment):\n    def close(self):\n        raise RuntimeError('stuck')\n"
        "def make(workspace, argument):\n    return Bad(workspace)\n"
    )
    info = tmp_path / "third_party_env-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party-env\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[xun.environments]\nbad = third_party_env:make\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "third_party_env", raising=False)
    ended = []
    with Agent(workspace=workspace, config=AgentConfig(environment="bad")) as agent:
        agent.hooks.before_finalize.add(ended.append)
        assert agent.environment.workspace == str(workspace.workdir)
    assert ended == [agent] and "stuck" in caplog.text


def test_the_public_names():
    import xun.environment

    for name in xun.environment.__all__:
        assert getattr(xun.environment, name).__name__ == name
    assert dir(xun.environment) == xun.environment.__all__
    with pytest.raises(AttributeError):
        _ = xun.environment.nothing
