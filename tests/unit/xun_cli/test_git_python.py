"""GitPython is asked where HEAD is, only where it can do no harm; elsewhere our own reader answers, or nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.hostile_git import git
from xun_cli import vcs
from xun_cli._git_python import Head, head_of


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    root = tmp_path / "r"
    root.mkdir()
    git(root, "init", "-q", "-b", "main", ".")
    (root / "a.txt").write_text("one\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def asked(root: Path) -> Head | None:
    return head_of(root, root / ".git", root / ".git")


def test_ordinary_repositories(repo: Path, tmp_path: Path) -> None:
    assert asked(repo) == Head(branch="main")
    git(repo, "pack-refs", "--all")
    git(repo, "checkout", "-q", "-b", "feature/ünï")
    assert vcs.branch(repo) == "feature/ünï" and asked(repo) == Head(branch="feature/ünï")
    git(repo, "checkout", "-q", "--detach")
    head = asked(repo)
    assert head is not None and len(head.commit) == 40
    assert vcs.branch(repo) == vcs.read_branch(repo) == f"detached at {head.commit[:8]}"
    new = tmp_path / "new"
    new.mkdir()
    git(new, "init", "-q", "-b", "unborn", ".")
    assert asked(new) == Head(branch="unborn") and vcs.branch(new) == "unborn"
    (repo / "below").mkdir()
    assert vcs.branch(repo / "below") == vcs.branch(repo)


def test_worktree_submodule_and_sha256(repo: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repo, "worktree", "add", "-q", "-b", "side", str(linked))
    git_dir = repo / ".git/worktrees/linked"
    assert head_of(linked, git_dir, repo / ".git") == Head(branch="side") and vcs.branch(linked) == "side"
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repo), "inner")
    inner = repo / ".git/modules/inner"
    assert head_of(repo / "inner", inner, inner) == Head(branch="main") and vcs.branch(repo / "inner") == "main"
    longer = tmp_path / "longer"
    longer.mkdir()
    git(longer, "init", "-q", "-b", "main", "--object-format=sha256", ".")
    git(longer, "commit", "-q", "--allow-empty", "-m", "x")
    assert vcs.branch(longer) == "main"
    git(longer, "checkout", "-q", "--detach")
    assert vcs.branch(longer) == vcs.read_branch(longer) and vcs.branch(longer).startswith("detached at ")


def fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


ODD: dict[str, Callable[[Path], object]] = {
    "HEAD is a FIFO": lambda root: fifo(root / ".git/HEAD"),
    "HEAD is endless": lambda root: link(root / ".git/HEAD", "/dev/zero"),
    "HEAD is huge": lambda root: (root / ".git/HEAD").write_bytes(b"ref: refs/heads/" + b"x" * 50_000_000),
    "HEAD is a folder": lambda root: ((root / ".git/HEAD").unlink(), (root / ".git/HEAD").mkdir()),
    "HEAD is empty": lambda root: (root / ".git/HEAD").write_bytes(b""),
    "HEAD is garbage": lambda root: (root / ".git/HEAD").write_bytes(b"\xff\0\x1b]0;x\x07"),
    "HEAD climbs": lambda root: (root / ".git/HEAD").write_bytes(b"ref: refs/../../../etc/passwd\n"),
    "HEAD is latin": lambda root: (root / ".git/HEAD").write_bytes(b"ref: refs/heads/caf\xe9\n"),
    "HEAD names itself": lambda root: (root / ".git/HEAD").write_bytes(b"ref: HEAD\n"),
    "reftable": lambda root: (root / ".git/HEAD").write_bytes(b"ref: refs/heads/.invalid\n"),
    "config is a FIFO": lambda root: fifo(root / ".git/config"),
    "config is endless": lambda root: link(root / ".git/config", "/dev/zero"),
    "config is garbage": lambda root: (root / ".git/config").write_bytes(b"\xff[[[\n=\n"),
    "config includes a FIFO": lambda root: (
        fifo(root / "f"),
        (root / ".git/config").write_text("[Include]\n\tpath = ../f\n"),
    ),
    "config includes /dev/zero": lambda root: (root / ".git/config").write_text("[includeIf \"x\"]\npath=/dev/zero\n"),
    "config includes itself": lambda root: (root / ".git/config").write_text("[include]\n\tpath = config\n"),
    "commondir is a FIFO": lambda root: fifo(root / ".git/commondir"),
    "commondir leads nowhere": lambda root: (root / ".git/commondir").write_text("/nowhere\n"),
    "commondir is binary": lambda root: (root / ".git/commondir").write_bytes(b"\xff\0\n"),
    "another work tree": lambda root: (root / ".git/config").write_text("[core]\n\tworktree = /etc\n"),
    "it says it is bare": lambda root: (root / ".git/config").write_text("[core]\n\tbare = true\n"),
    "no objects": lambda root: (root / ".git/objects").rename(root / "objects"),
    "index is a FIFO": lambda root: fifo(root / ".git/index"),
    "index is endless": lambda root: link(root / ".git/index", "/dev/zero"),
    "packed-refs is a FIFO": lambda root: fifo(root / ".git/packed-refs"),
    "a .git that names a FIFO": lambda root: ((root / ".git").rename(root / "g"), fifo(root / ".git")),
    "a .git that names itself": lambda root: (
        (root / ".git").rename(root / "g"),
        (root / ".git").write_text("gitdir: .git\n"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_repository_gives_a_sane_answer_or_none_at_once(
    repo: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ODD[name](repo)
    found: list[str] = []
    thread = threading.Thread(
        target=lambda: found.extend([vcs.branch(repo), vcs.status(repo, timeout=0.3).branch]), daemon=True
    )
    thread.start()
    thread.join(10)
    assert len(found) == 2, "it hangs"
    assert all(len(answer) <= 4096 for answer in found)
    assert set(found) <= {"main", "", "unknown"} or "HEAD" in name
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files that others own")
def test_a_repository_of_another_user_or_that_can_not_be_read(repo: Path) -> None:
    for path in (repo, *repo.rglob("*")):
        os.chown(path, 1234, 1234)
    assert vcs.branch(repo) == "main"
    (repo / ".git").chmod(0)
    code = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
    code += "print(repr(vcs.branch(Path(root))), vcs.status(Path(root)).problem, vcs.list_files(Path(root)))"
    for folder in (repo, *list(repo.parents)[:-2]):
        folder.chmod(folder.stat().st_mode | 0o055)
    script = f"from xun_cli import vcs\nfrom pathlib import Path\nroot = {str(repo)!r}\nvcs.branch(Path('.'))\n{code}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert (done.stdout, done.stderr) == ("'' not a git repository None\n", "")


def test_loading_and_asking_starts_no_process_and_prints_nothing(repo: Path, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    (programs / "git").chmod(0o755)
    script = (
        f"import os, sys; from pathlib import Path; from xun_cli import vcs; root = Path({str(repo)!r})\n"
        "before = dict(os.environ); assert vcs.read_branch(root) == 'main' and 'git' not in sys.modules\n"
        "assert vcs.branch(root) == 'main' and 'git' in sys.modules and dict(os.environ) == before\n"
        "import git; print(git.Repo(str(root)).untracked_files)\n"
    )
    env = {**os.environ, "PATH": f".:{programs}", "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, env=env, cwd=programs
    )
    # What xun itself never does fails too: GitPython has no git here.
    assert "GitCommandNotFound" in done.stderr and done.stdout == "" and "AssertionError" not in done.stderr
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY"])
def test_variables_of_git_do_not_lead_elsewhere(repo: Path, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "/nowhere")
    assert asked(repo) is None
    assert vcs.branch(repo) == "main" and vcs.status(repo).branch == "main"
