"""What the gate writes into the audit trail: every decision, whoever made it, with what ran."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.persons import Answers
from xun import Agent, AgentConfig, ChoiceOutcome, ToolBox, Workspace
from xun.events import Notice
from xun.models import ScriptedModel
from xun_policies.audit import AuditTrail

Rows = list[tuple[str, str, str, str]]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Agent[Any]]]:
    made: list[Agent[Any]] = []
    folder = tmp_path / "ws"
    folder.mkdir()

    def build(*answers: Any, risk: Any = None, **config: Any) -> Agent[Any]:
        agent: Agent[Any] = Agent(
            model=None if risk is None else ScriptedModel([], risk=risk),
            toolbox=ToolBox().with_defaults("cmd", "fs", "code", "search"),
            workspace=Workspace(folder),
            config=AgentConfig(audit=AuditTrail(tmp_path / "audit.jsonl", "s1"), **config),
            chooser=Answers(*answers) if answers else None,
        )
        made.append(agent)
        agent.listener = agent.state.setdefault("seen", []).append
        return agent.initialize()

    yield build
    for agent in made:
        agent.finalize()
        agent.workspace.close()


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "audit.jsonl").read_bytes().splitlines()]


def rows(tmp_path: Path) -> Rows:
    return [(row["subject"], row["decision"], row["source"], row["rule"]) for row in lines(tmp_path)]


def call(agent: Agent[Any], tool: str, **arguments: Any) -> Any:
    return agent.toolbox.call_tool(agent, tool, arguments, None)


def test_commands_by_whoever_decided(make: Callable[..., Agent[Any]], tmp_path: Path) -> None:
    verdicts = ("allow", "unsure", "unsure", "reject", "unsure", "unsure")
    agent = make("grant", "once", "deny", risk=[{"verdict": verdict, "reason": "?"} for verdict in verdicts])
    for command in ("ls", "touch a", "mkdir -p b", "mkdir c", "rm a; ls", "rm -r b"):
        call(agent, "bash", command=command)
    agent.chooser = None
    agent.policy.auto_remaining = 1
    call(agent, "bash", command="touch d")
    call(agent, "bash", command="touch e > f")
    assert rows(tmp_path) == [
        ("ls", "allow", "allowlist", "builtin"),
        ("touch a", "allow", "risk", "not-listed"),
        ("mkdir -p b", "allow", "user", "not-listed"),
        ("mkdir c", "allow", "allowlist", "granted"),
        ("rm a; ls", "allow", "user", "not-listed"),
        ("rm -r b", "deny", "user", "not-listed"),
        ("touch d", "allow", "auto", "not-listed"),
        ("touch e > f", "deny", "none", "not-listed"),
    ]
    found = {row["subject"]: row for row in lines(tmp_path)}
    assert found["rm -r b"]["risk"] == "reject" and found["touch a"]["risk"] == "allow"
    assert {row["session"] for row in found.values()} == {"s1"}
    assert {row["cwd"] for row in found.values()} == {str(agent.workspace.workdir)}
    assert found["ls"]["held"] and "held" not in found["rm -r b"]


def test_what_a_person_made_of_a_command_is_what_is_written(make: Callable[..., Agent[Any]], tmp_path: Path) -> None:
    risk = [{"verdict": "unsure", "reason": "?"}, {"verdict": "reject", "reason": "no"}, {"verdict": "unsure"}]
    first = ChoiceOutcome("once", "user", edited="touch two")
    second = ChoiceOutcome("once", "user", edited="touch three")
    agent = make(first, second, risk=risk)
    assert call(agent, "bash", command="touch one").is_ok()
    assert rows(tmp_path) == [("touch three", "allow", "user", "edited")]
    made = [name for name in ("one", "two", "three") if Path(agent.workspace.workdir, name).exists()]
    assert made == ["three"]


def test_edited_code_runs_as_it_was_edited_last(make: Callable[..., Agent[Any]], tmp_path: Path) -> None:
    risk = [{"verdict": "unsure", "reason": "?"}, {"verdict": "reject", "reason": "no"}, {"verdict": "unsure"}]
    first = ChoiceOutcome("once", "user", edited="print('two')")
    second = ChoiceOutcome("once", "user", edited="print('three')")
    agent = make(first, second, risk=risk)
    assert "three" in str(call(agent, "run_code", code="print('one')").unwrap())
    assert rows(tmp_path) == [("print('three')", "allow", "user", "edited")]


def test_bytes_that_are_no_text(make: Callable[..., Agent[Any]], tmp_path: Path) -> None:
    agent = make("deny")
    call(agent, "bash", command="touch \udcff")
    [row] = lines(tmp_path)
    assert row["decision"] == "deny" and row["subject_base64"] == "dG91Y2gg/w=="


def test_writes_one_line_a_file_with_a_hash(make: Callable[..., Agent[Any]], tmp_path: Path) -> None:
    agent = make("once", "deny")
    folder = agent.workspace.workdir
    call(agent, "write_file", path="a", content="one").unwrap()
    call(agent, "write_file", path="a", content="two").unwrap()
    call(agent, "delete", path="a")
    agent.policy.mode = "auto-edit"
    call(agent, "write_file", path="a", content="three").unwrap()
    agent.policy.mode = "plan"
    call(agent, "write_file", path="a", content="four")
    assert rows(tmp_path) == [
        (f"{folder}/a", "allow", "rule", "new add"),
        (f"{folder}/a", "allow", "user", "write update"),
        (f"{folder}/a", "deny", "user", "write delete"),
        (f"{folder}/a", "allow", "mode", "auto-edit update"),
        (f"{folder}/a", "deny", "mode", "plan update"),
    ]
    digests = [row.get("digest") for row in lines(tmp_path)]
    assert digests == [
        None if text is None else sha256(text.encode()).hexdigest() for text in ("one", "two", None, "three", "four")
    ]


def test_fetches(make: Callable[..., Agent[Any]], tmp_path: Path) -> None:
    agent = make()
    call(agent, "web_fetch", url="http://host.test/?q=1")
    assert rows(tmp_path) == [("http://host.test/?q=1", "deny", "none", "fetch")]


def test_a_sub_agent_writes_into_the_trail_above_it(make: Callable[..., Agent[Any]], tmp_path: Path) -> None:
    agent = make()
    child: Agent[Any] = Agent("helper", None, ToolBox().with_defaults("cmd"), agent.workspace, parent=agent)
    child.initialize()
    try:
        call(child, "bash", command="ls")
    finally:
        child.finalize()
    assert [row["agent"] for row in lines(tmp_path)] == ["helper"]


def test_a_trail_that_can_not_be_written_is_said_once_and_stops_nothing(
    make: Callable[..., Agent[Any]], tmp_path: Path
) -> None:
    (tmp_path / "audit.jsonl").mkdir()
    agent = make()
    assert call(agent, "bash", command="ls").is_ok() and call(agent, "bash", command="pwd").is_ok()
    told = [event.text for event in agent.state["seen"] if isinstance(event, Notice)]
    assert len(told) == 1 and "audit trail" in told[0]
    assert [record.subject for record in agent.policy.log] == ["ls", "pwd"]
