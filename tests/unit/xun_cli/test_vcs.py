"""Git state: right in ordinary repositories, and inert in hostile ones."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import hostile_git
from xun_cli import vcs
from xun_cli._git_process import GitFailed, find_program, run_git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "r"
    root.mkdir()
    hostile_git.git(root, "init", "-q", "-b", "main", ".")
    (root / "a.txt").write_text("one\n")
    (root / "d").mkdir()
    (root / "d/b.txt").write_text("b\n")
    hostile_git.git(root, "add", "-A")
    hostile_git.git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> hostile_git.HostileRepository:
    return hostile_git.build(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch, hostile: hostile_git.HostileRepository) -> Iterator[None]:
    trap = f"touch '{hostile.canaries}/environment';:"
    for name in ("GIT_EXTERNAL_DIFF", "GIT_SSH_COMMAND", "GIT_PAGER", "GIT_ASKPASS", "GIT_EDITOR", "PAGER"):
        monkeypatch.setenv(name, trap)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_WORK_TREE", "/nowhere")
    monkeypatch.setenv("PATH", f".:{hostile.root}::{os.environ['PATH']}")
    yield


@pytest.mark.usefixtures("poisoned")
def test_nothing_of_a_hostile_repository_runs(hostile: hostile_git.HostileRepository) -> None:
    before = (hostile.root / ".git/index").read_bytes()
    for folder in (hostile.root, hostile.root / "docs", hostile.root / "sub"):
        vcs.read_branch(folder)
        vcs.status(folder)
        vcs.diff(folder)
        vcs.list_files(folder)
    for name in (*hostile_git.NAMES, "plain.txt", "kept.bin", "sub"):
        vcs.diff(hostile.root, name)
    assert hostile.fired() == []
    assert (hostile.root / ".git/index").read_bytes() == before


@pytest.mark.usefixtures("poisoned")
def test_a_hostile_repository_still_tells_its_state(hostile: hostile_git.HostileRepository) -> None:
    state = vcs.status(hostile.root)
    assert state.problem == "" and state.branch == "main" and state.label == "main*"
    paths = {path for _, path in state.changed}
    assert {*hostile_git.NAMES, "plain.txt", "kept.bin"} <= paths
    assert "untracked.txt" in state.untracked
    assert "+two" in vcs.diff(hostile.root, "--output=pwn").text
    assert vcs.list_files(hostile.root / "docs") == ["HEAD", "config", "notes.txt"]


def test_status_of_an_ordinary_repository(repo: Path) -> None:
    assert vcs.status(repo) == vcs.GitStatus("main")
    assert vcs.status(repo).dirty is False
    (repo / "a.txt").write_text("two\n")
    (repo / "new file.txt").write_text("n\n")
    (repo / "d/b.txt").unlink()
    state = vcs.status(repo / "d")
    assert state == vcs.GitStatus("main", ((".M", "a.txt"), (".D", "d/b.txt")), ("new file.txt",))


def test_diff_of_an_ordinary_repository(repo: Path) -> None:
    (repo / "a.txt").write_text("two\n")
    (repo / "n.txt").write_text("n\n")
    whole = vcs.diff(repo)
    assert "-one" in whole.text and "+two" in whole.text and whole.untracked == ("n.txt",) and not whole.problem
    assert vcs.diff(repo, "d").text == ""
    assert "+two" in vcs.diff(repo / "d", "../a.txt").text
    assert "not in the repository" in vcs.diff(repo, "../elsewhere").problem


def test_staged_work_before_the_first_commit_is_shown(tmp_path: Path) -> None:
    hostile_git.git(tmp_path, "init", "-q", "-b", "trunk", ".")
    (tmp_path / "a").write_text("x\n")
    hostile_git.git(tmp_path, "add", "a")
    assert "+x" in vcs.diff(tmp_path).text
    assert vcs.status(tmp_path).branch == "trunk"


def test_detached_head_and_linked_worktree(repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    hostile_git.git(repo, "worktree", "add", "-q", "-b", "side", str(linked))
    assert vcs.read_branch(linked) == "side"
    (linked / "a.txt").write_text("changed\n")
    assert vcs.status(linked).changed == ((".M", "a.txt"),)
    assert "+changed" in vcs.diff(linked).text
    hostile_git.git(repo, "checkout", "-q", "--detach")
    assert vcs.read_branch(repo).startswith("detached at ")


def test_packed_refs_and_line_endings(repo: Path) -> None:
    hostile_git.git(repo, "pack-refs", "--all")
    hostile_git.git(repo, "config", "core.autocrlf", "true")
    (repo / "a.txt").write_bytes(b"one\r\n")
    assert vcs.diff(repo).text == ""
    (repo / "a.txt").write_bytes(b"one\r\ntwo\r\n")
    assert "+two" in vcs.diff(repo).text


def test_outside_a_repository(tmp_path: Path) -> None:
    assert vcs.find_root(tmp_path) is None
    assert vcs.read_branch(tmp_path) == ""
    assert vcs.status(tmp_path) == vcs.GitStatus(problem="not a git repository")
    assert vcs.status(tmp_path).label == "" and vcs.status(tmp_path).dirty is None
    assert vcs.list_files(tmp_path) is None
    assert "not in a git repository" in vcs.diff(tmp_path).problem


@pytest.mark.parametrize("content", [b"", b"gitdir: ", b"gitdir: /nowhere\n", b"\xff\xfe\0", b"gitdir: a\0b"])
def test_a_broken_git_file_is_no_repository(tmp_path: Path, content: bytes) -> None:
    (tmp_path / ".git").write_bytes(content)
    assert vcs.find_root(tmp_path) is None


def test_folders_and_pipes_named_like_files_of_git_do_no_harm(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    assert vcs.find_root(tmp_path) is None
    (tmp_path / ".git").unlink()
    (tmp_path / ".git/HEAD").mkdir(parents=True)
    assert vcs.read_branch(tmp_path) == "unknown"
    assert vcs.status(tmp_path).dirty is None


def test_a_broken_repository_is_unknown_not_clean(repo: Path) -> None:
    (repo / ".git/index").write_bytes(b"garbage")
    state = vcs.status(repo)
    assert state.dirty is None and state.label == "main?" and state.problem
    assert "git can't tell" in vcs.diff(repo).problem


def test_an_index_lock_does_not_matter(repo: Path) -> None:
    (repo / ".git/index.lock").write_text("")
    assert vcs.status(repo).problem == ""


def test_a_git_that_hangs_is_killed(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nsleep 60 & echo $! > '%s'; wait\n" % (tmp_path / "pid"))
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    start = time.monotonic()
    state = vcs.status(repo, timeout=0.5)
    assert time.monotonic() - start < 30
    assert "no answer within" in state.problem
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        for _ in range(100):
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().split(")")[1].split()[0] == "Z":
                raise ProcessLookupError
            time.sleep(0.02)


def test_output_beyond_the_limit_is_cut(repo: Path) -> None:
    output, cut = run_git(
        ("cat-file", "--batch-check", "--batch-all-objects"),
        cwd=repo,
        git_dir=repo / ".git",
        work_tree=repo,
        timeout=5,
        limit=10,
    )
    assert cut and len(output) == 10


def test_a_failure_says_why(repo: Path) -> None:
    with pytest.raises(GitFailed, match="nosuch"):
        run_git(("rev-parse", "nosuch"), cwd=repo, git_dir=repo / ".git", work_tree=repo, timeout=5, limit=100)


def test_programs_are_never_taken_from_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "bin"
    inside.mkdir()
    program = inside / "onlyhere"
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f":.:bin:{inside}")
    monkeypatch.chdir(tmp_path)
    assert find_program("onlyhere", tmp_path) is None
    assert find_program("onlyhere", tmp_path / "elsewhere") == str(program)


def test_no_scratch_folder_is_left(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    vcs.status(repo)
    vcs.diff(repo)
    assert list(scratch.iterdir()) == []
