"""StatefulTool: a tool as a class, with settings, a life, and state of its own for each agent."""

from __future__ import annotations

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from xun.errors import ConfigError
from xun.tools.context import ToolCallContext
from xun.tools.preset import check_names
from xun.tools.schema import Param, Signature, as_json_text, decode_object

if TYPE_CHECKING:
    from pydantic import BaseModel


class StatefulTool(ABC):
    """Base of tools that keep something between calls; register the class.

    One instance serves one agent: it is made and started at the agent's first call, or by `ToolBox.entered`, and
    closed when the agent is finalized, or at the end of ``entered``. Its calls run one at a time unless it is
    ``concurrent`` and ``run`` a coroutine function. `start`, `run` and `close` may be plain or coroutine functions;
    coroutine functions of one instance all run in one event loop.

    Attributes:
        name: What the model calls it; the name of its specification, or of the class, when "".
        description: What the model reads; the docstring of the class when "".
        args_model: The pydantic model of the arguments of a call.
        config_model: The pydantic model of its settings; None for a tool without any.
        concurrent: Its calls run side by side, where ``run`` is a coroutine function.
        config: The settings of this instance.
    """

    name: ClassVar[str] = ""
    description: ClassVar[str] = ""
    args_model: ClassVar[type[BaseModel]]
    config_model: ClassVar[type[BaseModel] | None] = None
    concurrent: ClassVar[bool] = False

    def __init__(self, config: Any = None) -> None:
        self.config = config

    def start(self) -> Any:  # noqa: B027 - most tools have nothing to start
        """Get ready for calls; raise when that fails, and a fresh instance is tried."""

    @abstractmethod
    def run(self, ctx: ToolCallContext[Any], args: Any) -> Any:
        """Serve one call; *args* is an instance of `args_model`."""

    def close(self) -> Any:  # noqa: B027 - most tools have nothing to release
        """Release what the instance holds."""


def settings(cls: type[StatefulTool], given: Mapping[str, Any]) -> Any:
    """Return the checked settings of a tool class.

    Raises:
        ConfigError: They do not meet its ``config_model``, or it takes none.
    """
    from pydantic import ValidationError

    if cls.config_model is None:
        if given:
            raise ConfigError(f"The tool {cls.__name__} takes no settings, got {', '.join(given)}.")
        return None
    model = closed(cls.config_model)
    try:
        return model.model_validate(dict(given))
    except ValidationError as exc:
        known = ", ".join(cls.config_model.model_fields) or "none"
        lines = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors(include_url=False))
        raise ConfigError(f"The tool {cls.__name__}: {lines} (its settings are: {known}).") from None


def closed(model: type[BaseModel]) -> type[BaseModel]:
    """Return *model*, or where it does not say what to do with unknown fields, a subclass that refuses them."""
    if "extra" in model.model_config:
        return model
    from pydantic import ConfigDict, create_model

    kind = create_model(model.__name__, __base__=model, __doc__=model.__doc__)
    kind.model_config = ConfigDict(**{**model.model_config, "extra": "forbid"})
    kind.model_rebuild(force=True)
    return kind


class ModelSignature(Signature):
    """The arguments of a class tool: one instance of its ``args_model``."""

    def __init__(self, tool: str, model: type[BaseModel], preset: Mapping[str, Any]) -> None:
        from xun.tools.coerce import list_rule

        params = tuple(
            Param(name, field.annotation, rule=list_rule(field.annotation), preset=name in preset)
            for name, field in ((field.alias or name, field) for name, field in model.model_fields.items())
        )
        super().__init__(tool, params, preset=dict(preset))
        check_names(tool, preset, {param.name for param in params})
        if preset:
            _check_json(tool, preset)
        self._model = model

    @cached_property
    def args_model(self) -> type[BaseModel]:
        """The model that the class names; unknown fields are refused unless it says otherwise."""
        return closed(self._model)

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """The JSON schema that the model sees."""
        schema = super().json_schema
        schema.pop("description", None)  # the docstring of the model; the tool has its own
        schema["required"] = [name for name in schema["required"] if name not in self.preset]
        return schema

    def bind(self, arguments: dict[str, Any] | str) -> tuple[list[Any], dict[str, Any]]:
        """Validate *arguments* and return them as one instance of the model.

        Raises:
            ToolCallFormatError: The arguments are no JSON object, or do not fit; the text says how to repair them.
        """
        text = arguments if isinstance(arguments, str) else as_json_text(self.tool, arguments)
        if self.preset:
            text = as_json_text(self.tool, {**self.preset, **decode_object(self.tool, text)})
        return [self.validated(text)], {}


def _check_json(tool: str, preset: Mapping[str, Any]) -> None:
    try:
        json.dumps(preset)
    except (TypeError, ValueError) as exc:
        raise ConfigError(f"Tool {tool}: the preset of a class tool must be JSON values: {exc}") from None


def described(cls: type[StatefulTool]) -> str:
    """Return what the model reads about a tool class."""
    return (cls.description or inspect.cleandoc(cls.__doc__ or "")).strip()


def checked_class(cls: type[StatefulTool]) -> type[StatefulTool]:
    """Return *cls* when tools can be made of it.

    Raises:
        ConfigError: It has no ``args_model``, or no ``run``.
    """
    from pydantic import BaseModel

    model = getattr(cls, "args_model", None)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise ConfigError(f"The tool class {cls.__name__} needs args_model, a pydantic model of its arguments.")
    if inspect.isabstract(cls):
        raise ConfigError(f"The tool class {cls.__name__} needs a run(ctx, args) method.")
    return cls
