"""The rows of the security corpus about keys: what children get, what is written down, what can be read."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.headless import Headless, call
from tests.fakes.model_server import FakeModelServer
from xun import Agent, AgentConfig, ToolBox, Workspace

ROW = ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "XUN_API_KEY", "MY_PASSWORD")
SIBLINGS = ("PGPASSWORD", "npm_config__authToken", "STRIPE_SK", "MYSQL_PWD", "SENTRY_DSN", "VAULT_CRED", "X_AUTH")
SECRET = "hush-5f1c-{}"
KEY = "sk-test-AAAABBBBCCCCDDDD1234"


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent[Any]]:
    for name in (*ROW, *SIBLINGS):
        value = SECRET.format(name)
        if name in ("DATABASE_URL", "SENTRY_DSN"):
            value = f"postgres://user:{value}@db.invalid/x"
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm")
    made: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("cmd", "code"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True),
    )
    with made as ready:
        yield ready
    made.workspace.close()


def through(agent: Agent[Any], tool: str, arguments: dict[str, Any]) -> str:
    value = agent.toolbox.call_tool(agent, tool, arguments, None).unwrap()
    if tool == "bash_spawn":
        value = agent.toolbox.call_tool(agent, "bash_wait", {"id": value["id"]}, None).unwrap()
    return json.dumps(value)


@pytest.mark.row("sec-secrets-001")
@pytest.mark.parametrize("tool", ["bash", "bash_spawn", "shell", "run_code"])
def test_children_get_no_secret_and_what_they_need(agent: Agent[Any], tool: str) -> None:
    code = "import os\nprint(dict(os.environ))"
    said = through(agent, tool, {"code": code} if tool == "run_code" else {"command": "env; cat /proc/self/environ"})
    assert "hush-5f1c" not in said
    for name in ("PATH", "HOME", "LANG", "TERM"):
        assert name in said


@pytest.mark.row("sec-secrets-001")
def test_names_can_be_added_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ROW:
        monkeypatch.setenv(name, SECRET.format(name))
    config = AgentConfig(auto_confirm=True, command_env=("GITHUB_TOKEN",))
    with Agent(toolbox=ToolBox().with_defaults("cmd"), workspace=Workspace(tmp_path), config=config) as agent:
        said = through(agent, "bash", {"command": "env"})
    assert SECRET.format("GITHUB_TOKEN") in said and said.count("hush-5f1c") == 1


@pytest.mark.row("sec-secrets-003")
@pytest.mark.parametrize("mask", [0o022, 0o000])
def test_whatever_the_umask_all_that_is_kept_is_private(tmp_path: Path, mask: int) -> None:
    xun = Headless(tmp_path)
    (xun.project / ".xun").mkdir()
    (xun.project / ".xun" / "config.toml").write_text("[limits]\nsteps = 9\n")
    (xun.project / "a").write_text("a\n")
    turns = [call("replace", path="a", old="a", new="b"), call("bash", command="echo x"), {"text": "done"}]
    old = os.umask(mask)
    try:
        done = xun.run(turns, "--trust", "--allow-write", ".", XUN_LOG="debug")
    finally:
        os.umask(old)
    assert done.returncode == 0, done.stderr
    kept = [path for path in xun.home.rglob("*") if not path.is_symlink()]
    assert {"sessions", "xun.log"} <= {path.name for path in kept}
    wide = [f"{path} {path.stat().st_mode & 0o777:o}" for path in [xun.home, *kept] if path.stat().st_mode & 0o077]
    assert wide == []
    assert (xun.project / "a").read_text() == "b\n"


def everywhere(root: Path, word: bytes, *besides: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and path not in besides and word in path.read_bytes()]


@pytest.mark.row("sec-secrets-005", "sec-secrets-006")
@pytest.mark.parametrize("known_from", ["file", "variable"])
def test_the_own_key_is_written_nowhere_but_where_it_comes_from(tmp_path: Path, known_from: str) -> None:
    xun = Headless(tmp_path)
    (xun.project / ".env").write_text(f"OPENAI_API_KEY={KEY}\n")
    turns = [
        call("read_file", path=".env"),
        call("bash", command=f"echo 'Authorization: Bearer {KEY}' >&2; false"),
        call("replace", path=".env", old=f"Bearer {KEY}", new="x"),
        {"text": f"The key is {KEY}."},
    ]
    source = xun.home / "credentials"
    with FakeModelServer([*turns, {"status": 400, "body": f"Authorization: Bearer {KEY}"}], api_key=KEY) as server:
        extra: dict[str, str | None] = {"XUN_BASE_URL": server.base_url, "XUN_LOG": "debug", "OPENAI_LOG": "debug"}
        extra["XUN_DEBUG"] = "1"
        if known_from == "file":
            xun.home.mkdir(mode=0o700)
            source.write_text(f'[keys]\n"{server.base_url}" = "{KEY}"\n')
            source.chmod(0o600)
        else:
            extra["XUN_API_KEY"] = KEY
        command = [
            word if not word.startswith("scripted:") else "fake-model"
            for word in xun.command([], "--output", "stream-json")
        ]
        outs = [
            subprocess.run(
                [*command[:-1], *more, "go on"],
                cwd=xun.project,
                env=xun.environment(**extra),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=60,
                check=False,
            )
            for more in ([], ["-c"])
        ]
    assert outs[0].returncode in (0, 4) and outs[1].returncode not in (0, 3), [out.stderr for out in outs]
    assert len(server.chats) == 5
    assert everywhere(tmp_path, KEY.encode(), source, xun.project / ".env") == []
    assert KEY.encode() not in b"".join(out.stderr for out in outs)


@pytest.mark.row("sec-secrets-009")
def test_own_settings_are_read_by_no_tool_also_when_home_is_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    for name in ("config", "data", "state", "cache"):
        monkeypatch.delenv(f"XDG_{name.upper()}_HOME", raising=False)
    monkeypatch.delenv("XUN_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    place = home / ".config" / "xun"
    place.mkdir(parents=True)
    (place / "credentials").write_text(f'[keys]\n"https://x" = "{KEY}"\n')
    (home / ".local/share/xun/sessions/p").mkdir(parents=True)
    (home / ".local/share/xun/sessions/p/1.jsonl").write_text(f'{{"text": "{KEY}"}}\n')
    (home / "link").symlink_to(place)
    (home / "file-link").symlink_to(place / "credentials")
    (home / "own.txt").write_text("inside\n")
    toolbox = ToolBox().with_defaults("fs", "patch", "search", "diagnostic", "editor", "cmd")
    config = AgentConfig(auto_confirm=True, environment="sandbox")
    with Agent(toolbox=toolbox, workspace=Workspace(home), config=config) as agent:

        def get(tool: str, **arguments: Any) -> str:
            result = toolbox.call_tool(agent, tool, arguments, None)
            return json.dumps(result.to_json(), default=str)

        paths = (".config/xun/credentials", "link/credentials", "file-link", ".local/share/xun/sessions/p/1.jsonl")
        for path in (*paths, "~/.config/xun/credentials", ".config/./xun//credentials"):
            for tool, arguments in (
                ("read_file", {"path": path}),
                ("read_many_files", {"include": [path]}),
                ("file_info", {"path": path}),
                ("copy", {"src": path, "dst": "stolen"}),
                ("move", {"src": path, "dst": "stolen"}),
                ("diff_files", {"path_a": path, "path_b": "own.txt"}),
                ("grep", {"pattern": "sk-test", "path": path}),
                ("str_replace_editor", {"command": "view", "path": path}),
                ("check_syntax", {"path": path, "language": "toml"}),
                ("replace", {"path": path, "old": "keys", "new": "KEYS"}),
                ("write_file", {"path": path, "content": "x"}),
                ("delete", {"path": path}),
            ):
                said = get(tool, **arguments)
                assert KEY not in said, (tool, path)
                if path == "file-link" and tool in ("delete", "move"):
                    (home / "file-link").unlink(missing_ok=True)
                    (home / "stolen").unlink(missing_ok=True)
                    (home / "file-link").symlink_to(place / "credentials")
                    continue
                assert "error" in said.lower(), (tool, path, said)
        assert (place / "credentials").read_text().count(KEY) == 1
        assert not (home / "stolen").exists()
        found = get("grep", pattern="sk-test|inside", hidden=True, gitignore=False)
        assert KEY not in found and "own.txt" in found
        assert "credentials" not in get("glob", pattern="**/*", gitignore=False)
        assert KEY not in get("read_many_files", include=["**/*", ".config"])
        assert KEY not in get("list_dir", path=".config", details=True)
        own: Any = agent.environment
        if own.wall != "none":
            for path in paths[:4]:
                assert KEY not in get("bash", command=f"cat {path}; cp {path} /tmp/x; cat /tmp/x; grep -r sk-test .")
        agent.workspace.close()
