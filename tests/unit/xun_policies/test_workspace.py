"""The workspace: what it lets in, how it opens, what it protects."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from xun_policies.errors import PathOutsideWorkspace, PolicyError
from xun_policies.paths.openat import open_beneath, open_by_parts
from xun_policies.workspace import PathInvalid, ResolvedPath, Workspace


@pytest.fixture
def room(tmp_path: Path) -> Path:
    (tmp_path / "w" / "a").mkdir(parents=True)
    (tmp_path / "w" / "a" / "f.txt").write_text("inside\n")
    (tmp_path / "w2").mkdir()
    (tmp_path / "w2" / "k.txt").write_text("sibling\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("secret\n")
    return tmp_path


def refused(workspace: Workspace, path: str) -> PolicyError:
    with pytest.raises(PathOutsideWorkspace) as caught:
        workspace.resolve(path)
    assert isinstance(caught.value, ValueError)
    assert workspace.resolve(path, raise_on_invalid=False).valid is False
    return caught.value


def test_a_relative_path_starts_at_the_working_folder(room: Path) -> None:
    resolved = Workspace(room / "w").resolve("a/f.txt")
    path = room / "w" / "a" / "f.txt"
    assert resolved == ResolvedPath(path, True, False, True, False, str(path))


@pytest.mark.parametrize("path", ["../w2/k.txt", "{room}/w2/k.txt", "/etc/passwd", "..", "a/../../w2", "{room}/w2"])
def test_what_is_outside_is_refused_with_the_settled_sentence(room: Path, path: str) -> None:
    path = path.format(room=room)
    error = refused(Workspace(room / "w"), path)
    absolute = os.path.normpath(os.path.join(room / "w", path))
    assert str(error) == f"Path {absolute} is not within the agent's workspace"
    assert error.kind == "outside"


def test_links_are_judged_by_where_they_lead(room: Path) -> None:
    w = room / "w"
    (w / "out").symlink_to(room / "out")
    (w / "dangling").symlink_to(room / "out" / "never-made")
    for one, other in (("c1", "c2"), ("c2", "c3"), ("c3", str(room / "out"))):
        (w / one).symlink_to(other)
    (w / "abs").symlink_to(w / "a")
    (w / "rel").symlink_to("a")
    workspace = Workspace(w)
    for path in ("out/secret", "dangling", "c1/new", "out"):
        assert refused(workspace, path).kind == "outside"
    assert workspace.read_bytes("abs/f.txt") == workspace.read_bytes("rel/f.txt") == b"inside\n"
    assert workspace.resolve("abs/f.txt") == workspace.resolve("a/f.txt")
    assert workspace.resolve("out", follow=False).path == w / "out"


def test_odd_spellings(room: Path) -> None:
    workspace = Workspace(room / "w")
    assert workspace.read_bytes(".//a/./f.txt") == b"inside\n"
    assert workspace.resolve("a/").path == room / "w" / "a"
    for path, kind in (
        ("a/f.txt/", "not_dir"),
        ("a/f.txt/.", "not_dir"),
        ("a/f.txt/x", "not_dir"),
        ("gone/../a/f.txt", "missing"),
        ("a/" * 3000 + "f", "io"),
        ("n" * 300, "io"),
        ("", "outside"),
    ):
        assert refused(workspace, path).kind == kind
    assert "255" in str(refused(workspace, "n" * 300))
    assert "4095" in str(refused(workspace, "a/" * 3000 + "f"))


def test_what_system_calls_would_cut_short_is_refused_first(room: Path) -> None:
    workspace = Workspace(room / "w")
    assert "NUL byte" in str(refused(workspace, "a\0/../../etc/passwd"))
    assert "surrogate" in str(refused(workspace, "a\ud800"))
    with pytest.raises(ValueError, match="NUL"):
        Workspace("x\0y")


def test_a_name_that_is_no_utf8_is_a_name(room: Path) -> None:
    name = os.fsdecode(b"caf\xe9")
    Path(room / "w" / name).write_bytes(b"1")
    resolved = Workspace(room / "w").resolve(name)
    assert resolved.display.endswith("caf\\xe9")
    assert Workspace(room / "w").read_bytes(resolved) == b"1"


def test_a_loop_of_links_has_its_own_kind(room: Path) -> None:
    (room / "w" / "l1").symlink_to("l2")
    (room / "w" / "l2").symlink_to("l1")
    error = refused(Workspace(room / "w"), "l1")
    assert error.kind == "symlink_loop"
    assert "too many links" in str(error)


def test_what_exists_outside_is_not_told(room: Path) -> None:
    workspace = Workspace(room / "w")
    (room / "w" / "link").symlink_to(room / "out")
    for path in (f"{room}/out/secret/x", f"{room}/out/gone/../x", "link/secret/x"):
        assert refused(workspace, path).kind == "outside"


def test_magic_links_lead_out(room: Path) -> None:
    workspace = Workspace(room / "w")
    (room / "w" / "p").symlink_to("/proc/self/environ")
    for path in ("/proc/self/root/etc/passwd", "/proc/self/cwd/../etc/passwd", "p"):
        assert refused(workspace, path).kind == "outside"


def test_the_home_folder_is_expanded_before_the_check(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(room / "out"))
    error = refused(Workspace(room / "w"), "~/secret")
    assert str(room / "out" / "secret") in str(error)
    assert Workspace(room / "out").read_bytes("~/secret") == b"secret\n"


def test_a_root_that_is_a_link_is_one_place_by_all_its_names(room: Path) -> None:
    (room / "alias").symlink_to(room / "w")
    workspace = Workspace(room / "alias")
    names = ("a/f.txt", str(room / "alias/a/f.txt"), str(room / "w/a/f.txt"))
    assert {workspace.resolve(name).path for name in names} == {room / "w" / "a" / "f.txt"}


def test_a_missing_working_folder_is_an_error(room: Path) -> None:
    with pytest.raises(PathInvalid, match="does not exist"):
        Workspace(room / "nowhere")


def test_added_folders_are_roots(room: Path) -> None:
    workspace = Workspace(room / "w", add_dirs=[room / "w2"])
    assert workspace.read_bytes(room / "w2" / "k.txt") == b"sibling\n"
    assert workspace.roots == (str(room / "w"), str(room / "w2"))
    workspace.add_dir(room / "out")
    assert workspace.resolve(room / "out" / "secret").in_workdir


def test_the_temporary_folder_is_made_on_first_use_only(room: Path) -> None:
    workspace = Workspace(room / "w")
    assert not workspace.tempdir.created
    path = workspace.tempdir.path
    assert workspace.tempdir.created and stat.S_IMODE(path.stat().st_mode) == 0o700
    inside = workspace.resolve(path / "x")
    assert (inside.in_tempdir, inside.in_workdir, inside.valid) == (True, False, True)
    (path / "t").symlink_to(room / "out")
    refused(workspace, str(path / "t" / "f"))
    workspace.close()
    assert not path.exists()
    refused(workspace, str(path / "x"))


def test_a_temporary_folder_that_was_never_asked_for_is_outside(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(room))
    refused(Workspace(room / "w"), str(room / "xun-abc"))


def test_two_calls_get_one_temporary_folder_and_a_dropped_workspace_takes_it_along(room: Path) -> None:
    workspace = Workspace(room / "w")
    path = workspace.tempdir.path
    assert workspace.tempdir.path == path
    del workspace
    assert not path.exists()


@pytest.mark.parametrize(
    ("path", "protected"),
    [
        (".git/config", True),
        (".git", True),
        ("sub/.git/hooks/x", True),
        (".GIT/Config", True),
        (".XUN/Config.TOML", True),
        (".xun. /config.toml", True),
        (".vscode/tasks.json", True),
        (".idea/x", True),
        (".envrc", True),
        ("sub/.pre-commit-config.yaml", True),
        ("x.code-workspace", True),
        (".g\u200cit/hooks/x", True),
        (".git\u2060/config", True),
        (".git::$INDEX_ALLOCATION/config", True),
        ("GIT~1/config", True),
        (".envrc:x", True),
        (".MCP.json. ", True),
        (".devcontainer.json", True),
        ("home/.config/git/config", True),
        (".Config/Systemd/user/x.service", True),
        (".hg/hgrc", True),
        (".curlrc", True),
        ("web/.npmrc", True),
        (".config/app.json", False),
        ("git~x", False),
        ("Makefile.md", False),
        ("a/f.txt", False),
        (".gitignore", False),
        ("git/config", False),
        ("a/envrc", False),
    ],
)
def test_protected_names(room: Path, path: str, protected: bool) -> None:
    assert Workspace(room / "w").resolve(path).protected is protected


def test_git_folders_by_any_name_are_protected(room: Path) -> None:
    bare = room / "w" / "store.git"
    (bare / "objects").mkdir(parents=True)
    (bare / "refs").mkdir()
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    (room / "w" / ".git").write_text("gitdir: elsewhere/real\n")
    workspace = Workspace(room / "w")
    assert workspace.resolve("store.git/config").protected
    assert workspace.resolve("elsewhere/real/config").protected
    assert not workspace.resolve("elsewhere/other").protected


def test_a_fifo_named_like_the_git_pointer_does_not_block(room: Path) -> None:
    os.mkfifo(room / "w" / ".git")
    assert not Workspace(room / "w").resolve("a/f.txt").protected


def test_the_state_of_xun_itself_is_never_inside(room: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = room / "w" / "home"
    (home / "data").mkdir(parents=True)
    monkeypatch.setenv("XUN_HOME", str(home))
    workspace = Workspace(room / "w")
    for name in ("config.toml", "data/sessions/s.jsonl", "state/trust.json", "data"):
        assert "is not within the agent's workspace: it holds xun's own" in str(refused(workspace, f"home/{name}"))
    assert workspace.resolve("home/notes").valid
    monkeypatch.delenv("XUN_HOME")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("HOME", str(room / "w"))
    refused(Workspace(room / "w"), ".config/xun/credentials")


def test_only_regular_files_are_read(room: Path) -> None:
    os.mkfifo(room / "w" / "p")
    workspace = Workspace(room / "w")
    for path, kind in (("p", "not_regular"), ("a", "is_dir")):
        with pytest.raises(PathInvalid) as caught:
            workspace.read_bytes(path)
        assert caught.value.kind == kind
    with pytest.raises(FileNotFoundError):
        workspace.read_bytes("gone")
    with pytest.raises(PathInvalid, match="the limit is 3"):
        workspace.read_bytes("a/f.txt", limit=3)


def test_writing_makes_folders_keeps_modes_and_leaves_nothing_else(room: Path) -> None:
    workspace = Workspace(room / "w")
    workspace.write_bytes("new/deep/x", b"1")
    assert (room / "w/new/deep/x").read_bytes() == b"1"
    (room / "w/a/f.txt").chmod(0o750)
    os.link(room / "w/a/f.txt", room / "w/hard")
    workspace.write_bytes("a/f.txt", b"2")
    assert stat.S_IMODE((room / "w/a/f.txt").stat().st_mode) == 0o750
    assert (room / "w/hard").read_bytes() == b"inside\n"
    workspace.write_bytes("private", b"3", mode=0o600)
    assert stat.S_IMODE((room / "w/private").stat().st_mode) == 0o600
    assert sorted(os.listdir(room / "w/a")) == ["f.txt"]
    with pytest.raises(PathInvalid, match="is a folder"):
        workspace.write_bytes("a", b"")


def test_a_link_swapped_in_after_the_check_is_refused(room: Path) -> None:
    workspace = Workspace(room / "w")
    resolved = workspace.resolve("a/f.txt")
    (room / "w" / "a").rename(room / "w" / "b")
    (room / "w" / "a").symlink_to(room / "out")
    (room / "out" / "f.txt").write_text("outside\n")
    with pytest.raises(PathOutsideWorkspace, match="became a link"):
        workspace.read_bytes(resolved)
    with pytest.raises(PathOutsideWorkspace):
        workspace.write_bytes(resolved, b"x")
    assert (room / "out" / "f.txt").read_text() == "outside\n"


def test_the_root_has_no_parent_of_ours(room: Path) -> None:
    workspace = Workspace(room / "w")
    root = workspace.resolve(".")
    assert stat.S_ISDIR(workspace.stat(root).st_mode)
    with pytest.raises(PathInvalid) as caught:
        workspace.hold_parent(root)
    assert caught.value.kind == "root"


@pytest.mark.parametrize("kernel", [True, False])
def test_opening_below_a_folder_follows_no_link_in_either_way(room: Path, kernel: bool) -> None:
    w = room / "w"
    (w / "out").symlink_to(room / "out")
    (w / "inner").symlink_to("a")
    root = os.open(w, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fd = open_beneath(root, "a/f.txt", os.O_RDONLY, kernel=kernel)
        assert os.read(fd, 10) == b"inside\n"
        assert not os.get_inheritable(fd)
        os.close(fd)
        for path in ("out/secret", "inner/f.txt", "out", "inner"):
            with pytest.raises(OSError) as caught:
                open_beneath(root, path, os.O_RDONLY, kernel=kernel)
            assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)
        for path in ("../out/secret", "a/../a/f.txt", "/etc/passwd", "", "a//f.txt", "a\0b"):
            with pytest.raises(ValueError):
                open_beneath(root, path, os.O_RDONLY, kernel=kernel)
        made = open_beneath(root, "made", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640, kernel=kernel)
        assert stat.S_IMODE(os.fstat(made).st_mode) == 0o640 & ~os.umask(os.umask(0o022))
        os.close(made)
    finally:
        os.close(root)


def test_the_walk_by_parts_leaves_no_descriptor_open(room: Path) -> None:
    root = os.open(room / "w", os.O_RDONLY | os.O_DIRECTORY)
    before = len(os.listdir("/proc/self/fd"))
    os.close(open_by_parts(root, "a/f.txt", os.O_RDONLY))
    with pytest.raises(FileNotFoundError):
        open_by_parts(root, "a/gone/x", os.O_RDONLY)
    assert len(os.listdir("/proc/self/fd")) == before
    os.close(root)


def test_paths_that_the_settings_exclude_are_protected(tmp_path: Path) -> None:
    folder, added = tmp_path / "work", tmp_path / "added"
    folder.mkdir()
    added.mkdir()
    (folder / "link").symlink_to("deep/a.KEY")
    workspace = Workspace(folder, add_dirs=[added], protect=["*.key"])
    for path in ("a.key", "deep/x.key", str(added / "b.key"), "link"):
        resolved = workspace.resolve(path)
        assert resolved.protected and resolved.excluded and "policy.writes.exclude" in resolved.why_protected, path
    git = workspace.resolve(".git/a.key")
    assert git.protected and not git.excluded and not workspace.resolve("a.txt").protected
    assert not workspace.resolve(workspace.tempdir.path / "a.key").protected
    workspace.close()
