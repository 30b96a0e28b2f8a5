"""Lets a person change a text in their editor: a private file, $VISUAL or $EDITOR, and what came back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from xun_cli.frontend.programs import own_program
from xun_policies.errors import XunError

LIMIT = 5_000_000
"""Bytes of a text that is read back."""

_FALLBACKS = ("editor", "nano", "vim", "vi")


class EditorError(XunError):
    """The text could not be edited; nothing was lost. The text says why and what to do."""

    kind = "editor"


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the editor with its own arguments: $VISUAL, $EDITOR, or one that is there.

    Raises:
        EditorError: None is named and none is found, or the name is no command.
    """
    for variable in ("VISUAL", "EDITOR"):
        wanted = environ.get(variable, "").strip()
        if not wanted:
            continue
        try:
            words = shlex.split(wanted)
        except ValueError:
            raise EditorError(f"${variable} holds an open quote ({wanted}): set it to a command.") from None
        found = own_program(words[0], environ) if words else None
        if found is None:
            raise EditorError(
                f"${variable} names {words[0] if words else wanted!r}, which is not there; one in the project is "
                "started by its absolute path only."
            )
        return [found, *words[1:]]
    for name in _FALLBACKS:
        if found := own_program(name, environ):
            return [found]
    raise EditorError("There is no editor: set $VISUAL or $EDITOR, such as EDITOR=nano.")


async def edited_text(text: str, name: str, environ: Mapping[str, str]) -> str:
    """Return what the person made of *text*; the terminal must be theirs meanwhile.

    Args:
        text: What the editor begins with; its line ends are kept as they are.
        name: The name of the file, for its ending.
        environ: Where the editor is named, and its environment.

    Raises:
        EditorError: There is no editor, it failed, or it left nothing, or no text.
    """
    command = editor_command(environ)
    editor = os.path.basename(command[0])
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, "", "xun-edit-"))
    path = folder / (Path(name).name or "text")
    try:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        path.chmod(0o600)
        code = await _run([*command, str(path)], folder, environ)
        if code:
            how = f"ended with exit code {code}" if code > 0 else f"was stopped by signal {-code}"
            raise EditorError(f"{editor} {how}: nothing was taken.")
        return _read(path, editor, text)
    except OSError as error:
        raise EditorError(f"{editor} could not be started ({error.strerror or error}): nothing was taken.") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _run(command: list[str], folder: Path, environ: Mapping[str, str]) -> int:
    """Run the editor on this terminal; a cancelled wait ends it.

    It works in the private folder: in the project's it might read settings of that project, which nobody has trusted.
    """
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, env=dict(environ))
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        raise


def _read(path: Path, editor: str, before: str) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise EditorError(f"{editor} left no file: nothing was taken.") from None
    if len(data) > LIMIT:
        raise EditorError(f"The edited text has more than {LIMIT:,} bytes: nothing was taken.")
    if not data.strip() and before.strip():
        raise EditorError(f"{editor} left an empty text: nothing was taken.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise EditorError("The edited text is not UTF-8: nothing was taken.") from None


def environment() -> dict[str, str]:
    """Return the environment of this process for an editor."""
    return dict(os.environ)
