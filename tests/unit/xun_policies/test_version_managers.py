"""Version managers on PATH: what the workspace names is free only where it is there already."""

from __future__ import annotations

from pathlib import Path

import pytest

from xun_policies.commands import CommandScope, CommandVerdict, evaluate
from xun_policies.store import PolicyState


class Machine:
    """A home with version managers, and a workspace in it."""

    def __init__(self, base: Path) -> None:
        self.home = base / "home"
        self.work = base / "ws"
        (self.work / "sub").mkdir(parents=True)
        self.managers = {
            "asdf": self.home / ".asdf/shims",
            "mise": self.home / ".local/share/mise/shims",
            "volta": self.home / ".volta/bin",
            "rye": self.home / ".rye/shims",
            "aqua": self.home / ".local/share/aquaproj-aqua/bin",
            "proto": self.home / ".proto/shims",
        }
        for folder in self.managers.values():
            folder.mkdir(parents=True)
            for name in ("python", "node", "rg"):
                (folder / name).write_text("#!/bin/sh\n")
                (folder / name).chmod(0o755)
        (self.managers["mise"].parent / "installs/node/20.11.0").mkdir(parents=True)
        (self.managers["mise"].parent / "installs/python/3.12.1").mkdir(parents=True)
        (self.managers["mise"].parent / "installs/npm-prettier/3.0.0").mkdir(parents=True)
        (self.managers["proto"].parent / "installs/node/20.11.0").mkdir(parents=True)
        (self.managers["volta"].parent / "tools/image/node/18.1.0").mkdir(parents=True)

    def judge(self, manager: str, text: str) -> CommandVerdict:
        path = f"{self.managers[manager]}:/usr/bin:/bin"
        return evaluate(text, PolicyState(), CommandScope(str(self.work), (str(self.work),), str(self.home), path))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("manager", "file", "text", "said"),
    [
        ("asdf", ".tool-versions", "python path:/tmp/x\n", "run a program of the workspace"),
        ("asdf", "sub/.tool-versions", "nodejs 20.1.0\npython   path:./evil\n", "run a program of the workspace"),
        ("asdf", ".python-version", "../../ws/evil\n", "run a program of the workspace"),
        ("asdf", ".python-version", "/tmp/evil\n", "run a program of the workspace"),
        ("mise", "mise.toml", '[tools]\npython = { path = "x" }\n', "run a program of the workspace"),
        ("mise", ".mise.toml", '[env]\n_.path = ["./bin"]\n', "run a program of the workspace"),
        ("mise", ".tool-versions", "python 3.9.9\n", "fetch and run another version"),
        ("mise", "mise.toml", '[tools]\nruby = "3"\n', "fetch and run another version"),
        ("mise", ".python-version", "3.1\n", "fetch and run another version"),
        ("mise", "mise.toml", '[tools]\nnode = "20"\n[env]\n_.source = "x.sh"\n', "run a program of the workspace"),
        ("mise", "mise.toml", "[env]\nA = \"{{ exec(command='touch x') }}\"\n", "run a program of the workspace"),
        ("mise", "mise.toml", '[env]\nNODE_OPTIONS = "--require x.js"\n', "run a program of the workspace"),
        ("mise", "mise.toml", '[env]\nPYTHONPATH = "src"\n', "run a program of the workspace"),
        ("mise", "mise.toml", '[env]\npath = "bin"\n', "run a program of the workspace"),
        ("mise", "mise.toml", '[hooks]\nenter = "x"\n', "run a program of the workspace"),
        ("mise", "mise.toml", '[tools]\nnode = "20"\n[alias.node.versions]\n20 = "22.9"\n', "run a program of"),
        ("mise", "mise.toml", '[tools]\nnode = "20"\n[tool_alias]\nnode = "asdf:a/node"\n', "run a program of"),
        ("mise", "mise.toml", "[settings]\nquiet = true\n", "run a program of the workspace"),
        ("mise", "mise.toml", "tools = [\n", "run a program of the workspace"),
        ("mise", "mise.toml", 'tools.node.version = "20"\ntools.node.postinstall = "x"\n', "run a program of"),
        ("mise", "mise.toml", 'tools = {node = "21"}\n', "fetch and run another version"),
        ("mise", "mise.toml", '[tools]\n"npm:prettier" = "4"\n', "fetch and run another version"),
        ("mise", "mise.toml", '[tools]\nnode = ["20", "22"]\n', "fetch and run another version"),
        ("mise", ".config/mise/config.toml", '[env]\n_.file = "x.env"\n', "run a program of the workspace"),
        ("mise", "mise/config.local.toml", '[env]\n_.file = "x.env"\n', "run a program of the workspace"),
        ("mise", ".config/mise/conf.d/x.toml", "", "run a program of the workspace"),
        ("mise", ".miserc.toml", 'env = ["x"]\n', "run a program of the workspace"),
        ("proto", ".prototools", 'node = "22"\n', "fetch and run another version"),
        ("proto", ".prototools", 'node = "20"\n[plugins]\nnode = "file:x.wasm"\n', "run a program of the workspace"),
        ("rye", "pyproject.toml", "[project]\n", "fetch and run another version"),
        ("aqua", ".aqua/aqua.yml", "packages:\n", "fetch and run another version"),
        ("volta", "package.json", '{"volta": {"node": "20.0.0"}}', "fetch and run another version"),
        ("volta", "package.json", '{"volta": {"extends": "../package.json"}}', "fetch and run another version"),
    ],
)
def test_what_the_workspace_names_is_asked_about(
    machine: Machine, manager: str, file: str, text: str, said: str
) -> None:
    (machine.work / file).parent.mkdir(parents=True, exist_ok=True)
    (machine.work / file).write_text(text)
    folder = "cd sub && " if file.startswith("sub/") else ""
    verdict = machine.judge(manager, f"{folder}python --version")
    assert not verdict.allowed
    assert said in verdict.reason
    assert machine.judge(manager, "ls").allowed


@pytest.mark.parametrize(
    ("manager", "file", "text"),
    [
        ("asdf", ".tool-versions", "python 3.9.9 system # see https://x/../y\nnodejs 20.1.0\n"),
        ("asdf", ".python-version", "3.11.4/envs/mine\n"),
        ("asdf", ".nvmrc", "lts/iron\n"),
        ("mise", ".tool-versions", "python 3.12\nnode 20.11.0\n"),
        ("mise", "mise.toml", '[tools]\nnode = "20"\npython = "latest"\n\n[env]\nNODE_ENV = "test"\n'),
        ("mise", ".nvmrc", "v20.11.0\n"),
        ("mise", "mise.toml", '[tools]\n"npm:prettier" = { version = "3", os = ["linux"] }\nnode = ["20", "lts"]\n'),
        ("mise", "mise.toml", '[env]\nPORT = 80\nAPP_KEY = "x" # {_.x}\n[tasks.x]\nrun = "touch x"\n'),
        ("proto", ".prototools", 'node = "20"\n'),
        ("rye", "package.json", '{"name": "x"}'),
        ("aqua", "mise.toml", '[env]\n_.source = "x"\n'),
        ("volta", "package.json", '{"name": "x", "volta": {"node": "18.1.0"}}'),
        ("volta", "package.json", '{"name": "x"}'),
    ],
)
def test_a_version_that_is_there_is_free(machine: Machine, manager: str, file: str, text: str) -> None:
    (machine.work / file).write_text(text)
    for command in ("python --version", "node -v", "rg x", "cd sub && python3 -m pytest; python -V"):
        verdict = machine.judge(manager, command)
        assert verdict.allowed, verdict.reason


def test_a_manager_that_does_not_run_the_name_does_not_matter(machine: Machine) -> None:
    (machine.work / ".tool-versions").write_text("python path:/tmp/x\n")
    assert machine.judge("asdf", "git --version && grep x a").allowed


def test_a_program_that_a_listed_one_runs_in_turn_may_be_a_managers(machine: Machine) -> None:
    npm = machine.home / "bin/npm"
    npm.parent.mkdir()
    npm.write_text("#!/usr/bin/env node\n")
    npm.chmod(0o755)
    path = f"{machine.managers['asdf']}:{npm.parent}:/usr/bin:/bin"
    scope = CommandScope(str(machine.work), (str(machine.work),), str(machine.home), path)
    assert evaluate("npm ls && npm --version", PolicyState(), scope).allowed
    (machine.work / ".tool-versions").write_text("nodejs path:./evil\n")
    for command in ("npm ls", "npm --version"):
        verdict = evaluate(command, PolicyState(), scope)
        assert not verdict.allowed and "can make node run a program of the workspace" in verdict.reason
