"""What the demo makes of everyday words: the first tool call, or the words of its answer."""

from __future__ import annotations

import json

import pytest

from xun.messages import Message
from xun.models.base import ModelRequest
from xun_cli.demo import DemoModel

EDITS = ["write_file", "replace", "multi_edit", "insert_lines", "delete", "move", "copy", "mkdir"]
NAMES = ["read_file", "list_dir", "glob", "grep", "bash", *EDITS]
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in NAMES]


async def first(text, *history):
    """Return the first call as (tool, arguments), or the answer's text."""
    request = ModelRequest([*history, Message("user", text)], TOOLS)
    reply = [event async for event in DemoModel(pace=0).stream(request)][-1]
    if not reply.tool_calls:
        return reply.text
    (call,) = reply.tool_calls
    return call.name, json.loads(call.arguments)


def read(path, offset=1, limit=100):
    return "read_file", {"path": path, "offset": offset, "limit": limit}


def swap(path, old, new, every=False):
    return "replace", {"path": path, "old": old, "new": new, "replace_all": every}


def grep(pattern, path="."):
    return "grep", {"pattern": pattern, "path": path, "literal": True}


def write(path, content):
    return "write_file", {"path": path, "content": content}


def bash(command):
    return "bash", {"command": command}


LIST = ("list_dir", {"path": "."})

CALLS = {
    # Lists
    "list files": LIST,
    "list the files": LIST,
    "List all files in this folder, please.": LIST,
    "please list all of the files here": LIST,
    "ls": LIST,
    "ls -la": LIST,
    "what's here?": LIST,
    "What is in this folder?": LIST,
    "what files are here": LIST,
    "which files are there?": LIST,
    "show me the files": LIST,
    "Can you show me all the files and folders in the current directory?": LIST,
    "show files in the project": LIST,
    "list src": ("list_dir", {"path": "src"}),
    "ls src/": ("list_dir", {"path": "src/"}),
    "list the files in src": ("list_dir", {"path": "src"}),
    "what is in the src folder": ("list_dir", {"path": "src"}),
    "show me what's in docs/": read("docs/"),
    "what is this project about?": LIST,
    # Files
    "show README.md": read("README.md"),
    "Show me README.md": read("README.md"),
    "cat src/app.py": read("src/app.py"),
    "read the file `src/app.py`": read("src/app.py"),
    "open 'my notes.txt'": read("my notes.txt"),
    "print “a b.py”.": read("a b.py"),
    "could you please open setup.cfg for me?": read("setup.cfg"),
    "what is in app.py?": read("app.py"),
    "what's inside config/app.toml": read("config/app.toml"),
    "what is in @src/app.py": read("src/app.py"),
    'show @"my file.txt"': read("my file.txt"),
    "show me the contents of Makefile": read("Makefile"),
    "display the content of the file notes.txt": read("notes.txt"),
    "show the first 20 lines of app.py": read("app.py", 1, 20),
    "show lines 10-20 of app.py": read("app.py", 10, 11),
    "lines 5 to 7 of app.py": read("app.py", 5, 3),
    "show app.py lines 3 to 4": read("app.py", 3, 2),
    "head -n 5 app.py": read("app.py", 1, 5),
    "tail app.py": read("app.py", 1, 1),
    "show the last 5 lines of app.py": read("app.py", 1, 1),
    "explain app.py": read("app.py", 1, 2000),
    "summarize src/app.py": read("src/app.py", 1, 2000),
    "what does app.py do?": read("app.py", 1, 2000),
    "show ../app.py": read("../app.py"),
    "show .gitignore": read(".gitignore"),
    "I'd like to see app.py": read("app.py"),
    # Texts
    "find TODO": grep("TODO"),
    "grep TODO": grep("TODO"),
    "grep -rn 'def main' src": grep("def main", "src"),
    'grep "def main" src/': grep("def main", "src/"),
    "grep 'def main' in src": grep("def main", "src"),
    "search for “hello world”": grep("hello world"),
    "find all uses of parse_args in this project": grep("parse_args"),
    "Search for foo.bar( in src/app.py.": grep("foo.bar(", "src/app.py"),
    "where is parse_args defined?": grep("parse_args"),
    "where is the function main used": grep("main"),
    "which files contain import os?": grep("import os"),
    "does app.py contain foo?": grep("foo", "app.py"),
    "is there a TODO in app.py": grep("TODO", "app.py"),
    "look for foo in *.py": ("grep", {**grep("foo")[1], "glob": "*.py"}),
    # Files by name
    "find app.py": ("glob", {"pattern": "**/*app.py*"}),
    "find the file settings": ("glob", {"pattern": "**/*settings*"}),
    "where is app.py?": ("glob", {"pattern": "**/*app.py*"}),
    "find *.md": ("glob", {"pattern": "**/*.md"}),
    "find all python files": ("glob", {"pattern": "**/*.py"}),
    "list markdown files": ("glob", {"pattern": "**/*.md"}),
    "which .toml files are there?": ("glob", {"pattern": "**/*.toml"}),
    "how many files are there?": ("glob", {"pattern": "**/*"}),
    "how many python files are in this project": ("glob", {"pattern": "**/*.py"}),
    "how many lines does app.py have?": read("app.py", 1, 1),
    "count the lines in app.py": read("app.py", 1, 1),
    # Replacements
    "replace foo with bar in app.py": swap("app.py", "foo", "bar"),
    "Replace foo with bar in app.py.": swap("app.py", "foo", "bar"),
    "replace 'foo' with \"bar\" in `app.py`": swap("app.py", "foo", "bar"),
    "replace “hello world” with ‘bye’ in “my file.txt”": swap("my file.txt", "hello world", "bye"),
    "please replace hello world by good bye in src/app.py": swap("src/app.py", "hello world", "good bye"),
    "change foo to bar in app.py": swap("app.py", "foo", "bar"),
    "change x = 1 to x = 2 in the file app.py": swap("app.py", "x = 1", "x = 2"),
    "rename foo to bar in app.py": swap("app.py", "foo", "bar"),
    "Can you change `foo in bar` to `baz in qux` in app.py?": swap("app.py", "foo in bar", "baz in qux"),
    "in app.py replace foo with bar": swap("app.py", "foo", "bar"),
    "In app.py, change foo to bar": swap("app.py", "foo", "bar"),
    "replace all foo with bar in app.py": swap("app.py", "foo", "bar", True),
    "replace every foo with bar in app.py": swap("app.py", "foo", "bar", True),
    "Replace all occurrences of foo with bar in app.py": swap("app.py", "foo", "bar", True),
    "replace foo with bar everywhere in app.py": swap("app.py", "foo", "bar", True),
    "replace foo everywhere with bar in app.py": swap("app.py", "foo", "bar", True),
    "substitute bar for foo in app.py": swap("app.py", "foo", "bar"),
    "replace '' with 'x' in app.py": "beyond me",
    "replace 'x' with '' in app.py": swap("app.py", "x", ""),
    "remove 'debug' from app.py": swap("app.py", "debug", ""),
    "replace foo with bar": grep("foo"),
    "rename foo to bar": grep("foo"),
    "replace foo with bar and baz with qux in app.py": (
        "multi_edit",
        {
            "path": "app.py",
            "edits": [
                {"old": "foo", "new": "bar", "replace_all": False},
                {"old": "baz", "new": "qux", "replace_all": False},
            ],
        },
    ),
    # New files, and files that go
    "create notes.txt with Hello, world!": write("notes.txt", "Hello, world!\n"),
    "create a file notes.txt containing 'two words'": write("notes.txt", "two words\n"),
    "create a new file called notes.txt that says hi": write("notes.txt", "hi\n"),
    "create a file named notes with hi": write("notes", "hi\n"),
    "make a.py with:\n```python\nprint('hi')\nprint(2)\n```": write("a.py", "print('hi')\nprint(2)\n"),
    "create an empty file b.txt": write("b.txt", ""),
    "touch b.txt": write("b.txt", ""),
    "write 'hello there' to hello.txt": write("hello.txt", "hello there\n"),
    "please create `my file.txt` with the text please keep this please": write(
        "my file.txt", "please keep this please\n"
    ),
    "create a.txt with one two three four five tests": write("a.txt", "one two three four five tests\n"),
    "what is in @a.py?\n\n[Paths mentioned with @, relative to the project folder: a.py (a file)]": read("a.py"),
    "add the line x = 1 to notes.txt": read("notes.txt", 1, 1),
    "append bye to notes.txt": read("notes.txt", 1, 1),
    "add 'bye' to notes.txt": read("notes.txt", 1, 1),
    "append 'bye' to notes.txt": read("notes.txt", 1, 1),
    "delete notes.txt": ("delete", {"path": "notes.txt"}),
    "remove the file notes.txt.": ("delete", {"path": "notes.txt"}),
    "rm a.txt": ("delete", {"path": "a.txt"}),
    "rename a.txt to b.txt": ("move", {"src": "a.txt", "dst": "b.txt"}),
    "move a.txt to old/": ("move", {"src": "a.txt", "dst": "old/a.txt"}),
    "mv a.txt b.txt": ("move", {"src": "a.txt", "dst": "b.txt"}),
    "copy a.txt to b.txt": ("copy", {"src": "a.txt", "dst": "b.txt"}),
    "create a folder called docs": ("mkdir", {"path": "docs"}),
    "mkdir docs": ("mkdir", {"path": "docs"}),
    # Commands
    "run the tests": LIST,
    "Run tests": LIST,
    "please run all the unit tests again": LIST,
    "test it": LIST,
    "do the tests pass?": LIST,
    "run make build": bash("make build"),
    "run `echo hi; ls`": bash("echo hi; ls"),
    "run the command ls -la": bash("ls -la"),
    "execute python3 app.py": bash("python3 app.py"),
    "run echo done!": bash("echo done!"),
    "run ls .": bash("ls ."),
    "$ uname -a": bash("uname -a"),
    "git status": bash("git status"),
    "show git status": bash("git status"),
    "what changed?": bash("git status"),
    "git diff": bash("git diff"),
    "show me the diff": bash("git diff"),
    "git log --oneline -n 3": bash("git log --oneline -n 3"),
    "git commit -m 'a message'": bash("git commit -m 'a message'"),
    "show the last commits": bash("git log --oneline -n 10"),
    "which branch am I on?": bash("git branch"),
    "pytest -q": bash("pytest -q"),
    "make test": bash("make test"),
    "npm test": bash("npm test"),
    # Several at once
    "list the files and then show README.md": LIST,
    "show README.md and run the tests": read("README.md"),
}

ANSWERS = {
    "help": "offline demo",
    "what can you do?": "offline demo",
    "how does this work": "offline demo",
    "hello": "Hello.",
    "Hi there!": "Hello.",
    "good morning": "Hello.",
    "thanks!": "welcome",
    "thank you very much": "welcome",
    "who are you?": "No language model",
    "which model is this?": "No language model",
    "undo": "`/undo`",
    "undo that": "`/undo`",
    "undo the last change please": "`/undo`",
    "how do I set an API key?": "OPENAI_API_KEY",
    "use a real model": "xun setup",
    "what is allowed?": "`/policy`",
    "bye": "`/quit`",
    "show it": "Which file?",
    "what is in this file?": "Which file?",
    "delete it": "Which file?",
    "run the linter": "Which command?",
    "run it": "Which command?",
    "write a function that sorts a list": "beyond me",
    "fix the bug in the parser": "beyond me",
    "refactor this to use async": "beyond me",
    "why is the sky blue?": "beyond me",
    "implement feature X and write tests for it": "beyond me",
    "Schreib mir ein Gedicht": "beyond me",
    "列出文件": "beyond me",
    "": "beyond me",
    "   \n ": "beyond me",
    "?!": "beyond me",
    "create a plan for the release": "beyond me",
    "make it faster": "beyond me",
    "delete everything": "beyond me",
    "add a test for foo to test_app.py": "beyond me",
    "write unit tests for app.py to test_app.py": "beyond me",
    "create app.py with a function that adds two numbers": "beyond me",
    "create a script deploy.sh with code that deploys": "beyond me",
    "start the server": "beyond me",
    "see you later": "`/quit`",
    "replace": "beyond me",
}


@pytest.mark.parametrize("text", CALLS)
async def test_words_become_a_call(text):
    expected = CALLS[text]
    found = await first(text)
    assert (expected in found) if isinstance(expected, str) else (found == expected)


@pytest.mark.parametrize("text", ANSWERS)
async def test_words_become_an_answer(text):
    found = await first(text)
    assert isinstance(found, str) and ANSWERS[text] in found


def test_there_are_enough():
    assert len(CALLS) + len(ANSWERS) > 120
