"""What `xun doctor` and ``/doctor`` look at; nothing is changed, and no key is shown."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from xun.errors import ConfigError, XunError
from xun_cli.keys import Credentials
from xun_cli.places import Places
from xun_cli.settings import Settings
from xun_cli.toml_file import short
from xun_policies.paths.programs import find_program

if TYPE_CHECKING:
    from xun_cli.options import StartOptions

ENDPOINT_SECONDS = 5.0
"""How long the model's server may take to list its models."""


EXTRAS = (
    ("acp", "acp", "agent-client-protocol"),
    ("browser", "playwright", "playwright"),
    ("images", "PIL", "pillow"),
    ("mcp", "mcp", "mcp"),
)
"""The optional parts, what each is imported as, and what is installed for it."""


@dataclass(frozen=True, slots=True)
class Check:
    """One finding.

    Attributes:
        name: What was looked at.
        status: ok; warn: xun works with less; bad: it will not work like this.
        text: What was found, and the way out where it is not ok.
    """

    name: str
    status: Literal["ok", "warn", "bad"]
    text: str


def diagnose(
    places: Places, settings: Settings, options: StartOptions, *, online: bool = True, terminal: bool = True
) -> list[Check]:
    """Return all findings.

    Args:
        places: The user's files.
        settings: The settings in force.
        options: The start that is looked at.
        online: Ask the configured server for its models, and no other.
        terminal: Look at the terminal and ask it what it can do; not while a front end draws on it.
    """
    return [
        *_program_checks(options.cwd, settings.bash.shell),
        _sandbox_check(settings, options.cwd),
        *(_terminal_checks() if terminal else ()),
        *_settings_checks(places, settings),
        *_storage_checks(places, options.cwd),
        _search_check(settings),
        *_model_checks(settings, options, online),
    ]


def _program_checks(cwd: Path, shell: str) -> Iterator[Check]:
    from xun_cli._version import __version__

    version = platform.python_version()
    yield Check("xun", "ok", f"{__version__}, Python {version} on {platform.system()} {platform.release()}")
    for name, need, why in (
        ("bash", "bad" if os.name == "posix" else "warn", "the bash tool needs it"),
        ("git", "warn", "branch, /diff --git and the file list by git need it"),
        ("rg", "ok", "not needed: xun searches by itself"),
    ):
        found = find_program(name, [str(cwd)])
        if name == "bash" and shell:
            yield _shell_check(shell, cwd)
            continue
        status: Literal["ok", "warn", "bad"] = "ok" if found or need == "ok" else "bad" if need == "bad" else "warn"
        yield Check(name, status, found or f"not found in PATH ({why})")
    yield Check("shell", "ok", os.environ.get("SHELL", "unknown"))
    yield _extras_check()


def _shell_check(shell: str, cwd: Path) -> Check:
    from xun_cli.sandboxing import checked_shell

    try:
        return Check("bash", "ok", f"{checked_shell(shell, [os.path.realpath(cwd)])} (bash.shell)")
    except XunError as error:
        return Check("bash", "bad", str(error))


def _extras_check() -> Check:
    from importlib.util import find_spec

    missing = [(extra, package) for extra, name, package in EXTRAS if find_spec(name) is None]
    text = ", ".join(extra for extra, name, _ in EXTRAS if find_spec(name) is not None) or "none"
    if missing:
        wanted = " ".join(package for _, package in missing)
        text += f"; not installed: {', '.join(extra for extra, _ in missing)} (pip install {wanted})"
    return Check("extras", "ok", text)


def _sandbox_check(settings: Settings, cwd: Path) -> Check:
    """Try the walls as a session in *cwd* would."""
    wanted = settings.sandbox
    if wanted.mode == "off":
        return Check(
            "sandbox", "warn", "off: commands can do all that you can; --sandbox auto, or sandbox.mode, is safer"
        )
    from xun.environment.sandbox import SandboxEnvironment
    from xun_policies.workspace import Workspace

    workspace = Workspace(cwd)
    environment = SandboxEnvironment(workspace, network=wanted.network, writable=wanted.writable)
    try:
        wall, reason = environment.wall, environment.reason
    except XunError as error:
        return Check("sandbox", "bad", str(error))
    finally:
        environment.close()
        workspace.close()
    if wall == "none":
        return Check("sandbox", "bad" if wanted.mode == "required" else "warn", f"none: {reason}")
    network = "with the network" if wanted.network else "the network for approved commands only"
    return Check("sandbox", "ok" if wall == "bubblewrap" else "warn", f"{wall}, {network}: {reason}")


def _terminal_checks() -> Iterator[Check]:
    from xun_cli.terminal_query import ask_terminal

    ends = {name: getattr(sys, name) for name in ("stdin", "stdout", "stderr")}
    ttys = [name for name, stream in ends.items() if stream is not None and stream.isatty()]
    yield Check("tty", "ok", f"terminal on {', '.join(ttys)}" if ttys else "none: xun works headless or plain here")
    size = shutil.get_terminal_size()
    term = os.environ.get("TERM", "")
    mux = "tmux" if os.environ.get("TMUX") else "screen" if os.environ.get("STY") else "none"
    colour = "off (NO_COLOR)" if os.environ.get("NO_COLOR") else os.environ.get("COLORTERM") or "16 colours"
    dumb = term in ("", "dumb", "unknown")
    small = size.columns < 40 or size.lines < 10
    text = f"TERM={term or '(unset)'}, {size.columns}x{size.lines}, colour {colour}, multiplexer {mux}"
    yield Check("terminal", "warn" if ttys and (dumb or small) else "ok", text)
    answers = ask_terminal()
    if answers is not None:
        words = ", ".join(f"{name} {'yes' if yes else 'no'}" for name, yes in answers.items())
        yield Check("terminal answers", "ok", words or "none within 0.1 s")


def _settings_checks(places: Places, settings: Settings) -> Iterator[Check]:
    exists = places.config_file.exists()
    yield Check("settings", "ok", short(places.config_file) if exists else f"{short(places.config_file)} (none yet)")
    own = {key: origin for key, origin in settings.origins.items() if origin != "built in"}
    if own:
        yield Check("values set", "ok", "; ".join(f"{key} from {origin}" for key, origin in sorted(own.items())))
    for warning in settings.warnings:
        yield Check("settings", "warn", warning)


def _storage_checks(places: Places, cwd: Path) -> Iterator[Check]:
    from xun_cli.places import private_dir

    for name, folder, root in (
        ("sessions", places.sessions_dir(cwd), places.data),
        ("state", places.state, places.state),
    ):
        try:
            private_dir(folder, root)
            with tempfile.TemporaryFile(dir=folder):
                pass
            yield Check(name, "ok", f"{short(folder)} can be written")
        except OSError as error:
            yield Check(name, "bad", f"{short(folder)} can't be written: {error.strerror}; free it or set XUN_HOME")
    crashes = sorted(places.crash_dir.glob("*.txt")) if places.crash_dir.is_dir() else []
    yield Check("last crash", "warn" if crashes else "ok", short(crashes[-1]) if crashes else "none")


def _search_check(settings: Settings) -> Check:
    from xun_cli.search_engine import described

    try:
        return Check("web search", "ok", described(settings))
    except XunError as error:
        # Not needed, unless an engine was asked for that can't be used.
        return Check("web search", "warn" if settings.search.engine else "ok", f"none: {error}")


def _model_checks(settings: Settings, options: StartOptions, online: bool) -> Iterator[Check]:
    from xun_cli.model_choice import choose_model

    try:
        choice = choose_model(options, settings, interactive=False)
    except ConfigError as error:
        yield Check("model", "warn", str(error))
        return
    if choice.kind != "openai":
        yield Check("model", "ok", choice.name or choice.kind)
        return
    where = choice.base_url or "https://api.openai.com/v1"
    yield Check("model", "ok", f"{choice.name or '(the first that the server lists)'} at {where}")
    key_text = f"present, from {choice.key_source}" if choice.key_source else "none"
    yield Check("key", "ok" if choice.key_source or choice.base_url else "bad", key_text)
    if online:
        yield _endpoint(where, settings, choice.name)


def _endpoint(where: str, settings: Settings, model: str) -> Check:
    import asyncio

    from xun.models.catalog import list_models

    credentials = settings.credentials or Credentials()
    key, source = credentials.find(settings.provider.base_url, settings.provider.api_key_env)
    try:
        names = asyncio.run(list_models(where, key or None, ENDPOINT_SECONDS, key_source=source))
    except XunError as error:
        return Check("endpoint", "bad", str(error))
    if model and names and model not in names:
        return Check("endpoint", "warn", f"{len(names)} models, but {model} is not among them")
    return Check("endpoint", "ok", f"reachable, {len(names)} model{'s' * (len(names) != 1)}")
