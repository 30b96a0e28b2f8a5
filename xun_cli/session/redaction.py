"""What looks like a key, a token or a password, taken out of a document that may leave this machine."""

from __future__ import annotations

import functools
import re
from typing import Any

MARK = "[redacted]"
"""What stands in its place."""

_LONGEST = 4096  # characters of a value: what looks for its end must not read the whole text each time

_BARE = r"^\s\"',;<>{}()\[\]\\"

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_SHORTEST_LINE, _GAP = 8, 60  # of base64 in a key; what may stand between two of them

_TOKENS = (
    r"\b(?:gsk|hf|dop_v1|shpat|whsec|lin_api|nvapi|pplx|tvly|dckr_pat|glpat|gldt|glrt|xapp|xai|gh[opsur]|xox[abeoprs])"
    r"[-_][A-Za-z0-9_\-]{8,}",
    r"\b(?:sk|pk|rk|r8|npm|pypi)[-_](?=[\w-]*[0-9A-Z])[A-Za-z0-9_\-]{8,}",
    r"\bsk-[A-Za-z0-9_\-]{8,}",
    r"\bgithub_pat_\w{20,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[\w-]{30,}",
    r"\bya29\.[\w-]{10,}",
    r"\bhv[sb]\.[\w-]{20,}",
    r"\bSG\.[\w-]{10,}\.[\w-]{10,}",
    r"\bAGE-SECRET-KEY-1[0-9A-Z]{20,}",
    r"\beyJ[\w-]{8,}\.[\w-]{4,}\.[\w-]*",
    r"\b\d{8,12}:AA[\w-]{30,}",
    r"(?<=hooks\.slack\.com/services/)[\w/]{10,}",
    r"(?<=/api/webhooks/)\d+/[\w-]{20,}",
    # Who logs in, in an address: only the schemes of databases have passwords with a slash.
    r"(?<=://)[^\s/@:\"'<>]*:[^\s/\"'<>]+(?=@)",
    r"(?<=://)(?=[^\s/@]*\d)[^\s/@:\"'<>]{8,}(?=@)",
)
_PRIVATE = r"[A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
_PATTERNS = {
    "key block": rf"-----BEGIN {_PRIVATE}(?:.*?-----END {_PRIVATE}|.*\Z)",
    "end of a key": rf"-----END {_PRIVATE}",
    "login": r"(?P<head>\b(?!https?:)[a-z][a-z0-9+.-]{1,30}://)[^\s/@:\"'<>]*:[^\s\"'<>]+(?=@[\w\[])",
    "token": "|".join(_TOKENS),
    "header": r"(?P<head>(?i:\b(?:proxy-)?authorization\b|\b(?:set-)?cookie\b)[\"']?\s*[:=]\s*[\"']?"
    r"(?:(?i:basic|bearer|token|digest|negotiate)\s+)?)[^\r\n\"']{4,}",
    "scheme": r"(?P<head>\bBearer )\S{8,}|(?P<low>\b(?i:bearer|basic)\s+)(?=\S*[0-9=])[A-Za-z0-9+/._~=-]{8,}",
    "option": r"(?P<head>(?<!\S)--?[\w-]*(?:password|passwd|passphrase|token|secret|api-?key)[ =][\"']?)[^\s\"']{4,}",
    "user option": r"(?P<head>(?<!\S)(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,60}:)(?!\d+\b)[^\s\"']{3,}",
    "netrc": r"(?P<head>(?i:\blogin)\s+\S+\s+(?i:password)\s+)\S{3,}",
    "element": r"(?P<head><(?P<name>[\w.:-]{2,60})>)(?P<value>[^<\r\n]{4,})(?=</(?P=name)>)",
    "assigned": r"(?P<head>(?<![\w.-])(?P<name>[A-Za-z_][\w.-]{1,80})(?:\\?[\"'])?\s{0,8}(?:=>|:=|=|:)\s{0,8})"
    rf"(?P<value>\\\"[^\"\\\r\n]{{0,{_LONGEST}}}\\\"|\"(?:\\.|[^\"\\\r\n]){{0,{_LONGEST}}}\"|'[^'\r\n]{{0,{_LONGEST}}}'"
    rf"|(?!//)[{_BARE}]{{4,256}})",
    "rest": f"[{_BARE}]*",
    # A name that says that what it holds is secret, and one that only may.
    "secret name": r"(?i:passw(?:or)?d|passwd|passphrase|secret|credential)|(?i:(?:\A|[_.-])(?:pwd|pass)(?:\Z|[_.-]))",
    "key name": r"(?i:api[_.-]?key|access[_.-]?key|auth[_.-]?key|account[_.-]?key|private[_.-]?key|token)"
    r"|(?i:[_.-]key(?:\Z|[_.-]))|[a-z0-9]Key\Z|KEY\Z",
    "no key": r"(?i:tokens|tokeni[sz]|primary|foreign|public|keyboard|monkey|sort_key|cache_key|token_(?:type|count))",
    "harmless": r"(?i:[\"'\\]*(?:true|false|null|none|undefined|[\d_,.]+|str|string|optional|required|\$\{?\w+\}?"
    r"|os\.\S*|env\.\S*|process\.\S*|self\.\S*|\[redacted\])[\"'\\]*)",
    "line end": r"(?:\s|\\n|\\r)+(?:\d{1,7}[\t:|]\s*)?\Z|\\\Z",
}


@functools.cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[name], re.DOTALL)


def redact(text: str) -> str:
    """Return *text* with what looks like a key, a token or a password replaced by ``[redacted]``.

    It goes by known forms and by names, so it finds much and not all; a key block that was cut is taken out as far as
    it goes.
    """
    text = _pattern("key block").sub(MARK, text)
    text = _without_ends(text)
    for name in ("login", "token", "header", "scheme", "option", "user option", "netrc"):
        text = _pattern(name).sub(_after_head, text)
    for name in ("element", "assigned"):
        text = _without_values(text, _pattern(name))
    return text


def redact_values(value: Any, name: str = "") -> Any:
    """Return JSON values with every text redacted, also by the name that it has."""
    if isinstance(value, str):
        return MARK if name and _is_secret(name, value, True) else redact(value)
    if isinstance(value, dict):
        return {key: redact_values(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_values(item) for item in value]
    return value


def _after_head(found: re.Match[str]) -> str:
    groups = found.groupdict()
    return (groups.get("head") or groups.get("low") or "") + MARK


def _without_values(text: str, pattern: re.Pattern[str]) -> str:
    """Return *text* without the values whose names say that they are secret; other values are looked into."""
    parts: list[str] = []
    at = kept = 0
    while found := pattern.search(text, at):
        at = found.start("value")
        value = found["value"]
        quote = re.match(r"(?:\\?[\"'])?", value)
        mark = quote.group() if quote else ""
        query = text[found.start() - 1 : found.start()] in ("?", "&")
        called = not mark and text[found.end() : found.end() + 1] in ("(", "[")
        if called or not _is_secret(found["name"], value.partition("&")[0] if query else value, query):
            continue
        if not mark and (rest := _pattern("rest").match(text, found.end())):
            value += rest.group()
        if query:  # the next parameter is another one
            value = value.partition("&")[0]
        parts += [text[kept:at], mark, MARK, mark]
        at += len(value)
        kept = at
    return "".join(parts) + text[kept:]


def _is_secret(name: str, value: str, certain: bool = False) -> bool:
    bare = value.strip("\"'\\")
    if len(bare) < 4 or _pattern("harmless").fullmatch(value):
        return False
    if _pattern("secret name").search(name):
        return True
    if len(bare) < 6 or not _pattern("key name").search(name) or _pattern("no key").search(name):
        return False
    # A word without a digit is a name in a program, unless it is given to a variable of the environment.
    return certain or value != bare or name.isupper() or any(char.isdigit() for char in bare)


def _without_ends(text: str) -> str:
    """Return *text* without the lines of a private key whose beginning was cut off."""
    while found := _pattern("end of a key").search(text):
        before = text[: found.start()]
        while True:
            lines = _pattern("line end").sub("", before[-_GAP:])
            trimmed = before[:-_GAP] + lines
            bare = trimmed.rstrip(_BASE64)
            if len(trimmed) - len(bare) < _SHORTEST_LINE:
                break
            before = bare
        text = before + MARK + text[found.end() :]
    return text
