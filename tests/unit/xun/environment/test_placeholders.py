"""What a mount is put on: shared between several xun in one folder, and cleared up after one that was killed."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from xun.environment.shield import Shield


def killed(tmp_path: Path) -> None:
    """Leave what a xun leaves that is killed while a command runs."""
    child = os.fork()
    if child == 0:
        shield = Shield()
        shield.enter()
        shield.pins([str(tmp_path)])
        os._exit(0)
    os.waitpid(child, 0)


def test_the_last_of_several_removes_what_the_first_made(tmp_path: Path) -> None:
    first, second = Shield(), Shield()
    for shield in (first, second):
        shield.enter()
        assert {pin.path for pin in shield.pins([str(tmp_path)])} == {f"{tmp_path}/.git", f"{tmp_path}/.xun"}
    before = os.stat(tmp_path / ".git").st_ino
    first.leave()
    assert os.stat(tmp_path / ".git").st_ino == before and (tmp_path / ".xun").is_dir()
    second.leave()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_one_left_goes_with_the_next_command(tmp_path: Path) -> None:
    killed(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", ".xun"]
    shield = Shield()
    shield.enter()
    assert len(shield.pins([str(tmp_path)])) == 2
    shield.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_a_repository_too(tmp_path: Path) -> None:
    git = tmp_path / ".git"
    for name in ("objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    killed(tmp_path)
    first, second = Shield(), Shield()
    for shield in (first, second):
        shield.enter()
        assert f"{git}/config" in {pin.path for pin in shield.pins([str(tmp_path)])}
    first.leave()
    assert (git / "config").exists() and (git / "hooks").exists()
    second.leave()
    assert sorted(path.name for path in git.iterdir()) == ["HEAD", "objects", "refs"]


def test_one_that_is_taken_away_meanwhile_is_made_anew(tmp_path: Path) -> None:
    shield = Shield()
    for _ in range(2):
        shield.enter()
        assert all(os.path.isdir(pin.path) for pin in shield.pins([str(tmp_path)]))
        (tmp_path / ".xun").rmdir()
    (tmp_path / ".xun").mkdir()
    shield.pins([str(tmp_path)])
    for _ in range(2):
        shield.leave()
    assert [path.name for path in tmp_path.iterdir()] == [".xun"], "another one, made by somebody else"


def test_what_a_person_made_or_filled_stays(tmp_path: Path) -> None:
    (tmp_path / ".xun").mkdir()
    shield = Shield()
    shield.enter()
    shield.pins([str(tmp_path)])
    (tmp_path / ".git" / "HEAD").write_text("x")
    shield.leave()
    assert (tmp_path / ".xun").is_dir() and (tmp_path / ".git" / "HEAD").exists()


def test_many_at_once_neither_fail_nor_leave_anything(tmp_path: Path) -> None:
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(60):
                shield = Shield()
                shield.enter()
                pins = shield.pins([str(tmp_path)])
                assert len(pins) == 2 and all(os.path.isdir(pin.path) for pin in pins)
                shield.leave()
        except BaseException as exc:
            failed.append(exc)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and list(tmp_path.iterdir()) == []
