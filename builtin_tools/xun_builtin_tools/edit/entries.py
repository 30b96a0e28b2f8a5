"""One call in the undo journal, and its form on disk."""

from __future__ import annotations

import time
from base64 import b64decode, b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from xun_builtin_tools.edit.changes import Change, Facts, Operation, Rename, State, with_facts
from xun_policies.workspace import ResolvedPath, Workspace


@dataclass(frozen=True, slots=True)
class StoredOp:
    """An operation by path names; the states carry no bytes, which are kept by their hash.

    Attributes:
        kind: change or rename.
        path: What changed, or where a rename began; absolute.
        before: The state before, or the state of what was renamed.
        after: The state after, or what was at the target of a rename.
        target: Where a rename ended, or "".
        temporary: Which of its ends are in the temporary folder, which ends with the process: "", "some" or "all".
    """

    kind: str
    path: str
    before: State
    after: State
    target: str = ""
    temporary: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it touches."""
        return (self.path, self.target) if self.target else (self.path,)


@dataclass(frozen=True, slots=True)
class Entry:
    """What one call of a tool wrote.

    Attributes:
        number: Counts up over the life of the journal.
        run: Counts the times that the journal was opened; turns are numbered within it.
        turn: The turn, 0 outside a run.
        tool: The tool's name.
        ops: The operations, in order.
        folders: Folders that were made on the way, outermost first.
        token: The name of the commit, which its temporary files carry.
        when: Seconds since 1970.
        partial: Some old content was too large to keep, so the call can't be undone.
    """

    number: int
    run: int
    turn: int
    tool: str
    ops: tuple[StoredOp, ...]
    folders: tuple[str, ...] = ()
    token: str = ""
    when: float = field(default_factory=time.time)
    partial: bool = False

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that it touched, each once."""
        return tuple(dict.fromkeys(path for op in self.ops for path in op.paths))

    def digests(self) -> Iterator[str]:
        """Yield the hashes of the contents that undo and redo need."""
        for op in self.ops:
            for state in (op.before, op.after):
                if state.digest:
                    yield state.digest

    def with_folders(self, folders: tuple[str, ...]) -> Entry:
        """Return the entry with the folders that its commit made."""
        return replace(self, folders=folders)

    def without_temporary(self) -> Entry:
        """Return the entry as a later process can use it: what was in the temporary folder is gone."""
        lasting = tuple(op for op in self.ops if op.temporary != "all")
        partial = self.partial or any(op.temporary for op in lasting)
        return replace(self, ops=lasting, partial=partial)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "number": self.number,
            "run": self.run,
            "turn": self.turn,
            "tool": self.tool,
            "ops": [_op_to_json(op) for op in self.ops],
            "folders": list(self.folders),
            "token": self.token,
            "when": self.when,
            "partial": self.partial,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Entry:
        """Read what `to_json` wrote; unknown keys are left out.

        Raises:
            KeyError, TypeError, ValueError: It is something else.
        """
        return cls(
            number=int(values["number"]),
            run=int(values["run"]),
            turn=int(values["turn"]),
            tool=str(values["tool"]),
            ops=tuple(_op_from_json(op) for op in values["ops"]),
            folders=tuple(map(str, values.get("folders", ()))),
            token=str(values.get("token", "")),
            when=float(values.get("when", 0)),
            partial=bool(values.get("partial", False)),
        )


def going(workspace: Workspace, op: Operation) -> Operation:
    """Return *op* with what goes away by it as it is on the disk: its owner and attributes too."""
    if isinstance(op, Rename):
        return replace(op, replaced=with_facts(workspace, op.target, op.replaced))
    return replace(op, before=with_facts(workspace, op.path, op.before)) if op.after.kind == "absent" else op


def stored(op: Operation) -> StoredOp:
    """Return *op* by names and without bytes."""
    if isinstance(op, Rename):
        return StoredOp(
            "rename",
            str(op.source.path),
            op.state.with_data(None),
            op.replaced.with_data(None),
            str(op.target.path),
            _temporary(op.source, op.target),
        )
    before, after = op.before.with_data(None), op.after.with_data(None)
    return StoredOp("change", str(op.path.path), before, after, temporary=_temporary(op.path))


def _temporary(*paths: ResolvedPath) -> str:
    inside = [path.in_tempdir and not path.in_workdir for path in paths]
    return "all" if all(inside) else "some" if any(inside) else ""


def located(workspace: Workspace, path: str) -> ResolvedPath:
    """Return the path of a journal entry in *workspace*; the entry's own last part is never followed.

    Raises:
        PathOutsideWorkspace: It is not in the workspace any more.
    """
    return workspace.resolve(path, follow=False)


def change(workspace: Workspace, path: str, before: State, after: State) -> Change:
    """Return a change of a journal path."""
    return Change(located(workspace, path), before, after)


def _op_to_json(op: StoredOp) -> dict[str, Any]:
    return {
        "kind": op.kind,
        "path": op.path,
        "before": _state_to_json(op.before),
        "after": _state_to_json(op.after),
        "target": op.target,
        "temporary": op.temporary,
    }


def _op_from_json(values: dict[str, Any]) -> StoredOp:
    return StoredOp(
        str(values["kind"]),
        str(values["path"]),
        _state_from_json(values["before"]),
        _state_from_json(values["after"]),
        str(values.get("target", "")),
        str(values.get("temporary", "")),
    )


def _state_to_json(state: State) -> list[Any]:
    values: list[Any] = [state.kind, state.mode, state.digest]
    if state.facts is not None:
        attributes = {name: b64encode(value).decode() for name, value in state.facts.attributes}
        values += [list(state.facts.owner), attributes]
    return values


def _state_from_json(values: list[Any]) -> State:
    kind, mode, digest, *more = values
    if kind not in ("absent", "file", "link", "dir"):
        raise ValueError(f"no state named {kind!r}")
    facts = None
    if more:
        (user, group), attributes = more
        named = tuple((str(name), b64decode(value, validate=True)) for name, value in dict(attributes).items())
        facts = Facts((int(user), int(group)), named)
    return State(kind, None, int(mode), str(digest), facts)
