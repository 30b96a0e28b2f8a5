"""What a server's refusal means, in one sentence that holds no secret."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from xun.errors import ContextOverflow, ModelAuth, ModelError, ModelRateLimited, ModelReplyInvalid, ModelUnreachable
from xun.models.wordings import (
    asked_wait,
    is_bad_call,
    is_bad_key,
    is_loading,
    is_overflow,
    is_toolless,
    is_unknown_model,
    is_used_up,
    named_window,
)

QUOTE_LIMIT = 300
"""How much of a server's own words an error text holds, in characters."""

LOADING_SECONDS = 10.0
"""How long to wait between looks at a server that loads its model."""

_KEY_LIKE = re.compile(r"\b(?:sk|pk|gsk|xai|rk|key|ghp|hf)[-_][^\s'\",;]{4,}|\bBearer\s+\S+", re.IGNORECASE)
_RETRYABLE = frozenset({408, 409, 425, 429, 498, 499})
"""What may pass besides 5xx; 498 is Groq's word for no capacity, 499 that of proxies for a closed connection."""


class Secret:
    """A text that never shows itself by accident: its repr and str are masks.

    Attributes:
        source: Where it came from, such as ``OPENAI_API_KEY``; "" for an empty one.
    """

    __slots__ = ("_text", "source")

    def __init__(self, text: str, source: str = "") -> None:
        self._text = text
        self.source = source if text else ""

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._text)

    def reveal(self) -> str:
        """Return the text."""
        return self._text


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go, as far as error texts need it.

    Attributes:
        base_url: The base URL without user and password.
        model: The model that was asked, or "".
        key_source: Where the key came from, such as ``OPENAI_API_KEY``, or "" when there is none.
        secrets: Texts that must not appear anywhere.
    """

    base_url: str
    model: str = ""
    key_source: str = ""
    secrets: tuple[Secret, ...] = ()


def redact(text: str, secrets: Sequence[Secret]) -> str:
    """Return *text* on one line, shortened, without control characters, *secrets* or anything like a key."""
    for secret in secrets:
        word = secret.reveal()
        if len(word) < 4:
            continue
        text = text.replace(word, "[key]")
    # The expressions below take time with the square of a word's length.
    text = text[: 10 * QUOTE_LIMIT]
    for secret in secrets:
        word = secret.reveal()
        if len(word) >= 12:
            # Servers echo keys with the middle masked: the ends give them away.
            ends = rf"\S*(?:{re.escape(word[:6])}|{re.escape(word[-6:])})\S*"
            text = re.sub(ends, "[key]", text)
    text = _KEY_LIKE.sub("[key]", text)
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return text if len(text) <= QUOTE_LIMIT else text[:QUOTE_LIMIT] + "…"


def server_words(body: bytes | str, secrets: Sequence[Secret]) -> str:
    """Return the server's own message out of an error answer, redacted; "" when it has none."""
    return redact(whole_words(body), secrets)


def whole_words(body: bytes | str) -> str:
    """Return the server's own message as it is, for looking at only: it may hold a key and be of any length."""
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        if re.match(r"\s*(<!doctype|<html|<\?xml)", text, re.IGNORECASE):
            return "an HTML page"
        return text
    try:
        return _message(data)
    except RecursionError:
        return ""


def _message(data: Any) -> str:
    if isinstance(data, str):
        return data
    if isinstance(data, list) and data:
        return _message(data[0])
    if not isinstance(data, dict):
        return ""
    for key in ("error", "message", "detail", "msg", "error_message"):
        if data.get(key):
            code = data.get("code") if key == "message" else None
            text = _message(data[key]) + _of_provider(data)
            return f"{text} ({code})" if isinstance(code, str) and text and code not in text else text
    return ""


def _of_provider(data: dict[str, Any]) -> str:
    """Return what a router passes on of the server behind it; its own message then says nothing."""
    given = data.get("metadata")
    raw = given.get("raw") if isinstance(given, dict) else None
    if not isinstance(raw, str | dict) or not raw:
        return ""
    said = whole_words(raw if isinstance(raw, str) else json.dumps(raw))
    return f": {said}" if said else ""


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that the server asks to wait, by ``Retry-After-Ms`` or ``Retry-After`` (seconds or a date)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = (headers.get(name) or "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,12})?", value):
            return float(value) * scale
    import email.utils

    moment = email.utils.parsedate_tz(headers.get("retry-after") or "")
    if moment is None:
        return None
    return max(0.0, email.utils.mktime_tz(moment) - (time.time() if now is None else now))


def refusal(status: int, headers: Mapping[str, str], body: bytes | str, where: Endpoint) -> ModelError:
    """Return the error for an HTTP status other than 200."""
    words = whole_words(body)
    shown = redact(words, where.secrets).rstrip(".")
    said = f": {shown}" if shown else ""
    if status in (401, 403) or (status in (400, 422) and is_bad_key(words)):
        return ModelAuth(_auth_text(status, said, where), status=status)
    if 300 <= status < 400:
        target = redact(headers.get("location") or "another address", where.secrets)
        return ModelUnreachable(
            f"{where.base_url} redirects to {target}; no key is sent along: set base_url to the final address",
            status=status,
            retryable=False,
        )
    if status == 413 or (status in (400, 422, 429, 500) and _is_too_large(status, words)):
        return ContextOverflow(
            f"The request is larger than the context of {where.model or 'the model'}{said}; "
            "compact the conversation or start a new one",
            status=status,
            window=named_window(words),
        )
    if status == 429:
        return _rate_limited(headers, body, said, where)
    if status in (400, 404, 422, 501) and is_toolless(words):
        return ModelError(_no_tools_text(said, where), kind="no_tools", status=status)
    if status == 404 or (status in (400, 422) and is_unknown_model(words)):
        return ModelError(_missing_text(status, said, where), kind="not_found", status=status)
    if status == 402:
        return ModelError(f"{where.base_url} asks for payment (402){said}", kind="payment", status=status)
    if status in (400, 422) and is_bad_call(words):
        return ModelReplyInvalid(f"{where.base_url} could not read the model's call ({status}){said}", status=status)
    again = status in _RETRYABLE or status >= 500
    wish = (headers.get("x-should-retry") or "").lower()
    wait = retry_after(headers)
    return ModelError(
        f"{where.base_url} answered {status}{said}",
        kind="server" if status >= 500 else "refused",
        status=status,
        retryable=wish == "true" or (again and wish != "false"),
        retry_after=LOADING_SECONDS if wait is None and status == 503 and is_loading(words) else wait,
    )


def _is_too_large(status: int, words: str) -> bool:
    """Whether a smaller request would be taken; of a limit per minute that is so when this one alone is above it."""
    if status == 429:
        return re.search(r"too large|tokens must be reduced", words[: QUOTE_LIMIT * 10], re.IGNORECASE) is not None
    return is_overflow(words)


def _rate_limited(headers: Mapping[str, str], body: bytes | str, said: str, where: Endpoint) -> ModelRateLimited:
    words = whole_words(body)
    wait = retry_after(headers)
    if wait is None:
        # Not all vendors set the header: some say it in the text, some in the details beside it.
        wait = asked_wait(words) or asked_wait(body if isinstance(body, str) else body.decode("utf-8", "replace"))
    if "insufficient_quota" in words or (wait is None and is_used_up(words)):
        text = f"{where.base_url} says that the quota is used up (429){said}; waiting will not help"
        return ModelRateLimited(text, status=429, retryable=False)
    asked = "" if wait is None else f" and asks to wait {wait:.0f} s"
    return ModelRateLimited(f"{where.base_url} limits the rate (429){asked}{said}", status=429, retry_after=wait)


def _auth_text(status: int, said: str, where: Endpoint) -> str:
    if not where.key_source:
        return f"{where.base_url} wants a key ({status}){said}; set XUN_API_KEY or OPENAI_API_KEY, or run `xun setup`"
    if status == 403:
        return (
            f"{where.base_url} does not allow this (403){said}; check what the key from {where.key_source} may do, "
            "or run `xun setup` to enter another"
        )
    return (
        f"{where.base_url} refused the key from {where.key_source} ({status}){said}; "
        "check that key, or run `xun setup` to enter another"
    )


def _no_tools_text(said: str, where: Endpoint) -> str:
    return f"{where.model or 'The model'} at {where.base_url} takes no tools{said}; choose another with /model"


def _missing_text(status: int, said: str, where: Endpoint) -> str:
    named = f"the model {where.model!r}" if where.model else "this address"
    text = f"{where.base_url} does not know {named} ({status}){said}"
    if status == 404 and not where.base_url.rstrip("/").endswith("/v1"):
        text += "; base URLs of most servers end in /v1"
    elif where.model:
        text += "; choose another with /model (/models lists them)"
    return text


def no_key(where: Endpoint) -> ModelAuth:
    """Return the error for a server that needs a key when there is none."""
    return ModelAuth(f"No API key for {where.base_url}: set XUN_API_KEY or OPENAI_API_KEY, or run `xun setup`")


def stream_error(data: Any, where: Endpoint) -> ModelError:
    """Return the error for one that a server reports inside a stream that began well."""
    body = data if isinstance(data, str) else json.dumps(data)
    status = _status_of(data)
    error = refusal(status, {}, body, where)
    if error.kind not in ("server", "refused"):
        return error
    words = server_words(body, where.secrets) or "no reason given"
    return ModelError(
        f"{where.base_url} broke off its answer: {words}",
        kind=error.kind,
        status=status,
        retryable=error.retryable,
        retry_after=error.retry_after,
    )


def _status_of(data: Any) -> int:
    given = data.get("error", data) if isinstance(data, dict) else data
    error = given if isinstance(given, dict) else {"message": given}
    for key in ("code", "status", "status_code"):
        value = str(error.get(key, ""))
        if re.fullmatch(r"[45]\d\d", value):
            return int(value)
    words = f"{error.get('code')} {error.get('type')} {error.get('message')}"
    if is_overflow(words):
        return 400
    for pattern, status in (
        (r"rate.?limit|quota|too many requests", 429),
        (r"api.?key|authentication|unauthori[sz]ed", 401),
        (r"invalid.?request|not.?found", 400),
    ):
        if re.search(pattern, words, re.IGNORECASE):
            return status
    return 500
