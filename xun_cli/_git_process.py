"""Runs the git program: a fixed environment, no stdin, a time limit and an output limit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from xun_policies.paths import programs

_FLAGS = (
    "--no-pager",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "safe.bareRepository=explicit",
    "-c",
    "protocol.allow=never",
)
_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin")


class GitFailed(Exception):
    """Git gave no answer; the text says why in a few words."""


def find_program(name: str, avoid: Path) -> str | None:
    """Return the absolute path of a program.

    Never one in a folder that PATH names relatively, nor one in *avoid* or in a repository around it.
    """
    path = os.pathsep.join([os.environ.get("PATH", ""), *_FOLDERS])
    return programs.find_program(name, [_outermost(avoid)], path)


def run_git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    git_dir: Path,
    work_tree: Path,
    timeout: float,
    limit: int,
    own_config: bool = False,
) -> tuple[bytes, bool]:
    """Run git and return what it printed, and whether that was cut at *limit* bytes.

    Args:
        arguments: Subcommand and its arguments.
        cwd: Where it runs.
        git_dir: The repository, named outright, so that git looks for none.
        work_tree: The root of the work tree.
        timeout: Seconds after which it is killed.
        limit: Bytes of output after which it is killed.
        own_config: Read the user's and the system's configuration too; only for subcommands that run nothing.

    Raises:
        GitFailed: No git, a failure, or no answer in time.
    """
    program = find_program("git", work_tree)
    if program is None:
        raise GitFailed("git is not installed")
    environment = _environment(git_dir, work_tree, own_config)
    with _errors_file() as errors:
        try:
            child = subprocess.Popen(
                [program, *_FLAGS, *arguments],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        except OSError as exc:
            raise GitFailed(f"git could not be started: {exc.strerror}") from exc
        with child:
            try:
                output, cut = _collect(child, time.monotonic() + timeout, timeout, limit)
            finally:
                _end(child)
        if child.returncode and not cut:
            raise GitFailed(_first_line(errors) or f"git ended with {child.returncode}")
    return output, cut


def _outermost(folder: Path) -> str:
    real = Path(os.path.realpath(folder))
    around = [parent for parent in real.parents if parent.parent != parent and os.path.lexists(parent / ".git")]
    return str(around[-1] if around else real)


def _environment(git_dir: Path, work_tree: Path, own_config: bool) -> dict[str, str]:
    values = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME", "TMPDIR") if name in os.environ}
    values |= {
        "PATH": os.pathsep.join(_FOLDERS),
        "LC_ALL": "C.UTF-8",
        "GIT_DIR": str(git_dir),
        "GIT_WORK_TREE": str(work_tree),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_EDITOR": "true",
        "GIT_ASKPASS": "true",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": str(work_tree.parent),
    }
    if not own_config:
        values |= {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    return values


def _errors_file() -> IO[bytes]:
    import tempfile

    return tempfile.TemporaryFile()


def _collect(child: subprocess.Popen[bytes], end: float, timeout: float, limit: int) -> tuple[bytes, bool]:
    import selectors

    pieces: list[bytes] = []
    size = 0
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        while True:
            left = end - time.monotonic()
            if left <= 0 or not selector.select(left):
                raise GitFailed(f"git gave no answer within {timeout:g} s")
            piece = os.read(child.stdout.fileno(), 1 << 16)
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
            if size > limit:
                return b"".join(pieces)[:limit], True
    with suppress(subprocess.TimeoutExpired):
        child.wait(max(0.1, end - time.monotonic()))
    return b"".join(pieces), False


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _first_line(errors: IO[bytes]) -> str:
    errors.seek(0)
    text = errors.read(4096).decode("utf-8", "replace").strip()
    line = text.splitlines()[0] if text else ""
    return line.removeprefix("fatal: ").removeprefix("error: ")
