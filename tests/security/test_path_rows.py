"""The path rows of the security corpus, by the tools, as root and as an ordinary user."""

from __future__ import annotations

import os
import resource
import socket
import stat
import time
from pathlib import Path

import pytest

from tests.fakes.room import SECRET, TAKES_PATH, Room

row = pytest.mark.row
LINK_ITSELF = {"move from", "move to", "delete", "patch delete"}
"""What acts on a link and not on what it points to."""


def every_tool_refuses(room: Room, path: str, *, but: frozenset[str] | set[str] = frozenset()) -> None:
    for label, tool, arguments in TAKES_PATH:
        if label not in but:
            room.refused(tool, **arguments(path))
    room.verify()


@row("sec-path-001")
def test_a_folder_link_out_is_no_way_out(room: Room) -> None:
    room.link("link", room.out)
    room.link("deep/er", "../link/deep")
    text = room.refused("read_file", path="link/secret", naming="link/secret")
    assert SECRET not in text
    for path in ("link/secret", "link/deep/c", "deep/er/c", "link/../out/secret", "link/new"):
        every_tool_refuses(room, path)
    # Of what stands for the link itself, only what would go through it.
    every_tool_refuses(room, "link", but={*LINK_ITSELF, "patch delete"})


@row("sec-path-002")
def test_a_sibling_with_the_same_beginning_is_outside(room: Room) -> None:
    private = room.base / "w-private"
    private.mkdir()
    (private / "k.txt").write_text(SECRET)
    for path in ("../w-private/k.txt", f"{private}/k.txt", "../w-private", str(private), f"{room.w}-private/k.txt"):
        every_tool_refuses(room, path)
    assert (private / "k.txt").read_text() == SECRET and os.listdir(private) == ["k.txt"]


@row("sec-path-003")
def test_a_link_to_nothing_is_not_written_through(room: Room) -> None:
    for name, target in (("new.cfg", room.out / "never"), ("rel.cfg", "../out/never"), ("gone", room.out / "no/never")):
        room.link(name, target)
        room.refused("write_file", path=name, content="x", naming=name)
        every_tool_refuses(room, name, but=LINK_ITSELF)
        every_tool_refuses(room, f"{name}/below")


@row("sec-path-004")
def test_every_link_of_a_chain_is_judged(room: Room) -> None:
    room.link("a", "b")
    room.link("b", "c")
    room.link("c", room.out)
    room.refused("write_file", path="a/f", content="x", naming="a/f")
    every_tool_refuses(room, "a/f")
    room.link("x", "y/z")
    room.link("y", ".")
    room.link("z", "../out/secret")
    every_tool_refuses(room, "x", but=LINK_ITSELF)


@row("sec-path-005")
def test_loops_of_links_end(room: Room) -> None:
    room.link("loop1", "loop2")
    room.link("loop2", "loop1")
    room.link("own", "own")
    room.link("up", ".")
    room.file("plain.txt")
    began = time.monotonic()
    for name in ("loop1", "own", "up/loop1", "own/x"):
        assert "too many links" in room.failed("read_file", path=name)
    for label, tool, arguments in TAKES_PATH:
        if label not in LINK_ITSELF:
            room.failed(tool, **arguments("loop1"))
    found = room.call("glob", pattern="**/*").unwrap()["paths"]
    assert len(found) == len(set(found)) and "plain.txt" in found
    assert room.call("grep", pattern="inside", output="files").unwrap()["files"] == ["plain.txt"]
    assert str(room.call("list_dir", path=".").unwrap()).count("loop1") == 1
    assert time.monotonic() - began < 2


@row("sec-path-008")
def test_a_hard_link_keeps_the_other_name_as_it_was(room: Room) -> None:
    os.link(room.out / "secret", room.w / "h")
    room.freeze()
    room.asker.choice = "grant"
    room.call("write_file", path="h", content="x").unwrap()
    assert (room.w / "h").read_text() == "x" and SECRET in (room.out / "secret").read_text()
    for name, tool, arguments in (
        ("h1", "replace", {"old": "SECRET", "new": "y"}),
        ("h2", "insert_lines", {"line": 1, "text": "z"}),
        ("h3", "delete", {}),
    ):
        os.link(room.out / "secret", room.w / name)
        room.call(tool, path=name, **arguments)
    room._seen.clear()  # reading the shared content under its inside name is no escape


@row("sec-path-009")
def test_magic_links_lead_nowhere(room: Room) -> None:
    pid = os.getpid()
    every_tool_refuses(room, "/proc/self/root/etc/passwd")
    every_tool_refuses(room, "/proc/self/cwd/../etc/passwd")
    every_tool_refuses(room, f"/proc/{pid}/root{room.out}/secret")
    room.link("magic", f"/proc/{pid}/root")
    every_tool_refuses(room, f"magic{room.out}/secret")
    held = os.open(room.out, os.O_RDONLY)
    room.link("fd", f"/proc/{pid}/fd/{held}")
    every_tool_refuses(room, "fd/secret")
    every_tool_refuses(room, f"/dev/fd/{held}/secret")
    os.close(held)


@row("sec-path-010")
def test_the_environment_can_not_be_read_by_a_link(room: Room) -> None:
    for name, target in (("p", "/proc/self/environ"), ("q", f"/proc/{os.getpid()}/environ"), ("r", "/proc/self/maps")):
        room.link(name, target)
        room.refused("read_file", path=name)
        every_tool_refuses(room, name, but=LINK_ITSELF)


@row("sec-path-011")
def test_home_and_variables_are_no_way_out(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    home = room.base / "home"
    (home / ".ssh").mkdir(parents=True)
    for name in (".ssh/id_ed25519", ".bashrc"):
        (home / name).write_text(SECRET)
    monkeypatch.setenv("HOME", str(home))
    for path in ("~/.ssh/id_ed25519", "$HOME/.bashrc", "${HOME}/.bashrc", "~root/.bashrc", "~nobody", "%HOME%/x", "~"):
        for _, tool, arguments in TAKES_PATH:
            if tool not in ("write_file", "mkdir", "apply_patch", "str_replace_editor", "copy", "move"):
                room.failed(tool, **arguments(path))
    room.call("write_file", path="$HOME/.bashrc", content="x")
    room.call("write_file", path="~/.bashrc", content="x")
    assert (home / ".bashrc").read_text() == SECRET and sorted(os.listdir(home)) == [".bashrc", ".ssh"]


@row("sec-path-012")
def test_a_nul_byte_is_refused_before_the_system_is_asked(room: Room) -> None:
    room.file("a")
    for path in ("a\0/../../etc/passwd", "a\0b", "\0", f"{room.w}/a\0", "sub/\0/x"):
        for _, tool, arguments in TAKES_PATH:
            assert "NUL byte" in room.failed(tool, **arguments(path)), tool
    assert "NUL byte" in room.failed("glob", pattern="a\0b")
    assert "NUL byte" in room.failed("glob", pattern="**/a\0b")
    assert "NUL byte" in room.failed("grep", pattern="inside", glob="a\0b")
    assert "NUL byte" in room.failed("read_many_files", include=["a\0*"])
    assert sorted(os.listdir(room.w)) == ["a", "spare"]


@row("sec-path-012")
def test_a_lone_surrogate_is_refused_in_one_sentence(room: Room) -> None:
    for _, tool, arguments in TAKES_PATH:
        text = room.failed(tool, **arguments("a\ud800b"))
        text.encode()  # what goes to the model can be sent
    assert sorted(os.listdir(room.w)) == ["spare"]


@row("sec-path-013")
def test_odd_spellings(room: Room) -> None:
    room.file("ok.txt")
    room.file("sub/in.txt")
    for path in ("ok.txt/", "ok.txt/.", "x/../ok.txt", "ok.txt/../ok.txt", "sub/in.txt/..", "", "ok.txt//"):
        room.failed("read_file", path=path)
    for path in (".//ok.txt", "./sub/../ok.txt", "sub//..//ok.txt", f"{room.w}//ok.txt", f"//{str(room.w)[1:]}/ok.txt"):
        assert room.call("read_file", path=path).unwrap()["path"] == str(room.w / "ok.txt")
    for tool, arguments in (("write_file", {"content": "x"}), ("mkdir", {}), ("replace", {"old": "i", "new": "o"})):
        room.failed(tool, path="ok.txt/x", **arguments)
        room.failed(tool, path="none/../y", **arguments)
    assert (room.w / "ok.txt").read_text() == "inside\n" and not (room.w / "y").exists()


@row("sec-path-014")
def test_paths_that_are_too_long_name_the_limit(room: Room) -> None:
    for path, limit in (("a/" * 3000 + "f", "4095"), ("n" * 300, "255"), ("é" * 200, "255"), ("d/" + "n" * 256, "255")):
        for _, tool, arguments in TAKES_PATH:
            assert limit in room.failed(tool, **arguments(path)), tool
    assert room.call("read_file", path="spare").is_ok()
    # A long path below the limit works.
    deep = "/".join(["d" * 200] * 15)
    assert room.call("write_file", path=f"{deep}/f", content="x").is_ok()
    assert room.call("read_file", path=f"{deep}/f").unwrap()["text"] == "x"


@row("sec-path-015")
@pytest.mark.parametrize(
    "path", [".XUN/Config.TOML", ".Git/config", ".xun./config.toml", ".git /hooks/x", ".VSCode/settings.json", ".ENVRC"]
)
def test_upper_and_lower_case_protect_alike(room: Room, path: str) -> None:
    room.asker.choice = "deny"
    room.failed("write_file", path=path, content="x")
    assert "may run programs later" in room.asker.asked[-1].message
    assert not os.path.lexists(room.w / path)


@row("sec-path-015", "sec-path-010")
def test_xuns_own_files_are_closed_in_every_spelling(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(room.w))
    for name in ("XUN_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    room.file(".config/xun/credentials", SECRET)
    room.file(".local/share/xun/sessions/s.jsonl", SECRET)
    for path in (
        ".config/xun/credentials",
        ".CONFIG/Xun/Credentials",
        ".local/share/XUN/sessions/s.jsonl",
        ".config/xun",
    ):
        every_tool_refuses(room, path)
    assert room.call("grep", pattern="SECRET").unwrap()["matches"] == []
    assert room.call("read_file", path="spare").is_ok()


def asks_each_time(room: Room, tool: str, **arguments: object) -> None:
    """Fail unless a question with the wording of a protected path comes, offers no grant, and No changes nothing."""
    room.agent.policy.write_allowlist.add(str(room.w), True, source="user")
    room.agent.policy.mode = "auto-edit"
    room.asker.choice = "deny"
    count = len(room.asker.asked)
    before = contents(room.w)
    room.failed(tool, **arguments)
    assert contents(room.w) == before
    asked = room.asker.asked[count:]
    assert len(asked) == 1 and "may run programs later" in asked[0].message, (tool, arguments, asked)
    assert asked[0].write_scopes == ()


def contents(folder: Path) -> list[tuple[Path, bytes]]:
    return sorted((path, path.read_bytes()) for path in folder.rglob("*") if path.is_file())


def git_folder(room: Room) -> None:
    for name in ("config", "HEAD", "hooks/sample"):
        room.file(f".git/{name}", "x\n")


@row("sec-path-016")
@pytest.mark.parametrize("name", ["config", "hooks/pre-commit", "HEAD", "info/attributes", "config.worktree", "new"])
def test_git_settings_always_ask(room: Room, name: str) -> None:
    git_folder(room)
    asks_each_time(room, "write_file", path=f".git/{name}", content="[core] fsmonitor=x")
    room.link("g", ".git")
    asks_each_time(room, "write_file", path=f"g/{name}", content="[core] fsmonitor=x")


@row("sec-path-017")
def test_the_same_holds_in_every_tool(room: Room) -> None:
    git_folder(room)
    room.file("a.sh")
    room.file("sub/x")
    add = "*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch\n"
    unified = "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n"
    renamed = "*** Begin Patch\n*** Update File: a.sh\n*** Move to: .git/hooks/y\n@@\n-inside\n+x\n*** End Patch\n"
    asks_each_time(room, "write_file", path=".git/hooks/pre-commit", content="x")
    asks_each_time(room, "move", src="a.sh", dst=".git/hooks/post-checkout")
    asks_each_time(room, "move", src="a.sh", dst=".git/hooks")
    asks_each_time(room, "copy", src="a.sh", dst=".git/hooks/post-checkout")
    asks_each_time(room, "copy", src="sub", dst=".git/hooks2")
    asks_each_time(room, "move", src="sub", dst=".git/hooks2")
    asks_each_time(room, "mkdir", path=".git/hooks3")
    asks_each_time(room, "delete", path=".git/HEAD")
    asks_each_time(room, "delete", path=".git")
    asks_each_time(room, "move", src=".git", dst="elsewhere")
    asks_each_time(room, "replace", path=".git/config", old="x", new="y")
    asks_each_time(room, "multi_edit", path=".git/config", edits=[{"old": "x", "new": "y"}])
    asks_each_time(room, "insert_lines", path=".git/config", line=1, text="y")
    asks_each_time(room, "str_replace_editor", command="create", path=".git/hooks/z", file_text="y")
    for patch in (add, unified, renamed):
        asks_each_time(room, "apply_patch", patch=patch)
    asks_each_time(room, "apply_patch", patch=unified.replace(".git/", ""), directory=".git")


@row("sec-path-018")
def test_the_git_folder_of_a_worktree_is_outside_and_its_pointer_protected(room: Room) -> None:
    real = room.out / "real.git"
    real.mkdir()
    (real / "config").write_text(SECRET)
    room.freeze()
    room.file(".git", f"gitdir: {real}\n")
    every_tool_refuses(room, f"{real}/config")
    every_tool_refuses(room, "../out/real.git/config")
    asks_each_time(room, "write_file", path=".git", content="gitdir: elsewhere\n")
    asks_each_time(room, "delete", path=".git")


@row("sec-path-018")
def test_a_git_folder_inside_under_another_name_is_protected(room: Room) -> None:
    room.file(".git", "gitdir: meta\n")
    room.file("meta/config", "x\n")
    asks_each_time(room, "write_file", path="meta/config", content="y")
    for name in ("HEAD", "objects/x", "refs/x", "config"):
        room.file(f"bare/{name}", "x\n")
    asks_each_time(room, "write_file", path="bare/config", content="y")


@row("sec-path-019")
@pytest.mark.parametrize(
    "name",
    ["../out/p", "../../tmp/p", "b/../../out/p", "/etc/p", "b//../../out/p", "b/./../../out/p", '"b/../\\056./out/p"'],
)
def test_a_patch_does_not_climb_out(room: Room, name: str) -> None:
    room.file("c.txt", "one\n")
    good = "--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-one\n+two\n"
    bad = f"--- /dev/null\n+++ {name}\n@@ -0,0 +1 @@\n+x\n"
    for patch in (bad, good + bad, bad + good):
        room.refused("apply_patch", patch=patch)
    plain = name.strip('"')
    if "\\" not in plain:
        for verb in ("Add", "Update", "Delete"):
            body = {"Add": "+x\n", "Update": "@@\n-one\n+two\n", "Delete": ""}[verb]
            path = plain.removeprefix("b/") if plain.startswith("b/.") else plain
            room.refused(
                "apply_patch",
                patch=f"*** Begin Patch\n*** Update File: c.txt\n@@\n-one\n+two\n*** {verb} File: {path}\n{body}"
                "*** End Patch\n",
            )
    assert (room.w / "c.txt").read_text() == "one\n"


@row("sec-path-020")
def test_a_patch_of_many_files_is_all_or_nothing(room: Room) -> None:
    room.file("a.txt", "one\n")
    room.file("c.txt", "one\n")
    out = room.out / "b.txt"
    update = "--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-one\n+two\n"
    for target in (str(out), "../out/b.txt"):
        rename = f"diff --git a/a.txt b/b.txt\nrename from a.txt\nrename to {target}\n"
        room.refused("apply_patch", patch=rename + update, naming="b.txt")
        room.refused("apply_patch", patch=update + rename, naming="b.txt")
        copied = f"diff --git a/a.txt b/b.txt\nsimilarity index 100%\ncopy from a.txt\ncopy to {target}\n"
        assert room.call("apply_patch", patch=update + copied).is_err()
        moved = f"*** Update File: a.txt\n*** Move to: {target}\n@@\n-one\n+two\n"
        both = f"*** Begin Patch\n*** Update File: c.txt\n@@\n-one\n+two\n{moved}*** End Patch\n"
        room.refused("apply_patch", patch=both, naming="b.txt")
    from_there = f"diff --git a/x b/y\nrename from {out.parent}/secret\nrename to stolen\n"
    assert room.call("apply_patch", patch=update + from_there).is_err()
    assert (room.w / "c.txt").read_text() == "one\n" and sorted(os.listdir(room.w)) == ["a.txt", "c.txt", "spare"]


@row("sec-path-021")
@pytest.mark.parametrize("target", ["OUT", "../out", "../out/"])
def test_a_patch_makes_no_link_to_write_through(room: Room, target: str) -> None:
    place = target.replace("OUT", str(room.out))
    link = (
        "diff --git a/d b/d\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n"
        f"+{place}\n\\ No newline at end of file\n"
    )
    below = "diff --git a/d/f b/d/f\nnew file mode 100644\n--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+x\n"
    for patch in (link + below, below + link, link):
        assert room.call("apply_patch", patch=patch).is_err()
        assert not os.path.lexists(room.w / "d")
    room.file("file.txt", "x\n")
    retyped = "diff --git a/file.txt b/file.txt\nold mode 100644\nnew mode 120000\n"
    room.call("apply_patch", patch=retyped)
    assert stat.S_ISREG(os.lstat(room.w / "file.txt").st_mode)
    # And through a link that is there already.
    room.link("d", room.out)
    room.refused("apply_patch", patch=below)


@row("sec-path-022")
def test_deleting_a_link_leaves_what_it_points_to(room: Room) -> None:
    room.link("d", room.out)
    room.link("f", room.out / "secret")
    room.link("tree/inner", room.out)
    room.file("tree/file")
    for name in ("d", "f", "tree"):
        room.call("delete", path=name).unwrap()
        assert not os.path.lexists(room.w / name)
    room.link("d", room.out)
    room.call("delete", path="d/")
    room.verify()
    room.link("e", room.out)
    patch = "*** Begin Patch\n*** Delete File: e\n*** End Patch\n"
    room.call("apply_patch", patch=patch)
    room.call("move", src="e", dst="e2")
    room.refused("delete", path="e2/deep" if os.path.lexists(room.w / "e2") else "../out/deep")


@row("sec-path-023")
def test_the_root_can_not_be_removed_or_moved(room: Room) -> None:
    room.file("sub/x")
    for path in (".", str(room.w), "sub/..", "./", f"{room.w}/", f"{room.w}/."):
        for tool, arguments in (
            ("delete", {"path": path}),
            ("move", {"src": path, "dst": "elsewhere"}),
            ("move", {"src": path, "dst": "sub"}),
            ("write_file", {"path": path, "content": "x"}),
            ("apply_patch", {"patch": f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n"}),
        ):
            room.failed(tool, **arguments)
    room.failed("copy", src=".", dst="sub/copy")
    for path in ("..", "/", str(room.base)):
        room.refused("delete", path=path)
        room.refused("move", src=path, dst="x")
    agent = room.agent
    temporary = str(agent.workspace.tempdir.path)
    room.failed("delete", path=temporary)
    room.failed("move", src=temporary, dst="x")
    assert (room.w / "sub/x").exists() and os.path.isdir(temporary)


@row("sec-path-024")
def test_copying_a_link_copies_nothing_of_outside(room: Room) -> None:
    room.link("l", room.out / "secret")
    room.link("tree/l", room.out / "secret")
    room.link("tree/d", room.out)
    room.refused("copy", src="l", dst="m")
    room.call("copy", src="tree", dst="tree2")
    room.call("move", src="l", dst="l2")
    room.refused("copy", src="spare", dst="tree/d/new")
    room.refused("copy", src="tree", dst="tree/d/new")
    for path in room.w.rglob("*"):
        assert path.is_symlink() or SECRET not in (path.read_text() if path.is_file() else "")


@row("sec-path-004", "sec-path-024")
def test_undo_and_memory_go_through_no_link(room: Room) -> None:
    room.new_agent(room.w, ("fs", "patch", "framework"))
    room.file("a/b", "inside\n")
    room.file("c", "inside\n")
    room.call("replace", path="a/b", old="inside", new="changed").unwrap()
    room.call("write_file", path="c", content="changed\n").unwrap()
    room.call("delete", path="a/b").unwrap()
    (room.w / "a").rmdir()
    room.link("a", room.out)
    (room.w / "c").unlink()
    room.link("c", room.out / "secret")
    for path in ("a/b", "c", None, None, None):
        room.failed("undo_edit", **({"path": path} if path else {}))
    room.link("AGENTS.md", room.out / "secret")
    room.refused("read_memory")
    room.refused("save_memory", fact="x")
    room.verify()


@row("sec-path-025")
def test_searches_follow_no_link(room: Room) -> None:
    room.link("l", room.out)
    room.link("f", room.out / "secret")
    room.link("in", "sub")
    room.file("x", "root\n")
    room.file("sub/y", "root\n")
    for arguments in ({}, {"path": "."}, {"glob": "**/*"}, {"glob": "l/**"}, {"hidden": False}, {"gitignore": False}):
        matches = room.call("grep", pattern="root", **arguments).unwrap()["matches"]
        assert {match["path"] for match in matches} <= {"x", "sub/y"}
    for pattern in ("**/secret", "*/secret", "l/*", "l/**", "f", "**/c", "l/secret", "{l,x}/*", "[l]/secret"):
        for sort in ("path", "mtime"):
            found = room.call("glob", pattern=pattern, sort=sort)
            assert found.is_err() or not [path for path in found.unwrap()["paths"] if path.startswith("l/")]
    for include in (["l/*"], ["l"], ["l/secret"], ["**/*"], ["f"]):
        room.call("read_many_files", include=include)
    listed = room.call("list_dir", path=".", details=True).unwrap()
    assert "l" in str(listed)


@row("sec-path-026")
def test_patterns_are_paths_too(room: Room) -> None:
    room.file("sub/y", "root\n")
    for pattern in (
        "../*",
        "/etc/*",
        "sub/../../out/*",
        "{..,x}/out/*",
        "[.][.]/out/*",
        "..",
        f"{room.out}/*",
        "\\../out/*",
    ):
        found = room.call("glob", pattern=pattern)
        assert found.is_err() or found.unwrap()["paths"] == [], pattern
        found = room.call("grep", pattern="root", glob=pattern)
        assert found.is_err() or not found.unwrap()["matches"], pattern
        found = room.call("read_many_files", include=[pattern])
        assert SECRET not in repr(found.value)
    for path in ("..", "sub/../..", "/etc"):
        room.refused("grep", pattern="root", path=path)
        room.refused("glob", pattern="*", path=path)
        room.refused("list_dir", path=path)
    assert not room.call("grep", pattern="root", glob="../../**").unwrap()["matches"]


@row("sec-path-027")
def test_what_is_no_regular_file_is_refused_at_once(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(room.w / "p")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(room.w)  # the name of a socket must be short
        listener.bind("s")
        names = ["p", "s"]
        if room.user == 0:
            os.mknod(room.w / "n", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
            names.append("n")
        room.file("x", "root\n")
        began = time.monotonic()
        for name in names:
            assert "not a regular file" in room.failed("read_file", path=name)
            for label, tool, arguments in TAKES_PATH:
                if label not in ("info", "mkdir", "move from", "list", "read_many", "patch in", "delete"):
                    room.failed(tool, **arguments(name))
        found = room.call("grep", pattern="root").unwrap()
        assert [match["path"] for match in found["matches"]] == ["x"]
        room.call("read_many_files", include=["*"])
        assert time.monotonic() - began < 2 * len(names)


@row("sec-path-028")
def test_endless_devices_are_not_read(room: Room) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, target in (("z", "/dev/zero"), ("r", "/dev/urandom"), ("t", "/dev/stdin"), ("m", "/proc/kmsg")):
        room.link(name, target)
        room.refused("read_file", path=name)
        every_tool_refuses(room, name, but=LINK_ITSELF)
    if room.user == 0:
        os.mknod(room.w / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        room.failed("read_file", path="zero")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10_000


@row("sec-path-029")
def test_a_planted_temporary_folder_is_not_taken_over(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    scratch = room.base / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    planted = [scratch / name for name in ("xun", "xun-", "xun-tmp", f"xun-{os.getpid()}", "xun-0")]
    for path in planted:
        path.mkdir()
        path.chmod(0o777)
    assert not room.agent.workspace.tempdir.created
    made = Path(room.call("temp_dir").unwrap())
    assert made not in planted and made.parent == scratch and stat.S_IMODE(made.stat().st_mode) == 0o700
    assert made.stat().st_uid == room.user
    assert not [path for path in planted if any(path.iterdir())]


@row("sec-path-030")
def test_the_temporary_folder_has_the_same_rules(room: Room) -> None:
    made = Path(room.call("temp_dir").unwrap())
    (made / "t").symlink_to(room.out)
    (made / "u").symlink_to(f"{room.w}/../out/secret")
    for path in (f"{made}/t/f", f"{made}/t/secret", f"{made}/../x", f"{made}/.."):
        every_tool_refuses(room, path)
    every_tool_refuses(room, f"{made}/u", but=LINK_ITSELF)
    assert room.asker.asked == []
    room.call("write_file", path=f"{made}/own", content="x").unwrap()
    assert room.asker.asked == [] and (made / "own").read_text() == "x"


@row("sec-path-031")
def test_the_folder_of_a_command_is_in_the_workspace(room: Room) -> None:
    room.link("l", room.out)
    for cwd in ("/", "..", str(room.out), "l", "sub/../..", "~", "/proc/self/cwd"):
        for tool in ("bash", "bash_spawn"):
            room.refused(tool, command="pwd", cwd=cwd)
    assert room.agent.workspace.roots == (str(room.w),) and room.asker.asked == []
    # A cd in the command is no way round the question either.
    room.asker.choice = "deny"
    for command in (
        f"cd {room.out} && cat secret",
        "cd .. && ls",
        "cd l && cat secret",
        "cat ../out/secret",
        "ls -C l/",
    ):
        room.failed("bash", command=command)
        room.failed("shell", command=command)
    assert room.call("bash", command="pwd", cwd=".").unwrap()["stdout"].strip() == str(room.w)


@row("sec-path-032")
def test_a_workspace_that_is_a_link_is_one_place(room: Room) -> None:
    real = room.base / "real/w"
    real.mkdir(parents=True)
    (real / "f").write_text("text\n")
    (room.base / "alias").symlink_to(real)
    room.new_agent(room.base / "alias")
    for path in ("f", f"{real}/f", f"{room.base}/alias/f", f"{room.base}/real/../alias/f"):
        assert room.call("read_file", path=path).unwrap()["path"] == str(real / "f")
    room.call("write_file", path=f"{room.base}/alias/new", content="x").unwrap()
    assert (real / "new").read_text() == "x"
    room.refused("read_file", path=f"{room.base}/w/spare")


@row("sec-path-033")
def test_an_absolute_link_that_stays_inside_is_followed(room: Room) -> None:
    room.file("a/f", "text\n")
    room.link("abs", room.w / "a")
    room.link("rel", "a")
    room.link("up", f"../{room.w.name}/a")
    for name in ("abs", "rel", "up"):
        assert room.call("read_file", path=f"{name}/f").unwrap()["text"] == "text\n"
        room.call("write_file", path=f"{name}/new", content=name).unwrap()
        assert (room.w / "a/new").read_text() == name
        assert room.call("grep", pattern="text", path=name).unwrap()["total"] == 1
