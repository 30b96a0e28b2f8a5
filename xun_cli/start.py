"""From options to a running front end: settings, trust, model, then headless or one that a person sees."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from xun.errors import XunError
from xun_cli import exit_codes
from xun_cli.config import load_settings
from xun_cli.options import StartOptions
from xun_cli.places import Places
from xun_cli.settings import Settings
from xun_cli.streams import say
from xun_cli.usage import UsageError

if TYPE_CHECKING:
    from xun_cli.keys import Credentials
    from xun_cli.session.session import Session


def start(options: StartOptions) -> int:
    """Run what *options* ask for and return the exit code.

    Raises:
        UsageError: The options don't fit where xun was started.
    """
    _settle_mode(options)
    places = Places.from_environment()
    try:
        settings = prepare(options, places)
        if options.headless:
            return _headless(options, settings, places)
        return _interactive(options, settings, places)
    except XunError as error:
        code = exit_codes.of_error(error)
        if options.headless:
            from xun_cli.headless import report_failure

            report_failure(options, code, error)
        else:
            say(str(error))
        return code


def _settle_mode(options: StartOptions) -> None:
    stdin_is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if sys.stdin is None:
        options.tui = None
    if not options.headless and not stdin_is_terminal:
        if options.prompt:
            options.headless = True
        elif options.tui != "plain":
            raise UsageError('there is no prompt and no terminal to ask for one: xun -p "PROMPT", or pipe it to xun -p')
    if not options.headless:
        return
    if options.resume == "":
        raise UsageError("-r needs an ID where nobody can choose; `xun sessions list` shows them")
    if options.input == "text" and not options.prompt and stdin_is_terminal:
        raise UsageError('-p needs a prompt: xun -p "PROMPT"')
    if options.input == "stream-json" and options.prompt:
        raise UsageError("--input stream-json takes its prompts from standard input, not from the command line")


def prepare(options: StartOptions, places: Places) -> Settings:
    """Return the settings, with the keys taken out of the environment.

    Raises:
        ConfigError: A setting is wrong.
    """
    from xun_cli import crash
    from xun_cli.keys import take_credentials

    _no_core_dumps()
    credentials = take_credentials(places)
    crash.install(places, credentials)
    if options.trust and not options.safe:
        from xun_cli.trust_question import trust_now

        trust_now(options, places)
    elif not options.headless and not options.safe and sys.stdin.isatty() and sys.stdout.isatty():
        from xun_cli.trust_question import ask_trust

        ask_trust(options, places)
    settings = settings_of(options, places, credentials)
    for warning in settings.warnings:
        say(warning, "warning: ")
    return settings


def settings_of(options: StartOptions, places: Places, credentials: Credentials) -> Settings:
    """Return the settings for the folder of *options*; a key that they name goes out of the environment, too.

    Raises:
        ConfigError: A setting is wrong.
    """
    settings = load_settings(places, options)
    if settings.provider.api_key_env:
        credentials.take([settings.provider.api_key_env])
    settings.credentials = credentials
    return settings


def _no_core_dumps() -> None:
    """A dump of this process, or of a child, would hold its key and what it has read."""
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _headless(options: StartOptions, settings: Settings, places: Places) -> int:
    from xun_cli.headless import run_headless
    from xun_cli.model_choice import choose_model
    from xun_cli.prompt_input import Prompt, whole_prompt

    _settle_resume(options, places)
    choose_model(options, settings, interactive=False)  # fails here, before anything heavy is loaded
    prompt = Prompt("")
    if options.input == "text":
        prompt = whole_prompt(options.prompt, say)
        if not prompt.text.strip():
            raise UsageError("there is no prompt, neither as an argument nor on standard input")
    return run_headless(options, settings, prompt, builder(options, settings, places))


def _interactive(options: StartOptions, settings: Settings, places: Places) -> int:
    from xun_cli.model_choice import choose_model, needs_offer

    if needs_offer(options, settings) and sys.stdin.isatty() and sys.stdout.isatty():
        from xun.models.catalog import probe_loopback
        from xun_cli.local_offer import offer

        offer(settings, places, probe_loopback())
    if note := choose_model(options, settings, interactive=True).note:
        say(note, "note: ")
    _settle_resume(options, places, settings)
    _warn_of_folder(options)
    build = builder(options, settings, places)
    from xun_cli.driver import Start, run_front_ends

    first = "plain" if wants_plain(settings) else settings.ui.mode
    return run_front_ends(Start(options, settings, places, build), first)


def builder(options: StartOptions, settings: Settings, places: Places) -> Callable[[], Session]:
    """Return what builds the session of a start; it blocks."""

    def build() -> Session:
        from xun_cli.compose import build_session
        from xun_cli.session.store import prune

        session = build_session(options, settings, interactive=not options.headless)
        if settings.session.save:
            prune(places, options.cwd, settings.session.keep_days)
        return session

    return build


def wants_plain(settings: Settings) -> bool:
    """Tell whether this terminal, or the settings, ask for the line-based front end."""
    if settings.ui.mode == "plain" or settings.ui.screen_reader or os.environ.get("ACCESSIBLE"):
        return True
    from xun_cli.frontend.host import can_draw

    return not can_draw()


def _settle_resume(options: StartOptions, places: Places, settings: Settings | None = None) -> None:
    """Replace -c and -r by the id of one session; with *settings* a person may choose it.

    Raises:
        UsageError: There is no such session.
    """
    if not options.continue_ and options.resume is None:
        return
    from xun_cli.session.store import SessionError, find, latest, list_sessions

    try:
        if options.continue_:
            info = latest(places, options.cwd)
            if info is None:
                raise UsageError(f"-c: there is no session of {options.cwd} yet")
        elif options.resume == "":
            from xun_cli.session_picker import pick

            wide = settings is not None and not wants_plain(settings)
            info = pick(list_sessions(places, options.cwd), settings if wide else None, color=options.color)
        else:
            info = find(places, options.cwd, options.resume or "")
    except SessionError as error:
        raise UsageError(str(error)) from None
    options.continue_ = False
    options.resume = info.id if info is not None else None
    options.fork = options.fork and info is not None


def _warn_of_folder(options: StartOptions) -> None:
    if str(options.cwd) in (os.path.expanduser("~"), os.path.abspath(os.sep)):
        say(
            f"working in {options.cwd}: everything below it is open to the tools; a project's folder is safer", "note: "
        )
