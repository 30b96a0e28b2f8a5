"""What stands around a call that has more than a function: tapes, dry runs, budgets, the cache, bugs that propagate."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, cast

from xun._serialize import to_jsonable
from xun.errors import BudgetReached, XunError
from xun.result import Result
from xun.tools.dry import DryRun
from xun.tools.function import Function, as_result, failure
from xun.tools.ledger import Ledger
from xun.tools.recording import Player, Recorder
from xun.tools.schema import decode_object
from xun.tools.suspend import Suspend
from xun_policies.store import STATE_KEY

if TYPE_CHECKING:
    import os

    from xun.agent.agent import Agent
    from xun.tools.context import CallScope
    from xun.tools.toolbox import ToolBox


_EXPECTED = (XunError, TimeoutError, DryRun)


class Guarding:
    """What a toolbox does with every call beside making it; mixed into `ToolBox`.

    Attributes:
        timeout: Seconds for a call of a tool that has no limit of its own; None for no limit.
    """

    def __init__(self, timeout: float | None, raise_unexpected: bool) -> None:
        self.timeout = timeout
        self._raise_unexpected = raise_unexpected
        self._dry_run = False
        self._recorder: Recorder | None = None
        self._player: Player | None = None
        self._gated: set[str] = set()
        self._watched = raise_unexpected

    def _set(self, **values: Any) -> None:
        # One flag says that none of them is set, so that a call looks at nothing else.
        for name, value in values.items():
            setattr(self, name, value)
        self._watched = bool(self._dry_run or self._raise_unexpected or self._recorder or self._player)

    @property
    def raise_unexpected(self) -> bool:
        """Whether bugs of tools are raised; only errors of xun's own kinds, such as `ToolError`, become Err then."""
        return self._raise_unexpected

    @property
    def dry_run(self) -> bool:
        """Whether nothing is changed: a write gives its diff, a command its verdict, and any other tool that does
        not say that it is ``read_only`` or ``pure`` the call that it would have been. May be set.
        """
        return self._dry_run

    @dry_run.setter
    def dry_run(self, value: bool) -> None:
        self._set(_dry_run=value)

    @property
    def recorder(self) -> Recorder | None:
        """Where calls are recorded."""
        return self._recorder

    @property
    def player(self) -> Player | None:
        """Where calls are answered from."""
        return self._player

    def record(self, path: str | os.PathLike[str] | None) -> Self:
        """Write every call with its result to *path*, one JSON line each; None ends that.

        Raises:
            ConfigError: The file can't be written.
        """
        self._set(_recorder=None if path is None else Recorder(path))
        return self

    def replay(self, path: str | os.PathLike[str] | None) -> Self:
        """Answer calls with what was recorded in *path*, without running any tool or asking; None ends that.

        Raises:
            ConfigError: The file can't be read.
        """
        self._set(_player=None if path is None else Player(path))
        return self

    def is_gated(self, name: str) -> bool:
        """Tell whether *name* is a built-in tool, whose writes and commands are asked about where they are made."""
        return name in self._gated

    def limit(self, tool: Function, ledger: Ledger | None = None) -> float | None:
        """Return the seconds that a call of *tool* may take now; None for no limit."""
        limit = tool.attr.timeout if tool.attr.timeout is not None else self.timeout
        if ledger is None or tool.attr.max_seconds is None:
            return limit
        left = ledger.seconds_left(tool.name, tool.attr.max_seconds)
        return left if limit is None else min(limit, left)

    def may_ask(self, agent: Agent[Any], tool: Function) -> bool:
        """Tell whether the call of *tool* may need a question first; most need none, and this is quick."""
        if tool.is_plain or not (tool.attr.approval or tool.attr.destructive):
            policy = getattr(agent, "state", {}).get(STATE_KEY)
            if policy is None or getattr(policy, "mode", "plan") != "plan":
                return False
        return self._player is None and not self._dry_run

    def _take_settings(self, other: Guarding) -> None:
        self.timeout, self._gated = other.timeout, set(other._gated)
        self._set(
            _raise_unexpected=other._raise_unexpected,
            _dry_run=other._dry_run,
            _recorder=other._recorder,
            _player=other._player,
        )


def guard(
    box: ToolBox, tool: Function, call: Callable[[], Any], arguments: dict[str, Any] | str, scope: CallScope | None
) -> Callable[[], Any]:
    """Return *call* with what the toolbox and the tool's properties add to it."""
    if not (tool.is_counted or box.dry_run or box.raise_unexpected or box.recorder or box.player):
        return call
    given = decode_object(tool.name, arguments) if isinstance(arguments, str) else arguments
    ledger = None if scope is None else scope.ledger
    return _Guard(box, tool, _propagating(call) if box.raise_unexpected else call, given, ledger).made


class _Guard:
    def __init__(
        self,
        box: ToolBox,
        tool: Function,
        call: Callable[[], Any],
        arguments: dict[str, Any],
        ledger: Ledger | None,
    ) -> None:
        self.box, self.tool, self.call, self.arguments, self.ledger = box, tool, call, arguments, ledger

    def made(self) -> Any:
        return self.awaited() if self.tool.is_async else self.on_thread()

    def on_thread(self) -> Result[Any, Any]:
        early = self.before()
        if early is not None:
            return early
        started = time.monotonic()
        try:
            result = self.call()
        except Suspend:
            self.put_off()
            raise
        finally:
            self.spent(started)
        return self.after(cast("Result[Any, Any]", result))

    async def awaited(self) -> Result[Any, Any]:
        early = self.before()
        if early is not None:
            return early
        started = time.monotonic()
        try:
            result = await self.call()
        except Suspend:
            self.put_off()
            raise
        finally:
            self.spent(started)
        return self.after(cast("Result[Any, Any]", result))

    def before(self) -> Result[Any, Any] | None:
        """Return the result of a call that need not, or may not, be made."""
        name, attr = self.tool.name, self.tool.attr
        if self.box.player is not None:
            return self.box.player.answer(name, self.arguments)
        if self.box.dry_run and not (attr.read_only or attr.pure or self.box.is_gated(name)):
            return Result.Ok({"dry_run": True, "would_call": name, "arguments": to_jsonable(self.arguments)})
        if self.ledger is None:
            return None
        if attr.pure and (kept := self.ledger.cached(name, self.arguments)) is not None:
            return kept
        refused = self.ledger.begin(name, attr)
        return failure(BudgetReached(refused)) if refused else None

    def put_off(self) -> None:
        """Take the count of a call back that will be made again."""
        if self.ledger is not None:
            self.ledger.take_back(self.tool.name)

    def spent(self, started: float) -> None:
        if self.ledger is not None:
            self.ledger.take(self.tool.name, time.monotonic() - started)

    def after(self, result: Result[Any, Any]) -> Result[Any, Any]:
        if self.tool.attr.pure and self.ledger is not None and result.is_ok():
            self.ledger.keep(self.tool.name, self.arguments, result)
        if self.box.recorder is not None:
            self.box.recorder.note(self.tool.name, self.arguments, result)
        return result


def _propagating(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return *call* with only errors that are meant for the model as results; a bug of the tool is raised."""
    if not isinstance(call, functools.partial):
        return call
    bare = getattr(call.func, "__wrapped__", None)
    if bare is None:
        return call
    made = functools.partial(bare, *call.args, **call.keywords)

    def expected() -> Any:
        try:
            value = made()
        except _EXPECTED as exc:
            return failure(exc)
        return _later(value) if hasattr(value, "__await__") else as_result(value)

    return expected


async def _later(value: Any) -> Result[Any, Any]:
    try:
        return as_result(await value)
    except _EXPECTED as exc:
        return failure(exc)
