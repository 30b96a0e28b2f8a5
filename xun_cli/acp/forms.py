"""Questions that take an answer in the person's own words, as a form of the editor, where it has forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp.schema import (
    AcceptElicitationResponse,
    ElicitationFormSessionMode,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
)

from xun.choice import ChoiceOutcome
from xun_cli.plain_questions import refusal
from xun_cli.render.safe import safe

if TYPE_CHECKING:
    from acp.schema import ClientCapabilities

    from xun.choice import ChoiceRequest

CHOICE, WORDS = "choice", "answer"
"""The fields of a form: one of the answers that are offered, and one's own words, which count more."""


def has_forms(capabilities: ClientCapabilities | None) -> bool:
    """Tell whether an editor said that it shows forms."""
    elicitation = getattr(capabilities, "elicitation", None)
    return elicitation is not None and elicitation.form is not None


def wants_form(request: ChoiceRequest) -> bool:
    """Tell whether *request* takes an answer that no button can give."""
    return request.allow_extra and request.kind == "choice"


def form_of(request: ChoiceRequest, session_id: str) -> tuple[str, ElicitationFormSessionMode]:
    """Return the text and the form for *request*."""
    fields: dict[str, Any] = {}
    offered = [(str(index), option) for index, option in enumerate(request.options) if option.available]
    if offered:
        fields[CHOICE] = ElicitationStringPropertySchema(
            type="string",
            title="Answer",
            one_of=[EnumOption(const=at, title=safe(item.label, multiline=False, prompt=True)) for at, item in offered],
            default=next((at for at, item in offered if item.value == request.default), None),
        )
    own = "Or in your own words" if offered else "Your answer"
    fields[WORDS] = ElicitationStringPropertySchema(type="string", title=own)
    schema = ElicitationSchema(properties=fields, required=None if offered else [WORDS])
    text = "\n\n".join(safe(part) for part in (request.prompt, request.message) if part.strip())
    return text, ElicitationFormSessionMode(session_id=session_id, requested_schema=schema)


def outcome_of_form(request: ChoiceRequest, answer: Any) -> ChoiceOutcome[Any]:
    """Return what the filled-in form means; one that was closed, or says nothing, is a refusal."""
    if not isinstance(answer, AcceptElicitationResponse):
        return refusal(request)
    content = answer.content or {}
    words, chosen = content.get(WORDS), content.get(CHOICE)
    if isinstance(words, str) and words.strip():
        return ChoiceOutcome(words.strip())
    for index, option in enumerate(request.options):
        if option.available and chosen == str(index):
            return ChoiceOutcome(option.value)
    return refusal(request)
