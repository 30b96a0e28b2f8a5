"""save_memory and read_memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.persons import Person
from xun import Agent, AgentConfig, ToolBox, Workspace


@pytest.fixture
def person() -> Person:
    return Person("once")


@pytest.fixture
def agent(tmp_path: Path, person: Person) -> Agent[Any]:
    box = ToolBox().with_defaults("framework", "patch")
    made: Agent[Any] = Agent(toolbox=box, workspace=Workspace(tmp_path), config=AgentConfig(), chooser=person)
    return made.initialize()


def save(agent: Agent[Any], fact: str) -> Any:
    return agent.toolbox.call_tool(agent, "save_memory", {"fact": fact}, None)


def facts(agent: Agent[Any]) -> list[str]:
    return agent.toolbox.call_tool(agent, "read_memory", {}, None).unwrap()["facts"]


def test_the_file_is_made_once_the_person_agrees(agent, person, tmp_path):
    path = tmp_path / "AGENTS.md"
    assert facts(agent) == []
    assert save(agent, " Tests run\n with make. ").unwrap() == {"success": True, "path": str(path)}
    assert path.read_bytes() == b"## Memory\n\n- Tests run with make.\n"
    assert len(person.asked) == 1 and person.asked[0].kind == "write"
    assert save(agent, "Tests run with make.").unwrap()["note"] == "it was remembered already"
    save(agent, "B").unwrap()
    assert facts(agent) == ["Tests run with make.", "B"] and len(person.asked) == 2
    agent.toolbox.call_tool(agent, "undo_edit", {}, None).unwrap()
    assert facts(agent) == ["Tests run with make."]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b"## Memory\n\n- F\n"),
        (b"# P\n", b"# P\n\n## Memory\n\n- F\n"),
        (b"# P", b"# P\n\n## Memory\n\n- F\n"),
        (b"## Memory\n", b"## Memory\n\n- F\n"),
        (b"## Memory\n\n- A\n\n## More\n- x\n", b"## Memory\n\n- A\n- F\n\n## More\n- x\n"),
        (b"a\r\n## Memory\r\n\r\n- A\r\n# B\r\n", b"a\r\n## Memory\r\n\r\n- A\r\n- F\r\n# B\r\n"),
        (b"```\n## Memory\n```\n", b"```\n## Memory\n```\n\n## Memory\n\n- F\n"),
        (b"\xef\xbb\xbf## Memory\n\n- A", b"\xef\xbb\xbf## Memory\n\n- A\n- F"),
        (b"## Memory\n\n- A\n### Sub\n- B\n", b"## Memory\n\n- A\n### Sub\n- B\n- F\n"),
    ],
)
def test_one_line_is_added_and_the_rest_stays(agent, tmp_path, before, after):
    path = tmp_path / "AGENTS.md"
    path.write_bytes(before)
    save(agent, "F").unwrap()
    assert path.read_bytes() == after
    assert facts(agent)[-1] == "F"


@pytest.mark.parametrize("fact", ["", "  ", "x" * 501, "a\u202eb", "a\x1b[2J"])
def test_what_is_no_fact(agent, person, tmp_path, fact):
    assert not save(agent, fact).is_ok()
    assert person.asked == [] and not (tmp_path / "AGENTS.md").exists()


def test_denied_and_plan_mode_write_nothing(agent, person, tmp_path):
    person.choice = "deny"
    assert save(agent, "F").unwrap_err().kind == "denied"
    person.choice = "once"
    agent.policy.mode = "plan"
    assert "plan mode" in save(agent, "F").unwrap_err().error
    assert not (tmp_path / "AGENTS.md").exists()


def test_a_link_that_leads_out_is_refused(agent, tmp_path_factory, tmp_path):
    outside = tmp_path_factory.mktemp("outside") / "f"
    outside.write_text("x\n")
    (tmp_path / "AGENTS.md").symlink_to(outside)
    assert save(agent, "F").unwrap_err().kind == "outside" and outside.read_text() == "x\n"
