"""A day's work in one go, written once and played on every front end that draws.

Start, stream 500 lines, approve, deny with a reason, edit a command, queue a message, interrupt, resize,
switch the front end, quit, resume, undo: on a real terminal, through the real client, with a local server.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

GUARD = 0.8
"""Seconds until a question takes keys, with some to spare."""

LINES = "\n\n".join(f"streamed line {number:03d}" for number in range(1, 501))


def calls(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_calls": [{"name": name, "arguments": arguments}]}


TURNS = [
    {"text": LINES, "pieces": 200, "event_delay": 0.002},
    calls("bash", command="touch approved.txt"),
    {"text": "The approved command ran."},
    calls("replace", path="notes.txt", old="beta gamma", new="beta delta"),
    {"text": "I leave the file alone."},
    calls("bash", command="touch one.txt"),
    {"text": "The edited command ran."},
    {"text": "Never seen.", "delay": 60},
    {"text": "The queued message is answered."},
    {"text": "Answered at the other width."},
    {"text": "Answered in the other front end."},
    calls("replace", path="notes.txt", old="alpha", new="omega"),
    {"text": "Written."},
]
OPTIONS = ("--sandbox", "off")


class Scenario:
    """The steps, each of which sees its effect before it ends.

    Args:
        start: Starts xun with some arguments on a terminal; returns the terminal.
        server: The model.
        project: The folder that is worked in.
        tui: The front end to begin in.
    """

    def __init__(self, start: Callable[..., Any], server: Any, project: Path, tui: str) -> None:
        self._start, self._server, self._project, self._tui = start, server, project, tui
        self.screen: Any = None

    def play(self) -> None:
        """Play it all."""
        self.begin("fake-model")
        self.stream()
        self.approve()
        self.deny()
        self.edit()
        self.queue_and_interrupt()
        self.resize()
        self.switch()
        self.write()
        self.quit()
        self.begin("resumed", "-c")
        self.resumed()
        self.undo()
        self.quit()

    def begin(self, ready: str, *arguments: str) -> None:
        self.screen = self._start("--tui", self._tui, *OPTIONS, *arguments)
        self.screen.wait(ready)
        assert self.screen.alternate() is (self._tui == "full")

    def say(self, text: str) -> None:
        self.screen.type(text)
        self.screen.press("Enter")

    def question(self, words: str) -> str:
        shown: str = self.screen.wait(words)
        self.screen.wait("this time only")
        time.sleep(GUARD)
        return shown

    def stream(self) -> None:
        self.say("stream 500 lines")
        self.screen.wait("streamed line 500", 40)

    def approve(self) -> None:
        self.say("run it")
        self.question("touch approved.txt")
        self.screen.type("o")
        self.screen.wait("The approved command ran.")
        assert (self._project / "approved.txt").exists()

    def deny(self) -> None:
        before = (self._project / "notes.txt").read_bytes()
        self.say("change the file")
        assert "+beta delta" in self.question("Write notes.txt?")
        self.screen.press("Down", "Tab")
        self.screen.wait("reason ›")
        self.say("it is still needed")
        self.screen.wait("I leave the file alone.")
        assert (self._project / "notes.txt").read_bytes() == before
        assert "it is still needed" in str(self._server.chats[-1].body)

    def edit(self) -> None:
        self.say("run another")
        self.question("touch one.txt")
        self.screen.type("e")
        self.screen.wait("command ›")
        self.screen.press(*["BSpace"] * 7)
        self.say("two.txt")
        self.screen.wait("The edited command ran.")
        assert (self._project / "two.txt").exists() and not (self._project / "one.txt").exists()

    def queue_and_interrupt(self) -> None:
        self.say("think for long")
        self.screen.wait("Esc interrupts")
        self.say("and then this")
        self.screen.wait("queued: and then this")
        self.screen.press("Escape")
        self.screen.wait("The queued message is answered.")
        assert "Never seen." not in self.screen.text()

    def resize(self) -> None:
        self.screen.resize(70, 24)
        self.say("at another width")
        self.screen.wait("Answered at the other width.")
        self.screen.resize(100, 30)

    def switch(self) -> None:
        other = "inline" if self._tui == "full" else "full"
        for name in (other, self._tui, other):
            self.say(f"/tui {name}")
            self.screen.wait_until(lambda name=name: self.screen.alternate() is (name == "full"))
            self.screen.wait("Answered at the other width.")
            time.sleep(0.3)
        self.say("and here")
        self.screen.wait("Answered in the other front end.")

    def write(self) -> None:
        self.say("write it")
        self.question("Write notes.txt?")
        self.screen.type("o")
        self.screen.wait("Written.")
        assert (self._project / "notes.txt").read_text().startswith("omega")

    def quit(self) -> None:
        self.say("/quit")
        assert self.screen.exit_code() == 0
        assert not self.screen.alternate() and "xun -r " in self.screen.text()

    def resumed(self) -> None:
        shown = self.screen.wait("Written.")
        assert "Answered in the other front end." in shown and "> write it" in shown

    def undo(self) -> None:
        self.say("/undo")
        self.screen.wait("Yes")
        time.sleep(GUARD)
        self.screen.type("y")
        self.screen.wait_until(lambda: (self._project / "notes.txt").read_text().startswith("alpha"))
