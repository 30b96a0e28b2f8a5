"""@ mentions and path completion over real folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from xun_cli.mentions import FileIndex, OpenMention, expand, find_mentions, open_mention, write_mention


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "proj"
    for name in ("src/app.py", "src/util/text tools.py", "README.md", "tests/test_app.py", "src/你好.py"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")
    return root


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("look at @src/app.py", ["src/app.py"]),
        ("(see @src/app.py).", ["src/app.py"]),
        ("看@src/你好.py这个文件", ["src/你好.py"]),
        ('read @"src/util/text tools.py", please', ["src/util/text tools.py"]),
        ("folder @src/ and @README.md!", ["src/", "README.md"]),
        ("mail me@README.md", []),
        ("@property is a decorator", []),
        ("@src/app.pyc is not it", []),
        ("@src/appetizer", []),
        ("@src/app.py: broken", ["src/app.py"]),
        ("@../outside.txt", []),
        ('@"unfinished', []),
        ("@", []),
        ("@@README.md", ["README.md"]),
    ],
)
def test_find(project: Path, text: str, paths: list[str]) -> None:
    (project.parent / "outside.txt").write_text("secret")
    shown = expand(text, project)
    named = find_mentions(text, lambda path: ".." not in path and (project / path).exists())
    assert [mention.path for mention in named] == paths
    assert (shown == text) is (not paths)


def test_expansion_names_each_path_once_and_reads_no_content(project: Path) -> None:
    (project / "README.md").write_text("private words")
    shown = expand("@README.md and @README.md and @src/", project)
    assert shown.endswith(
        '[Paths mentioned with @, relative to the project folder: "README.md" (file, 13 bytes); "src/" (folder)]'
    )
    assert "private words" not in shown


def test_a_link_out_of_the_project_is_no_mention(project: Path) -> None:
    (project / "out").symlink_to("/etc/passwd")
    assert expand("@out", project) == "@out"


def test_nul_and_endless_words_do_no_harm(project: Path) -> None:
    assert expand('@"a\\u0000b"', project) == '@"a\\u0000b"'
    text = "@" + "x." * 50_000
    assert expand(text, project) == text


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("see @sr", OpenMention(4, "sr")),
        ("@", OpenMention(0, "")),
        ('@"my fi', OpenMention(0, "my fi")),
        ("me@sr", None),
        ("@src done", None),
        ('@"a b" ', None),
    ],
)
def test_open(text: str, opened: OpenMention | None) -> None:
    assert open_mention(text) == opened


def test_index_by_walking_respects_gitignore(project: Path) -> None:
    (project / ".gitignore").write_text("*.log\n/build/\n")
    (project / "a.log").write_text("")
    (project / "build").mkdir()
    (project / "build/x").write_text("")
    (project / "node_modules").mkdir()
    (project / "node_modules/y.js").write_text("")
    index = FileIndex(project)
    assert not index.complete
    index.refresh()
    assert index.complete
    assert "src/util/" in index.paths and "src/app.py" in index.paths
    assert not [path for path in index.paths if path.startswith(("a.log", "build", "node_modules"))]


def test_index_in_a_repository_holds_untracked_files_but_no_ignored_ones(project: Path) -> None:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".gitignore").write_text("*.log\n")
    (project / "a.log").write_text("")
    index = FileIndex(project / "src")
    index.refresh()
    assert index.paths == ("app.py", "util/", "util/text tools.py", "你好.py")
    index = FileIndex(project)
    index.refresh()
    assert "a.log" not in index.paths


def test_match_prefers_names_that_begin_with_the_query(project: Path) -> None:
    index = FileIndex(project)
    index.refresh()
    assert index.match("app") == ["src/app.py", "tests/test_app.py"]
    assert index.match("") == ["README.md", "src/", "tests/"]
    assert index.match("readme")[0] == "README.md"
    assert index.match("src/a")[0] == "src/app.py"
    assert index.match("sapp") == ["src/app.py", "tests/test_app.py"]
    assert index.match("REDME.md")[:1] == ["README.md"]
    assert index.match("你")[0] == "src/你好.py"


def test_match_is_quick_on_many_paths_with_a_bad_query(tmp_path: Path) -> None:
    import time

    for number in range(300):
        (tmp_path / ("a" * 100 + str(number))).write_text("")
    index = FileIndex(tmp_path)
    index.refresh()
    start = time.process_time()
    assert index.match("a" * 30 + "b" * 30) == []
    assert time.process_time() - start < 1


def test_a_pipe_called_gitignore_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "a b").write_text("")
    index = FileIndex(tmp_path)
    index.refresh()
    assert "a b" in index.paths
    assert write_mention("a b") == '@"a b"'


def test_letters_in_order_may_be_any_characters(tmp_path: Path) -> None:
    for name in ("a^x]y-z\\q", "plain", "İstanbul.txt"):
        (tmp_path / name).write_text("")
    index = FileIndex(tmp_path)
    index.refresh()
    assert index.match("^]-") == ["a^x]y-z\\q"]
    assert index.match("]\\") == ["a^x]y-z\\q"]
    assert index.match("pln") == ["plain"]
    assert index.match("stn") == ["İstanbul.txt"]
