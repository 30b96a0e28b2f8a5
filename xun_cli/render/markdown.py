"""Markdown to styled lines, and a stream of markdown to finished lines.

The output has no frames, no padding and no columns of its own, so that what is copied from the
terminal is the text. Links show where they lead; nothing is ever fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xun_cli.render.blocks import Block, BlockSplitter
from xun_cli.render.code import code_lines
from xun_cli.render.code import preload as _preload_code
from xun_cli.render.safe import safe
from xun_cli.render.table import table_lines
from xun_cli.render.text import ACCENT, BOLD, CODE, DIM, PLAIN, Fragment, Line, expand_tabs, hard_wrap, wrap

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

LIVE_LIMIT = 4_000
"""Characters of an open tail that are drawn as markdown; of a longer one the end is drawn plain."""

_INLINE_STYLES = {"strong": BOLD, "em": "italic", "s": "strike"}


def preload() -> None:
    """Import the parsers now; meant for a thread behind the drawn prompt."""
    _parser().parse("*x*")
    _preload_code()


def markdown_lines(source: str, columns: int) -> list[Line]:
    """Return *source* drawn for *columns* cells."""
    stream = MarkdownStream()
    return stream.feed(source, columns) + stream.close(columns)


class MarkdownStream:
    """One message that comes in pieces: gives back what will not change any more."""

    def __init__(self) -> None:
        self._splitter = BlockSplitter()
        self._last: Block | None = None
        self._parser: MarkdownIt | None = None

    def feed(self, text: str, columns: int) -> list[Line]:
        """Take a piece and return the finished lines, drawn for *columns* cells."""
        return self._draw(self._splitter.feed(text), columns)

    def close(self, columns: int) -> list[Line]:
        """End the message and return the remaining lines."""
        return self._draw(self._splitter.close(), columns)

    @property
    def started(self) -> bool:
        """Whether anything was finished so far."""
        return self._last is not None

    @property
    def tail(self) -> str:
        """The source of the open block."""
        return self._splitter.tail

    @property
    def gap(self) -> bool:
        """Whether a blank row will stand before the open block."""
        open_block = Block(self._splitter.tail_kind, self._splitter.tail)
        return self._last is not None and _gap(self._last, open_block)

    def live(self, columns: int, rows: int) -> list[Line]:
        """Return the last *rows* rows of the open block."""
        tail = self._splitter.tail
        if not tail.strip() or rows <= 0:
            return []
        if self._splitter.tail_kind == "fence" or len(tail) > LIVE_LIMIT:
            return _plain_tail(tail, columns, rows)
        lines = self._block(Block(self._splitter.tail_kind, tail), columns)
        return [row for line in lines for row in wrap(line, columns)][-rows:]

    def _draw(self, blocks: list[Block], columns: int) -> list[Line]:
        lines: list[Line] = []
        for block in blocks:
            if block.kind == "blank":
                continue
            if self._last is not None and _gap(self._last, block):
                lines.append([])
            lines.extend(self._block(block, columns))
            self._last = block
        return lines

    def _block(self, block: Block, columns: int) -> list[Line]:
        if self._parser is None:
            self._parser = _parser()
        from markdown_it.tree import SyntaxTreeNode

        root = SyntaxTreeNode(self._parser.parse(block.text.replace("\r\n", "\n")))
        return _blocks(root.children, max(10, columns))


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _gap(before: Block, after: Block) -> bool:
    """Whether a blank line stands between two blocks: lists stay as tight as their source."""
    if after.kind == "list" and before.kind in ("list", "text"):
        return before.text.endswith("\n\n") or before.text.rstrip(" \t").endswith("\n\n")
    return True


def _plain_tail(tail: str, columns: int, rows: int) -> list[Line]:
    source = safe(tail[-rows * columns * 2 :]).split("\n")[-rows:]
    return [[(PLAIN, piece)] for row in source for piece in hard_wrap(expand_tabs(row), columns)][-rows:]


def _blocks(nodes: list[SyntaxTreeNode], columns: int, tight: bool = False) -> list[Line]:
    lines: list[Line] = []
    for index, node in enumerate(nodes):
        if index and not tight:
            lines.append([])
        lines.extend(_one(node, columns))
    return lines


def _one(node: SyntaxTreeNode, columns: int) -> list[Line]:
    kind = node.type
    if kind == "heading":
        style = f"{BOLD} underline" if node.tag == "h1" else BOLD
        return _wrapped(_inline(node, style), columns)
    if kind == "fence":
        return _fence(node)
    if kind == "code_block":
        return code_lines(node.content.rstrip("\n"))
    if kind in ("bullet_list", "ordered_list"):
        return _list(node, columns)
    if kind == "blockquote":
        inner = _blocks(node.children, max(10, columns - 2))
        return [[(DIM, "> "), *((f"{style} italic".strip(), text) for style, text in line)] for line in inner]
    if kind == "hr":
        return [[(DIM, "─" * min(columns, 40))]]
    if kind == "table":
        return _table(node, columns)
    return _wrapped(_inline(node), columns)


def _wrapped(rows: list[Line], columns: int) -> list[Line]:
    return [line for row in rows for line in wrap(row, columns)]


def _fence(node: SyntaxTreeNode) -> list[Line]:
    language = node.info.split()[0] if node.info.split() else ""
    marks = node.markup[:3]
    top: Line = [(DIM, marks + safe(node.info.strip(), multiline=False))]
    return [top, *code_lines(node.content.removesuffix("\n"), language), [(DIM, marks)]]


def _list(node: SyntaxTreeNode, columns: int) -> list[Line]:
    start = int(node.attrs.get("start", 1) or 0)
    tight = all(child.hidden for item in node.children for child in item.children if child.type == "paragraph")
    lines: list[Line] = []
    for index, item in enumerate(node.children):
        marker = f"{start + index}{item.markup or '.'} " if node.type == "ordered_list" else "• "
        inner = _blocks(item.children, max(10, columns - len(marker)), tight)
        if index and not tight:
            lines.append([])
        for row, line in enumerate(inner or [[]]):
            prefix: Fragment = (ACCENT, marker) if row == 0 else (PLAIN, " " * len(marker) if line else "")
            lines.append([prefix, *line])
    return lines


def _table(node: SyntaxTreeNode, columns: int) -> list[Line]:
    rows: list[list[Line]] = []
    aligns: list[str] = []
    for part in node.children:
        for row in part.children:
            if not aligns:
                aligns = [str(cell.attrs.get("style", "")).removeprefix("text-align:") for cell in row.children]
            rows.append([_join(_inline(cell)) for cell in row.children])
    return table_lines(rows, columns, header=True, aligns=aligns)


def _join(rows: list[Line]) -> Line:
    return [fragment for row in rows for fragment in row]


def _inline(node: SyntaxTreeNode, style: str = PLAIN) -> list[Line]:
    rows: list[Line] = [[]]
    for child in node.children:
        _inline_into(child, style, rows)
    return rows


def _inline_into(node: SyntaxTreeNode, style: str, rows: list[Line]) -> None:
    kind = node.type
    if kind in ("text", "text_special"):
        rows[-1].append((style, safe(node.content, multiline=False)))
    elif kind == "code_inline":
        rows[-1].append((f"{style} {CODE}".strip(), safe(node.content, multiline=False)))
    elif kind == "softbreak":
        rows[-1].append((style, " "))
    elif kind == "hardbreak":
        rows.append([])
    elif kind == "link":
        _link(node, style, rows)
    elif kind == "image":
        rows[-1].append((style, f"[image: {safe(node.content, multiline=False)}]"))
        rows[-1].append((DIM, f" ({_target(node.attrs.get('src', ''))})"))
    else:
        inner = f"{style} {_INLINE_STYLES.get(kind, '')}".strip()
        for child in node.children:
            _inline_into(child, inner, rows)
        if not node.children and node.content:
            rows[-1].append((style, safe(node.content, multiline=False)))


def _link(node: SyntaxTreeNode, style: str, rows: list[Line]) -> None:
    before = len(rows[-1]), len(rows)
    for child in node.children:
        _inline_into(child, f"{style} underline".strip(), rows)
    shown = "".join(text for _, text in rows[-1][before[0] :]) if len(rows) == before[1] else ""
    target = _target(node.attrs.get("href", ""))
    if shown.strip() not in (target, target.removeprefix("mailto:")):
        rows[-1].append((DIM, f" ({target})"))


def _target(value: Any) -> str:
    return safe(str(value), multiline=False, prompt=True)
