"""Paths, links, patterns, folders that change, and what PATH makes of a name, on a real tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from xun_policies.commands import CommandScope, CommandVerdict, evaluate
from xun_policies.store import PolicyState

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


class Tree:
    """A workspace beside a folder that is none of its business."""

    def __init__(self, base: Path) -> None:
        self.work = base / "ws"
        self.other = base / "other"
        for folder in (self.work / "src" / "app", self.work / "inner", self.other):
            folder.mkdir(parents=True)
        (self.other / "secret").write_text("s")
        (self.work / "a.txt").write_text("a")
        self.policy = PolicyState()
        self.path = SYSTEM_PATH

    def judge(self, text: str) -> CommandVerdict:
        scope = CommandScope(str(self.work), (str(self.work),), str(self.other), self.path)
        return evaluate(text, self.policy, scope)

    def allowed(self, text: str) -> bool:
        return self.judge(text).allowed


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    tmp_path.chmod(0o755)
    return Tree(tmp_path)


def test_a_link_that_leads_out_asks_wherever_it_stands_in_the_path(tree: Tree) -> None:
    (tree.work / "out").symlink_to(tree.other)
    (tree.work / "file").symlink_to(tree.other / "secret")
    (tree.work / "in").symlink_to("src/app")
    (tree.work / "loop").symlink_to("loop")
    for path in ("out/secret", "file", "./file", "src/../file", "out", "in/../../../other/secret", "loop"):
        assert not tree.allowed(f"cat {path}"), path
        assert not tree.allowed(f"cd {path} && ls"), path
    assert tree.allowed("cat in/x")
    assert tree.allowed(f"cat {tree.work}/in/x")


def test_dotdot_after_a_link_means_what_the_kernel_means(tree: Tree) -> None:
    (tree.work / "in").symlink_to("src/app")
    assert tree.allowed("cat in/../x")
    assert not tree.allowed("cat in/../../../x")
    assert not tree.allowed("cd in/.. && cat x"), "bash and the kernel disagree about this folder"
    assert not tree.allowed("cd in && cd .. && cat ../x"), "bash goes back to where the link is"


def test_links_of_proc_lead_elsewhere_for_every_process(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree.work / "src" / "app")
    (tree.work / "here").symlink_to("/proc/self/cwd")
    for path in (
        "/proc/self/cwd/../x",
        "/proc/self/cwd/x",
        "/proc/self/cwd",
        "here/../x",
        "here/x",
        "/dev/fd/0",
        "/dev/stdin",
    ):
        assert not tree.allowed(f"cat {path}"), path


def test_matches_of_a_pattern_are_checked(tree: Tree) -> None:
    assert tree.allowed("cat src/*")
    (tree.work / "src" / "leak.txt").symlink_to(tree.other / "secret")
    assert not tree.allowed("cat src/*")
    assert not tree.allowed("cat src/[a-z]*")
    assert not tree.allowed("cat */leak.txt")
    assert tree.allowed("cat src/*.py")
    assert not tree.allowed("echo ../*")


def test_a_pattern_that_may_match_the_parent_asks_where_it_would_be_read(tree: Tree) -> None:
    for text in ("ls -d .*", "ls -lad .*", "echo .*", "cat src/.*", "ls .g*"):
        assert tree.allowed(text), text
    for text in ("ls .*", "du -s .*", "cat .?", "grep -r x ./.*", "ls -R .[.]"):
        assert not tree.allowed(text), text


def test_descending_commands_that_follow_links_are_checked(tree: Tree) -> None:
    assert tree.allowed("grep -R x .")
    assert tree.allowed("find -L . -name x")
    (tree.work / "src" / "app" / "out").symlink_to(tree.other)
    for text in (
        "grep -R x .",
        "find -L . -name x",
        "rg -L x",
        "ls -LR",
        "du -L .",
        "diff -r src inner",
        "find . -follow",
        "find -L",
        "find -L -name x",
        "find -follow",
    ):
        assert not tree.allowed(text), text
    for text in ("grep -r x .", "find . -name x", "rg x", "ls -R", "du .", "diff -r --no-dereference src inner"):
        assert tree.allowed(text), text


def test_folders_after_success_and_failure(tree: Tree) -> None:
    for text in (
        "cd src && cat ../a.txt",
        "cd src && cd app && cat ../../a.txt",
        "(cd src && ls); cat a.txt",
        "cd src || cat a.txt",
    ):
        assert tree.allowed(text), text
    for text in (
        "cd src; cat ../a.txt",
        "cd src && ls; cat ../a.txt",
        "cd src || cat ../a.txt",
        "(cd src); cat ../a.txt",
        "cd src | cat ../a.txt",
        "cd src && cd .. && cat ../x",
        "cd nowhere; git -C .. status",
        "cd src && cat ../../x",
        "true || cd src && cat ../a.txt",
        "cd src && (cd app) && cat ../../x",
    ):
        assert not tree.allowed(text), text


def test_a_workspace_that_is_a_link_itself(tree: Tree, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(tree.work)
    scope = CommandScope(str(alias), (str(alias),), "/nowhere", SYSTEM_PATH)
    assert evaluate("cat a.txt", PolicyState(), scope).allowed
    assert evaluate(f"cat {alias}/a.txt", PolicyState(), scope).allowed
    assert evaluate(f"cat {tree.work}/a.txt", PolicyState(), scope).allowed
    assert not evaluate("cat ../other/secret", PolicyState(), scope).allowed


def test_a_swapped_workspace_is_noticed(tree: Tree, tmp_path: Path) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(tree.work)
    policy = PolicyState()
    scope = CommandScope(str(tree.work), (str(alias),), "/nowhere", SYSTEM_PATH)
    assert evaluate("cat a.txt", policy, scope).allowed
    alias.unlink()
    alias.symlink_to(tree.other)
    assert not evaluate("cat a.txt", policy, scope).allowed


def test_a_workspace_that_appears_later_is_looked_at(tmp_path: Path) -> None:
    root = tmp_path / "later"
    policy = PolicyState()
    scope = CommandScope(str(root), (str(root),), "/nowhere", SYSTEM_PATH)
    assert evaluate("cat x", policy, scope).allowed
    assert evaluate("git status", policy, scope).allowed
    assert not evaluate("cat ../x", policy, scope).allowed
    root.mkdir()
    (root / "x").symlink_to("/etc/passwd")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[diff]\nexternal = ./x\n")
    assert not evaluate("cat x", policy, scope).allowed
    assert not evaluate("git status", policy, scope).allowed


def test_a_folder_outside_asks_for_all(tree: Tree) -> None:
    scope = CommandScope(str(tree.other), (str(tree.work),), "/nowhere", SYSTEM_PATH)
    assert not evaluate("ls", PolicyState(), scope).allowed


def test_further_roots_are_inside(tree: Tree) -> None:
    scope = CommandScope(str(tree.work), (str(tree.work), str(tree.other)), "/nowhere", SYSTEM_PATH)
    assert evaluate("cat ../other/secret", PolicyState(), scope).allowed
    assert not evaluate("cat ../third", PolicyState(), scope).allowed


def executable(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def test_a_name_that_path_finds_in_the_workspace_asks_until_granted(tree: Tree) -> None:
    tree.path = f"{tree.work}/.venv/bin:{SYSTEM_PATH}"
    assert tree.allowed("pytest -q")
    executable(tree.work / ".venv" / "bin" / "pytest")
    verdict = tree.judge("pytest -q")
    assert not verdict.allowed
    assert verdict.segments[0].rule == "lookup"
    for grant in verdict.grants:
        tree.policy.command_allowlist.add(grant.tokens, grant.exact)
    assert tree.allowed("pytest -q")
    assert tree.allowed("pytest -q tests"), "the program is granted, not the one command"
    assert tree.allowed("ls"), "other names are untouched"


def test_a_granted_name_is_not_another_file_some_day(tree: Tree) -> None:
    tree.path = f"{tree.work}/.venv/bin:{SYSTEM_PATH}"
    tree.policy.command_allowlist.add(["touch"])
    assert tree.allowed("touch x")
    executable(tree.work / ".venv" / "bin" / "touch")
    verdict = tree.judge("touch x")
    assert not verdict.allowed
    assert [grant.tokens for grant in verdict.grants] == [(f"{tree.work}/.venv/bin/touch",)]


def test_the_linked_python_of_a_venv_can_be_granted(tree: Tree) -> None:
    (tree.work / ".venv" / "bin").mkdir(parents=True)
    (tree.work / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    verdict = tree.judge(".venv/bin/python -m pytest -q")
    assert [grant.tokens for grant in verdict.grants] == [(".venv/bin/python", "-m", "pytest")]
    tree.policy.command_allowlist.add(verdict.grants[0].tokens)
    assert tree.allowed(".venv/bin/python -m pytest tests")
    assert not tree.allowed(".venv/bin/python x.py")


def test_a_link_on_path_into_the_workspace_asks(tree: Tree, tmp_path: Path) -> None:
    executable(tree.work / "evil")
    (tmp_path / "bin").mkdir()
    tree.path = f"{tmp_path / 'bin'}:{SYSTEM_PATH}"
    assert tree.allowed("ls")
    (tmp_path / "bin" / "ls").symlink_to(tree.work / "evil")
    assert not tree.allowed("ls")


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_a_relative_folder_on_path_asks(tree: Tree, entry: str) -> None:
    tree.path = f"{entry}:{SYSTEM_PATH}"
    assert not tree.allowed("ls")
    assert tree.allowed("echo x"), "bash runs this itself"
    tree.path = f"{SYSTEM_PATH}:{entry}"
    assert tree.allowed("ls"), "found before the relative folder"


def test_a_folder_that_everybody_may_write_asks(tree: Tree, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    executable(shared / "ls")
    shared.chmod(0o777)
    tree.path = f"{shared}:{SYSTEM_PATH}"
    assert not tree.allowed("ls")
    shared.chmod(0o755)
    assert tree.allowed("ls")


def test_a_name_that_path_does_not_hold_is_no_finding(tree: Tree) -> None:
    tree.path = "/nowhere"
    assert tree.allowed("ls -la")


def test_the_path_of_this_process_counts_at_each_evaluation(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = CommandScope(str(tree.work), (str(tree.work),), "/nowhere", None)
    monkeypatch.setenv("PATH", SYSTEM_PATH)
    assert evaluate("ls", tree.policy, scope).allowed
    monkeypatch.setenv("PATH", f".:{SYSTEM_PATH}")
    assert not evaluate("ls", tree.policy, scope).allowed


def test_pwd_counts_as_the_folder(tree: Tree) -> None:
    assert tree.allowed('ls "$PWD/src"')
    assert tree.allowed("ls $PWD/src")
    (tree.work / "two words").mkdir()
    assert tree.allowed('cd "two words" && ls "$PWD"')
    assert not tree.allowed('cd "two words" && ls $PWD'), "bash splits it"
    (tree.work / "$PWD").symlink_to(tree.other)
    assert not tree.allowed("cat '$PWD/secret'"), "a file of that very name"
    for text in (
        'ls "$PWD/../other"',
        '[ -f "$PWD/../other" ]',
        'ls "x$PWD"',
        'ls "${PWD}"',
        'sed "$PWD" a.txt',
        'git -C "$PWD" status',
    ):
        assert not tree.allowed(text), text


def test_unreadable_names_do_not_matter(tree: Tree) -> None:
    os.mkdir(os.fsencode(str(tree.work)) + b"/\xff\xfe")
    assert tree.allowed("ls */x")


def test_a_script_is_suspect_when_its_helper_is(tree: Tree) -> None:
    tree.path = f"{tree.work}/bin:{SYSTEM_PATH}"
    executable(tree.work / "bin" / "grep")
    assert not tree.allowed("egrep x a.txt")
    assert tree.allowed("rg x a.txt")


@pytest.mark.parametrize(
    ("file", "text", "command"),
    [
        (".npmrc", "onload-script=./x.js\n", "npm ls"),
        (".npmrc", "a = b\nnode-options = --require ./x.js\n", "npm --version"),
        (".npmrc", "node-options[] = --require ./x.js\n", "npm --version"),
        (".npmrc", '"script-shell" = ./x\n', "npm ls"),
        ("rust-toolchain.toml", '[toolchain]\npath = "./evil"\n', "cargo --version"),
        ("rust-toolchain", '[toolchain]\npath = "./evil"\n', "rustc --version"),
    ],
)
def test_a_project_file_that_names_a_program_asks(tree: Tree, file: str, text: str, command: str) -> None:
    (tree.work / file).write_text("registry = https://registry.invalid/\n")
    assert tree.allowed(f"cd src && {command}")
    (tree.work / file).write_text(text)
    assert not tree.allowed(f"cd src && {command}")


def test_an_npm_of_corepack_is_what_the_project_names(tree: Tree) -> None:
    bin_folder = tree.other.parent / "opt" / "lib" / "corepack" / "shims"
    executable(bin_folder / "npm")
    tree.path = f"{bin_folder}:{SYSTEM_PATH}"
    (tree.work / "package.json").write_text('{"name": "packageManager"}')
    assert tree.allowed("npm --version") and tree.allowed("cd src && npm ls")
    (tree.work / "package.json").write_text('{"packageManager" : "npm@https://x.invalid/npm.tgz"}')
    assert not tree.allowed("npm --version") and not tree.allowed("cd src && npm ls")
    assert tree.allowed("node --version")


def test_pip_freeze_may_run_what_is_on_path(tree: Tree) -> None:
    assert tree.allowed("pip freeze")
    executable(tree.other.parent / "opt" / "hg")
    tree.path = f"{SYSTEM_PATH}:{tree.other.parent}/opt"
    assert not tree.allowed("pip freeze") and tree.allowed("pip list")
    tree.path = f"{SYSTEM_PATH}:{tree.work}/bin"
    executable(tree.work / "bin" / "svn")
    assert not tree.allowed("pip freeze") and tree.allowed("pip show x")


def test_a_file_that_this_user_may_not_run_is_passed_by(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tree.other / "rg"
    executable(closed)
    executable(tree.work / "bin" / "rg")
    tree.path = f"{tree.other}:{tree.work}/bin"
    assert tree.allowed("rg x")
    # Root may run whatever anybody may, so that only the answer of the system can tell.
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(closed))
    tree.policy = PolicyState()
    assert not tree.allowed("rg x")
