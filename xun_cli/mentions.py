"""``@path`` in a message: which paths to offer, how to write one, and what the model gets to read.

A mention is ``@src/app.py``, or ``@"my file.txt"`` in the quoting of JSON where a name holds blanks, quotes
or characters that can't be seen. Only a path that exists and lies in the project counts; all other text with
an @ stays plain text.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

LIMIT = 100_000
"""Files that an index holds."""

_SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache"})
_BEFORE = re.compile(r"[\w.+\-/]", re.ASCII)
_BARE = re.compile(r"""[^\s"'`@\\]+""")
_TRAILING = ".,;:!?)]}>"
_CLOSING = frozenset(_TRAILING) - {"."}
_OPEN_QUERY = re.compile(r"""@(?:"(?P<quoted>(?:[^"\\\n]|\\[^\n])*\\?)|(?P<bare>[^\s"'`@\\]*))$""")
_TRIES = 64
_CLOSEST_AMONG = 30_000
"""Paths among which a misspelt query is looked for; with more the answer would come too late."""


@dataclass(frozen=True, slots=True)
class Mention:
    """One mention in a text.

    Attributes:
        start: Offset of the @.
        end: Offset after its last character.
        path: The path as meant, unquoted, relative to the project folder.
    """

    start: int
    end: int
    path: str


@dataclass(frozen=True, slots=True)
class OpenMention:
    """The mention that is being typed at the end of a text.

    Attributes:
        start: Offset of the @.
        query: What is typed of the path so far, unquoted.
    """

    start: int
    query: str


def write_mention(path: str) -> str:
    """Return the text that mentions *path*: bare where that is unmistakable, else quoted."""
    plain = path.isprintable() and _BARE.fullmatch(path) is not None and path[-1] not in _TRAILING
    return f"@{path}" if plain else f"@{quote(path)}"


def quote(path: str) -> str:
    """Return *path* as a JSON string; characters that can't be seen or encoded are escaped."""
    pieces = []
    for char in path:
        if char in '"\\' or not char.isprintable():
            pieces.append(json.dumps(char)[1:-1])
        else:
            pieces.append(char)
    return '"' + "".join(pieces) + '"'


def open_mention(before_cursor: str) -> OpenMention | None:
    """Return the mention that the text before the cursor ends in, or None."""
    found = _OPEN_QUERY.search(before_cursor)
    if found is None or not _may_start(before_cursor, found.start()):
        return None
    quoted = found["quoted"]
    if quoted is None:
        return OpenMention(found.start(), found["bare"])
    try:
        return OpenMention(found.start(), str(json.loads(f'"{quoted}"', strict=False)))
    except ValueError:
        return OpenMention(found.start(), quoted)


def find_mentions(text: str, exists: Callable[[str], bool]) -> list[Mention]:
    """Return the mentions in *text*, in order; *exists* tells whether a path is there.

    A bare mention is the longest beginning of the word that exists, so that ``(see @src/app.py).`` and a
    mention followed by CJK text without a blank are found.
    """
    found: list[Mention] = []
    at = text.find("@")
    while at != -1:
        mention = _mention_at(text, at, exists) if _may_start(text, at) else None
        if mention is not None:
            found.append(mention)
        at = text.find("@", mention.end if mention is not None else at + 1)
    return found


def expand(text: str, folder: Path) -> str:
    """Return *text* with a closing line that names each mentioned path and what it is.

    The contents are left to the model's own reading, which goes through the checks of the tools. A text
    without mentions comes back as it is.
    """
    found = mentioned(text, folder)
    if not found:
        return text
    listed = "; ".join(f"{quote(name)} ({kind})" for name, kind in found.items())
    return f"{text}\n\n[Paths mentioned with @, relative to the project folder: {listed}]"


def mentioned(text: str, folder: Path) -> dict[str, str]:
    """Return the paths that *text* mentions, each once, with what it is in words."""
    root = os.path.realpath(folder)
    kinds: dict[str, str] = {}

    def exists(path: str) -> bool:
        if path not in kinds:
            kinds[path] = _kind(root, path)
        return bool(kinds[path])

    return {mention.path: kinds[mention.path] for mention in find_mentions(text, exists)}


def _kind(root: str, path: str) -> str:
    """What *path* is, in words; "" when it is not there or leads out of the project."""
    try:
        full = os.path.realpath(os.path.join(root, path))
        if os.path.commonpath([full, root]) != root:
            return ""
        facts = os.stat(full)
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(facts.st_mode):
        return "folder"
    return f"file, {facts.st_size:,} bytes" if stat.S_ISREG(facts.st_mode) else "not a regular file"


def _may_start(text: str, at: int) -> bool:
    # In an address such as me@example.org the @ stands after a word.
    return at == 0 or _BEFORE.match(text[at - 1]) is None


def _mention_at(text: str, at: int, exists: Callable[[str], bool]) -> Mention | None:
    if text.startswith('"', at + 1):
        try:
            path, end = json.JSONDecoder(strict=False).raw_decode(text, at + 1)
        except ValueError:
            return None
        return Mention(at, end, path) if path and exists(path) else None
    found = _BARE.match(text, at + 1)
    if found is None:
        return None
    word = found.group()
    tries = 0
    for end in range(len(word), 0, -1):
        if not _may_end(word, end):
            continue
        tries += 1
        if tries > _TRIES:
            return None
        if exists(word[:end]):
            return Mention(at, at + 1 + end, word[:end])
    return None


def _may_end(word: str, end: int) -> bool:
    """Whether a path may end there: before CJK text, punctuation that closes, or the end of the sentence."""
    rest = word[end:]
    return not rest or not rest[0].isascii() or rest[0] in _CLOSING or not rest.strip(_TRAILING)


class FileIndex:
    """The paths of a project, for completion.

    Args:
        root: The project folder.
        ignore: Patterns as in a .gitignore for paths that are left out.
    """

    def __init__(self, root: Path, ignore: Sequence[str] = ()) -> None:
        self.root = root
        self._ignore = ignore
        self._paths: tuple[str, ...] = ()
        self._lower: tuple[str, ...] = ()
        self.complete = False
        """Whether `refresh` has filled it at least once."""

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, sorted; folders end with a slash."""
        return self._paths

    def refresh(self) -> None:
        """Read the paths again: by git where it can tell, else by walking. Blocks up to some seconds."""
        from xun_cli.vcs import list_files

        names = list_files(self.root)
        ignored = self._ignored()
        if names is not None:
            files = list(itertools.islice((name for name in names if not ignored(name)), LIMIT))
        else:
            files = _walk(self.root, ignored)
        self._paths = tuple(sorted({*files, *_folders(files)}))
        self._lower = tuple(path.lower() for path in self._paths)
        self.complete = True

    def _ignored(self) -> Callable[[str], bool]:
        """Return what tells whether a path below the root, a folder with a slash at its end, is left out."""
        if not self._ignore:
            return lambda path: False
        from xun_policies.paths.patterns import PathPatterns

        patterns, root = PathPatterns(self._ignore), os.path.realpath(self.root)
        return lambda path: patterns.covers(f"{root}/{path}".rstrip("/"), root, is_folder=path.endswith("/"))

    def match(self, query: str, limit: int = 20) -> list[str]:
        """Return the best paths for *query*, best first; an empty query gives the top level.

        Case does not matter. The order: names that begin with the query, names that hold it, paths that
        hold it, paths with its letters in order, and where nothing fits, the closest spelling.
        """
        if not query:
            return [path for path in self._paths if "/" not in path.rstrip("/")][:limit]
        wanted = query.lower()
        holding = [at for at, path in enumerate(self._lower) if wanted in path]
        ranked = [(_rank(self._lower[at], wanted), len(self._paths[at]), self._paths[at]) for at in holding]
        if not ranked:
            find = _in_order(wanted)
            found = ((find(path), at) for at, path in enumerate(self._lower))
            ranked = [(hit.end() - hit.start(1), len(self._paths[at]), self._paths[at]) for hit, at in found if hit]
        if not ranked:
            return self._closest(query, limit)
        return [path for _, _, path in heapq.nsmallest(limit, ranked)]

    def _closest(self, query: str, limit: int) -> list[str]:
        if len(self._paths) > _CLOSEST_AMONG:
            return []
        from rapidfuzz import fuzz, process

        found = process.extract(query, self._paths, scorer=fuzz.WRatio, limit=limit, score_cutoff=75)
        return [path for path, _, _ in found]


def _rank(path: str, wanted: str) -> int:
    bare = path.rstrip("/")
    name = bare[bare.rfind("/") + 1 :]
    if path.startswith(wanted):
        return 0 if "/" in wanted else 1
    if name.startswith(wanted):
        return 2
    if wanted in name:
        return 3
    return 4


def _in_order(wanted: str) -> Callable[[str], re.Match[str] | None]:
    """Return what finds the letters of *wanted* in order; group 1 begins at the first of them."""
    first, *others = (f"[^{re.escape(char)}]*+{re.escape(char)}" for char in wanted)
    # Possessive: no way of failing takes more than one pass.
    return re.compile(f"{first[: -len(re.escape(wanted[0]))]}({re.escape(wanted[0])}){''.join(others)}").match


def _folders(files: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for path in files:
        at = path.rfind("/")
        while at > 0 and path[: at + 1] not in folders:
            folders.add(path[: at + 1])
            at = path.rfind("/", 0, at)
    return folders


def _walk(root: Path, unwanted: Callable[[str], bool]) -> list[str]:
    import time

    by_git = _ignore_rules(root)

    def ignored(path: str) -> bool:
        return by_git(path) or unwanted(path)

    end = time.monotonic() + 3.0
    files: list[str] = []
    for folder, names, leaves in os.walk(root):
        below = os.path.relpath(folder, root)
        prefix = "" if below == "." else f"{below}/"
        names[:] = sorted(name for name in names if name not in _SKIPPED and not ignored(f"{prefix}{name}/"))
        files += [prefix + name for name in sorted(leaves) if not ignored(prefix + name)]
        if len(files) >= LIMIT or time.monotonic() > end:
            break
    return files[:LIMIT]


def _ignore_rules(root: Path) -> Callable[[str], bool]:
    rules = root / ".gitignore"
    if not rules.is_file():
        return lambda path: False
    from pathspec import GitIgnoreSpec

    try:
        with rules.open("rb") as file:
            lines = file.read(1_000_000).decode("utf-8", "replace").splitlines()
        return GitIgnoreSpec.from_lines(lines).match_file
    except (OSError, ValueError):
        # Unreadable or malformed rules only make the offer longer.
        return lambda path: False
