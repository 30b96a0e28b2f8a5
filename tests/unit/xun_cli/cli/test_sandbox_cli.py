"""The sandbox as the person meets it: flag, settings, project, notice, status line, doctor, headless."""

from __future__ import annotations

import asyncio
import json
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.headless import Headless, call
from xun.environment import LocalEnvironment, SandboxEnvironment
from xun_cli import sandboxing
from xun_cli.compose import build_session
from xun_cli.config import load_settings
from xun_cli.diagnosis import diagnose
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.render.status import Status, status_line
from xun_cli.render.text import BAD, DIM
from xun_cli.session.session import Session
from xun_cli.session.shell import run_as_user
from xun_cli.settings import Settings


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.setenv("XUN_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "project").mkdir()
    return Places.from_environment()


@pytest.fixture
def build(places: Places, tmp_path: Path) -> Iterator[Any]:
    made: list[Session] = []

    def start(**options: Any) -> Session:
        asked = StartOptions(cwd=tmp_path / "project", demo=True, no_session=True, **options)
        made.append(build_session(asked, load_settings(places, asked), interactive=False))
        return made[-1]

    yield start
    for session in made:
        asyncio.run(session.close())


def project(tmp_path: Path, text: str) -> None:
    (tmp_path / "project/.xun").mkdir()
    (tmp_path / "project/.xun/config.toml").write_text(text)


@pytest.mark.parametrize(("own", "theirs", "found"), [("auto", "off", "auto"), ("required", "auto", "required")])
def test_a_project_never_weakens_it(places: Places, tmp_path: Path, own: str, theirs: str, found: str) -> None:
    places.config_file.write_text(f'[sandbox]\nmode = "{own}"\n')
    project(tmp_path, f'[sandbox]\nmode = "{theirs}"\nnetwork = true\nwritable = ["/"]\n')
    settings = load_settings(places, StartOptions(cwd=tmp_path / "project", trust=True))
    assert (settings.sandbox.mode, settings.sandbox.network, settings.sandbox.writable) == (found, False, [])
    for key in ("sandbox.mode", "sandbox.network", "sandbox.writable"):
        assert any(key in warning for warning in settings.warnings), key


def test_a_project_may_tighten_it(places: Places, tmp_path: Path) -> None:
    places.config_file.write_text('[sandbox]\nmode = "off"\nnetwork = true\nwritable = ["~/.cache/uv"]\n')
    project(tmp_path, '[sandbox]\nmode = "required"\nnetwork = false\n')
    settings = load_settings(places, StartOptions(cwd=tmp_path / "project"))
    assert (settings.sandbox.mode, settings.sandbox.network) == ("required", False)
    assert settings.sandbox.writable == ["~/.cache/uv"] and settings.warnings == []


def test_the_settings_reach_the_environment(build: Any, tmp_path: Path) -> None:
    flags = ["sandbox.network=true", f'sandbox.writable=["{tmp_path}/more"]']
    session = build(sandbox="required", config=flags)
    environment = session.agent.environment
    assert isinstance(environment, SandboxEnvironment) and environment.known  # tried before the first command
    assert (environment.mode, environment.network) == ("required", True)
    if environment.wall != "none":
        assert _bash(session, f"touch {tmp_path}/more/x")["returncode"] == 0
    assert isinstance(build(sandbox="off").agent.environment, LocalEnvironment)


def _bash(session: Session, command: str) -> dict[str, Any]:
    session.agent.config.auto_confirm = True
    value: dict[str, Any] = session.agent.toolbox.call_tool(session.agent, "bash", {"command": command}, None).unwrap()
    return value


@pytest.mark.parametrize(("mode", "word"), [("auto", "run without a sandbox"), ("required", "no command will run")])
def test_a_machine_without_a_wall_is_told_about_once(
    build: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, word: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    sysconfig.get_config_vars()  # looks for files of the platform, when somebody first asks
    monkeypatch.setattr("sys.platform", "plan9")
    session = build(sandbox=mode)
    told = [e.event.text for e in session.history() if word in getattr(e.event, "text", "")]
    assert len(told) == 1 and "plan9" in told[0]
    assert sandboxing.sandbox_mark(session.agent) == ("no sandbox", "bad")
    assert sandboxing.sandbox_line(session.agent).startswith("none: ")
    result = session.agent.toolbox.call_tool(session.agent, "bash", {"command": "ls"}, None)
    assert result.is_ok() == (mode == "auto")


def test_what_cannot_be_tried_is_said_and_no_command_runs(build: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    session = build(config=[f'sandbox.writable=["{tmp_path}/file/x"]'])
    told = [e.event.text for e in session.history() if "No command will run" in getattr(e.event, "text", "")]
    assert len(told) == 1 and "file/x of sandbox.writable" in told[0]
    assert "sandbox.writable" in sandboxing.sandbox_line(session.agent)
    assert sandboxing.sandbox_mark(session.agent) == ("sandbox fails", "bad")
    result = session.agent.toolbox.call_tool(session.agent, "bash", {"command": "touch made"}, None)
    assert not result.is_ok() and not (tmp_path / "project/made").exists()


def test_what_was_not_asked_for_is_not_told(build: Any) -> None:
    session = build(sandbox="off")
    assert not any("sandbox" in getattr(e.event, "text", "") for e in session.history())
    assert sandboxing.sandbox_mark(session.agent) == ("sandbox off", "dim")
    assert sandboxing.sandbox_line(session.agent).startswith("off")


def test_a_command_of_the_person_runs_outside(build: Any, tmp_path: Path) -> None:
    session = build()
    value = asyncio.run(run_as_user(session, f"echo x > {tmp_path}/by-the-person"))
    assert value["returncode"] == 0 and (tmp_path / "by-the-person").exists()


@pytest.mark.parametrize(
    ("mark", "fragment"),
    [
        (("bwrap", "dim"), (DIM, "bwrap")),
        (("no sandbox", "bad"), (BAD, "no sandbox")),
        (("sandbox off", "dim"), (DIM, "sandbox off")),
    ],
)
def test_the_status_line_shows_it(mark: tuple[str, str], fragment: tuple[str, str]) -> None:
    assert fragment in status_line(Status(model="m", sandbox=mark), 80)
    assert not any("m · ask · " in text for _, text in status_line(Status(model="m"), 80))


def test_doctor_says_which_wall_and_why(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def row(**settings: Any) -> Any:
        wanted = Settings()
        for key, value in settings.items():
            wanted.put(f"sandbox.{key}", value, "test")
        found = diagnose(places, wanted, StartOptions(cwd=tmp_path / "project"), online=False, terminal=False)
        return next(check for check in found if check.name == "sandbox")

    assert row(mode="off").status == "warn" and row(mode="off").text.startswith("off")
    assert row(writable=["/dev/null/x"]).status == "bad"
    sysconfig.get_config_vars()  # looks for files of the platform, when somebody first asks
    monkeypatch.setattr("sys.platform", "plan9")
    assert (row().status, row(mode="required").status) == ("warn", "bad") and "plan9" in row().text


def test_headless_a_way_out_is_denied_and_the_run_goes_on(tmp_path: Path) -> None:
    xun = Headless(tmp_path)
    turns = [
        call("bash", command=f"echo x > {tmp_path}/out", sandbox="off"),
        call("bash", command="ls", sandbox="network"),
        call("bash", command="echo inside"),
        {"text": "done"},
    ]
    done = xun.run(turns, "--output", "stream-json", "--sandbox", "auto")
    results = xun.results(done)
    if not any("denied" in json.dumps(result) for result in results):
        assert "without a sandbox" in done.stdout
        pytest.skip("no wall works on this machine")
    assert done.returncode == 4 and not (tmp_path / "out").exists()
    assert [result["ok"] for result in results] == [False, False, True]
    assert "way out of the sandbox" in results[0]["error"]["error"] and "--sandbox off" in results[0]["error"]["error"]
    assert "use of the network" in results[1]["error"]["error"]
    assert os.listdir(xun.project) == []
