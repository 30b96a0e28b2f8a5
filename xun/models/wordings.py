"""What the words of a server's refusal mean, over the vendors: they share an interface, but no list of errors."""

from __future__ import annotations

import re

_SEARCHED = 20_000
"""How much of a message is looked at, in characters: a server may quote the request."""

_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|too many (input )?tokens"
    r"|(prompt|input|request|messages?)( body)? (is |are )?too (long|large)|reduce (the|your) (length|message size)"
    r"|(input|prompt|sequence|max_seq|max_model)[ _-]?(tokens? )?len(gth)?\b"
    r"|exceeds? (the |this )?(model'?s? |server'?s? )?(maximum|available|max)[^.]{0,40}(token|context|length|input)"
    r"|token[s]?( count)?( limit| of \d+ exceed)|token count[^.]{0,40}exceed|max_prompt_tokens"
    r"|longer than the (maximum )?(model|context)|tokens \+ .{0,30}must be <=|more than (the )?max(imum)? tokens"
    r"|must have (less|fewer) than .{0,20}tokens|prompt exceeds|request exceeds the maximum size"
    r"|(input|prompt|output) tokens must be reduced"
    r"|messages?(\[\d+\]\.content[\w.\[\]]{0,60})?'?: (string|array) too long",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"(?:max(?:imum)? (?:context|prompt|model|input) length|context (?:length|size|window)|max_seq_len|max_model_len"
    r"|maximum number of tokens allowed|exceeds the limit|token limit|must be <=)"
    r"(?: (?:of|is|only|for|this|the|model|allowed))*[ :(=]*(\d[\d,]{2,11})\b"
    r"|(\d[\d,]{2,11})(?: tokens?)? (?:maximum\b|max\b)|context[^.\d]{0,30}of only (\d[\d,]{2,11})\b",
    re.IGNORECASE,
)
_LEAST_WINDOW, _LARGEST_WINDOW = 500, 100_000_000
_NO_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|billing|credit balance|out of credits", re.IGNORECASE
)
_NO_TOOLS = re.compile(r"(not|n't) support (the )?(use of )?(tool|function)|tool (use|calling) is not", re.IGNORECASE)
_NO_MODEL = re.compile(
    r"model[ _-]?not[ _-]?(found|exist)|(invalid|unknown|no such) model\b|not a valid model"
    r"|model .{0,120}(does not|doesn't|not) (exist|found)|models?[ /].{0,80}(is|was) not found|deploymentnotfound",
    re.IGNORECASE,
)
_BAD_KEY = re.compile(
    r"(incorrect|invalid|wrong|expired|bad)[ _](api[ _-]?)?key|api[ _-]?key[ _](is )?(not valid|invalid|expired)",
    re.IGNORECASE,
)
_BAD_CALL = re.compile(
    r"tool_use_failed|failed to (call a function|generate tool|parse tool)|tool call validation failed", re.IGNORECASE
)
_LOADING = re.compile(
    r"\bloading\b.{0,40}\bmodel|\bmodel\b.{0,80}\b(is )?(currently )?loading", re.IGNORECASE | re.DOTALL
)
_WAIT = re.compile(
    r"(?:retry_?delay\W{1,4}|try again|retry|wait)(?: (?:in|after|for))?[ :]*"
    r"(?:(?P<h>\d{1,4}) ?h(?:(?:ou)?rs?)?(?![a-z]))? ?(?:(?P<m>\d{1,4}) ?m(?:in(?:ute)?s?)?(?![a-z]))? ?"
    r"(?:(?P<s>\d{1,6}(?:\.\d{1,9})?) ?(?P<unit>ms|milliseconds?|s|sec(?:ond)?s?)\b)?",
    re.IGNORECASE,
)


def is_overflow(words: str) -> bool:
    """Whether a server says that the request is larger than the model's context."""
    return _OVERFLOW.search(words[:_SEARCHED]) is not None


def is_used_up(words: str) -> bool:
    """Whether a server says that the account has nothing left."""
    return _NO_QUOTA.search(words[:_SEARCHED]) is not None


def is_toolless(words: str) -> bool:
    """Whether a server says that the model takes no tools."""
    return _NO_TOOLS.search(words[:_SEARCHED]) is not None


def is_unknown_model(words: str) -> bool:
    """Whether a server says that there is no such model."""
    return _NO_MODEL.search(words[:_SEARCHED]) is not None


def is_bad_call(words: str) -> bool:
    """Whether a server says that what the model wrote is no proper call: another try may bring one (Groq, Cerebras)."""
    return _BAD_CALL.search(words[:_SEARCHED]) is not None


def is_loading(words: str) -> bool:
    """Whether a server says that it still loads the model (llama.cpp, TGI)."""
    return _LOADING.search(words[:_SEARCHED]) is not None


def is_bad_key(words: str) -> bool:
    """Whether a server says that the key is wrong, whatever the status."""
    return _BAD_KEY.search(words[:_SEARCHED]) is not None


def asked_wait(words: str) -> float | None:
    """Return the seconds that a text asks to wait ("try again in 6m0.5s", ``"retryDelay": "34s"``), or None."""
    for match in _WAIT.finditer(words[:_SEARCHED]):
        hours, minutes, seconds = match["h"], match["m"], match["s"]
        if hours or minutes or seconds:
            scale = 0.001 if (match["unit"] or "").lower().startswith("m") else 1.0
            return int(hours or 0) * 3600 + int(minutes or 0) * 60 + float(seconds or 0) * scale
    return None


def named_window(words: str) -> int | None:
    """Return the size of the context in tokens that a refusal names, or None."""
    for match in _WINDOW.finditer(words[:_SEARCHED]):
        size = int(next(group for group in match.groups() if group).replace(",", ""))
        if _LEAST_WINDOW <= size <= _LARGEST_WINDOW:
            return size
    return None
