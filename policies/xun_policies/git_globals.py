"""The options of git before its subcommand: which are free, and where ``-C`` leads."""

from __future__ import annotations

from xun_policies.shell.lexer import Problem, Word
from xun_policies.shell.places import Places

_FREE = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})

Cwds = tuple[str, ...]


def git_globals(words: list[Word], cwds: Cwds, places: Places) -> tuple[list[Word] | None, Cwds, Problem | None]:
    """Skip harmless options before git's subcommand; ``-C`` moves the folder.

    Returns the words without them, the folders, and what is not free; then there are no words.
    """
    index = 1
    while index < len(words):
        text = words[index].text
        if text in _FREE:
            index += 1
        elif text == "-C" and index + 1 < len(words):
            target = words[index + 1]
            if target.glob or target.pwd or target.dynamic or not target.text or target.text.startswith("-"):
                return None, cwds, Problem("guard", "the folder of git -C is no plain path")
            reason = places.outside(target.text, cwds)
            if reason is not None:
                return None, cwds, Problem("path", reason)
            cwds = tuple(places.resolve(target.text, cwd) for cwd in cwds)
            index += 2
        elif text == "--version" and index + 1 == len(words):
            break
        elif text.startswith("-"):
            return None, cwds, Problem("guard", f"the option {text} before the subcommand of git is not free")
        else:
            break
    return [words[0], *words[index:]], cwds, None
