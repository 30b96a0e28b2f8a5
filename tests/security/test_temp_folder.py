"""The temporary folder is for commands as well: links that they leave there lead xun's own files nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.persons import Person
from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.errors import ToolError
from xun.tools.spill import MAX_KEPT, READ_OUTPUT, read_spilled, spill
from xun_builtin_tools.cmd.capture import MAX_FILE_BYTES
from xun_builtin_tools.cmd.kept import KeptFile, new_file
from xun_builtin_tools.cmd.logs import TaskLog

SECRET = b"a key of the person"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "outside.txt"
    file.write_bytes(SECRET)
    return file


@pytest.fixture
def workspace(tmp_path: Path) -> Any:
    (tmp_path / "work").mkdir()
    workspace = Workspace(tmp_path / "work")
    yield workspace
    workspace.close()


def call(agent: Agent[Any], tool: str, **arguments: Any) -> Any:
    return agent.toolbox.call_tool(agent, tool, arguments)


@pytest.mark.parametrize("place", ["sandbox", "local"])
def test_output_that_is_kept_follows_no_link_of_a_command(workspace: Workspace, outside: Path, place: str):
    agent = Agent(
        toolbox=ToolBox().with_defaults("cmd"),
        workspace=workspace,
        chooser=Person(),
        config=AgentConfig(environment=place, command_output=100),
    ).initialize()
    folder = workspace.tempdir.path
    links = " ".join(f"{folder}/output-{number}-stdout.txt" for number in range(1, 4))
    assert call(agent, "bash", command=f"for name in {links}; do ln -s {outside} $name; done").is_ok()
    value = call(agent, "bash", command="seq 1 1000").unwrap()
    agent.finalize()
    assert value["truncated"] and value["output_file"] == f"{folder}/output-4-stdout.txt"
    assert outside.read_bytes() == SECRET


def test_a_log_is_read_only_while_it_is_the_file_that_was_made(tmp_path: Path, outside: Path):
    os.symlink(outside, tmp_path / "task-1-stderr.log")
    log = TaskLog(tmp_path)
    assert log.id == "task-2" and not (tmp_path / "task-1-output.log").exists()
    log.sink("stdout").feed(b"what the command printed")
    assert log.read(0, 100).text == "what the command printed"
    for replace in (os.symlink, os.link):
        (tmp_path / "task-2-output.log").unlink()
        replace(outside, tmp_path / "task-2-output.log")
        piece = log.read(0, 100)
        assert (piece.text, piece.next_offset) == ("", log.size)
    (tmp_path / "task-2-output.log").unlink()
    os.mkfifo(tmp_path / "task-2-output.log")
    assert log.read(0, 100).text == ""
    log.remove()
    assert outside.read_bytes() == SECRET


def test_a_kept_output_is_neither_read_nor_written_through_a_link(workspace: Workspace, outside: Path, tmp_path: Path):
    shown = spill(workspace, "long " * 1000)
    handle = shown.split("kept as ")[1].split(";")[0]
    assert read_spilled(workspace, handle)["content"].startswith("long long")
    folder = workspace.tempdir.path / "outputs"
    os.symlink(outside, folder / "out-00000000")
    with pytest.raises(ToolError, match="not there any more"):
        read_spilled(workspace, "out-00000000")
    (folder / handle).unlink()
    with (folder / handle).open("wb") as huge:
        huge.truncate(MAX_KEPT + 1)
    with pytest.raises(ToolError, match="not there any more"):
        read_spilled(workspace, handle)
    (folder / handle).unlink()
    os.mkfifo(folder / handle)
    with pytest.raises(ToolError, match="not there any more"):
        read_spilled(workspace, handle)
    folder.rename(workspace.tempdir.path / "elsewhere")
    (tmp_path / "stolen").mkdir()
    os.symlink(tmp_path / "stolen", folder)
    with pytest.raises(ValueError, match="not within"):
        spill(workspace, "long " * 1000)
    assert list((tmp_path / "stolen").iterdir()) == []


def test_an_output_that_is_too_large_to_be_kept_is_cut(workspace: Workspace):
    with pytest.raises(OSError, match="is the most that is kept"):
        spill(workspace, "x" * (MAX_KEPT + 1))
    assert not (workspace.tempdir.path / "outputs").exists()


def test_a_result_is_cut_when_it_can_not_be_kept(workspace: Workspace, tmp_path: Path):
    from xun.agent.outcome import fitted

    agent = Agent(toolbox=ToolBox().with_defaults("framework"), workspace=workspace, config=AgentConfig(max_output=100))
    os.symlink(tmp_path, workspace.tempdir.path / "outputs")
    text = fitted(agent, agent.toolbox, "other", "x" * 1000)
    assert "900 characters cut of 1000" in text and READ_OUTPUT not in text
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("out-")]


def test_files_that_are_kept_are_new(tmp_path: Path, outside: Path):
    os.symlink(tmp_path / "nothing", tmp_path / "output-1-x.txt")
    first, second = (new_file(tmp_path, "x", MAX_FILE_BYTES) for _ in range(2))
    assert [file.path.name for file in (first, second)] == ["output-2-x.txt", "output-3-x.txt"]
    with pytest.raises(FileExistsError):
        KeptFile(outside, 10)
    first.close(), second.close()
    assert not (tmp_path / "nothing").exists()
