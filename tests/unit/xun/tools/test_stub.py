from __future__ import annotations

import ast
import datetime
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel

from xun import Result, ToolBox, ToolCallContext, ToolOutput, tool_attr


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Line(TypedDict):
    text: str
    note: NotRequired[str]


@dataclass
class Order:
    id: str
    lines: list[Line]
    when: datetime.datetime
    parent: Order | None = None


class Made(BaseModel):
    name: str
    size: int | None = None


def stub(*funcs: Any) -> str:
    text = ToolBox(*funcs).stub()
    ast.parse(text)
    return text


def signature(func: Any) -> str:
    [found] = [node for node in ast.parse(stub(func)).body if isinstance(node, ast.AsyncFunctionDef)]
    return f"({ast.unparse(found.args)}) -> {ast.unparse(found.returns)}"


def test_parameters_and_docstring():
    def find(path: str, limit: int = 10, deep: bool = False, names: list[str] | None = None) -> dict[str, int]:
        """Find things.

        Below path.
        """
        return {}

    text = stub(find)
    assert signature(find) == (
        "(*, path: str, limit: int=10, deep: bool=False, names: list[str] | None=None) -> dict[str, int]"
    )
    assert '    """Find things.\n\n    Below path."""' in text


def test_the_context_is_no_parameter():
    def look(ctx: ToolCallContext[Any], n: float) -> None:
        """Look."""

    assert signature(look) == "(*, n: float) -> None"


def returned(kind: Any) -> str:
    def tool() -> Any:
        """Return it."""

    tool.__annotations__["return"] = kind
    return signature(tool).split("-> ")[1]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (str, "str"),
        (None, "None"),
        (list, "list[Any]"),
        (list[int], "list[int]"),
        (Sequence[Path], "list[str]"),
        (tuple[int, str], "list[int | str]"),
        (tuple[int, ...], "list[int]"),
        (dict, "dict[str, Any]"),
        (dict[int, list[bool]], "dict[str, list[bool]]"),
        (int | None, "int | None"),
        (Literal["a", 2], "Literal['a', 2]"),
        (Colour, "Literal['red', 'blue']"),
        (Annotated[int, "how many"], "int"),
        (Result[int, Any], "int"),
        (ToolOutput, "Any"),
        (object, "Any"),
        (int | Any, "Any"),
        ("NoSuchName", "Any"),
        (datetime.date, "str"),
        (Made, "Made"),
        (Line, "Line"),
    ],
)
def test_what_is_returned_as_json(kind, text):
    assert returned(kind) == text


def test_classes_are_told_once_with_what_they_hold():
    def get(id: str) -> Order:
        """Get one."""
        raise NotImplementedError

    def every() -> list[Order]:
        """Get all."""
        return []

    text = stub(get, every)
    assert text.count("class Order(TypedDict):") == 1 and text.count("class Line(TypedDict):") == 1
    assert "    lines: list[Line]\n    when: str\n" in text and "    note: NotRequired[str]" in text
    assert "async def every() -> list[Order]:" in text


def test_a_parameter_may_be_a_class_too():
    @dataclass
    class Point:
        x: int
        y: int = 0

    def put(at: Point, colour: Colour = Colour.RED, how: Annotated[str, "in one word"] = "") -> Made:
        """Put it."""
        raise NotImplementedError

    put.__annotations__["at"] = Point
    text = stub(put)
    assert "class Point(TypedDict):\n    x: int\n    y: NotRequired[int]" in text
    assert "colour: Literal['red', 'blue'] = 'red'" in text and "how: in one word" in text


def test_two_classes_of_one_name_are_two():
    def one() -> Any:
        """Return one."""

    def two() -> Any:
        """Return the other."""

    one.__annotations__["return"] = TypedDict("Same", {"a": int})
    two.__annotations__["return"] = TypedDict("Same", {"b": int})
    text = stub(one, two)
    assert "-> Same:" in text and "-> Same_2:" in text


def test_names_that_python_does_not_take():
    def a() -> None:
        """A."""

    def b() -> None:
        """B."""

    def c() -> None:
        """C."""

    named = [tool_attr(name=name)(func) for name, func in (("orders.get", a), ("class", b), ("2nd", c))]
    text = stub(*named)
    assert all(f"async def {name}()" in text for name in ("orders_get", "class_", "_2nd"))


def test_hostile_texts_stay_texts():
    def tool(path: str = '"""\nimport os') -> None:
        """A docstring with \\ and a quote at its end: \""""

    tool.__doc__ = 'Ends with """ and more \\" """'
    text = stub(tool)
    [function] = [node for node in ast.parse(text).body if isinstance(node, ast.AsyncFunctionDef)]
    assert ast.get_docstring(function, clean=False) == 'Ends with """ and more \\" """'
    assert [type(node).__name__ for node in ast.parse(text).body].count("ImportFrom") == 1


def test_partials_objects_and_coroutines():
    class Tool:
        def __call__(self, n: int) -> list[str]:
            """Call it."""
            return []

    async def later(n: int) -> bool:
        """Wait."""
        return True

    def base(n: int, m: int) -> float:
        """Divide."""
        return n / m

    assert signature(tool_attr(name="thing")(Tool())) == "(*, n: int) -> list[str]"
    assert signature(later) == "(*, n: int) -> bool"
    assert signature(tool_attr(name="half")(functools.partial(base, m=2))).endswith("-> float")


def test_only_what_code_can_call_and_nothing_disabled():
    def one() -> None:
        """One."""

    def two() -> None:
        """Two."""

    box = ToolBox(one, two, tool_attr(name="direct", expose="direct")(lambda: None))
    assert "async def one" in box.stub() and "direct" not in box.stub()
    box.disable("one")
    assert "async def one" not in box.stub() and "async def two" in box.stub()


def test_every_built_in_tool_has_a_stub():
    text = ToolBox().with_defaults().with_subagent_provider().stub()
    compile(text, "stub", "exec")
    assert "async def grep(" in text and "async def bash(" not in text


def test_row_48_an_output_schema_says_what_no_annotation_does() -> None:
    schema = {"type": "object", "properties": {"id": {"$ref": "#/$defs/Id"}}, "$defs": {"Id": {"type": "integer"}}}

    @tool_attr(output_schema={"title": "Order", "required": ["id"], **schema})
    def order(number: int):
        """Look up an order."""

    text = ToolBox(order).stub()
    assert "class Order(TypedDict):\n    id: int" in text and "async def order(*, number: int) -> Order:" in text
