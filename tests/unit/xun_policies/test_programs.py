"""The one search for programs: PATH without relative folders, and nothing that a project could have put there."""

from __future__ import annotations

from pathlib import Path

import pytest

from xun_policies.paths.programs import find_program, leads_into
from xun_policies.paths.real import within


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    program(folder / "bin" / "tool")
    return folder


def search(project: Path, *folders: object) -> str | None:
    return find_program("tool", [str(project)], ":".join(map(str, folders)))


def test_the_first_on_path_that_the_project_has_not_brought_is_found(project: Path, tmp_path: Path) -> None:
    good = program(tmp_path / "usr" / "tool")
    assert search(project, project / "bin", good.parent) == str(good)
    assert search(project, project / "bin") is None
    assert search(project, "", ".", "project/bin", good.parent) == str(good)


def test_links_into_the_project_do_not_count_whatever_they_are_on(project: Path, tmp_path: Path) -> None:
    good = program(tmp_path / "usr" / "tool")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "tool").symlink_to(project / "bin" / "tool")
    (tmp_path / "folder").symlink_to(project / "bin")
    assert search(project, linked, tmp_path / "folder") is None
    # The project could point this one elsewhere tomorrow, though today it leads out again.
    (project / "out").mkdir()
    (project / "out" / "tool").symlink_to(good)
    (tmp_path / "through").symlink_to(project / "out")
    assert search(project, tmp_path / "through") is None


def test_what_is_no_bare_name_or_can_not_be_run_is_not_found(project: Path, tmp_path: Path) -> None:
    program(tmp_path / "usr" / "tool").chmod(0o644)
    assert search(project, tmp_path / "usr") is None
    assert find_program(str(project / "bin" / "tool"), [], str(project / "bin")) is None
    assert find_program("bin/tool", [], str(project)) is None


def test_a_workspace_that_is_the_root_leaves_the_programs_of_the_system(project: Path) -> None:
    assert not leads_into("/bin/sh", ["/"])
    assert leads_into(f"{project}/x/../bin/tool", [str(project)])
    assert within("/a/b", "/a") and within("/a", "/a") and within("/a", "/") and not within("/ab", "/a")
