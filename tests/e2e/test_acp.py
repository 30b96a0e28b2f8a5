"""`xun acp` as a process, spoken to by the protocol's own client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import acp
import pytest
from acp import helpers
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    McpServerStdio,
    RequestPermissionResponse,
    ResourceContentBlock,
    TextResourceContents,
)

pytestmark = [pytest.mark.e2e]

XUN = [sys.executable, "-m", "xun_cli", "acp"]


def calls(name, **arguments):
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


class Editor:
    """Keeps what it is shown, and answers questions by the kind of the option."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.updates: list[object] = []
        self.asked: list[tuple[object, list[object]]] = []
        self.open = asyncio.Event()
        self.forms: list[tuple[str, object]] = []

    def on_connect(self, conn) -> None:
        self.agent = conn

    async def session_update(self, session_id, update, **_) -> None:
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append((tool_call, options))
        self.open.set()
        answer = self.answers.pop(0)
        if answer == "wait":
            await asyncio.sleep(30)
        if answer == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        chosen = next(option for option in options if option.kind == answer)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen.option_id))

    async def create_elicitation(self, message, mode, **_):
        self.forms.append((message, mode))
        return AcceptElicitationResponse(action="accept", content={"answer": "in my words"})

    def of(self, kind: str) -> list[object]:
        return [update for update in self.updates if update.session_update == kind]

    def said(self) -> str:
        return "".join(update.content.text for update in self.of("agent_message_chunk"))


@pytest.fixture
def script(tmp_path):
    def write(*turns, risk=()) -> str:
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"turns": list(turns), "risk": list(risk)}))
        return f"scripted:{path}"

    return write


@pytest.fixture
def play(project, environment):
    """Run *body* with a connection to xun and return its exit code."""

    def run(editor, body, *arguments: str) -> int:
        async def talk() -> int:
            command = [*XUN, *arguments]
            async with acp.spawn_agent_process(
                lambda _: editor,
                *command,
                env=environment,
                cwd=str(project),
                use_unstable_protocol=True,  # forms
            ) as (agent, process):
                await agent.initialize(protocol_version=1)
                await body(agent)
            return process.returncode

        return asyncio.run(talk())

    return run


def words(*texts: str):
    return [helpers.text_block(text) for text in texts]


def test_a_turn_with_an_edit_and_a_denied_command(play, script, project):
    editor = Editor("allow_once", "reject_once")
    edit = {"path": "calc.py", "old": "a - b", "new": "a + b"}
    model = script(
        {"text": "I look at it.", **calls("read_file", path="calc.py")},
        calls("replace", **edit),
        calls("bash", command="touch made"),
        {"text": "Done.", "pieces": 3},
        risk=[{"verdict": "unsure", "reason": "It makes a file."}],
    )

    async def body(agent):
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        assert made.modes.current_mode_id == "ask"
        done = await agent.prompt(session_id=made.session_id, prompt=words("mend add"))
        assert done.stop_reason == "end_turn"

    assert play(editor, body, "-m", model) == 0
    assert "a + b" in (project / "calc.py").read_text()
    assert not (project / "made").exists()
    assert editor.said() == "I look at it.Done."
    started = {update.tool_call_id: update for update in editor.of("tool_call")}
    assert [(call.kind, call.title) for call in started.values()] == [
        ("read", "read_file: calc.py"),
        ("edit", "replace: calc.py"),
        ("execute", "touch made"),
    ]
    last = {update.tool_call_id: update for update in editor.of("tool_call_update")}
    assert [last[key].status for key in started] == ["completed", "completed", "failed"]
    (write, writes), (command, commands) = editor.asked
    diff = next(item for item in write.content if item.type == "diff")
    assert "a - b" in diff.old_text and "a + b" in diff.new_text
    assert [option.kind for option in writes][:2] == ["allow_always", "allow_always"]
    shown = command.content[0].content.text
    assert "touch made" in shown and "touch is not in the allowlist" in shown and "UNSURE" in shown
    assert commands[0].name.endswith("touch ...")
    assert editor.of("available_commands_update")


def test_a_cancelled_turn_changes_nothing_and_the_next_one_works(play, script, project):
    editor = Editor("wait")
    model = script(calls("write_file", path="calc.py", content="gone\n"), {"text": "Fine."})

    async def body(agent):
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        turn = asyncio.ensure_future(agent.prompt(session_id=made.session_id, prompt=words("go")))
        await asyncio.wait_for(editor.open.wait(), 20)
        with pytest.raises(acp.RequestError, match="A turn is running"):
            await agent.prompt(session_id=made.session_id, prompt=words("more"))
        await agent.cancel(session_id=made.session_id)
        assert (await asyncio.wait_for(turn, 20)).stop_reason == "cancelled"
        done = await agent.prompt(session_id=made.session_id, prompt=words("go on"))
        assert done.stop_reason == "end_turn"

    assert play(editor, body, "-m", model) == 0
    assert "a - b" in (project / "calc.py").read_text()
    assert editor.said().endswith("Fine.")


def test_an_editor_that_dismisses_a_question_denies(play, script, project):
    editor = Editor("cancelled")
    model = script(calls("write_file", path="calc.py", content="gone\n"), {"text": "So not."})

    async def body(agent):
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        await agent.prompt(session_id=made.session_id, prompt=words("go"))

    play(editor, body, "-m", model)
    assert "a - b" in (project / "calc.py").read_text()


def test_an_earlier_session_is_listed_and_goes_on(play, script, project):
    kept = []

    async def first(agent):
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        kept.append(made.session_id)
        await agent.prompt(session_id=made.session_id, prompt=words("remember the word lemon"))

    play(
        Editor(), first, "-m", script({"text": "I keep it.", **calls("read_file", path="notes.txt")}, {"text": "Yes."})
    )
    editor = Editor()

    async def second(agent):
        listed = await agent.list_sessions(cwd=str(project))
        assert [(item.session_id, item.title) for item in listed.sessions] == [(kept[0], "remember the word lemon")]
        assert (await agent.list_sessions(cwd=None)).sessions
        await agent.load_session(cwd=str(project), session_id=kept[0], mcp_servers=[])
        assert editor.of("user_message_chunk")[0].content.text == "remember the word lemon"
        assert "I keep it." in editor.said()
        assert editor.of("tool_call")[0].title == "read_file: notes.txt"
        await agent.prompt(session_id=kept[0], prompt=words("which word?"))
        with pytest.raises(acp.RequestError, match="No session"):
            await agent.load_session(cwd=str(project), session_id="nope", mcp_servers=[])

    assert play(editor, second, "-m", script({"text": "Lemon."})) == 0
    assert editor.said().endswith("Lemon.")


def test_a_question_for_free_text_is_a_form_where_there_are_some(play, script, project):
    editor = Editor()
    question = {"question": "Which name?", "type": "text"}
    model = script(calls("ask_user", questions=[question]), {"text": "thanks"})

    async def body(agent):
        elicitation = ElicitationCapabilities(form=ElicitationFormCapabilities())
        await agent.initialize(protocol_version=1, client_capabilities=ClientCapabilities(elicitation=elicitation))
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        await agent.prompt(session_id=made.session_id, prompt=words("go"))

    play(editor, body, "--model", model)
    assert [message for message, _ in editor.forms] == ["Which name?"]
    assert "in my words" in json.dumps([update.model_dump(mode="json") for update in editor.updates])


def test_files_modes_commands_and_todos(play, script, project):
    editor = Editor()
    todos = [{"description": "look", "status": "completed"}, {"description": "act", "status": "in_progress"}]
    model = script(calls("write_todos", todos=todos), {"text": "Read."}, {"text": "Planned."})
    link = ResourceContentBlock(type="resource_link", name="calc.py", uri=f"file://{project}/calc.py")
    part = helpers.resource_block(TextResourceContents(uri=f"file://{project}/notes.txt", text="a ``` b"))

    async def body(agent):
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        sid = made.session_id
        await agent.prompt(session_id=sid, prompt=[*words("compare "), link, *words(" with "), part])
        await agent.set_session_mode(session_id=sid, mode_id="plan")
        await agent.prompt(session_id=sid, prompt=words("/mode"))
        await agent.prompt(session_id=sid, prompt=words("/mod ask"))
        with pytest.raises(acp.RequestError, match="No mode 'yolo'"):
            await agent.set_session_mode(session_id=sid, mode_id="yolo")
        with pytest.raises(acp.RequestError, match="empty"):
            await agent.prompt(session_id=sid, prompt=words("  "))
        with pytest.raises(acp.RequestError, match="takes no images"):
            await agent.prompt(session_id=sid, prompt=[helpers.image_block("aGk=", "image/png")])

    play(editor, body, "-m", model)
    assert [(item.content, item.status) for item in editor.of("plan")[-1].entries] == [
        ("look", "completed"),
        ("act", "in_progress"),
    ]
    assert [update.current_mode_id for update in editor.of("current_mode_update")] == ["plan"]
    assert "▸ plan" in editor.said() and "Did you mean /mode" in editor.said()


def test_what_is_wrong_is_said_in_a_sentence(play, project, environment):
    async def body(agent):
        with pytest.raises(acp.RequestError, match="xun setup") as missing:
            await agent.new_session(cwd=str(project), mcp_servers=[])
        assert missing.value.code == -32000
        for wrong in ("relative", str(project / "calc.py"), "/no/such/folder"):
            with pytest.raises(acp.RequestError, match="is no folder"):
                await agent.new_session(cwd=wrong, mcp_servers=[])
        with pytest.raises(acp.RequestError, match="No session x is open"):
            await agent.prompt(session_id="x", prompt=words("hello"))

    assert play(Editor(), body) == 0
    done = subprocess.run([*XUN, "hello"], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "come from the editor" in done.stderr
    done = subprocess.run(XUN, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    assert done.returncode == 2 and "over pipes" in done.stderr


def test_lines_that_are_no_messages_are_answered_and_only_messages_come_out(environment, project):
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    lines = ["garbage", "[1]", '{"jsonrpc":"2.0","id":7,"method":"nope"}', "", json.dumps(begin)]
    done = subprocess.run(
        [*XUN, "--demo"], env=environment, cwd=project, input="\n".join(lines) + "\n", capture_output=True, text=True,
        timeout=60,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    codes = {answer["id"]: answer.get("error", {}).get("code") for answer in answers if answer["id"] is not None}
    assert codes == {7: -32601, 1: None}
    assert sorted(answer["error"]["code"] for answer in answers if answer["id"] is None) == [-32700, -32600]
    assert done.returncode == 0 and done.stderr == ""


def test_a_server_of_the_editor_gives_tools(play, script, project, tmp_path):
    server = tmp_path / "server.py"
    server.write_text(
        "from mcp.server import MCPServer\n"
        "server = MCPServer('words')\n\n"
        "@server.tool()\ndef backwards(text: str) -> str:\n    return text[::-1]\n\nserver.run()\n"
    )
    editor = Editor("allow_once")
    entry = McpServerStdio(name="words", command=sys.executable, args=[str(server)], env=[])

    async def body(agent):
        made = await agent.new_session(cwd=str(project), mcp_servers=[entry])
        await agent.prompt(session_id=made.session_id, prompt=words("turn it"))

    play(editor, body, "-m", script(calls("words__backwards", text="lemon"), {"text": "Turned."}))
    done = editor.of("tool_call_update")[-1]
    assert done.status == "completed" and "nomel" in done.content[0].content.text


def test_it_ends_when_it_is_told_to(environment, project):
    process = subprocess.Popen([*XUN, "--demo"], env=environment, cwd=project, stdin=subprocess.PIPE, stdout=-1)
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    process.stdin.write(json.dumps(begin).encode() + b"\n")
    process.stdin.flush()
    assert b'"id":1' in process.stdout.readline()
    process.terminate()
    assert process.wait(20) == 143
    process.stdin.close()
    process.stdout.close()


@pytest.mark.parametrize("end", ["stdin", "stdout"])
def test_an_editor_that_goes_leaves_nothing_behind(script, environment, project, end):
    model = script(calls("write_file", path="calc.py", content="gone\n"), {"text": "So not."})
    process = subprocess.Popen([*XUN, "-m", model], env=environment, cwd=project, stdin=-1, stdout=-1, stderr=-1)

    def send(number, method, **params):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()

    def until(wanted):
        while not wanted(message := json.loads(process.stdout.readline())):
            pass
        return message

    send(1, "initialize", protocolVersion=1)
    send(2, "session/new", cwd=str(project), mcpServers=[])
    made = until(lambda message: message.get("id") == 2)["result"]["sessionId"]
    send(3, "session/prompt", sessionId=made, prompt=[{"type": "text", "text": "go"}])
    until(lambda message: message.get("method") == "session/request_permission")
    if end == "stdout":
        process.stdout.close()
    process.stdin.close()
    assert process.wait(20) == 0
    assert process.stderr.read() == b""
    assert "a - b" in (project / "calc.py").read_text()
    for pipe in (process.stdout, process.stderr):
        pipe.close()


def test_the_project_root_is_what_tools_are_held_to(play, script, project):
    outside = Path(project).parent / "secret.txt"
    outside.write_text("hidden\n")
    editor = Editor()

    async def body(agent):
        made = await agent.new_session(cwd=str(project), mcp_servers=[])
        await agent.prompt(session_id=made.session_id, prompt=words("read it"))

    play(editor, body, "-m", script(calls("read_file", path=str(outside)), {"text": "No."}))
    assert editor.of("tool_call_update")[-1].status == "failed"
