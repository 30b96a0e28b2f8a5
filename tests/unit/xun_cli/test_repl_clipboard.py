"""Copying says by which way, and never claims what it can't know."""

from __future__ import annotations

import base64
from pathlib import Path

from xun_cli.frontend.clipboard import OSC52_LIMIT, copy_text
from xun_cli.frontend.notify import Notifier


def copied(text: str, **env: str) -> tuple[str, str]:
    written: list[str] = []
    return copy_text(text, written.append, lambda: None, env), "".join(written)


def test_osc_52_is_named_and_holds_the_text() -> None:
    said, written = copied("héllo")
    assert "OSC 52" in said and "not every terminal" in said
    payload = written.removeprefix("\x1b]52;c;").removesuffix("\x07")
    assert base64.b64decode(payload).decode() == "héllo"


def test_tmux_gets_it_wrapped() -> None:
    assert copied("x", TMUX="1")[1].startswith("\x1bPtmux;\x1b\x1b]52;c;")


def test_too_much_is_refused_with_a_way_out() -> None:
    said, written = copied("x" * (OSC52_LIMIT + 1))
    assert said.startswith("Not copied") and "/export" in said and written == ""


def test_a_program_of_the_desktop_is_preferred_and_its_failure_is_not_hidden(tmp_path: Path, monkeypatch) -> None:
    program = tmp_path / "wl-copy"
    program.write_text(f'#!/bin/sh\nexec /bin/cat > "{tmp_path}/got"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert copied("text", WAYLAND_DISPLAY="w") == ("Copied 4 characters with wl-copy.", "")
    assert (tmp_path / "got").read_text() == "text"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert "OSC 52" in copied("text", WAYLAND_DISPLAY="w")[0]
    assert "OSC 52" in copied("text", WAYLAND_DISPLAY="w", SSH_CONNECTION="1")[0]


class Paper:
    def __init__(self) -> None:
        self.text = ""

    def write_raw(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def test_a_notification_only_when_nobody_looks() -> None:
    paper = Paper()
    notifier = Notifier("auto", "unfocused", paper.write_raw)
    notifier.waiting("x")
    notifier.focused = True
    notifier.waiting("x")
    assert paper.text == ""
    notifier.focused = False
    notifier.waiting("x")
    assert paper.text == "\x07"


def test_osc_9_holds_no_foreign_control() -> None:
    paper = Paper()
    Notifier("osc9", "always", paper.write_raw).waiting("a\x07\x1b]52;c;Q\x07")
    Notifier("osc9", "always", paper.write_raw).waiting("7;calc")
    assert paper.text == "\x1b]9;a<U+0007><U+001B>]52;c;Q<U+0007>\x07\x1b]9;xun: 7;calc\x07"


def test_off_is_off() -> None:
    paper = Paper()
    notifier = Notifier("off", "always", paper.write_raw)
    notifier.start()
    notifier.waiting("x")
    assert paper.text == ""
