"""What one server wants otherwise than the interface says, learned from its refusals.

Servers that call themselves compatible differ in what they refuse. A request that was refused in words
of the table below is made again in another form, and all later ones take that form at once: at most
once per form, so that a server that refuses everything is not asked for ever.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xun.models import rewriting
from xun.models.base import ModelRequest
from xun.models.wire import request_body
from xun.models.wordings import is_overflow

Body = dict[str, Any]

_REFUSING = frozenset({400, 404, 422, 500, 501})
"""Statuses that a refusal of the form comes with; llama.cpp says 500 for what a chat template does not take."""

_SEARCHED = 20_000


@dataclass(frozen=True, slots=True)
class _Form:
    """One way in which servers differ.

    Attributes:
        said: How a server says that it wants it so.
        concerns: Whether it would change anything in a request.
        write: Put a request into the form.
    """

    said: re.Pattern[str]
    concerns: Callable[[Body], bool]
    write: Callable[[Body], None]


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


def _has(key: str) -> Callable[[Body], bool]:
    return lambda body: key in body


def _without(key: str) -> Callable[[Body], None]:
    return lambda body: body.pop(key, None)


def _nothing(body: Body) -> None:
    """Leave *body*: the form is written before, where the messages still are ours."""


_FORMS: dict[str, _Form] = {
    "stream_options": _Form(_words("stream_options|include_usage"), _has("stream_options"), _without("stream_options")),
    "response_format": _Form(
        _words("response_format|json_schema"), _has("response_format"), _without("response_format")
    ),
    # OpenAI, of models that an organisation must be verified for; and servers that never stream.
    "stream": _Form(
        _words(
            r"verified to stream|stream(ing)? (is |was )?(not|n't) (supported|allowed|available)|not support stream"
        ),
        rewriting.streams,
        rewriting.unstream,
    ),
    # Mistral: exactly nine letters and digits; OpenAI: up to 40 characters; Anthropic: no dots or colons.
    "ids": _Form(
        _words(r"tool.?call.?id|tool_calls\[\d+\]\.id|tool_use(_id|\.id)"), rewriting.has_calls, rewriting.short_ids
    ),
    # Templates of Mistral, Gemma and others, in llama.cpp, vLLM and LM Studio; Mistral's own servers.
    "turns": _Form(
        _words(r"must alternate|roles? .{0,40}alternat|unexpected role .{0,20}after role|last role .{0,60}but got"),
        rewriting.has_several,
        rewriting.alternate,
    ),
    "system": _Form(
        _words(r"system (role|message)s? (is |are )?(not|n't) (supported|allowed)|not support (the )?system"),
        rewriting.has_system,
        rewriting.system_to_user,
    ),
    # DeepSeek and Moonshot, of models that think between their calls.
    "reasoning": _Form(_words("reasoning_content"), rewriting.has_answers, _nothing),
    # Google, of Gemini 3 and later.
    "signatures": _Form(_words("thought.?signature"), rewriting.has_calls, rewriting.sign),
    "names": _Form(
        _words(r"function_?response\.name|tool.{0,40}name.{0,20}(empty|missing|required)"),
        rewriting.has_calls,
        rewriting.name_results,
    ),
    "images": _Form(
        _words(
            # Not of the kind or size of one image: the model takes others.
            r"(image(?!/|s? (format|file|media|mime|type|dimension|size|resolution|data))|vision|multi.?modal)"
            r"[^.]{0,60}(not|n't|un)[ -]?(support|accept|allow|enabled)"
            r"|(not|n't) (support|accept|allow|have)[^.]{0,40}(image(?!/|s? (format|file|media|mime|type))|vision"
            r"|multi.?modal)|support image input|mmproj"
            r"|unknown variant .?image_url|expected .?text"
        ),
        rewriting.has_images,
        rewriting.without_images,
    ),
    "schemas": _Form(
        _words(
            r"(unknown name|unsupported|unrecogni[sz]ed|invalid|not (supported|permitted|allowed)|failed to parse)"
            r".{0,200}(schema|grammar|function_declarations|parameters|tools)"
        ),
        rewriting.has_keywords,
        rewriting.plain_schemas,
    ),
    "content": _Form(
        _words(r"""content[`'"\]:, ]+[^.]{0,60}\b(null|none|nil|valid string|a string|required|missing)\b"""),
        rewriting.has_null,
        rewriting.no_null,
    ),
}

_BAD_IMAGE = re.compile(r"\bimages?\b|image_url", re.IGNORECASE)


class Dialect:
    """The forms that one server wants; kept for the life of a model.

    Attributes:
        learned: Their names, in the order in which they came up.
    """

    def __init__(self) -> None:
        self.learned: list[str] = []
        # Those that were refused for what they are: too large, broken, too many. Others may be taken.
        self._bad_images: set[str] = set()

    def body(self, request: ModelRequest, model: str) -> Body:
        """Return the body of *request* as this server wants it."""
        sends = "signatures" in self.learned
        body = request_body(request, model, reasoning="reasoning" in self.learned, extras=sends)
        body["stream_options"] = {"include_usage": True}
        for name in self.learned:
            form = _FORMS[name]
            if form.concerns(body):
                form.write(body)
        if self._bad_images:
            rewriting.without_images(body, self._bad_images)
        return body

    def saw_extras(self) -> None:
        """Note that the server sent something along with its calls: it wants that back."""
        if "signatures" not in self.learned:
            self.learned.append("signatures")

    def learn(self, status: int | None, said: str, body: Body, known: Sequence[str]) -> bool:
        """Learn from the refusal of *body* in the words *said*; whether the request is worth another try.

        *known* is what was learned when the body was written: requests at the same time may learn the same.
        """
        if status not in _REFUSING or not said:
            return False
        said = said[:_SEARCHED]
        for name, form in _FORMS.items():
            if name not in known and form.said.search(said) and form.concerns(body):
                if name not in self.learned:
                    self.learned.append(name)
                return True
        # Of a request that is too long servers name the images as well, but not by their place in it.
        if status in (400, 422) and _BAD_IMAGE.search(said) and ("image_url" in said or not is_overflow(said)):
            sent = rewriting.images_of(body)
            self._bad_images |= sent
            return bool(sent)
        return False
