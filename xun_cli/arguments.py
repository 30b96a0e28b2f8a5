"""The command line of ``xun`` itself: what it takes. Its help is in `xun_cli.usage`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from xun_cli.options import StartOptions
from xun_cli.usage import COMMANDS, UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def make_parser() -> ArgumentParser:
    """Return the parser of ``xun [OPTIONS] [PROMPT]``; it raises `UsageError` and never prints."""
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise UsageError(message)

    parser = Parser(prog="xun", add_help=False, allow_abbrev=False)
    add = parser.add_argument
    add("words", nargs="*")
    add("-h", "--help", action="store_true")
    add("-V", "--version", action="store_true")
    add("-p", "--print", action="store_true", dest="headless")
    add("-c", "--continue", action="store_true", dest="continue_")
    add("-r", "--resume", nargs="?", const="", metavar="ID")
    add("-C", dest="cwd", default=".", metavar="DIR")
    add("-m", "--model")
    add("--mode", choices=("ask", "plan", "auto-edit"))
    add("--sandbox", choices=("auto", "required", "off"))
    add("--tui", choices=("inline", "full", "plain"))
    add("--output", choices=("text", "json", "stream-json"), default="text")
    add("--input", choices=("text", "stream-json"), default="text")
    add("--on-ask", choices=("deny", "fail"), default="deny")
    add("--max-steps", type=_whole)
    add("--max-cost", type=_positive)
    add("--timeout", type=_positive)
    add("--no-color", action="store_false", dest="color")
    for flag in ("fork", "no-session", "demo", "safe", "trust", "auto-confirm", "screen-reader", "debug"):
        add(f"--{flag}", action="store_true")
    add("-i", "--image", action="append", default=[], dest="images")
    for flag, name in (("add-dir", "add_dirs"), ("allow-command", ""), ("allow-write", ""), ("config", "")):
        add(f"--{flag}", action="append", default=[], dest=name or flag.replace("-", "_"))
    add("--profile", default="")
    add("--policy", dest="policy_file")
    add("--schema", dest="schema_file")
    add("--last", default="")
    return parser


def _whole(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:
        raise ValueError
    return value


_whole.__name__, _positive.__name__ = "whole number", "positive number"


def parse(argv: list[str], *, file_prompt: bool = False) -> tuple[StartOptions, Namespace]:
    """Return the options of *argv*; with *file_prompt* its one word is the file that holds the prompt.

    Raises:
        UsageError: The command line is wrong.
    """
    found = make_parser().parse_args(argv)
    if len(found.words) > 1:
        raise UsageError(_too_many(found.words))
    prompt = found.words[0] if found.words else ""
    if not (file_prompt or found.headless):
        _refuse_near_command(prompt)
    options = StartOptions(**{name: value for name, value in vars(found).items() if name not in _NOT_OPTIONS})
    options.cwd = _folder(found.cwd)
    options.color = found.color and not os.environ.get("NO_COLOR")
    if file_prompt:
        options.headless = True
        options.prompt = _file_prompt(prompt)
    else:
        options.prompt = prompt
    if options.continue_ and options.resume is not None:
        raise UsageError("-c and -r don't go together: -c takes the last session, -r one that you name")
    if options.fork and not options.continue_ and options.resume is None:
        raise UsageError("--fork needs -c or -r, which say what to copy")
    if options.demo and options.model:
        raise UsageError("--demo and --model don't go together: the demo is no model")
    return options, found


_NOT_OPTIONS = frozenset({"words", "help", "version", "cwd", "color"})


def _folder(text: str) -> Path:
    try:
        path = Path(text).expanduser().absolute()
        if path.is_dir():
            return Path(os.path.realpath(path))
    except (OSError, RuntimeError, ValueError):
        pass
    raise UsageError(f"-C {text}: no such folder")


def _file_prompt(name: str) -> str:
    if not name:
        raise UsageError("run needs a file with the prompt, or - for standard input")
    if name == "-":
        return ""
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UsageError(f"run {name}: can't be read: {getattr(error, 'strerror', None) or error}") from None
    if not text.strip():
        raise UsageError(f"run {name}: the file is empty, so there is no prompt")
    return text


def _refuse_near_command(word: str) -> None:
    """A command that is misspelt by a letter is no request to a model."""
    import difflib

    near = difflib.get_close_matches(word, COMMANDS, 1, 0.8) if word.isalpha() else []
    if near and len(word) > 3 and word not in COMMANDS:
        raise UsageError(f'"{word}" is no command; did you mean `xun {near[0]}`? As a prompt: xun "{word} ..."')


def _too_many(words: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(words[0], COMMANDS, 1, 0.7)
    if near and words[0] not in COMMANDS:
        return f'"{words[0]}" is no command; did you mean `xun {near[0]}`? (a prompt of several words needs quotes)'
    return f'the prompt is one argument, quote it: xun "{" ".join(words)}"'
