"""StartOptions: what a command line asks for, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class StartOptions:
    """One start of xun.

    Attributes:
        prompt: The first input; "" for none.
        cwd: The folder to work in, absolute.
        resume: The id or name of a session to go on with; "" asks which, None starts a new one.
        continue_: Go on with the last session of this folder.
        fork: Go on in a copy, and leave the old session as it is.
        model: A model's name, or ``scripted:FILE``; None leaves it to the settings.
        mode: ask, plan or auto-edit; None leaves it to the settings.
        sandbox: auto, required or off; None leaves it to the settings.
        demo: Use the offline demo model.
        auto_confirm: Answer ordinary questions with their default.
        trust: Trust this folder's project settings from now on.
        safe: No project settings, extensions or hooks.
        add_dirs: More folders that the tools may use.
        allow_command: Command prefixes that run unasked, each as shell words.
        allow_write: Paths that may be written unasked; a folder covers all below it.
        images: Files with images that go with the first message; taken out once they are attached.
        policy_file: A policy in TOML, as ``xun policy export`` writes it.
        max_steps: The most model requests of one turn.
        max_cost: The most US dollars of the session.
        timeout: The most seconds of a headless run.
        schema_file: A JSON schema that the answer must meet.
        no_session: Store nothing.
        config: Settings as KEY=VALUE, in order.
        profile: The name of a profile, or "".
        headless: Nobody can be asked.
        output: text, json or stream-json (headless).
        input: text or stream-json (headless).
        on_ask: deny or fail: what a question does when nobody can be asked.
        last: A file that gets the answer's text (headless); "" for none.
        tui: inline, full or plain; None leaves it to the settings.
        screen_reader: Never move the cursor, print each line once.
        color: False for no colour at all.
        debug: Keep a log of events in the state folder.
    """

    prompt: str = ""
    cwd: Path = field(default_factory=Path.cwd)
    resume: str | None = None
    continue_: bool = False
    fork: bool = False
    model: str | None = None
    mode: str | None = None
    sandbox: str | None = None
    demo: bool = False
    auto_confirm: bool = False
    trust: bool = False
    safe: bool = False
    add_dirs: list[str] = field(default_factory=list)
    allow_command: list[str] = field(default_factory=list)
    allow_write: list[str] = field(default_factory=list)
    images: list[str] = field(default_factory=list)
    policy_file: str | None = None
    max_steps: int | None = None
    max_cost: float | None = None
    timeout: float | None = None
    schema_file: str | None = None
    no_session: bool = False
    config: list[str] = field(default_factory=list)
    profile: str = ""
    headless: bool = False
    output: str = "text"
    input: str = "text"
    on_ask: str = "deny"
    last: str = ""
    tui: str | None = None
    screen_reader: bool = False
    color: bool = True
    debug: bool = False
