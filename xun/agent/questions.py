"""Questions of a run to a person: through the Chooser, or settled by a rule in a person's place."""

from __future__ import annotations

import asyncio
import inspect
import itertools
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

from xun.agent.cancel import waking
from xun.choice import ChoiceOutcome, ChoiceRequest, Chooser, Option
from xun.errors import CancelledError, Denied
from xun.events import Notice
from xun.tools.running import HOME, run_blocking
from xun.tools.suspend import CALL, CallJournal, Suspend

if TYPE_CHECKING:
    from xun.agent.agent import Agent

T = TypeVar("T")

_numbers = itertools.count(1)


def new_request_id() -> str:
    """Return an id that no other question of this process has."""
    return f"q{next(_numbers)}"


class NobodyToAsk(Denied):
    """There is no chooser, so the question is answered with no."""

    def __init__(self, question: str) -> None:
        super().__init__(
            f"Nobody can be asked: {question} (give the agent a chooser, allow it beforehand, or set auto_confirm)",
            source="none",
        )


async def _aask(agent: Agent[Any], request: ChoiceRequest) -> ChoiceOutcome[Any]:
    """Return the answer to *request*: by auto_confirm where that may answer, else by the chooser.

    Raises:
        NobodyToAsk: The agent has no chooser.
        CancelledError: The run was cancelled while the question was open.
    """
    journal = CALL.get()
    kept = None if journal is None else journal.answer_to(request)
    if kept is not None:
        return kept
    if agent.config.auto_confirm and not request.skip_auto_confirm:
        outcome: Any = ChoiceOutcome(_default(agent, request), "auto", decided_by="auto_confirm")
    else:
        outcome = await _answer(agent, request, journal)
    if journal is not None:
        journal.keep(request, outcome)
    return cast("ChoiceOutcome[Any]", outcome)


async def _answer(agent: Agent[Any], request: ChoiceRequest, journal: CallJournal | None) -> ChoiceOutcome[Any]:
    """Ask the chooser; what it can't answer now puts the call off, where the call can be put off.

    Raises:
        Suspend: The question is put off.
        NobodyToAsk: It can't be answered.
    """
    outcome: Any = Suspend()
    if agent.config.on_ask != "suspend":
        if agent.chooser is None:
            raise NobodyToAsk(request.prompt)
        try:
            with _open_question(agent):
                outcome = await _chosen(agent, agent.chooser, request)
        except Suspend:
            pass
    if not isinstance(outcome, Suspend):
        return cast("ChoiceOutcome[Any]", outcome)
    if journal is None:
        raise NobodyToAsk(request.prompt)
    raise Suspend(journal.question(request))


@contextmanager
def _open_question(agent: Agent[Any]) -> Iterator[None]:
    """Count the question for *agent* and those that it works for, as long as it is open."""
    asking = [agent]
    while asking[-1].parent is not None:
        asking.append(asking[-1].parent)
    for one in asking:
        one.open_questions += 1
    try:
        yield
    finally:
        for one in asking:
            one.open_questions -= 1


async def _outcome(chooser: Chooser, request: ChoiceRequest) -> ChoiceOutcome[Any]:
    """Ask *chooser*; a plain function may answer, too, and a Suspend may be returned instead of raised.

    Raises:
        TypeError: What it gives is no outcome.
    """
    given: Any = chooser.choose(request)
    outcome = await given if inspect.isawaitable(given) else given
    if not isinstance(outcome, ChoiceOutcome | Suspend):
        raise TypeError(
            f"choose() of {type(chooser).__name__} must return a ChoiceOutcome, such as ChoiceOutcome('once') or "
            f"ChoiceOutcome('deny'), not {type(outcome).__name__}; nothing was allowed."
        )
    return cast("ChoiceOutcome[Any]", outcome)


async def _chosen(agent: Agent[Any], chooser: Chooser, request: ChoiceRequest) -> ChoiceOutcome[Any]:
    home = HOME.get()
    if home is not None and home is not asyncio.get_running_loop() and agent.current_loop() in (home, None):
        # The coroutines of a stateful tool have a loop of their own; the chooser belongs to the one that called it.
        asked = asyncio.run_coroutine_threadsafe(_chosen(agent, chooser, request), home)
        return await asyncio.wrap_future(asked)
    token = agent.current_token()
    task = asyncio.ensure_future(_outcome(chooser, request))
    if token is None:
        return await task
    forget = token.on_cancel(waking(asyncio.get_running_loop(), task.cancel))
    try:
        return await task
    except asyncio.CancelledError:
        if token.reason is not None:
            raise CancelledError(token.reason) from None
        raise
    finally:
        forget()


def _default(agent: Agent[Any], request: ChoiceRequest) -> Any:
    if request.default is not None:
        return request.default
    value = request.options[0].value if request.options else ""
    text = f"auto_confirm chose the first answer, {value!r}, since the question has no default: {request.prompt}"
    agent.record(Notice(agent=agent.name, level="warning", text=text))
    return value


def _wait_for(agent: Agent[Any], coroutine: Coroutine[Any, Any, T]) -> T:
    """Run *coroutine* from the sync code of a tool: in the run's own loop, or the one that waits for this thread.

    Raises:
        RuntimeError: Called on the engine's own loop, which would wait for itself.
    """
    loop = agent.current_loop() or HOME.get()
    if loop is None or loop.is_closed():
        return run_blocking(coroutine)
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        coroutine.close()
        raise RuntimeError(
            "This call would block the event loop that has to answer it; "
            "in async code await aget_choice(), aget_confirm() or aask() instead."
        )
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


def choice_request(  # noqa: PLR0913 - as `Asking.get_choice` has them
    agent: Agent[Any],
    prompt: str,
    choices: Sequence[str],
    *,
    message: str | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    default: str | None = None,
    allow_extra: bool = False,
    skip_auto_confirm: bool = False,
) -> ChoiceRequest:
    """Build a free question; see `Asking.get_choice`.

    Raises:
        ValueError: The default is none of the choices, or there is nothing to choose.
    """
    if default is not None and default not in choices:
        raise ValueError(f"The default {default!r} is none of the choices: {', '.join(choices)}")
    if not choices and not allow_extra:
        raise ValueError("A question needs choices, or allow_extra=True for a free answer")
    options = tuple(Option(value, value, str(index)) for index, value in enumerate(choices, 1))
    return ChoiceRequest(
        new_request_id(),
        "choice",
        _titled(title, prompt),
        options,
        default,
        agent=agent.name,
        message=_below(subtitle, message),
        allow_extra=allow_extra,
        skip_auto_confirm=skip_auto_confirm,
    )


def confirm_request(
    agent: Agent[Any],
    prompt: str,
    *,
    message: str | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    default: bool = True,
    skip_auto_confirm: bool = False,
) -> ChoiceRequest:
    """Build a yes/no question; see `Asking.get_choice`."""
    options = (Option(True, "Yes", "y"), Option(False, "No", "n"))
    return ChoiceRequest(
        new_request_id(),
        "confirm",
        _titled(title, prompt),
        options,
        default,
        agent=agent.name,
        message=_below(subtitle, message),
        skip_auto_confirm=skip_auto_confirm,
    )


def _titled(title: str | None, prompt: str) -> str:
    return f"{title.strip()}: {prompt}" if title and title.strip() else prompt


def _below(subtitle: str | None, message: str | None) -> str:
    return "\n".join(text for text in (subtitle, message) if text)


class Asking:
    """The part of an agent that asks a person; mixed into `Agent`.

    Attributes:
        open_questions: How many questions of it, and of those that work for it, wait for an answer.
    """

    open_questions: int = 0

    def _agent(self) -> Agent[Any]:
        return cast("Agent[Any]", self)

    def get_choice(
        self,
        prompt: str,
        choices: Sequence[str],
        message: str | None = None,
        *,
        title: str | None = None,
        subtitle: str | None = None,
        default: str | None = None,
        allow_extra: bool = False,
        skip_auto_confirm: bool = False,
    ) -> ChoiceOutcome[str]:
        """Ask the person to choose, from a tool's thread.

        Args:
            prompt: The question.
            choices: The answers, in the order to show.
            message: Text below the question.
            title: A few words before the question: what it is about.
            subtitle: A line above *message*.
            default: The one that is preselected, and that auto_confirm answers.
            allow_extra: A free text is an answer too.
            skip_auto_confirm: A person must answer, also under auto_confirm.

        Raises:
            Denied: Nobody can be asked.
            RuntimeError: Called on the event loop of the run; await `aget_choice` there.
        """
        request = choice_request(
            self._agent(),
            prompt,
            choices,
            message=message,
            title=title,
            subtitle=subtitle,
            default=default,
            allow_extra=allow_extra,
            skip_auto_confirm=skip_auto_confirm,
        )
        return self.ask(request)

    async def aget_choice(self, prompt: str, choices: Sequence[str], **options: Any) -> ChoiceOutcome[str]:
        """The same as `get_choice`, from async code."""
        return await _aask(self._agent(), choice_request(self._agent(), prompt, choices, **options))

    def get_confirm(
        self,
        prompt: str,
        message: str | None = None,
        *,
        title: str | None = None,
        subtitle: str | None = None,
        default: bool = True,
        skip_auto_confirm: bool = False,
    ) -> ChoiceOutcome[bool]:
        """Ask the person yes or no, from a tool's thread; ``.choice`` is a bool. Arguments as in `get_choice`."""
        request = confirm_request(
            self._agent(),
            prompt,
            message=message,
            title=title,
            subtitle=subtitle,
            default=default,
            skip_auto_confirm=skip_auto_confirm,
        )
        return self.ask(request)

    async def aget_confirm(self, prompt: str, **options: Any) -> ChoiceOutcome[bool]:
        """The same as `get_confirm`, from async code."""
        return await _aask(self._agent(), confirm_request(self._agent(), prompt, **options))

    def ask(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        """Ask a prepared question, from a tool's thread."""
        return _wait_for(self._agent(), _aask(self._agent(), request))

    async def aask(self, request: ChoiceRequest) -> ChoiceOutcome[Any]:
        """Ask a prepared question, from async code."""
        return await _aask(self._agent(), request)

    def wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run *coroutine* from a tool's thread, in the run's event loop where there is one."""
        return _wait_for(self._agent(), coroutine)
