"""Bytes of a page as text."""

from __future__ import annotations

import re

from xun_builtin_tools.byte_marks import mark_of

_META = re.compile(rb"<meta[^>]{0,500}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I)
_XML = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9_:.-]{1,40})", re.I)
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I)
_LOOKED_AT = 4096
# As browsers read them: pages that name these mean the code pages of Windows.
_MEANT = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252", "ascii": "cp1252"}
_NEVER = frozenset({"utf-7", "utf7", "unicode-escape", "raw-unicode-escape", "idna", "punycode", "mbcs", "undefined"})


def decode(body: bytes, content_type: str) -> str:
    """Return *body* as text: by its mark, its header, what it says of itself, else UTF-8; never fails."""
    mark, codec = mark_of(body)
    if mark:
        return body[len(mark) :].decode(codec, "replace")
    head = body[:_LOOKED_AT]
    stated = _PARAMETER.search(content_type)
    names = [stated.group(1)] if stated is not None else []
    names += [found.group(1).decode("ascii") for found in (_XML.search(head), _META.search(head)) if found is not None]
    for name in names:
        plain = name.lower().replace("_", "-")
        if plain in _NEVER:
            continue
        try:
            return body.decode(_MEANT.get(plain, plain), "replace")
        except (LookupError, UnicodeError):
            continue
    return body.decode("utf-8", "replace")
