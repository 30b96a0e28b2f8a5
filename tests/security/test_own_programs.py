"""No program of the project is started in the place of one of the system, wherever PATH begins."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from xun.errors import ConfigError
from xun.mcp import McpServer
from xun.mcp.tools import mcp_tools
from xun_cli.frontend.clipboard import copy_text
from xun_cli.frontend.clipboard_image import clipboard_image
from xun_cli.frontend.editing import EditorError, editor_command
from xun_cli.frontend.programs import own_program
from xun_policies.errors import XunError

NAMES = ("xclip", "xsel", "wl-copy", "wl-paste", "nano", "vi", "server")
pytestmark = pytest.mark.row("sec-trust-007")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    for name in NAMES:
        for folder in (project, project / "bin"):
            (folder / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/pwn\n")
            (folder / name).chmod(0o755)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "link").symlink_to(project / "vi")
    monkeypatch.chdir(project)
    return f".::bin:./bin:{project}/bin:{project}:{outside}"


@pytest.mark.parametrize("name", [*NAMES, "./vi", "bin/vi", "link"])
def test_a_program_of_the_project_is_none(path: str, name: str) -> None:
    assert own_program(name, {"PATH": path}) is None


def test_one_outside_is_found_behind_it(path: str) -> None:
    assert own_program("sh", {"PATH": f"{path}:/bin"}) == "/bin/sh"
    assert own_program(sys.executable, {"PATH": ""}) == shutil.which(sys.executable)


def test_copying_pasting_and_editing_start_nothing_of_the_project(tmp_path: Path, path: str) -> None:
    desktop = {"PATH": path, "DISPLAY": ":0", "WAYLAND_DISPLAY": "w"}
    written: list[str] = []
    assert "OSC 52" in copy_text("x", written.append, lambda: None, desktop)
    with pytest.raises(XunError):
        clipboard_image(desktop)
    for named in ({}, {"EDITOR": "vi"}, {"VISUAL": "./vi -x"}, {"EDITOR": "bin/vi"}):
        with pytest.raises(EditorError):
            editor_command({"PATH": path, **named})
    assert not (tmp_path / "pwn").exists()


def test_a_server_of_the_person_is_not_looked_for_in_the_project(
    tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", ".::bin:/usr/bin:/bin")
    with pytest.raises(ConfigError):
        mcp_tools([McpServer("s", command=["server"], cwd=tmp_path / "project", start_timeout=5)])
    assert not (tmp_path / "pwn").exists()
