"""PolicyState: the lists, the mode and the log of one agent, kept under ``state["__builtin_tool_policy"]``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from xun_policies.errors import PolicyError

TYPE_CHECKING = False  # as typing.TYPE_CHECKING, without the cost of importing typing
if TYPE_CHECKING:
    from typing import Any

    from xun_policies.grants import CommandAllowlist, CommandEntry
    from xun_policies.hosts import HostAllowlist, HostEntry
    from xun_policies.writes import WriteAllowlist, WriteEntry

    Lists = tuple[tuple[CommandEntry, ...], tuple[WriteEntry, ...], tuple[str, ...], tuple[HostEntry, ...]]

STATE_KEY = "__builtin_tool_policy"
"""Where ``agent.state`` keeps the `PolicyState`."""

VERSION = 1
MODES = ("ask", "plan", "auto-edit")
LOG_SIZE = 500
UNDO_SIZE = 50
_LATER = ("agent", "cwd", "held", "digest")


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision, for the log and the audit trail.

    Attributes:
        when: ISO time.
        tool: The tool that was called.
        subject: The command, path or URL, exactly as it ran, was written or was fetched.
        decision: allow, ask or deny.
        source: Who decided: user, auto, auto_confirm, allowlist, risk, headless, mode, hook, none.
        rule: The id of the rule that spoke, "" for none.
        risk: The verdict of the risk assessment, "" when there was none.
        agent: The agent that asked.
        cwd: The folder that the command runs in, else the agent's folder.
        held: How a command that may run is held in: a wall such as bubblewrap, outside or none; "" when not told.
        digest: SHA-256 of what a file is to hold, in hex; "" when it is no write, or one that takes a file away.
    """

    when: str
    tool: str
    subject: str
    decision: str
    source: str
    rule: str = ""
    risk: str = ""
    agent: str = ""
    cwd: str = ""
    held: str = ""
    digest: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the record as JSON values; those that came later are left out where they are empty."""
        return {name: value for name, value in asdict(self).items() if value or name not in _LATER}

    @classmethod
    def from_json(cls, data: Any) -> DecisionRecord:
        """Build a record from its JSON form.

        Raises:
            PolicyError: A field is missing or no text.
        """
        names = ("when", "tool", "subject", "decision", "source", "rule", "risk", *_LATER)
        if not isinstance(data, dict) or not all(isinstance(data.get(name, ""), str) for name in names):
            raise PolicyError(f"A log record needs text fields: {data!r}.")
        return cls(**{name: data.get(name, "") for name in names})


class PolicyState:
    """What one agent is allowed to do unasked, and what was decided.

    Attributes:
        command_allowlist: Entries that a person made; the built-in list is read-only data beside it.
        write_allowlist: Paths that a person allowed to be written.
        host_allowlist: Hosts that a person allowed to be fetched from.
        excluded: Built-in prefixes, as text such as ``"git diff"``, that are off in this session.
        mode: ask, plan or auto-edit.
        auto_remaining: How many further ordinary questions are answered by the default.
        log: The last decisions, at most 500.
        cache: What evaluations remember (resolved folders, PATH look-ups, git configurations); never stored.
    """

    command_allowlist: CommandAllowlist
    write_allowlist: WriteAllowlist
    host_allowlist: HostAllowlist
    excluded: set[str]

    def __init__(self) -> None:
        self._set_lists((), (), (), ())
        self._mode = "ask"
        self.auto_remaining = 0
        self.log: deque[DecisionRecord] = deque(maxlen=LOG_SIZE)
        self.cache: dict[Any, Any] = {}
        self._undo: list[Lists] = []

    @property
    def mode(self) -> str:
        """ask, plan or auto-edit."""
        return self._mode

    @mode.setter
    def mode(self, value: str) -> None:
        if value not in MODES:
            raise PolicyError(f"There is no mode {value!r}; the modes are {', '.join(MODES)}.")
        self._mode = value

    def _lists(self) -> Lists:
        hosts = tuple(self.host_allowlist)
        return tuple(self.command_allowlist), tuple(self.write_allowlist), tuple(sorted(self.excluded)), hosts

    def snapshot(self) -> None:
        """Remember the lists as they are: call it before a change, so that `undo` can take the change back."""
        self._undo.append(self._lists())
        del self._undo[:-UNDO_SIZE]

    def undo(self) -> bool:
        """Bring back the lists before the last change; False when there is no change to take back."""
        current = self._lists()
        while self._undo:
            earlier = self._undo.pop()
            if earlier == current:
                continue
            self._set_lists(*earlier)
            return True
        return False

    def replace_lists(
        self,
        commands: Iterable[CommandEntry],
        writes: Iterable[WriteEntry],
        excluded: Iterable[str],
        hosts: Iterable[HostEntry] | None = None,
    ) -> None:
        """Set the lists at once, after a `snapshot` of the present ones; *hosts* None leaves the hosts as they are."""
        self.snapshot()
        kept = self.host_allowlist if hosts is None else hosts
        self._set_lists(tuple(commands), tuple(writes), tuple(excluded), tuple(kept))

    def _set_lists(
        self,
        commands: tuple[CommandEntry, ...],
        writes: tuple[WriteEntry, ...],
        excluded: tuple[str, ...],
        hosts: tuple[HostEntry, ...],
    ) -> None:
        from xun_policies.grants import CommandAllowlist
        from xun_policies.hosts import HostAllowlist
        from xun_policies.writes import WriteAllowlist

        self.command_allowlist = CommandAllowlist(commands)
        self.write_allowlist = WriteAllowlist(writes)
        self.host_allowlist = HostAllowlist(hosts)
        self.excluded = set(excluded)

    def record(self, record: DecisionRecord) -> None:
        """Add *record* to the log; the oldest goes when it is full."""
        self.log.append(record)

    def copy(self) -> PolicyState:
        """Return a state of its own with the same lists, mode and log, for a fork or a sub-agent."""
        return PolicyState.from_json(self.to_json())

    def to_json(self) -> dict[str, Any]:
        """Return the state as a versioned dict of JSON values."""
        return {
            "v": VERSION,
            "commands": [entry.to_json() for entry in self.command_allowlist],
            "writes": [entry.to_json() for entry in self.write_allowlist],
            "hosts": [entry.to_json() for entry in self.host_allowlist],
            "excluded": sorted(self.excluded),
            "mode": self.mode,
            "auto_remaining": self.auto_remaining,
            "log": [record.to_json() for record in self.log],
        }

    @classmethod
    def from_json(cls, data: Any) -> PolicyState:
        """Build a state from `to_json`'s dict; everything is checked before anything is taken.

        Raises:
            PolicyError: Not a dict, another version, or a bad entry, which the text names.
        """
        if not isinstance(data, dict):
            raise PolicyError(f"A stored policy must be a dict, not {type(data).__name__}.")
        if data.get("v") != VERSION:
            raise PolicyError(
                f"A stored policy of version {data.get('v')!r} can't be read; this xun reads version {VERSION}."
            )
        from xun_policies.grants import CommandEntry
        from xun_policies.hosts import HostEntry
        from xun_policies.writes import WriteEntry

        state = cls()
        commands = tuple(CommandEntry.from_json(item) for item in _list(data, "commands"))
        writes = tuple(WriteEntry.from_json(item) for item in _list(data, "writes"))
        hosts = tuple(HostEntry.from_json(item) for item in _list(data, "hosts"))
        excluded = _list(data, "excluded")
        if not all(isinstance(item, str) for item in excluded):
            raise PolicyError(f"The excluded prefixes must be texts: {excluded!r}.")
        remaining = data.get("auto_remaining", 0)
        if not isinstance(remaining, int) or isinstance(remaining, bool) or remaining < 0:
            raise PolicyError(f"auto_remaining must be a count: {remaining!r}.")
        log = [DecisionRecord.from_json(item) for item in _list(data, "log")]
        state._set_lists(commands, writes, tuple(excluded), hosts)
        state.mode = data.get("mode", "ask")
        state.auto_remaining = remaining
        state.log.extend(log)
        return state

    def to_toml(self, **options: Any) -> str:
        """Return the user-made entries and exclusions as TOML; see `xun_policies.policy_file.to_toml`."""
        from xun_policies.policy_file import to_toml

        return to_toml(self, **options)

    @staticmethod
    def parse_toml(text: str, base: str = "") -> Any:
        """Read exported TOML; see `xun_policies.policy_file.parse_toml`."""
        from xun_policies.policy_file import parse_toml

        return parse_toml(text, base)


def _list(data: dict[str, Any], name: str) -> list[Any]:
    value = data.get(name, [])
    if not isinstance(value, list):
        raise PolicyError(f"{name} in a stored policy must be a list, not {type(value).__name__}.")
    return value
