"""The one tolerance of validation: a list that the model wrote as a string.

Strict validation takes no "3" for 3. Models, however, often write an array parameter as text:
``'["a", "b"]'`` or ``"a, b"``. For list and tuple parameters such a text is read as the list that
it means. The schema shown to the model is not changed by this.
"""

from __future__ import annotations

import json
import types
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

_NOT_TEXT = (int, float, bool, list, tuple, dict, type(None))


@dataclass(frozen=True, slots=True)
class ListRule:
    """How a text given for one parameter becomes a list.

    Attributes:
        items_are_json: Bare items ("1, 2") are read as JSON values instead of strings.
    """

    items_are_json: bool


def list_rule(annotation: Any) -> ListRule | None:
    """Return the rule for a parameter of this type, or None when its text is to be left alone.

    A union with a plain ``str`` member is left alone: there the text may be meant as it is.
    """
    members = _members(annotation)
    if any(member is str for member in members):
        return None
    for member in members:
        origin = get_origin(member) or member
        if origin is list or origin is tuple:
            items = [arg for arg in get_args(member) if arg is not Ellipsis]
            return ListRule(bool(items) and all(_is_not_text(item) for item in items))
    return None


def _members(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _members(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [inner for arg in get_args(annotation) for inner in _members(arg)]
    return [annotation]


def _is_not_text(item: Any) -> bool:
    return all((get_origin(member) or member) in _NOT_TEXT for member in _members(item))


def read_list(text: str, rule: ListRule) -> Any:
    """Return the list that *text* means, or *text* itself when it means none.

    Raises:
        ValueError: The text begins like a JSON array but is none, or is a JSON object.
    """
    body = text.strip()
    if body.startswith("["):
        try:
            value = json.loads(body)
        except ValueError as exc:
            raise ValueError(f"the text begins with [ but is not a valid JSON array ({exc})") from None
        return value
    if body.startswith("{"):
        raise ValueError("expected an array, got the text of a JSON object")
    items = [item.strip() for item in body.split(",")]
    items = [item for item in items if item]
    if not items:
        return text
    return [_json_or_text(item) for item in items] if rule.items_are_json else items


def _json_or_text(item: str) -> Any:
    try:
        return json.loads(item)
    except ValueError:
        return item
