"""``xun setup``: a model in three answers, by lines, so that it works on any terminal and through a pipe."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xun.errors import ConfigError, XunError
from xun_cli.config_write import set_value
from xun_cli.exit_codes import NOT_CONFIGURED
from xun_cli.keys import KEY_VARIABLES, Credentials, store_key, take_credentials
from xun_cli.places import Places
from xun_cli.subcommands.common import Parser, fail, print_text
from xun_cli.toml_file import short

COMMAND = "xun setup"

OPENAI = "https://api.openai.com/v1"
_SHOWN = 12  # models that are listed by number


class _Left(Exception):
    """The person left the wizard."""


@dataclass(slots=True)
class _Answers:
    base_url: str = ""
    key: str = ""
    key_source: str = ""
    model: str = ""


def main(argv: list[str]) -> int:
    """Run ``xun setup`` with the arguments *argv*."""
    parser = Parser(prog=COMMAND, description="Choose a server, a key and a model; the answers go into your settings.")
    parser.add_argument("--no-test", action="store_true", help="do not make the one-word test request (default: tests)")
    found = parser.parse_args(argv)
    places = Places.from_environment()
    credentials = take_credentials(places)
    answers = _Answers()
    try:
        _ask_server(answers)
        _ask_key(answers, credentials)
        _ask_model(answers)
        if not found.no_test:
            _test(answers)
        _save(answers, places)
    except (_Left, EOFError, KeyboardInterrupt):
        variable = KEY_VARIABLES[1]
        print_text("")
        return fail(COMMAND, f"left, nothing is changed. Without it: export {variable}=...", NOT_CONFIGURED)
    except XunError as error:
        return fail(COMMAND, f"{error} (nothing is changed)", NOT_CONFIGURED)
    except OSError as error:
        return fail(COMMAND, f"the answers could not be saved: {error}", NOT_CONFIGURED)
    print_text(f"Saved in {short(places.config_file)}. Start with: xun")
    return 0


def _ask(question: str) -> str:
    sys.stdout.write(question)
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    if not sys.stdin.isatty():
        sys.stdout.write("\n")
    answer = line.strip()
    if answer in ("\x1b", "q", "quit"):
        raise _Left
    return answer


def _ask_server(answers: _Answers) -> None:
    from xun.models.catalog import probe_loopback
    from xun.models.wire import checked_base_url

    found = probe_loopback()
    print_text("1 of 3: where is the model? (q leaves)")
    print_text(f"  1  OpenAI, {OPENAI}")
    for number, endpoint in enumerate(found, 2):
        print_text(f"  {number}  on this machine, {endpoint.base_url} ({', '.join(endpoint.models[:3])})")
    print_text("  or type the URL of an OpenAI-compatible server, such as https://host/v1")
    choices = [OPENAI, *(endpoint.base_url for endpoint in found)]
    while True:
        answer = _ask("Server [1]: ") or "1"
        if answer.isascii() and answer.isdigit():
            if 1 <= int(answer) <= len(choices):
                answers.base_url = choices[int(answer) - 1]
                return
            print_text(f"Type a number from 1 to {len(choices)}, or a URL.")
            continue
        try:
            answers.base_url = checked_base_url(answer)
            return
        except ConfigError as error:
            print_text(str(error))


def _ask_key(answers: _Answers, credentials: Credentials) -> None:
    from xun.models.wire import host_of, is_loopback

    print_text("2 of 3: the key")
    local = is_loopback(host_of(answers.base_url))
    key, source = ("", "") if local else credentials.find(answers.base_url)
    if key:
        print_text(f"There is one in {source}.")
        answers.key, answers.key_source = key, source
        if _ask("Use it? [Y/n]: ").lower() in ("", "y", "yes"):
            return
    hint = "nothing when the server wants none" if local or answers.base_url != OPENAI else "from your account there"
    answers.key, answers.key_source = _secret(f"Key ({hint}; it is not shown): "), ""


def _secret(question: str) -> str:
    if sys.stdin.isatty():
        import getpass

        answer = getpass.getpass(question).strip()
    else:
        answer = _ask(question)
    if answer == "\x1b":
        raise _Left
    return answer


def _ask_model(answers: _Answers) -> None:
    import asyncio

    from xun.models.catalog import list_models

    print_text("3 of 3: the model")
    names: tuple[str, ...] = ()
    try:
        names = asyncio.run(list_models(answers.base_url, answers.key or None))
    except XunError as error:
        print_text(f"The server did not list its models: {error}")
    for number, name in enumerate(names[:_SHOWN], 1):
        print_text(f"  {number}  {name}")
    if len(names) > _SHOWN:
        print_text(f"  and {len(names) - _SHOWN} more")
    default = f" [{names[0]}]" if names else ""
    while not answers.model:
        answer = _ask(f"Model, a number or a name{default}: ")
        if not answer and names:
            answers.model = names[0]
        elif answer.isascii() and answer.isdigit() and 1 <= int(answer) <= min(len(names), _SHOWN):
            answers.model = names[int(answer) - 1]
        else:
            answers.model = answer


def _test(answers: _Answers) -> None:
    import asyncio

    from xun.messages import Message
    from xun.models.base import ModelRequest
    from xun.models.faults import Secret
    from xun.models.openai import OpenAIModel

    print_text(f"Asking {answers.model} for one word ...")
    key = Secret(answers.key, answers.key_source or "the key that you typed") if answers.key else ""
    model = OpenAIModel(answers.model, base_url=answers.base_url, api_key=key)

    async def ask() -> None:
        try:
            request = ModelRequest([Message("user", "Answer with the one word: ready")], purpose="probe")
            async for _ in model.stream(request):
                pass
        finally:
            await model.aclose()

    asyncio.run(ask())
    print_text("It answers.")


def _save(answers: _Answers, places: Places) -> None:
    if answers.key and answers.key_source in ("", str(places.credentials_file)):
        store_key(places, answers.base_url, answers.key)
        print_text(f"The key is in {short(places.credentials_file)}, readable by you alone.")
    elif answers.key_source:
        set_value(places.config_file, "provider.api_key_env", answers.key_source)
    set_value(places.config_file, "provider.base_url", answers.base_url)
    set_value(places.config_file, "model", answers.model)
