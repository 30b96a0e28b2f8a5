"""/compact, /rewind, /fork, /sessions TEXT, /agents and /image over real sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.fake_session import run, shown
from tests.unit.xun_cli.session.test_rewinding import THREE, ask, make
from xun.choice import ChoiceOutcome
from xun.events import (
    ApprovalRequested,
    MessageCompleted,
    SubagentCompleted,
    SubagentStarted,
    ToolCompleted,
    ToolStarted,
)
from xun.messages import Image
from xun_cli.commands.registry import CommandContext, default_registry
from xun_cli.places import Places
from xun_cli.session.listing import list_sessions
from xun_cli.session.session import Session
from xun_cli.session.store import SessionStore
from xun_cli.settings import Settings

LONG = "words " * 500


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places.from_environment({"XUN_HOME": str(tmp_path / "xun")})


@pytest.fixture
async def ctx(tmp_path: Path, places: Places) -> AsyncIterator[CommandContext]:
    """A stored session in which three turns wrote files; it goes on with what a test appends."""
    work = tmp_path / "work"
    work.mkdir()
    session = make(work, SessionStore.create(places, work), [*THREE, {"text": LONG}, {"text": "the notes"}])
    for text in ("make a", "change a", "make b"):
        await ask(session, text)
    yield CommandContext(session, places, Settings())
    await session.close()


def answering(session: Session, *choices: Any) -> list[ApprovalRequested]:
    """Give *choices* as a person would, one for each question."""
    left, asked = list(choices), []

    def take(envelope: Any) -> None:
        if isinstance(envelope.event, ApprovalRequested):
            asked.append(envelope.event)
            session.answer(envelope.event.request_id, ChoiceOutcome(left.pop(0), "user"))

    session.subscribe(take)
    return asked


async def test_compact_says_what_it_saved(ctx):
    assert await shown(ctx, "/compact") == "There is too little to sum up; nothing was changed."
    await ask(ctx.session, f"tell me more {LONG}")
    assert (await shown(ctx, "/compact the tests")).startswith("Summed up: about ")
    assert "keep above all: the tests" in ctx.session.agent.model.requests[-1].messages[1].text
    ctx.session.agent.history = [*ctx.session.agent.history * 3]
    result = await run(ctx, "/compact")
    assert not result.ok and "wrote no summary" in result.outputs[0].text


async def test_rewind_lists_asks_and_gives_the_text_back(ctx):
    asked = answering(ctx.session, "2", "both")
    result = await run(ctx, "/rewind")
    assert [option["value"] for option in asked[0].options] == ["3", "2", "1", ""]
    assert "change a  (2 files written since)" in asked[0].options[1]["label"]
    assert result.action == "rewound" and result.data == "change a"
    assert "Put back: b.txt" in result.outputs[0].text
    assert (ctx.session.cwd / "a.txt").read_text() == "one\n" and not (ctx.session.cwd / "b.txt").exists()
    assert (await shown(ctx, "/redo")).startswith("Done again:")


async def test_rewind_with_words_and_what_it_refuses(ctx):
    answering(ctx.session, "", None, False)
    assert await shown(ctx, "/rewind") == "Nothing was changed."
    assert await shown(ctx, "/rewind 2") == "Nothing was changed."
    assert await shown(ctx, "/rewind 2 --files") == "Nothing was changed."
    assert "no turn 9" in await shown(ctx, "/rewind 9") and "Usage" in await shown(ctx, "/rewind 1 2")
    (ctx.session.cwd / "a.txt").write_text("mine\n")
    refused = await run(ctx, "/rewind 2")
    assert not refused.ok and "a.txt" in refused.outputs[0].text
    assert (await run(ctx, "/rewind 2 --keep-files")).action == "rewound"
    assert (ctx.session.cwd / "a.txt").read_text() == "mine\n"
    found = default_registry().complete(ctx, "/rewind ")
    assert ("/rewind 1", "") in found and ("/rewind --files", "") in found


async def test_rewind_is_taken_back(ctx):
    assert await shown(ctx, "/rewind back") == "There is no /rewind to take back."
    answering(ctx.session, True, False, True, True)
    assert "/rewind back takes this back." in await shown(ctx, "/rewind 2 --files")
    result = await run(ctx, "/rewind back")
    assert result.action == "redraw"
    assert "Taken back: turns 2 to 3 count again." in result.outputs[0].text
    assert "Written again: b.txt" in result.outputs[0].text and (ctx.session.cwd / "b.txt").exists()
    await run(ctx, "/rewind 3 --keep-files")
    await ask(ctx.session, "more")
    assert await shown(ctx, "/rewind back") == "Nothing was changed."
    assert "turn 3 counts again" in await shown(ctx, "/rewind back")
    assert "turn 4 counts again" in await shown(ctx, "/rewind back")


async def test_rewind_is_taken_back_without_its_files_and_the_model_knows(ctx):
    answering(ctx.session, True)
    await run(ctx, "/rewind 2 --files")
    assert "The files stay as they are: b.txt, a.txt." in await shown(ctx, "/rewind back --keep-files")
    assert "not with the files" in ctx.session.agent.history[-1].text


async def test_fork_goes_on_in_a_copy(ctx, places):
    result = await run(ctx, "/fork other way")
    assert (result.action, result.data.name, result.data.turns) == ("resume", "other way", 3)
    assert len(list_sessions(places, ctx.session.cwd)) == 2
    assert "called 'other way' already" in await shown(ctx, "/fork other way")
    assert "printable" in await shown(ctx, "/fork a\x1b[31m")
    ctx.session.store = None
    assert "not stored" in await shown(ctx, "/fork")


async def test_sessions_that_hold_a_text(ctx):
    assert "make a" in await shown(ctx, "/sessions make A")
    assert await shown(ctx, "/sessions nowhere") == "None of the 1 sessions of this folder holds 'nowhere'."


async def test_agents_and_what_one_did(ctx):
    assert "No sub-agent" in await shown(ctx, "/agents")
    for event in (
        SubagentStarted(name="look#1", task="find it"),
        ToolStarted(agent="look#1", call_id="c", tool="grep", args={"pattern": "x"}),
        ToolCompleted(agent="look#1", call_id="c", tool="grep", content="3 places"),
        SubagentStarted(agent="look#1", name="deep#1", task="deeper"),
    ):
        ctx.session.emit(event)
    listed = await shown(ctx, "/agents")
    assert "look#1  running  find it  calls grep" in listed and "deep#1" in listed
    ctx.session.emit(MessageCompleted(agent="look#1", text="line\nIt is **there**."))
    ctx.session.emit(SubagentCompleted(name="look#1", task="find it"))
    assert "look#1  done     find it  It is **there**." in await shown(ctx, "/agents")
    whole = await run(ctx, "/agents look#1")
    assert [output.kind for output in whole.outputs] == ["text", "text", "markdown"]
    assert 'grep {"pattern": "x"}' in whole.outputs[1].text and "3 places" in whole.outputs[1].text
    assert "no sub-agent 'none'" in await shown(ctx, "/agents none")


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0000003010100"
    "18dd8db00000000049454e44ae426082"
)


async def test_an_image_goes_with_a_message_where_the_model_sees(ctx):
    folder = ctx.session.cwd
    (folder / "pic.png").write_bytes(PNG)
    (folder / "no.png").write_text("no image")
    refused = await shown(ctx, "/image pic.png")
    assert "takes no images" in refused and "/model" in refused
    ctx.session.agent.model.capabilities = frozenset({"vision"})
    assert await shown(ctx, "/image") == "No image waits. /image FILE [message] adds one."
    assert await shown(ctx, "/image pic.png") == "pic.png goes with your next message."
    assert "pic.png" in await shown(ctx, "/image") and "pic.png" in await shown(ctx, "/image drop")
    await run(ctx, "/image pic.png")
    result = await run(ctx, "/image pic.png what is this?")
    assert (result.action, result.data) == ("submit", "what is this?")
    await ask(ctx.session, result.data)
    sent = ctx.session.agent.model.requests[-1].messages[-1]
    assert sent.images == (Image(PNG, "image/png"),) * 2 and ctx.session.attached == []
    assert "no.png can't be shown" in await shown(ctx, "/image no.png")
    assert "can't be read" in await shown(ctx, "/image missing.png") and "a folder" in await shown(ctx, "/image .")
    assert ("/image pic.png", "") in default_registry().complete(ctx, "/image p")


async def test_log_bug_and_init(ctx):
    assert "Nothing has been logged yet" in await shown(ctx, "/log")
    ctx.places.state.mkdir(parents=True, exist_ok=True)
    ctx.places.log_file.write_text("".join(f"line {number}\n" for number in range(100)) + "API_KEY=hunter2hunter2\n")
    tail = await shown(ctx, "/log tail")
    assert "line 99" in tail and "line 20\n" not in tail and str(ctx.places.log_file) == await shown(ctx, "/log path")
    ctx.settings.put("provider.headers", {"Authorization": "Bearer secret-value"}, "test")
    answering(ctx.session, False)
    await ask(ctx.session, "my password=hunter2 is here")
    assert "nothing was sent" in await shown(ctx, "/bug")
    report = ctx.session.cwd / f"xun-bug-{ctx.session.id}.md"
    content = report.read_text()
    assert report.stat().st_mode & 0o777 == 0o600 and "line 99" in content and "## Checks" in content
    assert "hunter2" not in content and "secret-value" not in content and "make a" in content
    assert await shown(ctx, "/bug") == "Nothing written."
    assert "Wrote" in await shown(ctx, "/init") and (ctx.session.cwd / "AGENTS.md").read_text().startswith("# ")
    assert "exists and stays" in await shown(ctx, "/init")


async def test_a_plan_is_shown_again_and_instructions_are_read_again(ctx):
    assert "No plan yet" in await shown(ctx, "/plan view")
    await run(ctx, "/plan on")
    await ask(ctx.session, "plan it")
    await run(ctx, "/plan off")
    result = await run(ctx, "/plan view")
    assert result.outputs[0].kind == "markdown" and result.outputs[0].text == LONG
    assert "pending: later" in result.outputs[1].text
    ctx.session.instructions = lambda: "Use tabs."
    (ctx.session.cwd / "AGENTS.md").write_text("Use tabs.")
    assert "as they are now" in await shown(ctx, "/memory reload")
    assert ctx.session.agent.system_text() == "Use tabs."
    assert "show, reload, edit" in await shown(ctx, "/memory forget")
