"""From a function's signature to a pydantic model, and from JSON to its arguments."""

from __future__ import annotations

import builtins
import contextlib
import inspect
import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, Literal, Union, cast, get_args, get_origin, get_type_hints

from xun.errors import ConfigError, ToolCallFormatError
from xun.tools.coerce import ListRule, list_rule, read_list
from xun.tools.context import ToolCallContext
from xun.tools.preset import check_names
from xun.tools.surrogates import disguise, undisguise

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.json_schema import GenerateJsonSchema

_EMPTY = inspect.Parameter.empty
_SHOWN_ERRORS = 10
_SIMPLE: tuple[Any, ...] = (str, int, float, bool)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter that the model fills in."""

    name: str
    annotation: Any
    default: Any = _EMPTY
    positional_only: bool = False
    rule: ListRule | None = None
    preset: bool = False


@dataclass
class Signature:
    """What a tool function takes: the model's parameters, and where its context goes.

    The pydantic model is built at first use: building costs over a millisecond, and most of the
    tools of a short session are never called.
    """

    tool: str
    params: tuple[Param, ...]
    context_params: tuple[str, ...] = ()
    context_positional: tuple[int, ...] = field(default=())
    preset: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def args_model(self) -> type[BaseModel]:
        """The pydantic model of the arguments; extra fields are forbidden.

        Raises:
            ConfigError: A parameter has a type that can't come out of JSON; the text names it.
        """
        from pydantic import ConfigDict, create_model
        from pydantic.errors import PydanticUserError

        config = ConfigDict(extra="forbid", strict=True, protected_namespaces=(), allow_inf_nan=False)
        fields: dict[str, Any] = {
            name: _field(param, name) for param, name in zip(self.params, self.field_names, strict=True)
        }
        try:
            model: type[BaseModel] = create_model(f"{self.tool}_arguments", __config__=config, **fields)
            if not model.__pydantic_complete__:
                model.model_rebuild()
            return model
        except (PydanticUserError, TypeError, NameError) as exc:
            raise self._indescribable(exc) from exc

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        """The model's field name for each parameter; differs where pydantic reserves the name."""
        from pydantic import BaseModel

        return tuple(
            f"param_{index}_" if param.name.startswith("_") or hasattr(BaseModel, param.name) else param.name
            for index, param in enumerate(self.params)
        )

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """The JSON schema that the model sees."""
        from pydantic.errors import PydanticInvalidForJsonSchema

        try:
            schema = self.args_model.model_json_schema(by_alias=True, schema_generator=_generator())
        except PydanticInvalidForJsonSchema as exc:
            raise self._indescribable(exc) from exc
        schema.setdefault("properties", {})
        schema.setdefault("required", [])
        schema.pop("title", None)
        return schema

    def _indescribable(self, exc: Exception) -> ConfigError:
        first = str(exc).splitlines()[0]
        return ConfigError(
            f"Tool {self.tool}: a parameter has a type that can't be described to a model ({first}). "
            "Annotate parameters with JSON types, a dataclass, an Enum or a pydantic model."
        )

    @cached_property
    def _rules(self) -> dict[str, ListRule]:
        return {param.name: param.rule for param in self.params if param.rule is not None}

    @cached_property
    def _validate(self) -> Callable[..., Any]:
        return self.args_model.__pydantic_validator__.validate_json

    def bind(self, arguments: dict[str, Any] | str) -> tuple[list[Any], dict[str, Any]]:
        """Validate *arguments* and return positional and keyword arguments of the call.

        Defaults that the model did not fill in are left to the function itself.

        Raises:
            ToolCallFormatError: The arguments are no JSON object, or do not fit; the text says how to repair them.
        """
        model = self.validated(arguments)
        given, values = model.__pydantic_fields_set__, model.__dict__
        if self._plain_names:
            filled = {name: values[name] for name in given}
            return [], {**self.preset, **filled} if self.preset else filled
        args: list[Any] = []
        kwargs: dict[str, Any] = {name: self.preset[name] for name in self._preset_by_name}
        for param, name in zip(self.params, self.field_names, strict=True):
            if param.positional_only:
                args.append(self.preset[param.name] if param.preset and name not in given else values[name])
            elif name in given:
                kwargs[param.name] = values[name]
        return args, kwargs

    def validated(self, arguments: dict[str, Any] | str) -> BaseModel:
        """Return *arguments* as an instance of the model.

        Raises:
            ToolCallFormatError: They do not fit.
        """
        text = arguments if isinstance(arguments, str) else as_json_text(self.tool, arguments)
        try:
            model = cast("BaseModel", self._validate(text, strict=True))
        except ValueError as exc:
            return self._second_try(text, exc)
        # Each parameter has a colon of its own: with no more of those than parameters none is there twice.
        if (
            text is arguments
            and text.count(":") != len(model.__pydantic_fields_set__)
            and _may_repeat(text, self.params)
        ):
            decode_object(self.tool, text)
        return model

    def _second_try(self, text: str, refused: Any) -> BaseModel:
        """Validate again with lists that came as text and lone surrogates; a good call is decoded once only."""
        data = decode_object(self.tool, text)
        changed, disguised = disguise(self._read_lists(data))
        if changed is data and text.strip():
            raise self._invalid(refused) from None
        try:
            model = cast("BaseModel", self._validate(as_json_text(self.tool, changed), strict=True))
        except ValueError as exc:
            raise self._invalid(exc) from None
        return cast("BaseModel", undisguise(model)) if disguised else model

    @cached_property
    def _preset_by_name(self) -> tuple[str, ...]:
        by_place = {param.name for param in self.params if param.positional_only}
        return tuple(name for name in self.preset if name not in by_place)

    @cached_property
    def _plain_names(self) -> bool:
        return not any(param.positional_only for param in self.params) and self.field_names == tuple(
            param.name for param in self.params
        )

    def _read_lists(self, data: dict[str, Any]) -> dict[str, Any]:
        changed = data
        for name, rule in self._rules.items():
            value = data.get(name)
            if not isinstance(value, str):
                continue
            try:
                parsed = read_list(value, rule)
            except ValueError as exc:
                raise ToolCallFormatError(f"Tool {self.tool}: parameter {name}: {exc}") from None
            if changed is data:
                changed = dict(data)
            changed[name] = parsed
        return changed

    def _invalid(self, exc: Any) -> ToolCallFormatError:
        if not hasattr(exc, "errors"):
            # Text that is no UTF-8 never reaches the validator.
            return ToolCallFormatError(f"Tool {self.tool}: the arguments are not valid JSON ({exc}).")
        errors = exc.errors(include_url=False, include_context=False)
        lines = []
        for error in errors[:_SHOWN_ERRORS]:
            where = ".".join(str(part) for part in error["loc"]) or "arguments"
            if error["type"] == "extra_forbidden":
                names = ", ".join(param.name for param in self.params) or "none"
                lines.append(f"{where}: no such parameter (it takes: {names})")
            elif error["type"] == "missing":
                lines.append(f"{where}: required, but missing")
            else:
                got = type(error.get("input")).__name__
                lines.append(f"{where}: {error['msg'][:1].lower()}{error['msg'][1:]}, got {got}")
        if len(errors) > _SHOWN_ERRORS:
            lines.append(f"and {len(errors) - _SHOWN_ERRORS} more")
        return ToolCallFormatError(f"Tool {self.tool}: invalid arguments; the tool did not run.\n" + "\n".join(lines))


@cache
def _generator() -> type[GenerateJsonSchema]:
    from pydantic.json_schema import GenerateJsonSchema

    class Quiet(GenerateJsonSchema):
        # A default that is no JSON value is left out of the schema; that is no reason to warn.
        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

        def encode_default(self, dft: Any) -> Any:
            # The general way builds a validator for each default, which costs more than the rest of a parameter.
            return dft if dft is None or type(dft) in _SIMPLE else super().encode_default(dft)

    return Quiet


def as_json_text(tool: str, data: Any) -> str:
    """Return the arguments of a call as JSON text.

    Raises:
        ToolCallFormatError: They are no dict of JSON values.
    """
    if not isinstance(data, dict):
        raise _no_object(tool, data)
    try:
        return json.dumps(data)
    except (TypeError, ValueError, RecursionError) as exc:
        raise ToolCallFormatError(f"Tool {tool}: the arguments are no JSON values: {exc}") from None


def decode_object(tool: str, text: str) -> dict[str, Any]:
    """Decode the arguments of a call; "" means none.

    Raises:
        ToolCallFormatError: The text is no valid JSON, or no object.
    """
    if not text.strip():
        return {}
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        raise ToolCallFormatError(
            f"Tool {tool}: the arguments are not valid JSON ({exc}); the tool did not run. Send one JSON object."
        ) from None
    if not isinstance(data, dict):
        raise _no_object(tool, data)
    return data


def _may_repeat(text: str, params: Sequence[Param]) -> bool:
    """Tell cheaply whether a parameter could be there twice: readers differ in which of the two they take."""
    return '"\\u' in text or any(text.count(f'"{param.name}"') > 1 for param in params)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:60]!r} is there twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


def _no_object(tool: str, data: object) -> ToolCallFormatError:
    return ToolCallFormatError(
        f"Tool {tool}: the arguments must be a JSON object, got {type(data).__name__}; the tool did not run."
    )


def _field(param: Param, name: str) -> Any:
    """Return the definition of a model field for *param*."""
    default = ... if param.default is _EMPTY else param.default
    notes = get_args(param.annotation)[1:] if get_origin(param.annotation) is Annotated else ()
    texts = [note for note in notes if isinstance(note, str)]
    if name == param.name and not texts and not param.preset:
        return (param.annotation, default)
    from pydantic import Field

    alias = None if name == param.name else param.name
    if param.preset:
        # A factory makes it optional without showing the value, which may be a secret.
        text = texts[0] if texts else None
        return (param.annotation, Field(default_factory=lambda: None, alias=alias, description=text))
    return (param.annotation, Field(default, alias=alias, description=texts[0] if texts else None))


def read_signature(tool: str, func: Callable[..., Any]) -> Signature:
    """Read what *func* takes; *tool* is the name used in messages."""
    params: list[Param] = []
    context: list[str] = []
    context_positional: list[int] = []
    annotations = _Annotations(func)
    declared = list(inspect.signature(func).parameters.values())
    for index, item in enumerate(declared):
        if item.kind in _VARIADIC or (index == 0 and item.name in ("self", "cls")):
            continue
        annotation = annotations.resolve(item)
        if annotation in _SIMPLE and item.kind is not inspect.Parameter.POSITIONAL_ONLY:
            params.append(Param(item.name, annotation, item.default))
            continue
        if _is_context(annotation, item.annotation):
            if item.kind is inspect.Parameter.POSITIONAL_ONLY:
                context_positional.append(len(params) + len(context_positional))
            else:
                context.append(item.name)
            continue
        positional = item.kind is inspect.Parameter.POSITIONAL_ONLY
        params.append(Param(item.name, annotation, item.default, positional, list_rule(annotation)))
    return Signature(tool, tuple(params), tuple(context), tuple(context_positional))


def with_preset(signature: Signature, func: Callable[..., Any], preset: Mapping[str, Any]) -> Signature:
    """Return *signature* with *preset* under the arguments of every call; what it fills in is not required.

    Raises:
        ConfigError: The function has no such parameter, or the name is reserved.
    """
    takes: set[str] | None = {param.name for param in signature.params}
    if any(item.kind is inspect.Parameter.VAR_KEYWORD for item in inspect.signature(func).parameters.values()):
        takes = None
    check_names(signature.tool, preset, takes, signature.context_params)
    params = tuple(replace(param, preset=param.name in preset) for param in signature.params)
    return replace(signature, params=params, preset=dict(preset))


class _Annotations:
    """Resolves annotations one by one, so that one unknown name does not lose the others."""

    def __init__(self, func: Callable[..., Any]) -> None:
        target = inspect.unwrap(getattr(func, "func", func))
        if not inspect.isroutine(target) and not inspect.isclass(target):
            target = type(target).__call__
        target = inspect.unwrap(getattr(target, "__func__", target))
        self._globals = getattr(target, "__globals__", {})
        self._locals = _enclosed(target)

    def resolve(self, item: inspect.Parameter) -> Any:
        annotation = item.annotation
        if annotation is _EMPTY:
            return Any if item.default is _EMPTY or item.default is None else type(item.default)
        try:
            if isinstance(annotation, str):
                # The annotation is source text of the tool's own module, which has run already.
                annotation = self._named(annotation)
            if annotation is None or not _is_open(annotation):
                return annotation
            holder = types.SimpleNamespace(__annotations__={"it": annotation})
            return get_type_hints(holder, self._globals, self._locals, include_extras=True)["it"]
        except (NameError, AttributeError, SyntaxError, TypeError):
            return Any

    def _named(self, text: str) -> Any:
        for names in (self._locals, self._globals, vars(builtins)) if text.isidentifier() else ():
            if text in names:
                return names[text]
        return eval(text, self._globals, self._locals)


def _enclosed(func: Any) -> dict[str, Any]:
    """Return the variables of the functions around *func* that its body uses."""
    names = func.__code__.co_freevars if isinstance(func, types.FunctionType) else ()
    found = {}
    for name, cell in zip(names, getattr(func, "__closure__", None) or (), strict=False):
        with contextlib.suppress(ValueError):  # not assigned yet
            found[name] = cell.cell_contents
    return found


def _is_open(annotation: Any) -> bool:
    """Tell whether *annotation* holds a name that is still text."""
    if isinstance(annotation, str | ForwardRef):
        return True
    if get_origin(annotation) is Annotated:
        return _is_open(get_args(annotation)[0])
    return get_origin(annotation) is not Literal and any(_is_open(arg) for arg in get_args(annotation))


def _is_context(annotation: Any, written: Any) -> bool:
    if isinstance(written, str) and annotation is Any:
        head = written.split("[", 1)
        names = {head[0].strip().rsplit(".", 1)[-1]}
        if len(head) > 1 and names & {"Optional", "Annotated", "Union"}:
            names.add(head[1].split("[")[0].split("]")[0].split(",")[0].strip().rsplit(".", 1)[-1])
        names |= {part.strip().split("[")[0].rsplit(".", 1)[-1] for part in written.split("|")}
        return "ToolCallContext" in names
    if get_origin(annotation) in (Union, types.UnionType):
        return any(_is_context(arg, None) for arg in get_args(annotation))
    if get_origin(annotation) is Annotated:
        return _is_context(get_args(annotation)[0], None)
    target = get_origin(annotation) or annotation
    return isinstance(target, type) and issubclass(target, ToolCallContext)
