"""Checks of git subcommands: formats that run gpg, and forms that change something."""

from __future__ import annotations

import re

from xun_policies.gitprobe.keys import format_runs, sort_runs
from xun_policies.guards.options import NOT_FREE, Arguments, Call, compiled, walk
from xun_policies.guards.rules import Rule, of_lines, operands
from xun_policies.shell.lexer import Problem, Word
from xun_policies.wordset import wordset

_SECRET_KEY = r"(?i)header|token|passw|secret|credential|oauth|api-?key|cookie|proxy|smtp"
_PRETTY = wordset("oneline short medium full fuller reference email mboxrd raw")
_LISTING = wordset("-l --list --contains --no-contains --merged --no-merged --points-at -n")
_OPTIONAL_COMMIT = ("--contains", "--no-contains", "--merged", "--no-merged")


def _formats(found: Arguments) -> Problem | None:
    for name in ("--pretty", "--format", "--group"):
        for value in found.options.get(name, "").split("\n"):
            if format_runs(value):
                return Problem(NOT_FREE, f"{name} runs another program ({value})")
    pretty = found.options.get("--pretty", "")
    for value in (pretty or found.options.get("--format", "")).split("\n"):
        if value and "%" not in value and value not in _PRETTY and not value.startswith(("format:", "tformat:")):
            return Problem(NOT_FREE, f"the format {value} is defined by the configuration")
    return None


def _references(found: Arguments) -> Problem | None:
    for name in ("--sort", "--format"):
        value = found.options.get(name, "")
        if sort_runs(value):
            return Problem(NOT_FREE, f"{name} by signature or description runs another program ({value})")
    return None


def git_pretty(rule: Rule, call: Call) -> Problem | None:
    """Log-like output: no signature placeholder, no format that the configuration defines."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    return _formats(found) or of_lines(found, call) or operands(rule, call, found)


def git_paths(rule: Rule, call: Call) -> Problem | None:
    """Revisions and paths; a path outside would be compared without the repository."""
    found = walk(compiled(rule.options), call)
    return found if isinstance(found, Problem) else operands(rule, call, found)


def git_list(rule: Rule, call: Call) -> Problem | None:
    """``git branch`` and ``git tag`` with operands list only when an option says so."""
    words = []
    previous = ""
    for word in call.words:
        # The commit after --contains or --merged is optional, and may be an option instead.
        if previous in _OPTIONAL_COMMIT and word.text.startswith("-"):
            words.append(_head(word))
        words.append(word)
        previous = word.text
    if previous in _OPTIONAL_COMMIT:
        words.append(_head(words[-1]))
    inner = call.of(words)
    found = walk(compiled(rule.options), inner)
    if isinstance(found, Problem):
        return found
    if found.operands and not _LISTING & found.options.keys():
        return Problem(NOT_FREE, f"{found.operands[0].text} would be created")
    return _references(found)


def _head(word: Word) -> Word:
    return Word("HEAD", word.start, word.end)


def git_refs(rule: Rule, call: Call) -> Problem | None:
    """A listing of references: no sorting or format by signature."""
    found = walk(compiled(rule.options), call)
    return found if isinstance(found, Problem) else _references(found)


def git_config(rule: Rule, call: Call) -> Problem | None:
    """One key that holds no secret by its name."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    if found.operands and re.search(_SECRET_KEY, found.operands[0].text):
        return Problem(NOT_FREE, f"{found.operands[0].text} may hold a secret")
    return operands(rule, call, found)


def git_remote(rule: Rule, call: Call) -> Problem | None:
    """Only the list, and ``get-url`` of one remote."""
    texts = [word.text for word in call.words if word.text not in ("-v", "--verbose")]
    if not texts:
        return None
    if texts[0] == "get-url":
        names = [text for text in texts[1:] if text not in ("--all", "--push")]
        if len(names) == 1 and not names[0].startswith("-"):
            return None
    return Problem(NOT_FREE, f"git remote {texts[0]} changes something or contacts the remote")


def git_reflog(rule: Rule, call: Call) -> Problem | None:
    """Only ``show``, named or implied."""
    found = walk(compiled(rule.options), call)
    if isinstance(found, Problem):
        return found
    names = [word.text for word in found.operands]
    if names and names[0] != "show" and not names[0].startswith("HEAD"):
        return Problem(NOT_FREE, f"git reflog {names[0]} is not the form that only shows")
    return _formats(found) or of_lines(found, call) or operands(rule, call, found)
