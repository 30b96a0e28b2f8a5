"""What GitPython tells of a repository: whether it is one, and where HEAD is.

It is asked only where its files were looked at before. Measured with 3.2.1: a FIFO as ``HEAD``, ``config``,
``commondir`` or as an included file lets ``Repo()`` wait for ever, an included ``/dev/zero`` takes all memory,
variables such as ``GIT_WORK_TREE`` are obeyed, and the import runs ``git version`` twice, by PATH (ADR 4).
"""

from __future__ import annotations

import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

_LIMIT = 64_000
"""Bytes of the largest file that GitPython is let read."""

_REDIRECTING = ("GIT_DIR", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_WORK_TREE")
_NO_GIT = f"{os.path.dirname(__file__)}/no-git"
_NO_PROGRAM = {"GIT_PYTHON_GIT_EXECUTABLE": _NO_GIT, "GIT_PYTHON_REFRESH": "quiet"}


@dataclass(frozen=True, slots=True)
class Head:
    """Where HEAD is: on a branch, which need not have a commit yet, or at a commit."""

    branch: str = ""
    commit: str = ""


def head_of(root: Path, git_dir: Path, common_dir: Path) -> Head | None:
    """Return where HEAD is of the repository with the work tree *root*, or None when GitPython should not be asked or
    has no answer. It starts no process. The first call loads GitPython, which takes a tenth of a second.
    """
    if any(name in os.environ for name in _REDIRECTING) or not _harmless(root, git_dir, common_dir):
        return None
    git = _load()
    if git is None:
        return None
    from configparser import Error

    try:
        repo = git.Repo(str(root), search_parent_directories=False, expand_vars=False)
        if not _is(repo.working_tree_dir, root) or not _is(repo.git_dir, git_dir):
            return None
        if not repo.head.is_detached:
            return Head(branch=repo.active_branch.name)
        return Head(commit=git.SymbolicReference.dereference_recursive(repo, "HEAD"))
    except (git.exc.GitError, OSError, ValueError, TypeError, AssertionError, RecursionError, Error):
        return None


def _is(path: str | os.PathLike[str] | None, expected: Path) -> bool:
    return path is not None and os.path.realpath(path) == os.path.realpath(expected)


def _harmless(root: Path, git_dir: Path, common_dir: Path) -> bool:
    """Whether all that GitPython will read is small, is there at once, and leads nowhere else."""
    entry = root / ".git"
    if not entry.is_dir() and _read(entry) is None:
        return False
    if any(_read(git_dir / name) is None and os.path.lexists(git_dir / name) for name in ("commondir", "gitdir")):
        return False
    config, head = _read(common_dir / "config"), _read(git_dir / "HEAD")
    if config is None or b"include" in config.lower():
        return False
    # What git itself would not take for a reference is not told by halves.
    return head is not None and re.fullmatch(rb"(ref: refs/[!-~\x80-\xff]+|[0-9a-f]+)\s*", head) is not None


def _read(path: Path) -> bytes | None:
    """Return a small regular file's bytes, else None."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(handle)
        return os.read(handle, _LIMIT) if stat.S_ISREG(found.st_mode) and found.st_size < _LIMIT else None
    except OSError:
        return None
    finally:
        os.close(handle)


def _load() -> ModuleType | None:
    """Import GitPython without a git program: what it can't start, no repository can make it start."""
    if "git" not in sys.modules:
        before = {name: os.environ.get(name) for name in _NO_PROGRAM}
        os.environ.update(_NO_PROGRAM)
        try:
            import git
        except ImportError:
            return None
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        # Not finding the program, it has gone back to looking for one along PATH.
        git.Git.GIT_PYTHON_GIT_EXECUTABLE = _NO_GIT
        import logging

        # Without a handler its remarks would be written to the terminal.
        logging.getLogger("git").addHandler(logging.NullHandler())
    return sys.modules["git"]
