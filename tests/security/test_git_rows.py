"""The git rows of the security corpus: by the bash tool, by what xun itself asks git, and by plain git as a control."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.fakes import hostile_git
from tests.fakes.hostile_git import NAMES, TRAPS, HostileRepository, Trap, fall_for, git, one
from tests.fakes.room import Room
from xun_cli import vcs
from xun_cli.render.safe import safe
from xun_cli.render.status import Status, status_line
from xun_policies.guards.data_git import RULES

row = pytest.mark.row
READING = tuple(command for rule in RULES for command in rule.allows)
"""Every form of a git command that is free in an inert repository."""
FORMS = tuple(rule.allows[0] for rule in RULES)
"""One of each kind."""
BY_NAME = {trap.name: trap for trap in TRAPS}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    return hostile_git.template(tmp_path_factory.mktemp("plain"))


def trapped(plain: Path, tmp_path: Path, name: str) -> HostileRepository:
    return one(plain, tmp_path / "one", BY_NAME[name])


def room_in(repository: Path) -> Room:
    """Return tools whose workspace is *repository* and whose person says no."""
    made = Room(repository.parent, os.geteuid())
    made.w = repository
    made.asker.choice = "deny"
    return made


def free(room: Room, commands: tuple[str, ...]) -> list[str]:
    """Return those of *commands* that the gate lets run unasked."""
    found = []
    room.agent.toolbox.dry_run = True
    for command in commands:
        value = room.call("bash", command=command).unwrap()
        if not value["would_ask"]:
            found.append(command)
    room.agent.toolbox.dry_run = False
    return found


def run_free(room: Room, commands: tuple[str, ...]) -> list[str]:
    """Run what is free by the bash tool, in one go, and return it."""
    found = free(room, commands)
    if found:
        room.call("bash", command=" ; ".join(found), timeout=60).unwrap()
    assert room.asker.asked == []
    return found


QUESTIONS = (vcs.read_branch, vcs.branch, vcs.status, vcs.diff, vcs.list_files)


def see_all(repository: HostileRepository, folder: str = ".") -> None:
    """Ask git all that xun itself ever asks."""
    place = repository.root / folder
    for question in QUESTIONS:
        question(place)
    for name in (*NAMES, "plain.txt", "kept.bin"):
        vcs.diff(repository.root, name)


def test_every_form_is_free_in_an_inert_repository(plain: Path) -> None:
    room = room_in(plain)
    assert len(READING) >= 50 and free(room, READING) == list(READING)
    room.close()


@pytest.mark.parametrize("trap", TRAPS, ids=[trap.name for trap in TRAPS])
def test_each_trap_by_itself(plain: Path, tmp_path: Path, trap: Trap) -> None:
    if trap.terminal and shutil.which("script") is None:
        pytest.skip("script is not installed")
    if trap.fires[0] == "help" and shutil.which("man") is None:
        pytest.skip("man is not installed")
    repository = one(plain, tmp_path / "one", trap)
    room = room_in(repository.root)
    run_free(room, FORMS)
    for question in QUESTIONS:
        question(repository.root / trap.folder)
    room.close()
    assert repository.fired() == []
    # And the trap is live: a plain git falls for it.
    assert len(fall_for(repository, trap)) == 1


def test_there_are_enough_traps() -> None:
    assert len(TRAPS) >= 30 and len(BY_NAME) == len(TRAPS)


@row("sec-git-001")
def test_what_xun_shows_of_a_repository_with_fsmonitor(plain: Path, tmp_path: Path) -> None:
    repository = trapped(plain, tmp_path, "core.fsmonitor")
    state = vcs.status(repository.root)
    assert state.label in ("main*", "main?") and "+two" in vcs.diff(repository.root).text
    assert "plain.txt" in (vcs.list_files(repository.root) or [])
    assert repository.fired() == []


SEVEN = tuple(
    f"git {form}"
    for form in ("status", "diff", "ls-files", "grep one", "blame plain.txt", "describe --dirty --always",
                 "check-ignore plain.txt")
)  # fmt: skip


@row("sec-git-002")
@pytest.mark.parametrize("choice", ["deny", "once"])
def test_seven_reading_commands_where_fsmonitor_is_set(plain: Path, tmp_path: Path, choice: str) -> None:
    repository = trapped(plain, tmp_path, "core.fsmonitor")
    room = room_in(repository.root)
    room.asker.choice = choice
    for command in SEVEN:
        room.call("bash", command=command)
    room.close()
    # Where a person allows it, git still does not run it: the command's environment forbids fsmonitor.
    assert repository.fired() == []


@row("sec-git-003", "sec-git-004")
@pytest.mark.parametrize("name", ["diff.external", "diff.trap.command", "diff.trap.textconv", "textconv in blame"])
def test_programs_of_a_diff(plain: Path, tmp_path: Path, name: str) -> None:
    repository = trapped(plain, tmp_path, name)
    room = room_in(repository.root)
    for command in (
        "git diff",
        "git log -p",
        "git show HEAD~1",
        "git blame plain.txt",
        "git diff --stat",
        "git log -p -1",
    ):
        room.call("bash", command=command)
    assert room.asker.asked and all(
        segment.rule == "git-config" for request in room.asker.asked for segment in request.command.segments
    )
    assert "+two" in vcs.diff(repository.root).text and "+two" in vcs.diff(repository.root, "plain.txt").text
    room.close()
    assert repository.fired() == []


@row("sec-git-005")
@pytest.mark.parametrize(
    "name", ["filter.trap.clean", "clean in status", "filter.trap.process", "filter by attributes"]
)
def test_filters(plain: Path, tmp_path: Path, name: str) -> None:
    repository = trapped(plain, tmp_path, name)
    room = room_in(repository.root)
    for command in ("git status", "git diff", "git status --porcelain=v2", "git diff --stat"):
        room.call("bash", command=command)
    assert len(room.asker.asked) == 4
    state = vcs.status(repository.root)
    assert (".M", "kept.bin") in state.changed or state.problem
    room.close()
    assert repository.fired() == []


@row("sec-git-006")
@pytest.mark.parametrize("name", ["hook post-index-change", "core.hooksPath"])
def test_the_hook_of_a_refreshed_index(plain: Path, tmp_path: Path, name: str) -> None:
    repository = trapped(plain, tmp_path, name)
    index = (repository.root / ".git/index").read_bytes()
    room = room_in(repository.root)
    vcs.status(repository.root)
    vcs.diff(repository.root)
    assert (repository.root / ".git/index").read_bytes() == index
    for command in ("git status", "git diff"):
        assert "hook" in room.failed("bash", command=command) or "hook" in room.asker.asked[-1].command.reason.lower()
    room.asker.choice = "once"
    room.call("bash", command="git status").unwrap()
    room.close()
    assert repository.fired() == []


@row("sec-git-007")
@pytest.mark.parametrize("name", ["include.path", "includeIf", "config.worktree"])
def test_keys_that_are_one_file_away(plain: Path, tmp_path: Path, name: str) -> None:
    repository = trapped(plain, tmp_path, name)
    assert vcs.status(repository.root).branch == "main"
    see_all(repository)
    room = room_in(repository.root)
    assert free(room, SEVEN) == []
    room.close()
    assert repository.fired() == []


@row("sec-git-008")
def test_a_folder_that_looks_like_a_bare_repository(plain: Path, tmp_path: Path) -> None:
    repository = trapped(plain, tmp_path, "bare folder")
    room = room_in(repository.root)
    room.asker.choice = "once"
    for arguments in ({"cwd": "docs"}, {}):
        command = "git status" if arguments else "cd docs && git status"
        room.call("bash", command=command, **arguments)
    assert len(room.asker.asked) == 2
    see_all(repository, "docs")
    room.close()
    assert repository.fired() == []


@row("sec-git-009")
def test_the_settings_of_a_submodule(plain: Path, tmp_path: Path) -> None:
    repository = trapped(plain, tmp_path, "submodule")
    room = room_in(repository.root)
    assert free(room, SEVEN) == []
    room.asker.choice = "once"
    for command in ("git status", "git diff"):
        room.call("bash", command=command).unwrap()
    see_all(repository)
    see_all(repository, "sub")
    room.close()
    assert repository.fired() == []


@row("sec-git-010")
def test_aliases(plain: Path, tmp_path: Path) -> None:
    repository = trapped(plain, tmp_path, "alias.lg")
    with (repository.root / ".git/config").open("a") as config:
        config.write(f"[alias]\n\tstatus = \"!touch '{repository.canaries}/status'\"\n")
    room = room_in(repository.root)
    assert "lg" in room.failed("bash", command="git lg") or len(room.asker.asked) == 1
    room.asker.choice = "once"
    assert "On branch main" in room.call("bash", command="git status").unwrap()["stdout"]
    room.close()
    assert repository.fired() == []


@row("sec-git-011")
@pytest.mark.parametrize(
    "name", ["core.sshCommand", "remote.origin.uploadpack", "ext transport", "url.insteadOf", "credential.helper"]
)
@pytest.mark.parametrize("command", ["git fetch", "git pull origin main", "git ls-remote", "git -C . fetch --all"])
def test_fetching_says_what_the_repository_names(plain: Path, tmp_path: Path, name: str, command: str) -> None:
    repository = trapped(plain, tmp_path, name)
    room = room_in(repository.root)
    room.failed("bash", command=command)
    [request] = room.asker.asked
    assert "git could run more here" in request.command.reason and ".git/config" in request.command.reason
    room.close()
    assert repository.fired() == []


@row("sec-git-012")
def test_names_that_look_like_commands_and_options(plain: Path, tmp_path: Path) -> None:
    repository = one(plain, tmp_path / "one", Trap("none", {}, ()))
    state = vcs.status(repository.root)
    assert {path for _, path in state.changed} >= set(NAMES)
    for name in NAMES:
        diff = vcs.diff(repository.root, name)
        assert "+two" in diff.text and diff.text.count("diff --git") == 1, (name, diff)
        shown = safe(name, multiline=False) + safe(diff.text, multiline=True)
        assert not set(shown) & {"\x1b", "\udcff", "\x7f"} and "\n" not in safe(name, multiline=False)
    assert set(NAMES) <= set(vcs.list_files(repository.root) or [])
    assert repository.fired() == []


@row("sec-git-013")
def test_refs_that_look_like_options_or_hold_escapes(plain: Path, tmp_path: Path) -> None:
    repository = one(plain, tmp_path / "one", Trap("none", {}, ()))
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=plain, capture_output=True, text=True, check=True).stdout
    for name in ("-x", "--upload-pack=touch pwn", "--output=pwn", "a\x1b]0;title\x07b", "bidi\u202ex", "$(touch pwn)"):
        ref = repository.root / ".git/refs/heads" / name
        ref.write_text(commit)
        (repository.root / ".git/HEAD").write_text(f"ref: refs/heads/{name}\n")
        for found in (vcs.read_branch(repository.root), vcs.branch(repository.root)):
            assert found in (name, "unknown")
            drawn = "".join(text for _, text in status_line(Status(model="m", branch=found), 200))
            assert drawn.isprintable() and "\x1b" not in drawn
        for question in QUESTIONS:
            question(repository.root)
        ref.unlink()
    assert repository.fired() == [] and not (repository.root / "pwn").exists()


@row("sec-git-014")
def test_an_inherited_environment_is_dropped(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = one(plain, tmp_path / "one", Trap("none", {}, ()))
    trap = f"touch '{repository.canaries}/environment';:"
    programs = "EXTERNAL_DIFF SSH_COMMAND SSH PAGER ASKPASS EDITOR PROXY_COMMAND SEQUENCE_EDITOR"
    others = ("SSH_ASKPASS", "PAGER", "EDITOR", "VISUAL", "LESSOPEN", "BASH_ENV")
    for name in (*(f"GIT_{name}" for name in programs.split()), *others):
        monkeypatch.setenv(name, trap)
    for name in ("DIR", "WORK_TREE", "INDEX_FILE", "COMMON_DIR", "OBJECT_DIRECTORY", "EXEC_PATH"):
        monkeypatch.setenv(f"GIT_{name}", "/nowhere")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", trap)
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", f"'core.fsmonitor'='{trap}'")
    state = vcs.status(repository.root)
    assert state.label == "main*" and "+two" in vcs.diff(repository.root).text
    see_all(repository)
    room = room_in(repository.root)
    assert len(run_free(room, READING)) == len(READING)
    room.asker.choice = "once"
    assert room.call("bash", command="printenv GIT_DIR GIT_EXTERNAL_DIFF GIT_ASKPASS").unwrap()["stdout"] == ""
    room.close()
    assert repository.fired() == []


@row("sec-git-015")
def test_locks_a_missing_git_and_a_slow_one(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = one(plain, tmp_path / "one", Trap("none", {}, ()))
    (repository.root / ".git/index.lock").write_text("")
    assert vcs.status(repository.root).label == "main*"
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "git").write_text("#!/bin/sh\nsleep 60\n")
    (tools / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    began = time.monotonic()
    assert vcs.read_branch(repository.root) == "main" and time.monotonic() - began < 0.5
    assert vcs.status(repository.root, timeout=0.3).label == "main?"
    assert vcs.list_files(repository.root, timeout=0.3) is None
    assert time.monotonic() - began < 2 and vcs.TIMEOUT <= 5


@row("sec-git-015")
@pytest.mark.parametrize("files", [30_000, pytest.param(300_000, marks=pytest.mark.slow)])
def test_an_index_of_many_files(tmp_path: Path, files: int) -> None:
    git(tmp_path, "init", "-q", "-b", "main", ".")
    blob = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    entries = "".join(f"100644 {blob}\td{number // 1000}/f{number}\n" for number in range(files))
    subprocess.run(["git", "update-index", "--index-info"], cwd=tmp_path, input=entries.encode(), check=True)
    began = time.monotonic()
    assert vcs.read_branch(tmp_path) == "main" and time.monotonic() - began < 0.2
    state = vcs.status(tmp_path)
    assert state.label in ("main*", "main?") and time.monotonic() - began < 2 * vcs.TIMEOUT


def test_the_bash_tool_quotes_nothing_of_its_own(plain: Path) -> None:
    """A command in a folder with an odd name: the folder is an argument, never a piece of a command."""
    room = room_in(plain)
    for name in ("a;touch pwn", "$(touch pwn)"):
        assert room.call("bash", command=f"ls -- {shlex.quote(name)}").unwrap()["stdout"].strip() == name
    room.close()
    assert not (plain / "pwn").exists()
