"""A text file as bytes that are kept and text that is matched.

What an edit does not address is written back byte for byte: byte order mark, encoding, each
line's own terminator, the state of the last line. Lines end at ``\\n`` only; a lone ``\\r``, a form
feed or U+2028 is text.
"""

from __future__ import annotations

import codecs
import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from xun.errors import EditError
from xun_builtin_tools.byte_marks import mark_of
from xun_builtin_tools.edit.linediff import line_opcodes

# For parts of names or programs: they change the meaning of plain ASCII text.
_NOT_OF_FILES = ("idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape")

RAW = "raw"
"""The codec of a file whose encoding is not known: ASCII is text, each other byte stays itself."""


class Splice(NamedTuple):
    """Replace ``text[start:end]`` by *new*; offsets count characters of `Document.text`."""

    start: int
    end: int
    new: str


def counted_text(data: bytes) -> str | None:
    """Return *data* as text whose lines can be counted; None for binary data."""
    mark, codec = mark_of(data)
    if mark:
        return data[len(mark) :].decode(codec, "replace")
    return None if b"\0" in data else data.decode("utf-8", "replace")


def sha256(data: bytes) -> str:
    """Return the SHA-256 of *data* in hex."""
    return hashlib.sha256(data).hexdigest()


def fold_newlines(text: str) -> str:
    """Return *text* with ``\\r\\n`` as ``\\n``, as documents are matched."""
    return text.replace("\r\n", "\n") if "\r" in text else text


class Document:
    """The text of one file, with what is needed to write it back.

    Attributes:
        path: For messages: the absolute path, escaped.
        source: The decoded text with its own terminators, without the mark.
        codec: The codec, or `RAW`.
        mark: The byte order mark, or b"".
        verbatim: `text` is `source` as it is, see `in_source`.
    """

    def __init__(self, path: str, source: str, codec: str, mark: bytes = b"", *, verbatim: bool = False) -> None:
        self.verbatim = verbatim
        self.path = path
        self.source = source
        self.codec = codec
        self.mark = mark

    @classmethod
    def load(cls, path: str, data: bytes, encoding: str | None = None) -> Document:
        """Read *data*.

        Args:
            path: The absolute path, escaped, for messages.
            data: The bytes of the file.
            encoding: What the caller says the encoding is; needed only for files that are neither
                UTF-8 nor marked.

        Raises:
            EditError: kind ``binary`` or ``encoding``.
        """
        mark, codec = mark_of(data)
        if mark:
            _require_codec(path, encoding, codec)
            text = _decode(path, data[len(mark) :], codec)
            _refuse_nul(path, text)
            return cls(path, text, codec, mark)
        if encoding is not None:
            return cls._load_as(path, data, encoding)
        _refuse_nul(path, data)
        try:
            return cls(path, data.decode("utf-8"), "utf-8")
        except UnicodeDecodeError:
            return cls(path, data.decode("ascii", "surrogateescape"), RAW)

    @classmethod
    def _load_as(cls, path: str, data: bytes, encoding: str) -> Document:
        codec = _codec_name(path, encoding)
        if not data.isascii() and codec != "utf-8" and _is_utf8(data):
            raise EditError(
                f"{path} is UTF-8, so writing {encoding} into it would mix two encodings. Leave encoding out.",
                kind="encoding",
            )
        text = _decode(path, data, codec)
        _refuse_nul(path, text)
        if _encode_text(text, codec) != data:
            if codec in ("utf-16", "utf-32"):
                raise EditError(
                    f"{path} has no byte order mark, so {codec} does not say how its bytes are ordered. Use "
                    f"{codec}-le or {codec}-be.",
                    kind="encoding",
                )
            raise EditError(f"{path} does not keep its bytes when it is read as {encoding}.", kind="encoding")
        return cls(path, text, codec)

    @cached_property
    def text(self) -> str:
        """The text that is matched: terminators are ``\\n``."""
        if self.verbatim:
            return self.source
        if self._crlf_count and self._crlf_count == self.source.count("\r"):
            # The same, three times as fast: no carriage return stands alone.
            return self.source.replace("\r", "")
        return fold_newlines(self.source)

    def in_source(self, *texts: str) -> tuple[Document, list[str]] | None:
        """Return the document, and *texts* with its terminators, so that they can be searched for in `source`.

        That spares a large CRLF file a copy without carriage returns. None where it would not give the
        same matches, or spare nothing.
        """
        if "\r" not in self.source or any("\r" in text for text in texts):
            return None
        if any("\n" in text for text in texts):
            if self._crlf != "all":
                return None
            texts = tuple(text.replace("\n", "\r\n") for text in texts)
        return Document(self.path, self.source, self.codec, self.mark, verbatim=True), list(texts)

    @cached_property
    def lines(self) -> list[str]:
        """The lines without terminators; the empty end after a final newline is no line."""
        lines = self.text.split("\n")
        if lines[-1] == "":
            lines.pop()
        return lines

    @cached_property
    def starts(self) -> list[int]:
        """The offset in `text` at which each line starts, and then one past the last line."""
        starts = [0]
        at = 0
        for line in self.lines:
            at += len(line) + 1
            starts.append(at)
        return starts

    @property
    def final_newline(self) -> bool:
        """Whether the last line is terminated; True for an empty file."""
        return not self.text or self.text.endswith("\n")

    def line_at(self, offset: int) -> int:
        """Return the number, from 1, of the line that *offset* of `text` is in."""
        return self.text.count("\n", 0, offset) + 1

    def to_bytes(self) -> bytes:
        """Return the file's bytes.

        Raises:
            EditError: kind ``encoding``: a character has no place in the file's encoding.
        """
        if self.codec == RAW:
            return self.source.encode("ascii", "surrogateescape")
        try:
            return self.mark + _encode_text(self.source, self.codec)
        except UnicodeEncodeError as exc:
            raise self._not_encodable(exc.object[exc.start]) from None

    def check_new_text(self, new: str, **facts: Any) -> None:
        """Refuse text that can't be written to this file.

        Raises:
            EditError: kind ``encoding``, or ``binary`` for a NUL; *facts* are added to it.
        """
        if "\0" in new:
            raise EditError(
                f"The new text has a NUL character, with which {self.path} would be a binary file that no text tool "
                "can edit; nothing was changed. In JSON a letter such as \u00e9 is that letter, or \\u00e9.",
                kind="binary",
                **facts,
            )
        if new.isascii():
            return
        if self.codec == RAW:
            raise EditError(
                f"{self.path} is not UTF-8 and its encoding is not known, so new text that is not ASCII can't be "
                f"written safely. Use replace or write_file with encoding=, such as {suggest_encodings(self.source)}.",
                kind="encoding",
                **facts,
            )
        try:
            _encode_text(new, self.codec)
        except UnicodeEncodeError as exc:
            raise self._not_encodable(exc.object[exc.start], **facts) from None

    def _not_encodable(self, char: str, **facts: Any) -> EditError:
        what = "is a lone surrogate" if 0xD800 <= ord(char) <= 0xDFFF else "has no place in it"
        return EditError(
            f"The new text can't be written to {self.path} as {self.codec}: U+{ord(char):04X} {what}.",
            kind="encoding",
            **facts,
        )

    def splice(self, splices: Sequence[Splice]) -> Document:
        """Return the document with *splices*, which are in order and do not overlap, carried out."""
        if self._crlf == "none":
            parts = [(item.start, item.end, item.new) for item in splices]
        elif self._crlf == "all":
            parts = self._all_crlf(splices)
        else:
            parts = [self._to_source(item) for item in splices]
        return Document(self.path, _splice(self.source, parts), self.codec, self.mark)

    def source_offset(self, offset: int, line: int) -> int:
        """Return where *offset* of `text`, which is in the line numbered *line*, is in `source`."""
        if self._crlf == "none":
            return offset
        if self._crlf == "all":
            return offset + line - 1
        return offset + bisect_left(self._crlf_ends, offset)

    @cached_property
    def _crlf(self) -> Literal["none", "all", "some"]:
        """Which newlines are two characters in `source`."""
        if not self._crlf_count:
            return "none"
        return "all" if self._crlf_count == self.source.count("\n") else "some"

    @cached_property
    def _crlf_count(self) -> int:
        return self.source.count("\r\n") if "\r" in self.source and not self.verbatim else 0

    def _all_crlf(self, splices: Sequence[Splice]) -> list[tuple[int, int, str]]:
        parts = []
        at = seen = 0
        for item in splices:
            seen += self.text.count("\n", at, item.start)
            start = item.start + seen
            seen += self.text.count("\n", item.start, item.end)
            at = item.end
            parts.append((start, item.end + seen, item.new.replace("\n", "\r\n")))
        return parts

    @cached_property
    def _crlf_ends(self) -> list[int]:
        # Offsets in `text` of the newlines that are two characters in `source`.
        ends: list[int] = []
        at = self.source.find("\r\n")
        while at >= 0:
            ends.append(at - len(ends))
            at = self.source.find("\r\n", at + 2)
        return ends

    def _to_source(self, item: Splice) -> tuple[int, int, str]:
        ends = self._crlf_ends
        start = item.start + bisect_left(ends, item.start)
        end = item.end + bisect_left(ends, item.end)
        if "\n" not in item.new:
            return start, end, item.new
        return start, end, self._terminated(item)

    def _terminator(self, offset: int) -> str:
        at = bisect_left(self._crlf_ends, offset)
        return "\r\n" if at < len(self._crlf_ends) and self._crlf_ends[at] == offset else "\n"

    def _terminated(self, item: Splice) -> str:
        """Give each newline of the new text the terminator of the line that it stands for."""
        old = self.text[item.start : item.end].split("\n")
        own: list[str | None] = []
        at = item.start
        for part in old:
            at = self.text.find("\n", at + len(part))
            own.append(None if at < 0 else self._terminator(at))
            at += 1
        new = item.new.split("\n")
        chosen = _align(old, new, own)
        before = self._terminator_before(item.start)
        pieces = []
        for part, terminator in zip(new[:-1], chosen, strict=False):
            before = terminator or before
            pieces.append(part + before)
        return "".join(pieces) + new[-1]

    def _terminator_before(self, offset: int) -> str:
        """The terminator for a line that stands for no other: of the line before, else of the first."""
        at = self.text.rfind("\n", 0, offset)
        if at < 0:
            at = self.text.find("\n")
        return self._terminator(at) if at >= 0 else "\n"


def _align(old: list[str], new: list[str], own: list[str | None]) -> list[str | None]:
    """Return for each line of *new* the terminator of the old line that it keeps or replaces, or None."""
    chosen: list[str | None] = [None] * len(new)
    for _, i1, i2, j1, j2 in line_opcodes(old, new):
        for step in range(min(i2 - i1, j2 - j1)):
            chosen[j1 + step] = own[i1 + step]
    return chosen


def _splice(text: str, parts: Sequence[tuple[int, int, str]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end, new in parts:
        pieces += (text[at:start], new)
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _codec_name(path: str, encoding: str) -> str:
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError):  # ValueError: no name of anything, such as one with a NUL
        info = None
    if info is None or not info._is_text_encoding or info.name in _NOT_OF_FILES:
        raise EditError(
            f"{encoding[:60]!r} is no encoding of text files, so {path} can't be read by it. Names are such as "
            '"latin-1", "cp1252", "shift_jis" or "gb18030".',
            kind="encoding",
        )
    # The signature of "utf-8-sig" and "utf-16" is the file's, and is kept apart from its text.
    return {"utf-8-sig": "utf-8"}.get(info.name, info.name)


def _require_codec(path: str, encoding: str | None, codec: str) -> None:
    if encoding is None:
        return
    named = _codec_name(path, encoding)
    if named != codec and not codec.startswith(f"{named}-"):
        raise EditError(f"{path} is marked as {codec}, not {encoding}. Leave encoding out.", kind="encoding")


def _refuse_nul(path: str, content: str | bytes) -> None:
    if ("\0" in content) if isinstance(content, str) else (b"\0" in content):
        raise EditError(f"{path} is a binary file (it holds NUL bytes); text tools can't edit it.", kind="binary")


def _decode(path: str, data: bytes, codec: str) -> str:
    try:
        return data.decode(codec)
    except UnicodeError as exc:
        where = f"{exc.reason} at byte {exc.start}" if isinstance(exc, UnicodeDecodeError) else "its bytes do not fit"
        raise EditError(f"{path} can't be read as {codec}: {where}.", kind="encoding") from None


def _encode_text(text: str, codec: str) -> bytes:
    return text.encode(codec)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def suggest_encodings(source: str) -> str:
    """Return names of encodings that could hold these raw bytes; a hint for a message, never used to write."""
    data = source.encode("ascii", "surrogateescape")
    fitting = []
    for name in ("shift_jis", "euc_jp", "gb18030", "big5", "euc_kr", "cp1252", "latin-1"):
        try:
            data.decode(name)
        except UnicodeDecodeError:
            continue
        fitting.append(f'"{name}"')
    return " or ".join((fitting or ['"latin-1"'])[:4])
