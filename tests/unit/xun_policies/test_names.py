from __future__ import annotations

import os
from pathlib import Path

import pytest

from xun_policies.errors import PathOutsideWorkspace
from xun_policies.paths.names import as_there, shown_name
from xun_policies.workspace import Workspace


@pytest.mark.parametrize("name", [b"caf\xe9", b"\xff\xfe", b"\xed\xa0\x80", "日\xe9".encode() + b"\x80", b"a\\b\xf0"])
def test_what_is_shown_leads_back(tmp_path: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    Path(os.fsdecode(path)).write_text("x")
    shown = shown_name(os.fsdecode(path))
    shown.encode()
    assert as_there(shown) == os.fsdecode(path)
    resolved = Workspace(tmp_path).resolve(shown)
    assert os.fsencode(resolved.path) == path and resolved.shown == shown
    resolved.display.encode()


def test_a_name_that_is_written_so_comes_first_and_new_names_stay_as_written(tmp_path: Path) -> None:
    (tmp_path / "a\\xe9").write_text("as written")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xe9")).write_text("byte")
    workspace = Workspace(tmp_path)
    assert workspace.read_bytes("a\\xe9") == b"as written"
    assert workspace.resolve("new\\xe9").path.name == "new\\xe9"
    assert workspace.resolve("a\\x41").path.name == "a\\x41", "letters have no escape"


def test_it_is_no_way_out(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/o\xe9")).write_text("outside")
    os.symlink(tmp_path, os.fsencode(root) + b"/l\xe9")
    workspace = Workspace(root)
    for path in ("../o\\xe9", "l\\xe9/o\\xe9", f"{tmp_path}/o\\xe9", "\\xae\\xae/\\xaf"):
        if path.startswith("\\"):
            assert workspace.resolve(path).path.is_relative_to(root)
        else:
            with pytest.raises(PathOutsideWorkspace):
                workspace.resolve(path)


def test_a_lone_surrogate_is_no_name() -> None:
    assert shown_name("a\ud800") == "a?"
