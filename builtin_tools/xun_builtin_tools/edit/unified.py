"""Unified diffs, as `diff -u` and git write them and as models almost write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from xun_builtin_tools.edit.envelope import NUMBERS
from xun_builtin_tools.edit.hunks import Action, FilePatch, Hunk, HunkRows, added_text, parse_error

_STAMP = re.compile(r"(?:\t.*|\s+\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*)$")
_GIT = re.compile(r"diff --git (.*)")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_BETWEEN = ("diff ", "Index: ", "====", "From ", "Only in ", "```")
_PREFIXES = ("a/", "b/", "c/", "i/", "o/", "w/")
_SIGNATURES = ("-- ", "--")
_NO_FILE = "/dev/null"
_LINK, _SUBMODULE = "120000", "160000"


def parse_unified(lines: Sequence[str], first: int) -> list[FilePatch]:
    """Return the files of a unified diff.

    Args:
        lines: The lines of the patch, without what was wrapped around it.
        first: The number of the first of them in the text as it was given.

    Raises:
        EditError: kind ``parse``, or ``binary`` for a change that has no text.
    """
    return _Unified(lines, first).parse()


@dataclass(slots=True)
class _Section:
    """The header of one file while it is parsed."""

    line: int
    git: str = ""
    old: str | None = None
    new: str | None = None
    fields: dict[str, str] = field(default_factory=dict)
    hunks: list[Hunk] = field(default_factory=list)


class _Unified:
    def __init__(self, lines: Sequence[str], first: int) -> None:
        self.lines = lines
        self.first = first
        self.at = 0

    @property
    def number(self) -> int:
        return self.first + self.at

    def parse(self) -> list[FilePatch]:
        files = []
        while self.at < len(self.lines):
            if self.lines[self.at].startswith("diff --git ") or self._at_names():
                files.append(_finish(self._section()))
            elif self.lines[self.at].startswith("@@"):
                raise parse_error(self.number, "a hunk comes before the '---' and '+++' lines that name its file")
            else:
                self.at += 1
        if not files:
            raise parse_error(self.first, "neither '*** Begin Patch' nor a unified diff ('---', '+++', '@@') is in it")
        return files

    def _line(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.lines[at] if at < len(self.lines) else ""

    def _at_names(self) -> bool:
        return self._line().startswith("--- ") and self._line(1).startswith("+++ ")

    def _section(self) -> _Section:
        section = _Section(self.number)
        git = _GIT.match(self._line())
        if git is not None:
            section.git = git[1]
            self.at += 1
            self._fields(section)
        if self._at_names():
            section.old, section.new = _name(self._line()[4:], self.number), _name(self._line(1)[4:], self.number + 1)
            self.at += 2
        while self.at < len(self.lines) and self._line().startswith("@@"):
            if self._line().startswith("@@@"):
                raise parse_error(self.number, "it is the combined diff of a merge; give the diff to one side")
            section.hunks.append(self._hunk())
            self._skip_between()
        return section

    def _fields(self, section: _Section) -> None:
        while self.at < len(self.lines) and not self._at_names() and not self._line().startswith(("@@", "diff --git ")):
            line = self._line()
            if line.startswith(("Binary files ", "GIT binary patch")):
                raise parse_error(self.number, "it changes a binary file, which a text patch can't carry", line)
            for key in ("old mode", "new mode", "new file mode", "deleted file mode", "rename from", "rename to"):
                if line.startswith(key + " "):
                    section.fields[key] = line[len(key) + 1 :]
            for key in ("copy from", "copy to"):
                if line.startswith(key + " "):
                    section.fields[key] = line[len(key) + 1 :]
            self.at += 1

    def _hunk(self) -> Hunk:
        rows = HunkRows(self.number)
        numbers = NUMBERS.match(self._line())
        if numbers is not None:
            rows.old_start = int(numbers[1])
            rows.old_count = int(numbers[2]) if numbers[2] is not None else 1
            rows.new_count = int(numbers[4]) if numbers[4] is not None else 1
        elif self._line().startswith("@@ -"):
            raise parse_error(self.number, "a hunk header has the form '@@ -1,2 +1,2 @@'", self._line())
        self.at += 1
        while self.at < len(self.lines) and not self._hunk_ends(rows):
            line = self._line()
            if line.startswith("\\"):
                rows.mark_open()
            elif not rows.add(line):
                raise parse_error(self.number, "a line of a hunk begins with ' ', '-' or '+'", line)
            self.at += 1
        return rows.finish()

    def _hunk_ends(self, rows: HunkRows) -> bool:
        line = self._line()
        if line.startswith(("@@", "diff --git ")):
            return True
        left = _left(rows)
        if line.startswith("--- ") and self._line(1).startswith("+++ ") and left != (1, 1):
            # Removed "-- x" and added "++ y" look the same, but no hunk header follows them.
            return self._line(2).startswith("@@") or left == (0, 0)
        if left != (0, 0):
            return False
        return line in _SIGNATURES or line.startswith(_BETWEEN) or (line == "" and self._blank_ends())

    def _blank_ends(self) -> bool:
        """Tell whether an empty line ends the hunk, rather than being an empty line of the file."""
        ahead = 1
        while self.at + ahead < len(self.lines) and not self._line(ahead):
            ahead += 1
        line = self._line(ahead)
        if not line or line in _SIGNATURES or line.startswith((*_BETWEEN, "@@")):
            return True
        return line.startswith("--- ") and self._line(ahead + 1).startswith("+++ ")

    def _skip_between(self) -> None:
        """Pass over what mail programs, svn and people put between files."""
        while self.at < len(self.lines) and not self._line().startswith(("@@", "diff --git ")) and not self._at_names():
            self.at += 1


def _left(rows: HunkRows) -> tuple[int, int] | None:
    """Return how many old and new lines the header still promises; None without numbers."""
    if rows.old_count is None or rows.new_count is None:
        return None
    old = rows.old_count - sum(tag != "+" for tag, _ in rows.rows)
    new = rows.new_count - sum(tag != "-" for tag, _ in rows.rows)
    # Wrong counts are common: more lines than promised are taken too.
    return max(old, 0), max(new, 0)


def _name(text: str, line: int) -> str:
    text = text.strip("\n")
    if text.startswith('"'):
        end = text.rfind('"')
        return _unquote(text[1:end], line)
    return _STAMP.sub("", text).rstrip()


def _unquote(text: str, line: int) -> str:
    """Undo git's C quoting, whose octal escapes are bytes."""
    data = bytearray()
    at = 0
    while at < len(text):
        char = text[at]
        if char != "\\":
            data += char.encode("utf-8", "surrogateescape")
            at += 1
            continue
        octal = re.compile(r"[0-3][0-7]{2}").match(text, at + 1)
        code = int(octal[0], 8) if octal else _ESCAPES.get(text[at + 1 : at + 2])
        if code is None:
            raise parse_error(line, "the quoted path has an escape that git does not write", text)
        data.append(code)
        at += 4 if octal else 2
    return data.decode("utf-8", "surrogateescape")


def _finish(section: _Section) -> FilePatch:
    old, new = _paths(section)
    for key in ("new file mode", "new mode", "old mode", "deleted file mode"):
        if section.fields.get(key, "").strip() in (_LINK, _SUBMODULE):
            raise parse_error(section.line, "links and submodules can't be changed by a patch")
    executable = _executable(section)
    hunks = tuple(section.hunks)
    if old is None and new is not None:
        return _added(section.line, new, hunks, executable)
    if new is None and old is not None:
        return FilePatch(section.line, "delete", old, hunks=hunks, verify=True)
    if old is None or new is None:
        raise parse_error(section.line, "both sides are /dev/null")
    action: Action = "copy" if "copy to" in section.fields else "update"
    target = new if new != old else None
    # With one prefix on both sides it may be a folder, or what git puts before each name.
    other = old[2:] if target is None and old.startswith(("a/", "b/")) and old == section.new else None
    if not hunks and target is None and executable is None:
        raise parse_error(section.line, "the file has no hunk: '@@ -1,2 +1,2 @@' and its lines were expected")
    return FilePatch(section.line, action, old, target, hunks, executable=executable, other=other)


def _added(line: int, path: str, hunks: tuple[Hunk, ...], executable: bool | None) -> FilePatch:
    if len(hunks) > 1:
        raise parse_error(hunks[1].line, "a new file has one hunk")
    content = added_text(hunks[0].line, hunks[0].rows, closed=not hunks[0].new_open) if hunks else ""
    return FilePatch(line, "add", path, content=content, executable=executable)


def _executable(section: _Section) -> bool | None:
    mode = section.fields.get("new mode") or section.fields.get("new file mode")
    if mode is None or (mode.strip() == "100644" and "new file mode" in section.fields):
        return None
    return bool(int(mode.strip()[-3:], 8) & 0o111) if mode.strip()[-3:].isdecimal() else None


def _paths(section: _Section) -> tuple[str | None, str | None]:
    fields = section.fields
    for kind in ("rename", "copy"):
        if f"{kind} from" in fields and f"{kind} to" in fields:
            return _name(fields[f"{kind} from"], section.line), _name(fields[f"{kind} to"], section.line)
    if section.old is None or section.new is None:
        old, new = _git_names(section)
        if "new file mode" in fields:
            return None, new
        return (old, None) if "deleted file mode" in fields else (old, new)
    old, new = _without_prefixes(section.old, section.new)
    if old == new or _NO_FILE in (old, new):
        return (None if old == _NO_FILE else old), (None if new == _NO_FILE else new)
    if old in (f"{new}.orig", f"{new}.old", f"{new}~"):
        return new, new
    raise parse_error(
        section.line, f"it names two files ({old} and {new}) without saying 'rename from' and 'rename to'"
    )


def _git_names(section: _Section) -> tuple[str, str]:
    text = section.git
    if text.startswith('"'):
        old, _, new = text[1:].partition('" ')
        return _without_prefixes(_unquote(old, section.line), _name(new, section.line))
    # "a/x b/x": with no rename both halves are the same name, which may have blanks in it.
    half = (len(text) - 1) // 2
    old, new = text[:half], text[half + 1 :]
    if text[half : half + 1] == " " and old[2:] == new[2:]:
        return _without_prefixes(old, new)
    parts = text.split(" b/", 1)
    if len(parts) == 2:
        return _without_prefixes(parts[0], "b/" + parts[1])
    raise parse_error(section.line, "the names in 'diff --git' can't be told apart", text)


def _without_prefixes(old: str, new: str) -> tuple[str, str]:
    """Take off ``a/`` and ``b/`` (or git's mnemonic ones) where both sides, or the only side, have them."""
    if old == _NO_FILE:
        return old, new.removeprefix("b/")
    if new == _NO_FILE:
        return old.removeprefix("a/"), new
    if old.startswith(_PREFIXES) and new.startswith(_PREFIXES) and old[:2] != new[:2]:
        return old[2:], new[2:]
    # Only one side has it.
    if old == f"a/{new}":
        return new, new
    return (old, old) if new == f"b/{old}" else (old, new)
