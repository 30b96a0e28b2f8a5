"""The tool diagnostics, with a language server made for the purpose, and with pylsp where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun.environment.tags import carriers
from xun_builtin_tools.diagnostic.asking import MAX_FINDINGS
from xun_builtin_tools.diagnostic.session import SERVERS
from xun_builtin_tools.diagnostic.watching import Look

FAKE = Path(__file__).parents[3] / "fakes" / "language_server.py"


class Place:
    """A workspace, a folder of programs, and an agent for the two."""

    def __init__(self, tmp_path: Path) -> None:
        self.root, self.programs, self.log = tmp_path / "ws", tmp_path / "bin", tmp_path / "log"
        self.python, self.server = sys.executable, FAKE
        self.root.mkdir()
        self.programs.mkdir()
        self.agents: list[Agent[Any]] = []

    def install(self, *modes: str, name: str = "pylsp", folder: Path | None = None) -> Path:
        program = (folder or self.programs) / name
        program.parent.mkdir(parents=True, exist_ok=True)
        words = " ".join(modes)
        program.write_text(f"#!/bin/sh\nexec {self.python} {self.server} {words} --log {self.log}\n")
        program.chmod(0o755)
        return program

    def agent(self, **config: Any) -> Agent[Any]:
        made: Agent[Any] = Agent(
            toolbox=ToolBox().with_defaults("diagnostic", "fs", "patch"),
            workspace=Workspace(self.root),
            config=AgentConfig(**{"auto_confirm": True, **config}),
        ).initialize()
        self.agents.append(made)
        return made

    def notes(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    made = Place(tmp_path)
    monkeypatch.setenv("PATH", f"{made.programs}{os.pathsep}/usr/bin{os.pathsep}/bin")
    yield made
    for agent in made.agents:
        agent.finalize()
        agent.workspace.close()


def call(agent: Agent[Any], name: str, **arguments: Any) -> Any:
    return agent.toolbox.call_tool(agent, name, arguments, None)


def ask(agent: Agent[Any], **arguments: Any) -> Any:
    return call(agent, "diagnostics", **arguments).unwrap()


def refused(agent: Agent[Any], **arguments: Any) -> str:
    return str(call(agent, "diagnostics", **arguments).unwrap_err().error)


def test_the_files_that_were_written_and_what_is_new_in_them(place: Place) -> None:
    place.install()
    agent = place.agent()
    call(agent, "write_file", path="a.py", content="x = 1  # BAD one\ny = 2  # NOTE\nz = 3  # ODD\n").unwrap()
    call(agent, "write_file", path="b.txt", content="BAD\n").unwrap()
    value = ask(agent)
    path = str(place.root / "a.py")
    assert value["server"] == "pylsp" and value["files"] == {path: 3}
    assert value["findings"] == [
        {
            "path": path,
            "line": 1,
            "column": 10,
            "severity": "error",
            "message": "bad thing: x = 1 # BAD one",
            "code": "BAD",
        },
        {
            "path": path,
            "line": 3,
            "column": 10,
            "severity": "warning",
            "message": "odd thing: z = 3 # ODD",
            "code": "ODD",
        },
    ]
    assert "There is no Python file" in refused(agent), "nothing was written since"
    call(agent, "replace", path="a.py", old="y = 2  # NOTE\n", new="BAD two\n").unwrap()
    found = ask(agent)["findings"]
    assert [(row["line"], row.get("new", False)) for row in found] == [(1, False), (2, True), (3, False)]
    opened = [(note["method"], note["version"]) for note in place.notes() if "version" in note]
    assert opened == [("textDocument/didOpen", 1), ("textDocument/didChange", 2)]


def test_one_server_for_a_session_and_none_after_it(place: Place) -> None:
    place.install("noisy")
    agent = place.agent()
    (place.root / "a.py").write_text("BAD\n")
    own: Any = agent.environment
    for _ in range(3):
        assert len(ask(agent, paths=["a.py"])["findings"]) == 1
    running = [number for number, tag in carriers() if tag.startswith(own.tag)]
    assert len([note for note in place.notes() if "initialize" in note]) == 1 and len(running) >= 1
    agent.finalize()
    assert [number for number, tag in carriers() if tag.startswith(own.tag)] == []
    assert {"method": "shutdown"} in place.notes()


def test_what_the_server_asks_for(place: Place) -> None:
    place.install()
    (place.root / "a.py").write_text("ok\n")
    assert ask(place.agent(), paths=["a.py"])["findings"] == []
    answers = {note["answer"]: note for note in place.notes() if "answer" in note}
    assert answers["s1"]["result"] == [{"enabled": False}]
    assert answers["s2"]["error"] is None
    assert answers["s3"]["error"]["code"] == -32601, "a server does not edit files"
    begun = next(note["initialize"] for note in place.notes() if "initialize" in note)
    assert begun["rootUri"] == place.root.as_uri() and begun["processId"] is None


@pytest.mark.parametrize("mode", ["no-version", "early-empty", "slow", "stays"])
def test_servers_differ(place: Place, mode: str) -> None:
    place.install(mode)
    (place.root / "a.py").write_text("BAD\n")
    agent = place.agent()
    assert [row["line"] for row in ask(agent, paths=["a.py"])["findings"]] == [1]
    begun = time.monotonic()
    agent.finalize()
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    ("mode", "word"),
    [("crash-at-start", "no module named that"), ("crash-at-file", "it fell over"), ("refuses", "not today")],
)
def test_a_server_that_fails_is_one_sentence_and_the_next_call_starts_another(
    place: Place, mode: str, word: str
) -> None:
    place.install(mode)
    (place.root / "a.py").write_text("BAD\n")
    agent = place.agent()
    text = refused(agent, paths=["a.py"])
    assert word in text and "Traceback" not in text and "\n" not in text.strip()
    place.install()
    assert len(ask(agent, paths=["a.py"])["findings"]) == 1


def test_a_server_that_says_nothing_is_not_waited_for(place: Place) -> None:
    place.install("silent")
    (place.root / "a.py").write_text("BAD\n")
    begun = time.monotonic()
    value = ask(place.agent(), paths=["a.py"], timeout=0.5)
    assert time.monotonic() - begun < 20
    assert value["files"] == {str(place.root / "a.py"): None} and "did not finish" in value["note"]


def test_what_is_no_server_ends_the_call(place: Place) -> None:
    place.install("junk")
    (place.root / "a.py").write_text("BAD\n")
    assert "ended before it answered" in refused(place.agent(), paths=["a.py"])


def test_so_many_findings_and_no_more(place: Place) -> None:
    place.install()
    (place.root / "a.py").write_text("BAD " + "x" * 5000 + "\n" + "ODD\n" * 200)
    value = ask(place.agent(), paths=["a.py"])
    assert len(value["findings"]) == MAX_FINDINGS and "151 more" in value["note"]
    assert value["findings"][0]["severity"] == "error" and len(json.dumps(value)) < 20_000


def test_paths_are_those_of_the_workspace(place: Place) -> None:
    place.install()
    (place.root.parent / "out.py").write_text("BAD\n")
    (place.root / "a.py").write_text("BAD\n")
    value = ask(place.agent(), paths=["a.py", "../out.py", "none.py", "b.txt"])
    assert list(value["files"]) == [str(place.root / "a.py")]
    for word in ("not within the agent's workspace", "none.py", "is no Python file"):
        assert word in value["note"]


def test_a_program_of_the_workspace_is_never_started(place: Place) -> None:
    place.install(folder=place.root / ".venv" / "bin")
    (place.root / "a.py").write_text("BAD\n")
    agent = place.agent()
    text = refused(agent, paths=["a.py"])
    assert str(place.root / ".venv/bin/pylsp") in text and "never started" in text
    (place.programs / "pylsp").symlink_to(place.root / ".venv" / "bin" / "pylsp")
    assert "never started" in refused(agent, paths=["a.py"])
    assert place.notes() == []


def test_without_a_server_one_sentence_says_how_to_get_one(place: Place) -> None:
    (place.root / "a.py").write_text("x\n")
    beside = [name for name, *_ in SERVERS if (Path(sys.executable).parent / name).exists()]
    if beside:
        return  # one is beside this Python, which counts
    assert "pipx install python-lsp-server" in refused(place.agent(), paths=["a.py"])


def test_its_start_is_asked_for_as_a_command(place: Place) -> None:
    place.install()
    (place.root / "a.py").write_text("BAD\n")
    agent = place.agent(auto_confirm=False, risk_enabled=False)
    error = call(agent, "diagnostics", paths=["a.py"]).unwrap_err()
    assert error.kind == "denied" and place.notes() == []
    agent.toolbox.dry_run = True
    assert "pylsp" in json.dumps(call(agent, "diagnostics", paths=["a.py"]).value, default=str)
    assert place.notes() == []


def test_a_grant_for_the_name_holds_for_the_one_that_was_found(place: Place) -> None:
    place.install()
    (place.root / "a.py").write_text("BAD\n")
    agent = place.agent(auto_confirm=False, risk_enabled=False)
    agent.policy.command_allowlist.add(["pylsp"])
    assert len(ask(agent, paths=["a.py"])["findings"]) == 1


def test_the_first_of_the_list_is_taken(place: Place) -> None:
    place.install()
    place.install(name="pyright-langserver")
    (place.root / "a.py").write_text("BAD\n")
    assert ask(place.agent(), paths=["a.py"])["server"] == "pyright-langserver"


def test_behind_the_wall_too(place: Place) -> None:
    place.install()
    (place.root / "a.py").write_text("BAD\n")
    agent = place.agent(environment="sandbox")
    own: Any = agent.environment
    if own.wall == "none":
        pytest.skip("there is no sandbox here")
    # Behind the wall /tmp is another folder, and this checkout may lie in it.
    place.log, place.python = place.root / "log", os.path.realpath(sys.executable)
    place.server = Path(shutil.copy(FAKE, place.root))
    place.install()
    assert [row["line"] for row in ask(agent, paths=["a.py"])["findings"]] == [1]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pylsp") is None, reason="pylsp is not installed")
def test_pylsp_itself(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\n\n\ndef f():\n    return undefined_name\n")
    agent: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("diagnostic", "patch"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True),
    ).initialize()
    try:
        said = [row["message"] for row in ask(agent, paths=["a.py"])["findings"]]
        assert any("undefined_name" in text for text in said) and any("os" in text for text in said)
        call(agent, "replace", path="a.py", old="undefined_name", new="os.name").unwrap()
        assert ask(agent)["findings"] == []
    finally:
        agent.finalize()
        agent.workspace.close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pyright-langserver") is None, reason="pyright is not installed")
def test_pyright_itself(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import b\n\nx: int = b.y\n")
    agent: Agent[Any] = Agent(
        toolbox=ToolBox().with_defaults("diagnostic", "fs", "patch"),
        workspace=Workspace(tmp_path),
        config=AgentConfig(auto_confirm=True),
    ).initialize()
    try:
        value = ask(agent, paths=["a.py"], timeout=60)
        assert value["server"] == "pyright-langserver", "basedpyright is not on PATH here"
        assert [row["code"] for row in value["findings"]] == ["reportMissingImports"]
        (tmp_path / "b.py").write_text("y = ''\n")
        found = ask(agent, paths=["a.py"], timeout=60)["findings"]
        assert [(row["line"], row["code"], row["new"]) for row in found] == [(3, "reportAssignmentType", True)]
        fixed = call(agent, "write_file", path="b.py", content="y = 1\n").unwrap()
        assert "new_errors" not in fixed and ask(agent, paths=["a.py"])["findings"] == []
        broken = call(agent, "replace", path="a.py", old="int", new="str").unwrap()
        assert broken["new_errors"].startswith(f'{tmp_path}/a.py:3: Type "int" is not assignable')
    finally:
        agent.finalize()
        agent.workspace.close()


def test_a_write_tells_what_a_running_server_finds_new(place: Place) -> None:
    place.install()
    agent = place.agent()
    (place.root / "a.py").write_text("BAD = 1\n")
    assert "new_errors" not in call(agent, "write_file", path="b.py", content="BAD = 1\n").unwrap(), "none runs yet"
    assert place.notes() == []
    assert len(ask(agent, paths=["a.py"])["findings"]) == 1
    moved = call(agent, "write_file", path="a.py", content="x = 2  # ODD\nBAD = 1\n").unwrap()
    assert "new_errors" not in moved, "it was wrong before, and a warning is no error"
    twice = call(agent, "replace", path="a.py", old="x = 2  # ODD", new="BAD = 1\ny = 2  # BAD two").unwrap()
    assert twice["new_errors"] == (
        f"{place.root}/a.py:2: bad thing: y = 2 # BAD two; {place.root}/a.py:3: bad thing: BAD = 1"
    ), "another mistake, and the same one a second time"
    unparsed = call(agent, "write_file", path="c.py", content="BAD = (\n").unwrap()
    assert "syntax_error" in unparsed and "new_errors" not in unparsed
    new = call(agent, "write_file", path="d.py", content="BAD = 1\n").unwrap()
    assert new["new_errors"] == f"{place.root}/d.py:1: bad thing: BAD = 1"
    assert any(row["path"].endswith("d.py") for row in ask(agent)["findings"]), (
        "diagnostics still knows what was written"
    )


@pytest.mark.parametrize("mode", [pytest.param("slow", marks=pytest.mark.slow), "crash-at-file"])
def test_a_write_does_not_fail_or_wait_long_for_a_server(place: Place, mode: str) -> None:
    place.install(mode)
    agent = place.agent()
    (place.root / "a.py").write_text("x = 1\n")
    call(agent, "diagnostics", paths=["a.py"])
    begun = time.monotonic()
    assert call(agent, "write_file", path="new.py", content="BAD = 1\n").unwrap()["created"]
    assert time.monotonic() - begun < 4


def test_what_other_programs_changed_on_disk_reaches_the_server(place: Place) -> None:
    place.install()
    agent = place.agent()
    (place.root / "a.py").write_text("import b  # NEEDS b.py\n")
    (place.root / "old.py").write_text("BAD\n")
    assert [row["line"] for row in ask(agent, paths=["a.py", "old.py"])["findings"]] == [1, 1]
    (place.root / "b.py").write_text("y = 1\n")
    (place.root / ".hidden").mkdir()
    (place.root / ".hidden" / "c.py").write_text("y = 1\n")
    (place.root / "notes.txt").write_text("BAD\n")
    (place.root / "old.py").unlink()
    assert ask(agent, paths=["a.py"])["findings"] == [], "nothing of a.py itself changed"
    told = [note for note in place.notes() if note.get("method") == "workspace/didChangeWatchedFiles"]
    changes = sorted((row["uri"].rpartition("/")[2], row["type"]) for row in told[0]["changes"])
    assert len(told) == 1 and changes == [("b.py", 1), ("old.py", 3)]
    assert [note["uri"] for note in place.notes() if note.get("method") == "textDocument/didClose"] == [
        (place.root / "old.py").as_uri()
    ]
    (place.root / "b.py").unlink()
    assert [row["message"] for row in ask(agent, paths=["a.py"])["findings"]] == ["no b.py"]


def test_an_open_file_that_another_program_rewrote(place: Place) -> None:
    place.install()
    agent = place.agent()
    (place.root / "a.py").write_text("x\n")
    (place.root / "b.py").write_text("y\n")
    assert ask(agent, paths=["a.py", "b.py"])["findings"] == []
    (place.root / "b.py").write_text("y = BAD\n")
    ask(agent, paths=["a.py"])
    shown = [note for note in place.notes() if note.get("method") == "textDocument/didChange"]
    assert [(note["uri"], note["version"]) for note in shown] == [((place.root / "b.py").as_uri(), 2)]
    begun = time.monotonic()
    call(agent, "write_file", path="b.py", content="y = 2\n").unwrap()
    ask(agent, paths=["a.py"])
    assert time.monotonic() - begun < 2, "what a write showed the server already is no news"
    assert len([note for note in place.notes() if note.get("method") == "workspace/didChangeWatchedFiles"]) == 1


def test_a_folder_that_is_too_large_to_be_watched(place: Place) -> None:
    for number in range(5):
        (place.root / f"{number}.py").write_text("")
    before = Look.at(str(place.root), [])
    assert len(before.stamps) == 5 and before.whole
    (place.root / "sub").mkdir()
    now = Look.at(str(place.root), [str(place.root / "1.py")], most=3)
    assert not now.whole and list(now.stamps) == [str(place.root / "1.py")]
    assert now.since(before, [str(place.root / "1.py")]) == {}
    (place.root / "1.py").write_text("x\n")
    later = Look.at(str(place.root), [str(place.root / "1.py")], most=3)
    assert later.since(now, [str(place.root / "1.py")]) == {str(place.root / "1.py"): "changed"}
    assert Look.at(str(place.root / "none"), []).stamps == {}
