"""A text in the person's editor: what came back, and every way in which nothing did."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from pathlib import Path

import pytest

from xun_cli.frontend import editing
from xun_cli.frontend.editing import EditorError, edited_text, editor_command


@pytest.fixture
def editor(tmp_path: Path):
    def make(script: str) -> dict[str, str]:
        path = tmp_path / "my editor"
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return {"PATH": os.environ["PATH"], "EDITOR": f"'{path}' --wait", "TMPDIR": str(tmp_path)}

    return make


async def test_the_text_comes_back_changed_byte_for_byte(editor, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    env = editor(
        f"""[ "$1" = --wait ] && stat -c %a "$2" > {seen}; basename "$2" >> {seen}; printf 'x\\r\\n' >> "$2" """
    )
    assert await edited_text("a\r\nb", "src/app.py", env) == "a\r\nbx\r\n"
    assert seen.read_text().split() == ["600", "app.py"]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 3", "exit code 3: nothing was taken"),
        ("kill -9 $$", "signal 9: nothing was taken"),
        (': > "$2"', "left an empty text"),
        ('rm "$2"', "left no file"),
        ("""printf '\\377' > "$2" """, "not UTF-8"),
    ],
)
async def test_a_failure_is_one_sentence(editor, script: str, words: str) -> None:
    with pytest.raises(EditorError, match=words):
        await edited_text("text", "a.txt", editor(script))


async def test_too_much_is_not_taken(editor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editing, "LIMIT", 10)
    with pytest.raises(EditorError, match="more than 10 bytes"):
        await edited_text("text", "a.txt", editor('seq 100 > "$2"'))


async def test_a_cancelled_wait_ends_the_editor_and_leaves_no_file(editor, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    task = asyncio.create_task(edited_text("text", "a.txt", editor(f"echo $$ > {pid}; exec sleep 60")))
    while not (pid.exists() and pid.read_text().strip()):
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state = Path(f"/proc/{pid.read_text().strip()}/stat")
    for _ in range(100):
        if not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            break
        await asyncio.sleep(0.02)
    else:
        raise AssertionError("the editor still runs")


def test_which_editor() -> None:
    path = os.environ["PATH"]
    assert editor_command({"PATH": path, "VISUAL": "cat -u", "EDITOR": "false"}) == [shutil.which("cat"), "-u"]
    assert editor_command({"PATH": path, "VISUAL": " ", "EDITOR": "cat"}) == [shutil.which("cat")]
    with pytest.raises(EditorError, match="VISUAL names 'no-such-editor', which is not there"):
        editor_command({"PATH": path, "VISUAL": "no-such-editor"})
    with pytest.raises(EditorError, match="open quote"):
        editor_command({"PATH": path, "EDITOR": "'x"})
    with pytest.raises(EditorError, match="set \\$VISUAL or \\$EDITOR"):
        editor_command({"PATH": "/nonexistent"})


def test_the_folder_is_private_and_gone(tmp_path: Path, editor, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "mode"
    env = editor(f'stat -c %a "$(dirname "$2")" > {kept}; dirname "$2" >> {kept}; pwd >> {kept}')
    asyncio.run(edited_text("text", "a.txt", env))
    mode, folder, working = kept.read_text().split()
    assert working == folder, "not in the project, whose settings nobody has trusted"
    assert int(mode, 8) == stat.S_IRWXU and not Path(folder).exists()
