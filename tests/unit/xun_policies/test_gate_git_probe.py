"""What a repository's configuration could make git run decides whether git is free."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from xun_policies.commands import CommandScope, CommandVerdict, evaluate
from xun_policies.gitprobe.config import ConfigFault, read
from xun_policies.gitprobe.index import IndexFault, submodules
from xun_policies.store import PolicyState

PATH = "/usr/local/bin:/usr/bin:/bin"


def git(folder: Path, *words: str) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, env=environment)


def repository(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("a\n")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-qm", "first")
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "ws")


def judge(folder: Path, text: str, policy: PolicyState | None = None, root: Path | None = None) -> CommandVerdict:
    scope = CommandScope(str(folder), (str(root or folder),), str(folder), PATH)
    return evaluate(text, policy or PolicyState(), scope)


def test_an_inert_repository_stays_quiet(repo: Path) -> None:
    for text in ("git status", "git diff", "git log -p", "git blame a.txt"):
        assert judge(repo, text).allowed, judge(repo, text).reason
    git(repo, "config", "core.fsmonitor", "true")
    git(repo, "config", "remote.origin.url", "https://example.invalid/x")
    git(repo, "config", "branch.main.remote", "origin")
    git(repo, "config", "pager.log", "false")
    git(repo, "config", "protocol.version", "2")
    git(repo, "config", "trailer.x.key", "X")
    assert judge(repo, "git status").allowed


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "./x"),
        ("core.pager", "./x"),
        ("core.hooksPath", "hooks"),
        ("core.sshCommand", "./x"),
        ("core.worktree", "/etc"),
        ("core.excludesFile", "/etc/shadow"),
        ("core.alternateRefsCommand", "./x"),
        ("pager.diff", "./x"),
        ("diff.external", "./x"),
        ("diff.trap.command", "./x"),
        ("diff.trap.textconv", "./x"),
        ("diff.submodule", "log"),
        ("diff.orderFile", "/etc/passwd"),
        ("filter.trap.clean", "./x"),
        ("filter.trap.smudge", "./x"),
        ("filter.trap.process", "./x"),
        ("gpg.program", "./x"),
        ("gpg.ssh.program", "./x"),
        ("log.showSignature", "true"),
        ("format.pretty", "%G?"),
        ("pretty.mine", "%GG"),
        ("pretty.mine", "%h%+GS"),
        ("format.pretty", "%-(describe)"),
        ("branch.sort", "-signature:key"),
        ("tag.sort", "describe"),
        ("alias.x", "!./x"),
        ("credential.helper", "./x"),
        ("remote.origin.uploadpack", "./x"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("protocol.ext.allow", "always"),
        ("include.path", "/etc/x"),
        ("include.path", "~/x"),
        ("includeIf.onbranch:main.path", "../../outside"),
        ("merge.trap.driver", "./x"),
        ("interactive.diffFilter", "./x"),
        ("trailer.x.command", "./x"),
        ("blame.ignoreRevsFile", "/etc/shadow"),
        ("submodule.recurse", "true"),
    ],
)
def test_a_loaded_repository_asks_and_names_the_key(repo: Path, key: str, value: str) -> None:
    policy = PolicyState()
    assert judge(repo, "git status", policy).allowed
    git(repo, "config", key, value)
    verdict = judge(repo, "git status", policy)
    assert not verdict.allowed
    assert verdict.segments[0].rule == "git-config"
    assert key.lower().split(":")[0] in verdict.reason.lower()
    git(repo, "config", "--unset", key)
    assert judge(repo, "git status", policy).allowed


def test_a_granted_prefix_lets_a_loaded_repository_pass(repo: Path) -> None:
    git(repo, "config", "core.hooksPath", ".husky")
    policy = PolicyState()
    grants = judge(repo, "git status -s", policy).grants
    assert [grant.tokens for grant in grants] == [("git", "status")]
    policy.command_allowlist.add(grants[0].tokens, grants[0].exact)
    assert judge(repo, "git status -s", policy).allowed
    assert not judge(repo, "git log", policy).allowed


def test_the_version_needs_no_probe(repo: Path) -> None:
    git(repo, "config", "diff.external", "./x")
    assert judge(repo, "git --version").allowed


def test_an_included_file_inside_is_read_too(repo: Path) -> None:
    git(repo, "config", "include.path", "../extra")
    assert judge(repo, "git status").allowed
    (repo / "extra").write_text("[core]\n\tpager = ./x\n")
    assert not judge(repo, "git status").allowed


def test_the_configuration_of_a_worktree_counts(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "ws" / "tree"))
    tree = tmp_path / "ws" / "tree"
    assert judge(tree, "git status", root=repo).allowed
    git(repo, "config", "extensions.worktreeConfig", "true")
    git(tree, "config", "--worktree", "diff.external", "./x")
    assert not judge(tree, "git diff", root=repo).allowed
    assert judge(repo, "git diff").allowed
    git(repo, "config", "gpg.program", "./x")
    assert not judge(tree, "git log", root=repo).allowed


def test_a_submodule_counts(repo: Path, tmp_path: Path) -> None:
    repository(tmp_path / "other")
    git(repo, "submodule", "add", "-q", str(tmp_path / "other"), "sub")
    policy = PolicyState()
    assert judge(repo, "git status", policy).allowed
    git(repo / "sub", "config", "core.fsmonitor", "./x")
    verdict = judge(repo, "git status", policy)
    assert not verdict.allowed
    assert "submodule sub" in verdict.reason


def test_the_hook_after_an_index_change_counts(repo: Path) -> None:
    policy = PolicyState()
    assert judge(repo, "git diff", policy).allowed
    hook = repo / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    assert judge(repo, "git diff", policy).allowed, "not executable yet"
    hook.chmod(0o755)
    assert not judge(repo, "git diff", policy).allowed


def test_an_embedded_bare_repository_asks(repo: Path) -> None:
    folder = repo / "docs"
    folder.mkdir()
    policy = PolicyState()
    assert judge(repo, "cd docs && git status", policy).allowed
    git(folder, "init", "-q", "--bare", ".")
    assert not judge(repo, "cd docs && git status", policy).allowed
    assert not judge(repo, "git -C docs log", policy).allowed
    assert judge(repo, "git log", policy).allowed


def test_a_nested_repository_is_looked_at_where_git_would_run(repo: Path) -> None:
    nested = repository(repo / "nested")
    git(nested, "config", "diff.external", "./x")
    assert judge(repo, "git diff").allowed
    assert not judge(repo, "git -C nested diff").allowed
    assert not judge(repo, "cd nested && git diff").allowed
    assert not judge(repo, "cd nested; git diff").allowed


def test_a_git_file_may_point_anywhere(repo: Path) -> None:
    nested = repo / "nested"
    nested.mkdir()
    git(repo, "init", "-q", "--separate-git-dir", str(repo / "store"), str(nested))
    assert judge(nested, "git status", root=repo).allowed
    with (repo / "store" / "config").open("a") as config:
        config.write("[diff] external = ./x\n")
    assert not judge(nested, "git status", root=repo).allowed
    (nested / ".git").write_text("nonsense\n")
    assert not judge(nested, "git status", root=repo).allowed


def test_the_probe_can_be_left_out(repo: Path) -> None:
    git(repo, "config", "diff.external", "./x")
    scope = CommandScope(str(repo), (str(repo),), str(repo), PATH, git_probe=False)
    assert evaluate("git diff", PolicyState(), scope).allowed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[core] pager = x", [("core.pager", "x")]),
        ("[CORE]\n\tPager=x ; note\n", [("core.pager", "x")]),
        ('[diff "a.B"]\ncommand = "a b" # c\n', [("diff.a.B.command", "a b")]),
        ("[diff.Ab]\ncommand=x", [("diff.ab.command", "x")]),
        ("[a]\nb\n", [("a.b", None)]),
        ("[a]\nb = x\\\n y\n", [("a.b", "x y")]),
        ('[a]\nb = "x;y"  \n', [("a.b", "x;y")]),
        ("\ufeff[a]\r\nb = c\r\n", [("a.b", "c")]),
        ('[a "q\\"r"]\nb=c', [('a.q"r.b', "c")]),
    ],
)
def test_the_reader_agrees_with_git(text: str, expected: list[tuple[str, str | None]], tmp_path: Path) -> None:
    assert [(setting.name, setting.value) for setting in read(text)] == expected
    file = tmp_path / "config"
    file.write_bytes(text.encode())
    done = subprocess.run(["git", "config", "-z", "--file", str(file), "--list"], capture_output=True, check=True)
    theirs = [item.split("\n", 1) for item in done.stdout.decode().split("\0") if item]
    assert [(name[0], name[1] if len(name) > 1 else None) for name in theirs] == expected


@pytest.mark.parametrize("text", ["x = y", "[a\nb=c", "[a]\nb = \\q", '[a]\nb = "x', "[a]\n1b = c", "[a]\nb ! c"])
def test_what_the_reader_does_not_understand_is_a_fault(text: str) -> None:
    with pytest.raises(ConfigFault):
        read(text)


def with_submodules(folder: Path) -> Path:
    inner = repository(folder / "inner")
    outer = repository(folder / "ws")
    for name in ("lib/one", "lib/other", "z"):
        git(outer, "submodule", "--quiet", "add", str(inner), name)
    for name in ("lib/onf", "lib/symlink", "link", "zz"):
        (outer / name).write_text("x\n")
    git(outer, "add", "-A")
    return outer


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_each_version_of_the_index_tells_its_submodules(tmp_path: Path, version: str) -> None:
    outer = with_submodules(tmp_path)
    git(outer, "update-index", "--index-version", version)
    data = (outer / ".git" / "index").read_bytes()
    assert submodules(data) == ["lib/one", "lib/other", "z"]
    for size in range(data.find(b"\x00\x00\xe0\x00") + 10, data.rfind(b"zz")):
        with pytest.raises(IndexFault):
            submodules(data[:size])
    assert judge(outer, "git status", root=tmp_path).allowed
    git(outer / "lib/other", "config", "diff.external", "./x")
    assert not judge(outer, "git status", root=tmp_path).allowed


def test_names_that_look_like_an_extension_of_the_index_are_names(repo: Path) -> None:
    for name in ("link", "a-link", "symlink.py", "link.d/link"):
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text("x\n")
    git(repo, "add", "-A")
    assert judge(repo, "git diff").allowed, judge(repo, "git diff").reason


def test_a_split_index_is_seen_whatever_stands_behind_it(repo: Path) -> None:
    git(repo, "update-index", "--split-index")
    assert not judge(repo, "git status").allowed
    for number in range(300):
        (repo / f"link-{number:030}").mkdir()
        (repo / f"link-{number:030}" / "x").write_text("x\n")
    git(repo, "-c", "core.untrackedCache=true", "update-index", "--force-untracked-cache")
    git(repo, "-c", "core.untrackedCache=true", "status", "--porcelain")
    data = (repo / ".git" / "index").read_bytes()
    assert data.rfind(b"link-") > data.find(b"link\0"), "the names stand behind the extension"
    assert not judge(repo, "git status").allowed


@pytest.mark.parametrize("tail", [b"\xff" * 200_000, b"\0" + b"a" * 5_000 + b"\0"])
def test_paths_of_an_index_that_grow_without_end_take_no_time(tail: bytes) -> None:
    begun = time.monotonic()
    entry = b"\0" * 24 + b"\x00\x00\xe0\x00" + b"\0" * 34
    with pytest.raises(IndexFault):
        submodules(b"DIRC" + (4).to_bytes(4) + (1).to_bytes(4) + entry + tail)
    assert time.monotonic() - begun < 2.0
