"""A write that the person changes before allowing it: diffed again, allowed once, told to the model."""

from __future__ import annotations

import pytest

from tests.fakes.persons import Answers
from xun import Agent, ChoiceOutcome, ToolBox, Workspace


@pytest.fixture
def make(tmp_path):
    made = []

    def build(*answers):
        agent = Agent(
            toolbox=ToolBox().with_defaults("fs", "patch"), workspace=Workspace(tmp_path), chooser=Answers(*answers)
        ).initialize()
        made.append(agent)
        return agent

    yield build
    for agent in made:
        agent.finalize()
        agent.workspace.close()


def call(agent, tool, **arguments):
    return agent.toolbox.call_tool(agent, tool, arguments, None)


def edited(text):
    return ChoiceOutcome("once", edited=text)


PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch"
TOOLS = [
    ("write_file", {"path": "a.txt", "content": "two\nrest\n"}),
    ("replace", {"path": "a.txt", "old": "one", "new": "two"}),
    ("multi_edit", {"path": "a.txt", "edits": [{"old": "one", "new": "two"}]}),
    ("apply_patch", {"patch": PATCH}),
]


@pytest.mark.parametrize(("tool", "arguments"), TOOLS, ids=[name for name, _ in TOOLS])
def test_what_the_person_made_of_it_is_shown_again_and_written(make, tmp_path, tool, arguments):
    (tmp_path / "a.txt").write_text("one\nrest\n")
    agent = make(edited("three\nrest\n"), "once")
    value = call(agent, tool, **arguments).unwrap()
    assert (tmp_path / "a.txt").read_text() == "three\nrest\n"
    first, second = agent.chooser.asked
    assert first.files[0].proposed == "two\nrest\n"
    assert "+three" in second.files[0].diff and "two" not in second.files[0].diff
    grant = second.options[0]
    assert not grant.available and "only be allowed this time" in grant.note and second.write_scopes == ()
    told = value["files"][0] if tool == "apply_patch" else value
    assert "-two\n+three" in told["edited_by_user"] and (told["added"], told["removed"]) == (1, 1)
    assert agent.policy.write_allowlist.covers(str(tmp_path / "a.txt")) is None


def test_an_edit_can_be_edited_again_and_then_denied(make, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    agent = make(edited("two!\n"), edited("two?\n"), ChoiceOutcome("deny", reason="leave it"))
    result = call(agent, "write_file", path="a.txt", content="two\n")
    assert result.status == "denied" and "leave it" in result.unwrap_err().error
    assert "+two?" in agent.chooser.asked[2].files[0].diff
    assert (tmp_path / "a.txt").read_text() == "one\n"


def test_a_grant_never_comes_with_an_edit(make, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    agent = make(edited("mine\n"), "grant")
    call(agent, "write_file", path="a.txt", content="two\n").unwrap()
    assert (tmp_path / "a.txt").read_text() == "mine\n"
    assert list(agent.policy.write_allowlist) == []


def test_a_file_that_changed_meanwhile_is_not_overwritten(make, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n")

    def changes(request):
        path.write_text("somebody else\n")
        return ChoiceOutcome("once")

    agent = make(edited("mine\n"), changes)
    result = call(agent, "write_file", path="a.txt", content="two\n")
    assert result.is_err() and path.read_text() == "somebody else\n"


def test_an_edit_back_to_what_is_there_writes_nothing(make, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\n")
    before = path.stat().st_mtime_ns
    agent = make(edited("one\n"), "once")
    value = call(agent, "write_file", path="a.txt", content="two\n").unwrap()
    assert path.stat().st_mtime_ns == before and value["added"] == 0
    assert "stays as it is" in agent.chooser.asked[1].message


def test_the_same_text_is_no_edit(make, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    agent = make(edited("two\n"))
    value = call(agent, "write_file", path="a.txt", content="two\n").unwrap()
    assert "edited_by_user" not in value and len(agent.chooser.asked) == 1


def test_undo_takes_an_edited_write_back(make, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    agent = make(edited("mine\n"), "once", "once")
    call(agent, "replace", path="a.txt", old="one", new="two").unwrap()
    call(agent, "undo_edit").unwrap()
    assert (tmp_path / "a.txt").read_text() == "one\n"


@pytest.mark.parametrize("old", [b"one\r\nrest\r\n", "\ufeffone\nrest\n".encode()], ids=["crlf", "mark"])
def test_bytes_that_the_person_did_not_touch_stay(make, tmp_path, old):
    (tmp_path / "a.txt").write_bytes(old)
    agent = make(lambda request: edited(request.files[0].proposed.replace("two", "three")), "once")
    call(agent, "replace", path="a.txt", old="one", new="two").unwrap()
    assert (tmp_path / "a.txt").read_bytes() == old.replace(b"one", b"three")


def test_what_is_no_text_or_is_many_files_is_not_offered(make, tmp_path):
    (tmp_path / "l.txt").write_bytes("caf\xe9 one\n".encode("latin-1"))
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "b.txt").write_text("one\n")
    two = PATCH.replace("*** End Patch", "*** Update File: b.txt\n@@\n-one\n+two\n*** End Patch")
    agent = make("once", "once", "once")
    call(agent, "replace", path="l.txt", old="one", new="two").unwrap()
    call(agent, "apply_patch", patch=two).unwrap()
    call(agent, "delete", path="b.txt").unwrap()
    assert [file.proposed for request in agent.chooser.asked for file in request.files] == [None] * 4
