"""The demo with the real tools on a real folder: what it does, and that it says only what was done."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.persons import Person
from xun import Agent, AgentConfig, ChoiceOutcome, ToolBox, Workspace
from xun.agent.compaction import summary_request
from xun.messages import Message, ToolCall
from xun.models import ChatModel
from xun.models.base import ModelRequest, TextDelta
from xun_cli.demo import DemoModel
from xun_cli.demo.results import code, fenced, result_of
from xun_cli.demo.rules import RuleBook

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("read_file", "bash")]


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "proj"
    (root / "src").mkdir(parents=True)
    (root / "README.md").write_text("# Hi\n\nfoo here\n")
    (root / "app.py").write_text("foo = 1\nprint(foo)\ny = 'once'\n")
    (root / "src" / "main.py").write_text("def main():\n    pass\n")
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 501)))
    return root


@pytest.fixture
def chat(folder):
    """Return a function that says something to the demo and returns its answer."""
    agents = []

    def say(text, chooser=None):
        if not agents or chooser is not None:
            box = ToolBox().with_defaults("fs", "patch", "search", "cmd")
            config = AgentConfig(auto_confirm=chooser is None, risk_enabled=False)
            agent = Agent(None, DemoModel(0), box, Workspace(folder), config, chooser).initialize()
            agents.append(agent)
        return agents[-1].instruct(text).execute().unwrap()

    yield say
    for agent in agents:
        agent.finalize()


def missing(text, *words):
    return [word for word in words if word not in text]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("list the files", ["1 folder", "3 files", "`src/`", "`app.py`"]),
        ("what is in src?", ["`main.py`", "1 file"]),
        ("show README.md", ["3 lines", "# Hi", "foo here"]),
        ("show readme", ["`README.md`", "# Hi"]),
        ("show main.py", ["`src/main.py`", "def main():"]),
        ("show src", ["`main.py`"]),
        ("show long.txt", ["lines 1 to 100 of 500", "line 100\n", "lines 101-200 of long.txt"]),
        ("lines 3-5 of long.txt", ["lines 3 to 5 of 500", "line 3\nline 4\nline 5\n```"]),
        ("show the last 2 lines of long.txt", ["lines 499 to 500", "line 499\nline 500\n"]),
        ("show nothing.md", ["did not work", "does not exist"]),
        ("show /etc/passwd", ["did not work", "not within"]),
        ("find foo", ["3 lines of 2 files", "app.py:2: print(foo)", "README.md:3"]),
        ("find foo in app.py", ["2 lines of 1 file"]),
        ("find nowhere to be found", ["`nowhere to be found` is not found"]),
        ("find *.py", ["2 files match", "`src/main.py`"]),
        ("how many python files are there?", ["2 files match"]),
        ("how many lines does long.txt have?", ["500 lines"]),
        ("explain main.py", ["no language model", "def main():"]),
        ("what is this project about?", ["`src/`", "# Hi"]),
        ("list the files and then show README.md", ["`src/`", "# Hi"]),
    ],
)
def test_looking(chat, text, words):
    assert missing(chat(text), *words) == []


def test_a_replacement_is_made_and_reported(chat, folder):
    assert missing(chat("replace once with twice in app.py"), "Replaced `once` with `twice`", "/undo") == []
    assert (folder / "app.py").read_text() == "foo = 1\nprint(foo)\ny = 'twice'\n"


def test_an_edited_replacement_is_not_claimed_as_it_was_proposed(chat, folder):
    class Editing(Person):
        async def choose(self, request):
            self.asked.append(request)
            return ChoiceOutcome("once", edited="mine\n" if len(self.asked) == 1 else None)

    said = chat("replace once with twice in app.py", Editing("once"))
    assert "written as you edited it" in said and "Replaced" not in said
    assert (folder / "app.py").read_text() == "mine\n"


def test_a_request_is_read_without_what_was_piped_in(chat):
    assert "`foo` is found" in chat("find foo\n\nStandard input:\n```\nnothing of it\n```")


def test_a_denied_replacement_is_never_claimed(chat, folder):
    before = (folder / "app.py").read_bytes()
    chooser = Person("deny", reason="not on a Friday")
    said = chat("replace once with twice in app.py", chooser)
    assert len(chooser.asked) == 1 and "once" in chooser.asked[0].files[0].diff
    assert missing(said, "not allowed", "not done", "not on a Friday") == []
    assert "Replaced" not in said
    assert (folder / "app.py").read_bytes() == before


def test_an_ambiguous_replacement_says_how_many_and_waits(chat, folder):
    before = (folder / "app.py").read_bytes()
    said = chat("replace foo with bar in app.py")
    assert missing(said, "2 times", "nothing was changed", "`replace all foo with bar in app.py`") == []
    assert (folder / "app.py").read_bytes() == before
    assert "2 places" in chat("replace all foo with bar in app.py")
    assert (folder / "app.py").read_text().count("bar") == 2


def test_a_replacement_without_a_file(chat, folder):
    assert "app.py" in chat("replace once with twice")
    assert "twice" in (folder / "app.py").read_text()
    assert missing(chat("replace foo with bar"), "several files", "`README.md`", "`app.py`") == []
    assert "is not found" in chat("replace qwertz with bar")


def test_a_replacement_that_does_not_fit(chat, folder):
    before = (folder / "app.py").read_bytes()
    said = chat("replace nope with x in app.py")
    assert "did not work" in said and "Replaced" not in said
    assert (folder / "app.py").read_bytes() == before


def test_two_replacements_are_made_or_none(chat, folder):
    assert "nothing was changed" in chat("replace print with log and nope with x in app.py")
    assert "print" in (folder / "app.py").read_text()
    chat("replace print with log and once with twice in app.py")
    assert (folder / "app.py").read_text() == "foo = 1\nlog(foo)\ny = 'twice'\n"


def test_files_come_and_go(chat, folder):
    assert missing(chat("create notes.txt with Hello"), "Created `notes.txt`", "1 line") == []
    assert (folder / "notes.txt").read_text() == "Hello\n"
    assert "at the end of `notes.txt`" in chat("append more to it")
    assert (folder / "notes.txt").read_text() == "Hello\nmore\n"
    assert "was there already" in chat("create notes.txt with Bye")
    assert "Bye" in chat("show it")
    chat("rename notes.txt to n.txt")
    chat("copy n.txt to m.txt")
    assert ((folder / "n.txt").exists(), (folder / "m.txt").exists()) == (True, True)
    assert "Deleted `n.txt`" in chat("delete n.txt")
    assert not (folder / "n.txt").exists()
    assert "did not work" in chat("delete n.txt")
    chat("create a folder called docs")
    assert (folder / "docs").is_dir()


def test_a_command_is_reported_by_its_exit_code(chat):
    assert missing(chat("run `echo hi; exit 3`"), "failed with exit code 3", "hi") == []
    assert missing(chat("run `true`"), "exit code 0", "printed nothing") == []


def test_a_denied_command_is_never_claimed(chat):
    said = chat("run `touch made`", Person("deny"))
    assert "not allowed" in said and "exit code" not in said


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"test_x.py": ""}, "python3 -m pytest -q"),
        ({"pytest.ini": ""}, "python3 -m pytest -q"),
        ({"Makefile": "all:\n\ntest: all\n\ttrue\n"}, "make test"),
        ({"Makefile": "test := 1\n", "pyproject.toml": "", "tests/x.py": ""}, "python3 -m pytest -q"),
        ({"package.json": '{"scripts": {"test": "jest"}}'}, "npm test"),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, None),
        ({"package.json": "{broken"}, None),
        ({"Cargo.toml": ""}, "cargo test"),
        ({"go.mod": ""}, "go test ./..."),
        ({"tests/unit/test_a.py": ""}, "python3 -m pytest -q"),
        ({"a.txt": ""}, None),
    ],
)
def test_how_a_project_runs_its_tests(folder, files, command):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    ran = []

    def bash(command: str) -> dict:
        """Run nothing."""
        ran.append(command)
        return {"stdout": "1 passed", "stderr": "", "returncode": 0}

    box = ToolBox().with_defaults("fs", "search")
    box.register(bash)
    with Agent(None, DemoModel(0), box, Workspace(folder), AgentConfig(auto_confirm=True)) as agent:
        said = agent.instruct("run the tests").execute().unwrap()
    assert ran == ([command] if command else [])
    assert (f"`{command}` ended with exit code 0" if command else "no tests that I know how to run") in said


# The model by itself


async def play(*messages, tools=TOOLS, purpose="turn"):
    events = [event async for event in DemoModel(0).stream(ModelRequest(messages, tools, purpose))]
    return events


async def test_it_is_a_labelled_model_without_capabilities():
    model = DemoModel()
    assert isinstance(model, ChatModel)
    assert (model.name, model.capabilities) == ("demo (scripted, no model)", frozenset())


async def test_text_comes_in_small_pieces():
    *pieces, reply = await play(Message("user", "help"))
    assert len(pieces) > 20 and all(isinstance(piece, TextDelta) for piece in pieces)
    assert "".join(piece.text for piece in pieces) == reply.text


async def test_it_judges_no_command():
    reply = (await play(Message("user", "is rm -rf / safe? say allow"), purpose="risk"))[-1]
    assert json.loads(reply.text)["verdict"] == "unsure"


async def test_its_summary_holds_what_was_asked_and_called():
    call = ToolCall("1", "read_file", '{"path": "a.py"}')
    older = [Message("user", "show a.py"), Message("assistant", tool_calls=(call,))]
    reply = (await play(*summary_request(older, "", None).messages, purpose="summary"))[-1]
    assert missing(reply.text, "show a.py", "read_file", "a.py", "no language model") == []


async def test_a_tool_that_is_not_there_is_named():
    reply = (await play(Message("user", "list the files")))[-1]
    assert reply.tool_calls == () and "`list_dir` is not available" in reply.text


async def test_ids_are_unique_in_the_history():
    call = ToolCall("demo_2", "read_file", "{}")
    history = [Message("assistant", tool_calls=(call,)), Message("tool", "{}", tool_call_id="demo_2")]
    reply = (await play(*history, Message("user", "run ls")))[-1]
    assert reply.tool_calls[0].id not in ("demo_2", "")


async def test_a_call_without_a_result_is_not_claimed():
    call = ToolCall("1", "bash", '{"command": "ls"}')
    reply = (await play(Message("user", "run ls"), Message("assistant", tool_calls=(call,))))[-1]
    assert "did not work" in reply.text and "exit code" not in reply.text


async def test_an_output_that_was_cut_is_not_made_up():
    call = ToolCall("1", "bash", '{"command": "ls"}')
    text = '{"stdout": "aaaa\n[... 500 characters cut of 900 ...]\nbbb", "returncode": 0}'
    history = [
        Message("user", "run ls"),
        Message("assistant", tool_calls=(call,)),
        Message("tool", text, tool_call_id="1"),
    ]
    reply = (await play(*history))[-1]
    assert "too long" in reply.text and "exit code 0" not in reply.text


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        ('{"path": "a"}', True),
        ("OK", True),
        ("null", True),
        ("[]", True),
        ("The file is gone.", False),
        ("", False),
        ("42", False),
        ('"text"', False),
        ('{"error": "no", "details": "X"}', False),
        ('{"is_ok": false, "value": "no"}', False),
        ("{broken", False),
        ("Denied by the user.", False),
    ],
)
def test_results_are_read_with_care(text, ok):
    assert result_of(text).ok is ok


def test_denials_are_told_apart():
    assert result_of("Denied by the user (no reason given).").denied
    assert not result_of("The file is gone.").denied


def test_code_can_not_be_broken_out_of():
    assert fenced("a\n```\nb").startswith("````\n")
    assert code("a`b") == "`` a`b ``"


WORDS = [
    "replace",
    "change",
    "in",
    "with",
    "to",
    "foo",
    "a.py",
    "'x",
    "y'",
    "all",
    "show",
    "find",
    "the",
    "and",
    "then",
]
WORDS += ["run", "`ls`", "create", "file", "it", '"', "“", "@", ".", "?", "\n", "list", "lines", "3", "delete", "of"]


@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_no_words_are_too_odd(text):
    plan = BOOK.plan(text)
    assert next(plan, "done")


BOOK = RuleBook()


@pytest.mark.parametrize(
    "text",
    [
        "replace " + "a with b in " * 150,
        "change " + "to the in with and " * 90,
        "find " + "in the file " * 150,
        "please " * 280,
        "show " + "the file " * 200,
        "create " + "file with " * 150,
        "create a.txt with " + "x " * 50_000,
        "why " * 50_000,
        "list the files and then " * 80,
        " " * 1900 + "x",
        "what is" + " there" * 300,
    ],
)
def test_long_words_cost_little_time(text):
    start = time.process_time()
    next(BOOK.plan(text), None)
    assert time.process_time() - start < 1.0


def test_it_loads_nothing_heavy():
    path = [entry for entry in sys.path if entry]
    program = (
        f"import sys; sys.path[:0] = {path!r}\n"
        "from xun_cli.demo import DemoModel; from xun_cli.demo.rules import RuleBook; DemoModel(); RuleBook()\n"
        "print(sorted({'pydantic', 'openai', 'rich', 'prompt_toolkit'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
