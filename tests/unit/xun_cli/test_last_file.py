"""The file of --last: found at the start, written at the end, and led nowhere in between."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from xun_cli.last_file import LastFile
from xun_cli.usage import UsageError


def test_a_file_keeps_its_mode_and_a_link_of_the_person_is_followed(tmp_path: Path):
    (tmp_path / "real.txt").write_text("before")
    (tmp_path / "real.txt").chmod(0o640)
    (tmp_path / "link.txt").symlink_to("real.txt")
    file = LastFile(str(tmp_path / "link.txt"))
    for text in ("one", "two \udcff"):
        file.write(text)
    file.close()
    assert (tmp_path / "real.txt").read_text() == "two ?" and (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").stat().st_mode & 0o777 == 0o640
    assert sorted(item.name for item in tmp_path.iterdir()) == ["link.txt", "real.txt"]


def test_links_that_come_later_are_not_followed(tmp_path: Path):
    for name in ("work", "elsewhere"):
        (tmp_path / name).mkdir()
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    file = LastFile(str(tmp_path / "work" / "out.txt"))
    (tmp_path / "work" / "out.txt").symlink_to(outside)
    file.write("one")
    assert outside.read_text() == "mine" and (tmp_path / "work" / "out.txt").read_text() == "one"
    (tmp_path / "work").rename(tmp_path / "moved")
    (tmp_path / "work").symlink_to(tmp_path / "elsewhere")
    file.write("two")
    file.close()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (tmp_path / "moved" / "out.txt").read_text() == "two"


def test_a_pipe_is_written_to_while_it_is_that_pipe(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    file = LastFile(str(pipe))
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    file.write("the answer")
    reader.join(10)
    assert got == ["the answer"]
    pipe.unlink()
    pipe.write_text("a file")
    with pytest.raises(OSError, match="another one"):
        file.write("more")
    file.close()
    assert pipe.read_text() == "a file"


@pytest.mark.parametrize("path", [".", "missing/out.txt", "a\0b"])
def test_what_can_not_be_written_is_a_wrong_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="--last"):
        LastFile(path)
