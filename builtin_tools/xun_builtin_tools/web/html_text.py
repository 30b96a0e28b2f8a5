"""HTML as Markdown or as plain text: what a reader sees of a page, without what is hidden in it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin

from xun_builtin_tools.web.blocks import Blocks, code_span
from xun_policies.wordset import wordset

_DROPPED = wordset("script style noscript template svg math iframe object canvas audio video select")
_VOID = wordset("area base br col embed hr img input link meta param source track wbr")
_PARAGRAPHS = wordset(
    "address article aside body details dialog div dl fieldset figcaption figure footer form header hgroup html main "
    "nav p section summary"
)
_CLOSED_BY_SIBLING = frozenset({"p", "li", "dt", "dd", "tr", "td", "th", "option"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_EMPHASIS = {"b": "**", "strong": "**", "i": "*", "em": "*", "del": "~~", "s": "~~"}
_HIDING = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]))", re.I)
_LINKS = re.compile(r"(?:https?://|mailto:)", re.I)
_PIECE = 16384
_ENDLESS_NUMBER = re.compile("&#[0-9]{20,};?")  # Python refuses to read the longest ones
_MAX_TAG = 1_000_000
"""Characters of a tag or comment after which the page counts as ended."""

Attributes = list[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class PageText:
    """What a reader sees of a page.

    Attributes:
        title: Its title; may be empty.
        text: The text.
        cut: It ends before the page does.
    """

    title: str
    text: str
    cut: bool = False


def convert(
    source: str, base: str, *, markdown: bool, check: Callable[[], None] = lambda: None, seconds: float = 15.0
) -> PageText:
    """Return the text of a page.

    Args:
        source: The HTML, in whatever state.
        base: The URL of the page, for its links.
        markdown: Markdown; else text without marks and links.
        check: Called now and then; may raise to give up.
        seconds: After them the page counts as ended.
    """
    end = time.monotonic() + seconds
    cut = False
    source = _ENDLESS_NUMBER.sub("\ufffd", source)
    reader = _Reader(base, markdown)
    for at in range(0, len(source), _PIECE):
        check()
        reader.feed(source[at : at + _PIECE])
        # A script may be as long as it likes.
        endless = reader.cdata_elem is None and len(reader.rawdata) > _MAX_TAG
        if endless or time.monotonic() > end:
            cut = True
            break
    # Not close(): it tries what is left at each of its characters, which takes hours for some pages.
    if reader.rawdata[:1] not in ("", "<"):
        reader.handle_data(unescape(reader.rawdata))
    return PageText(reader.title, reader.blocks.text(), cut)


class _Reader(HTMLParser):
    """Passes what is visible of a page on to `Blocks`."""

    def __init__(self, base: str, markdown: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks = Blocks(markdown=markdown)
        self.title = ""
        self._base = base
        self._markdown = markdown
        self._hidden: list[str] = []
        self._in_title = False
        self._links: list[tuple[int, str]] = []
        self._code: int | None = None

    # -- what is hidden

    def _hides(self, tag: str, attributes: Attributes) -> bool:
        if tag in _DROPPED:
            return True
        values = dict(attributes)
        return "hidden" in values or _HIDING.search(values.get("style") or "") is not None

    def handle_starttag(self, tag: str, attrs: Attributes) -> None:
        """Take in a start tag."""
        if self._hidden:
            if len(self._hidden) == 1 and tag == self._hidden[0] and tag in _CLOSED_BY_SIBLING:
                self._hidden.clear()
            else:
                if tag == self._hidden[-1]:
                    self._hidden.append(tag)
                return
        if tag not in _VOID and tag != "body" and tag != "html" and self._hides(tag, attrs):
            self._hidden.append(tag)
            return
        self._open(tag, {name: value or "" for name, value in attrs})

    def handle_startendtag(self, tag: str, attrs: Attributes) -> None:
        """Take in a tag that closes itself."""
        if tag not in _DROPPED:
            # As browsers do: the slash has no meaning on an element that is not void.
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """Take in an end tag."""
        if self._hidden:
            if tag == self._hidden[-1]:
                self._hidden.pop()
            return
        self._close(tag)

    def handle_data(self, data: str) -> None:
        """Take in text."""
        if self._in_title:
            self.title = " ".join(f"{self.title}{data}".split())[:300]
        elif not self._hidden:
            self.blocks.add(data)

    # -- elements

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        blocks = self.blocks
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag in _PARAGRAPHS:
            blocks.paragraph()
        elif tag in _HEADINGS:
            blocks.heading(_HEADINGS[tag])
        elif tag in ("ul", "ol", "menu"):
            blocks.open_list(ordered=tag == "ol", start=attributes.get("start", ""))
        elif tag in ("li", "dt", "dd"):
            blocks.item()
        elif tag == "blockquote":
            blocks.open_quote()
        elif tag in ("pre", "listing"):
            blocks.open_pre(attributes.get("class", ""))
        elif tag in ("table", "tr", "td", "th"):
            {"table": blocks.open_table, "tr": blocks.row}.get(tag, blocks.cell)()
        else:
            self._open_inline(tag, attributes)

    def _open_inline(self, tag: str, attributes: dict[str, str]) -> None:
        blocks = self.blocks
        if tag == "br":
            blocks.line_break()
        elif tag == "hr":
            blocks.rule()
        elif tag == "base" and attributes.get("href"):
            self._base = self._absolute(attributes["href"]) or self._base
        elif tag == "img":
            self._image(attributes)
        elif tag == "a":
            self._links.append((blocks.mark(), attributes.get("href", "")))
        elif tag in ("code", "kbd", "samp", "tt") and self._code is None and not blocks.in_pre:
            blocks.language(attributes.get("class", ""))
            self._code = blocks.mark()
        elif tag == "code":
            blocks.language(attributes.get("class", ""))
        elif tag in _EMPHASIS and self._markdown and self._code is None:
            blocks.join_mark(_EMPHASIS[tag], opens=True)

    def _close(self, tag: str) -> None:
        blocks = self.blocks
        if tag == "title":
            self._in_title = False
        elif tag in _PARAGRAPHS or tag in _HEADINGS:
            blocks.paragraph()
        elif tag in ("ul", "ol", "menu"):
            blocks.close_list()
        elif tag in ("li", "dt", "dd"):
            blocks.end_line()
        elif tag == "blockquote":
            blocks.close_quote()
        elif tag in ("pre", "listing"):
            blocks.close_pre()
        elif tag in ("table", "tr", "td", "th"):
            {"table": blocks.close_table, "tr": blocks.end_row}.get(tag, blocks.end_cell)()
        elif tag == "a" and self._links:
            self._link(*self._links.pop())
        elif tag in ("code", "kbd", "samp", "tt") and self._code is not None:
            text = blocks.take(self._code)
            self._code = None
            blocks.add(code_span(text) if self._markdown else text)
        elif tag in _EMPHASIS and self._markdown and self._code is None:
            blocks.join_mark(_EMPHASIS[tag], opens=False)

    def _link(self, mark: int, href: str) -> None:
        if not self._markdown or self.blocks.in_pre or self._code is not None:
            return
        url = self._absolute(href) if href and not href.startswith("#") else ""
        text = " ".join(self.blocks.take(mark).split())
        if not text or not url:
            self.blocks.add(text)
        else:
            self.blocks.add(f"<{url}>" if text == url else f"[{text}]({url})")

    def _image(self, attributes: dict[str, str]) -> None:
        text = " ".join(attributes.get("alt", "").split())
        url = self._absolute(attributes.get("src", ""))
        if self._markdown and text and url:
            self.blocks.add(f"![{text}]({url})")
        elif text:
            self.blocks.add(text)

    def _absolute(self, href: str) -> str:
        try:
            url = urljoin(self._base, href.strip())
        except ValueError:
            return ""
        if not _LINKS.match(url):
            return ""
        return "".join(f"%{ord(char):02X}" if char in " ()<>\t\n\r" else char for char in url)
