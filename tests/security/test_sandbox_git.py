"""Git behind bubblewrap: work goes on, and what runs programs later stays as it is."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes.room import Room
from tests.fakes.walls import fails, held, run, sandbox, works


def _git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


HOSTILE = (
    "echo x >> .git/config",
    "echo x > .git/hooks/post-commit",
    "mkdir -p .git/hooks/x",
    "mv .git .g2",
    "rm -rf .git/hooks && ln -s /tmp .git/hooks",
    "mv .git/hooks .git/h2",
    "ln -sf /tmp/x .git/config",
    "cp .git/config .git/c && mv .git/c .git/config",
    "echo x > .xun/config.toml",
    "mkdir -p .xun/x",
    "rmdir .xun && mkdir .xun && echo x > .xun/config.toml",
    "mv .xun x2",
    "ln -s /tmp .xun/x",
    "git config core.pager x",
    "echo x > sub/.git/hooks/post-checkout",
    "echo x >> sub/.git/config",
    "echo x >> sub/deep/.git/config",
)


@pytest.mark.row("sec-sandbox-003")
@pytest.mark.parametrize("present", [True, False])
def test_what_runs_programs_later_cannot_be_written(room: Room, bubblewrap: str, present: bool) -> None:
    (room.w / "sub").mkdir()
    if present:
        _git(room.w, "init")
        _git(room.w / "sub", "init")
        (room.w / "sub/deep").mkdir()
        _git(room.w / "sub/deep", "init")
        (room.w / ".xun").mkdir()
    config = (room.w / ".git/config").read_text() if present else ""
    with sandbox(room, bubblewrap) as environment:
        for command in HOSTILE:
            if present or ("sub" not in command and "config" not in command.split()[0:2]):
                fails(environment, command)
        if not present:
            fails(environment, "git init")
            fails(environment, "mkdir .xun")
    names = sorted(path.name for path in room.w.iterdir())
    assert names == ([".git", ".xun", "spare", "sub"] if present else ["spare", "sub"]), names
    if present:
        assert (room.w / ".git/config").read_text() == config
        assert not list((room.w / ".git/hooks").glob("post-commit")) and not list((room.w / ".xun").iterdir())


def test_a_repository_cannot_be_pointed_to_other_settings(room: Room, bubblewrap: str) -> None:
    _git(room.w, "init")
    with sandbox(room, bubblewrap) as environment:
        run(environment, "mkdir evil; cp -r .git/. evil; echo ../evil > .git/commondir")
        assert not (room.w / ".git/commondir").exists()
        works(environment, "git status --short")


def test_a_link_for_the_hooks_closes_the_whole_folder(room: Room, bubblewrap: str) -> None:
    _git(room.w, "init")
    shutil.rmtree(room.w / ".git/hooks", ignore_errors=True)
    (room.w / "myhooks").mkdir()
    (room.w / ".git/hooks").symlink_to("../myhooks")
    with sandbox(room, bubblewrap) as environment:
        works(environment, "git status --short")
        fails(environment, "rm .git/hooks")
        fails(environment, "git add spare")


@pytest.mark.parametrize("kind", ["worktree", "below", "submodule"])
def test_commits_work_where_git_keeps_its_files_outside(room: Room, bubblewrap: str, kind: str) -> None:
    main = room.base / "main"
    main.mkdir()
    _git(main, "init")
    _git(main, "commit", "--allow-empty", "-m", "one")
    place = room.base / "place"
    if kind == "worktree":
        _git(main, "worktree", "add", "-b", "side", str(place))
    elif kind == "submodule":
        _git(main, "-c", "protocol.file.allow=always", "submodule", "add", str(main), "place")
        place = main / "place"
    else:
        place = main / "place"
        place.mkdir()
    room.w = place
    common = main / (".git/modules/place" if kind == "submodule" else ".git")
    before = (common / "config").read_text()
    identity = "git -c user.name=a -c user.email=a@b.c"
    with sandbox(room, bubblewrap) as environment:
        works(environment, f"echo x > a && git add a && {identity} commit -qm two && git log --oneline | grep -c two")
        fails(environment, f"echo x >> {common}/config")
        fails(environment, f"touch {common}/hooks/x")
        held(environment, f"touch {main}/x {main}/../x")
    assert (common / "config").read_text() == before and not (main / "x").exists() and not (room.base / "x").exists()
    assert sorted(path.name for path in place.iterdir() if path.name != ".git") == ["a"]


def test_a_git_file_does_not_open_what_it_merely_names(room: Room, bubblewrap: str) -> None:
    """It can come with the files of anyone, so what it names has to name the folder in turn."""
    target = room.out / "repository"
    target.mkdir()
    _git(target, "init", "--bare")
    room.freeze()
    (room.w / ".git").write_text(f"gitdir: {target}\n")
    with sandbox(room, bubblewrap) as environment:
        fails(environment, f"touch {target}/objects/x")
