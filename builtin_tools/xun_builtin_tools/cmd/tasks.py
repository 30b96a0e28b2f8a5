"""Commands in the background: each followed by a thread of its own, all ended with their agent."""

from __future__ import annotations

import contextvars
import math
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xun.environment.confinement import Confinement
from xun.errors import CommandError
from xun.events import TaskCompleted, TaskStarted
from xun.tools.suspend import CALL
from xun_builtin_tools.cmd.process import DRAIN, GRACE, Outcome, Watch
from xun_builtin_tools.per_agent import PerAgent

if TYPE_CHECKING:
    from xun.agent.agent import Agent
    from xun.environment.base import Process
    from xun_builtin_tools.cmd.logs import LogSink, TaskLog

MAX_RUNNING = 16
"""Tasks of one agent that run at the same time."""
_PATIENCE = GRACE + DRAIN + 8.0


class Task:
    """One command in the background.

    Args:
        agent: The agent that it belongs to.
        command: Its text.
        process: It.
        watch: What reads it; *log* is behind it.
        log: Its output.

    Attributes:
        confinement: What holds it in.
        outcome: How it ended; None while it runs.
        over: Set once it has ended.
    """

    def __init__(self, agent: Agent[Any], command: str, process: Process, watch: Watch, log: TaskLog) -> None:
        self.id, self.command, self.log = log.id, command, log
        self.confinement = Confinement()
        self.outcome: Outcome | None = None
        self.over = threading.Event()
        self._agent, self._process, self._watch = agent, process, watch
        self._stop = threading.Event()
        self._started = time.monotonic()
        self._ended: float | None = None
        # With the context of the call its end is told where the start was: in the event loop of the front end.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._follow,), name=f"xun-{self.id}", daemon=True)

    def start(self) -> None:
        """Say that it is there, and follow it."""
        self._agent.record(TaskStarted(agent=self._agent.name, id=self.id, command=self.command))
        self._thread.start()

    def _follow(self) -> None:
        CALL.set(None)
        try:
            self.outcome = self._watch.run(math.inf, self._stop.is_set)
        finally:
            self.log.close()
            self._ended = time.monotonic()
            self.over.set()
            self._agent.record(
                TaskCompleted(agent=self._agent.name, id=self.id, command=self.command, exit=self.exit_code)
            )

    @property
    def status(self) -> str:
        """running, done, killed; lost when it could not be followed to its end."""
        if not self.over.is_set():
            return "running"
        if self.outcome is None:
            return "lost"
        return "killed" if self.outcome.cancelled else "done"

    @property
    def exit_code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return None if self.outcome is None else self.outcome.returncode

    @property
    def seconds(self) -> float:
        """How long it ran, or has run."""
        return (self._ended or time.monotonic()) - self._started

    def ask_to_stop(self) -> None:
        """Begin to end it and all that it started."""
        self._stop.set()

    def stop(self) -> None:
        """End it and all that it started; also what it left running when it ended by itself."""
        if self.over.is_set():
            if self._process.left_running():
                self._process.kill(GRACE)
            return
        self.ask_to_stop()
        self.join()

    def join(self) -> None:
        """Wait for the end that was asked for."""
        if threading.current_thread() is not self._thread:
            self._thread.join(_PATIENCE)


class Tasks(PerAgent):
    """The commands that one agent has in the background."""

    key = "__background_commands"

    def __init__(self, agent: Agent[Any]) -> None:
        super().__init__(agent)
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Lock()

    @classmethod
    def among(cls, agent: Agent[Any]) -> list[Task]:
        """Return the tasks of *agent* without making anything."""
        found = agent.state.get(cls.key)
        return found.all() if isinstance(found, Tasks) else []

    def all(self) -> list[Task]:
        """Return all tasks, in the order of their start."""
        with self._lock:
            return list(self._tasks.values())

    def find(self, name: str) -> Task:
        """Return one task.

        Raises:
            CommandError: There is none of this id.
        """
        task = self._tasks.get(name)
        if task is None:
            known = ", ".join(self._tasks) or "none"
            raise CommandError(f"There is no background command {name!r}; known are: {known}.", kind="spawn")
        return task

    def check_room(self) -> None:
        """Return when another one may be started.

        Raises:
            CommandError: Too many run.
        """
        if sum(task.status == "running" for task in self.all()) >= MAX_RUNNING:
            raise CommandError(
                f"{MAX_RUNNING} commands run in the background already, the most there may be; "
                "end one with bash_kill or wait for one with bash_wait.",
                kind="spawn",
            )

    def take(self, command: str, process: Process, watch: Watch, log: TaskLog, sinks: tuple[LogSink, LogSink]) -> Task:
        """Follow a started command from now on, and return it as a task."""
        watch.stop_showing()
        for sink in sinks:
            sink.detach()
        task = Task(self.agent, command, process, watch, log)
        with self._lock:
            self._tasks[task.id] = task
        task.start()
        return task

    def end(self) -> None:
        """End all of them, side by side."""
        tasks = self.all()
        for task in tasks:
            task.ask_to_stop()
        for task in tasks:
            task.join()
            task.stop()


def new_log(agent: Agent[Any]) -> TaskLog:
    """Return the log for another task of *agent*, in its temporary folder."""
    from xun_builtin_tools.cmd.logs import TaskLog

    return TaskLog(Path(agent.workspace.tempdir.path))
