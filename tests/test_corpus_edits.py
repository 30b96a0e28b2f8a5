"""Every row of the edit corpus through ``ToolBox.call_tool``, patches in each form that the row has."""

from __future__ import annotations

import base64
import errno
import json
import os
import signal
import stat
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from xun import Agent, AgentConfig, ToolBox, Workspace
from xun_builtin_tools.edit.disk import Disk
from xun_builtin_tools.edit.state import EditState

CORPUS = Path(__file__).parent / "corpus"
FILES = ("edits.jsonl", "edits_own.jsonl")
"""The rows that the project was given, and more of the same kinds that were written beside it."""
ROWS = [json.loads(line) for name in FILES for line in (CORPUS / name).read_text(encoding="utf-8").splitlines()]
CASES = [
    pytest.param(row, form, id=f"{row['id']}-{form}" if form else row["id"])
    for row in ROWS
    for form in ([form for form in ("envelope", "unified") if form in row["args"]] or [""])
]
MOST_STEPS = 12


class FaultyDisk(Disk):
    """A disk on which the nth operation of one kind fails."""

    def __init__(self, kind: str, nth: int) -> None:
        self.kind = kind
        self.left = nth

    def _fail(self, kind: str, code: int) -> None:
        if kind == self.kind:
            self.left -= 1
            if self.left == 0:
                raise OSError(code, os.strerror(code))

    def write(self, folder, name, data, mode, owner=None):
        self._fail("enospc_on_write", errno.ENOSPC)
        super().write(folder, name, data, mode, owner)

    def replace(self, folder, source, name):
        self._fail("fail_on_replace", errno.EIO)
        super().replace(folder, source, name)

    def rename(self, folder, name, other, target):
        self._fail("fail_on_replace", errno.EIO)
        super().rename(folder, name, other, target)

    def unlink(self, folder, name):
        self._fail("fail_on_unlink", errno.EIO)
        super().unlink(folder, name)


class Room:
    """A workspace and a folder beside it, as a row describes them."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path / "ws"
        self.outside = tmp_path
        self.root.mkdir()

    def text(self, value: str) -> str:
        return value.replace("{WS}", str(self.root)).replace("{OUTSIDE}", str(self.outside))

    def path(self, name: str) -> Path:
        return self.root / self.text(name)

    def content(self, spec: dict[str, Any]) -> bytes:
        if "gen" in spec:
            gen = spec["gen"]
            return (gen.get("prefix", "") + gen["unit"] * gen["times"] + gen.get("suffix", "")).encode()
        return base64.b64decode(spec["base64"]) if "base64" in spec else spec["text"].encode("utf-8")

    def build(self, files: dict[str, Any]) -> None:
        for name, spec in sorted(files.items(), key=lambda item: "hardlink" in item[1]):
            path = self.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if "symlink" in spec:
                path.symlink_to(self.text(spec["symlink"]))
            elif "hardlink" in spec:
                os.link(self.path(spec["hardlink"]), path)
            elif "dir" in spec:
                path.mkdir(exist_ok=True)
            elif "fifo" in spec:
                os.mkfifo(path)
            else:
                path.write_bytes(self.content(spec))
                if "mode" in spec:
                    path.chmod(int(spec["mode"], 8))

    def snapshot(self) -> dict[str, Any]:
        """Everything below the workspace and beside it: kind and content of each name."""
        found: dict[str, Any] = {}
        for folder, folders, files in os.walk(self.outside):
            for name in (*folders, *files):
                path = Path(folder) / name
                info = path.lstat()
                if stat.S_ISLNK(info.st_mode):
                    found[str(path)] = ("link", os.readlink(path))
                elif stat.S_ISDIR(info.st_mode):
                    found[str(path)] = ("dir", "")
                elif stat.S_ISREG(info.st_mode):
                    found[str(path)] = ("file", path.read_bytes())
                else:
                    found[str(path)] = ("special", "")
        return found


def arguments(room: Room, row: dict[str, Any], form: str) -> dict[str, Any]:
    args = dict(row["args"])
    if form:
        given = args[form]
        return {"patch": room.content(given).decode() if isinstance(given, dict) else room.text(given)}
    args["path"] = room.text(args["path"])
    return args


@cache
def box() -> ToolBox:
    """One for all rows: reading the signatures of the tools takes longer than most of the edits."""
    return ToolBox().with_defaults("fs", "patch")


def make_agent(root: Path, disk: Disk | None = None) -> Agent[Any]:
    agent = Agent(
        toolbox=box(),
        workspace=Workspace(root),
        config=AgentConfig(auto_confirm=True),
    ).initialize()
    if disk is not None:
        EditState.of(agent).journal.disk = disk
    return agent


def call(agent: Agent[Any], name: str, args: dict[str, Any]) -> Any:
    return agent.toolbox.call_tool(agent, name, json.dumps(args), None)


def act(room: Room, agent: Agent[Any], step: dict[str, Any]) -> None:
    if step.get("op") == "write":
        room.path(step["path"]).write_bytes(room.content(step))
    elif step.get("op") == "delete":
        room.path(step["path"]).unlink()
    elif step.get("op") == "chmod":
        room.path(step["path"]).chmod(int(step["mode"], 8))
    elif step.get("op") == "touch":
        os.utime(room.path(step["path"]))
    else:
        args = arguments(room, step, "envelope" if "envelope" in step.get("args", {}) else "")
        assert call(agent, step["tool"], args).is_ok()


def read_first(room: Room, agent: Agent[Any], row: dict[str, Any]) -> None:
    session = row.get("session")
    names = session.get("read", []) if session is not None else list(row["files"])
    for item in names:
        args = dict(item) if isinstance(item, dict) else {"path": item}
        args["path"] = room.text(args["path"])
        call(agent, "read_file", args)
    for step in (session or {}).get("then", []):
        act(room, agent, step)


def expected_files(room: Room, before: dict[str, Any], files: dict[str, Any]) -> dict[str, Any]:
    after = dict(before)
    for name, spec in files.items():
        path = os.path.realpath(room.path(name).parent) + "/" + room.path(name).name
        if spec is None:
            after.pop(path, None)
        else:
            after[path] = ("file", room.content(spec))
    return after


def differences(room: Room, expect: dict[str, Any], result: Any, before: dict[str, Any]) -> list[str]:
    """Say what is not as *expect* has it."""
    present = room.snapshot()
    if "error_kind" in expect:
        found = [] if result.is_err() else [f"an error was expected, got {result.value}"]
        if result.is_err() and result.value.kind not in expect["error_kind"].split("|"):
            found.append(f"kind {result.value.kind}: {result.value.error}")
        return found + ([] if present == before else ["a refused edit changed files"]) + facts(room, expect, result)
    if result.is_err():
        return [f"refused: {result.value.kind}: {result.value.error}"]
    wanted = expected_files(room, before, expect["files"])
    left = {path for path, (kind, _) in present.items() if kind != "dir"}
    found = [f"{path} is left over" for path in left - set(wanted)]
    for path, value in wanted.items():
        if value[0] != "dir" and present.get(path) != value:
            found.append(f"{path}: {present.get(path)!r} instead of {value!r}")
    for name, mode in expect.get("modes", {}).items():
        if stat.S_IMODE(room.path(name).stat().st_mode) != int(mode, 8):
            found.append(f"mode of {name}: {room.path(name).stat().st_mode:o}")
    for name, target in expect.get("links", {}).items():
        if os.readlink(room.path(name)) != room.text(target):
            found.append(f"{name} is no longer a link to {target}")
    return found


def facts(room: Room, expect: dict[str, Any], result: Any) -> list[str]:
    given = (result.value.facts or {}) if result.is_err() else {}
    found = [
        f"{name} is {given.get(name)!r}"
        for name in ("lines", "nearest_line", "similar", "edit_index", "hunk_index", "file")
        if name in expect and given.get(name) != expect[name]
    ]
    if result.is_err() and len(result.value.error) > expect.get("max_message_chars", 4000):
        found.append(f"the message has {len(result.value.error)} characters")
    return found


def levels(value: dict[str, Any]) -> set[str]:
    return {item["level"] for item in value.get("files", value.get("edits", [value]))}


@pytest.mark.parametrize(("row", "form"), CASES)
def test_row(row: dict[str, Any], form: str, tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.build(row["files"])
    fault = row.get("fault", {})
    if fault.get("kind") == "kill_any_time":
        kill_any_time(room, row, form)
        return
    disk = FaultyDisk(fault["kind"], fault["nth"]) if fault else None
    agent = make_agent(room.root, disk)
    read_first(room, agent, row)
    before = room.snapshot()
    # Of the processor: what other programs of the machine take meanwhile does not count.
    started = time.process_time()
    result = call(agent, row["tool"], arguments(room, row, form))
    took = time.process_time() - started
    expect = row["expect"]
    options = expect.get("any_of", [expect])
    found = [differences(room, option, result, before) for option in options]
    assert [] in found, found
    # The limits are for a quick machine; others get twice that.
    assert took < 2 * expect.get("max_seconds", 5)
    if result.is_ok() and "level" in row:
        assert "exact" not in levels(result.value)
    check_undo(room, agent, row)


def check_undo(room: Room, agent: Agent[Any], row: dict[str, Any]) -> None:
    expect = row["expect"]
    for step in (row.get("session") or {}).get("after", []):
        act(room, agent, step)
    if "after_undo_error" in expect:
        before = room.snapshot()
        assert call(agent, "undo_edit", {}).value.kind == expect["after_undo_error"]
        assert room.snapshot() == before
    if "after_undo" in expect:
        before = room.snapshot()
        assert call(agent, "undo_edit", {}).is_ok()
        wanted = expected_files(room, before, expect["after_undo"])
        assert {k: v for k, v in room.snapshot().items() if v[0] != "dir"} == {
            k: v for k, v in wanted.items() if v[0] != "dir"
        }
        for name, spec in expect["after_undo"].items():
            if spec and "mode" in spec:
                assert stat.S_IMODE(room.path(name).stat().st_mode) == int(spec["mode"], 8)


class DeadlyDisk(Disk):
    """A disk whose user is killed before or after one of its operations, or in the middle of a write."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def write(self, folder, name, data, mode, owner=None):
        self._step()
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder.fd)
        os.write(fd, data[: len(data) // 2])
        os.close(fd)
        self._step()
        folder.unlink(name)
        super().write(folder, name, data, mode, owner)
        self._step()

    def _do(self, name: str, *args: Any) -> None:
        self._step()
        getattr(Disk, name)(self, *args)
        self._step()

    def replace(self, *args):
        self._do("replace", *args)

    def unlink(self, *args):
        self._do("unlink", *args)

    def keep(self, *args):
        self._do("keep", *args)

    def mkdir(self, *args):
        self._do("mkdir", *args)

    def rename(self, *args):
        self._do("rename", *args)


def run_child(room: Room, journal: Path, name: str, args: dict[str, Any], steps: int) -> bool:
    """Make one call in a process that dies after *steps* operations on the disk; tell whether it lived."""
    child = os.fork()
    if child == 0:
        try:
            agent = make_agent(room.root)
            EditState.of(agent).journal.persist_to(journal)
            EditState.of(agent).journal.disk = DeadlyDisk(steps)
            done = call(agent, name, args).is_ok()
        except BaseException:
            os._exit(3)
        os._exit(0 if done else 2)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL)
    return status == 0


def kill_any_time(room: Room, row: dict[str, Any], form: str) -> None:
    """Kill the process at each operation in turn: the target is old or new, and the next start cleans up."""
    start = room.snapshot()
    wholes = [expected_files(room, start, option["files"]) for option in row["expect"].get("any_of", [row["expect"]])]
    wholes.append(start)
    for steps in range(MOST_STEPS):
        journal = room.outside.parent / f"{room.outside.name}-journal-{steps}"
        lived = run_child(room, journal, row["tool"], arguments(room, row, form), steps)
        torn = {path: value for path, value in room.snapshot().items() if not Path(path).name.startswith(".xun-")}
        if len(row["files"]) == 1:
            assert torn in wholes, "a file is neither old nor new"
        EditState.of(make_agent(room.root)).journal.persist_to(journal)
        assert room.snapshot() in wholes, f"killed after {steps} operations: not cleaned up"
        for path, (kind, data) in start.items():
            if kind == "file":
                Path(path).write_bytes(data)
        if lived:
            return
    pytest.fail("the call never came to its end")


def test_a_patch_of_three_files_killed_anywhere_is_whole_after_the_next_start(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    room = Room(tmp_path / "case")
    files = {"a.txt": {"text": "a\n"}, "b.txt": {"text": "b\n"}, "c.txt": {"text": "c\n"}}
    room.build(files)
    text = (
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Delete File: b.txt\n"
        "*** Update File: c.txt\n@@\n-c\n+C\n"
        "*** Add File: new/d.txt\n+d\n*** End Patch\n"
    )
    start = room.snapshot()
    new = {"a.txt": {"text": "A\n"}, "b.txt": None, "c.txt": {"text": "C\n"}}
    done = expected_files(room, start, new)
    done[str(room.root / "new")] = ("dir", "")
    done[str(room.root / "new/d.txt")] = ("file", b"d\n")
    lives = []
    for steps in range(80):
        journal = tmp_path / f"journal-{steps}"
        lives.append(run_child(room, journal, "apply_patch", {"patch": text}, steps))
        EditState.of(make_agent(room.root)).journal.persist_to(journal)
        assert room.snapshot() == (done if lives[-1] else start), f"killed after {steps} operations"
        if lives[-1]:
            break
    assert lives[-1] and len(lives) > 20
