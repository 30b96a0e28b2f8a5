from __future__ import annotations

from xun.tools.schema import without_titles


def test_titles_go_and_a_parameter_of_that_name_stays():
    schema = {
        "type": "object",
        "title": "T",
        "properties": {
            "title": {"type": "string", "title": "Title", "default": "title"},
            "x": {"$ref": "#/$defs/title"},
        },
        "$defs": {"title": {"title": "D", "enum": ["title", {"title": 1}]}},
        "anyOf": [{"title": "A", "type": "null"}],
    }
    assert without_titles(schema) == {
        "type": "object",
        "properties": {"title": {"type": "string", "default": "title"}, "x": {"$ref": "#/$defs/title"}},
        "$defs": {"title": {"enum": ["title", {"title": 1}]}},
        "anyOf": [{"type": "null"}],
    }
