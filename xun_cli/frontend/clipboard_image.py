"""Read an image from the clipboard, by the desktop's own program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING

from xun_cli.frontend.programs import own_program

if TYPE_CHECKING:
    from xun.messages import Image

_LIMIT = 10 * 1024 * 1024
_SECONDS = 5.0
_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
_LISTING = {"wl-paste": ["--list-types"], "xclip": ["-selection", "clipboard", "-t", "TARGETS", "-o"]}
_READING = {"wl-paste": ["--no-newline", "--type"], "xclip": ["-selection", "clipboard", "-o", "-t"]}
_PROGRAMS = (("WAYLAND_DISPLAY", "wl-paste"), ("DISPLAY", "xclip"))


def clipboard_image(environ: Mapping[str, str] | None = None) -> Image:
    """Return the image that the clipboard holds, no larger than models need it; blocks for some seconds at most.

    Raises:
        ImageError: There is none, or no program that could tell; the text says which.
    """
    from xun_cli.attachments import ImageError, image_from

    env = os.environ if environ is None else environ
    found = [(name, own_program(name, env)) for variable, name in _PROGRAMS if env.get(variable)]
    programs = [(name, path) for name, path in found if path]
    if not programs:
        why = "there is no graphical session here" if not found else f"{found[0][0]} is not installed"
        raise ImageError(f"The clipboard can't be read for an image: {why}. Give its path: /image FILE.")
    for name, path in programs:
        offered = _output([path, *_LISTING[name]], env).decode("utf-8", "replace").split()
        wanted = next((kind for kind in _TYPES if kind in offered), None)
        if wanted is None:
            continue
        data = _output([path, *_READING[name], wanted], env)
        if len(data) > _LIMIT:
            raise ImageError(f"The image of the clipboard is larger than {_LIMIT // (1 << 20)} MiB; make it smaller.")
        return image_from(data, "The image of the clipboard")
    raise ImageError("The clipboard holds no image.")


def _output(command: list[str], env: Mapping[str, str]) -> bytes:
    """Return what *command* prints, a little more than the limit at most; b"" when it fails or takes too long."""
    try:
        with subprocess.Popen(
            command, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            data = _read(process)
    except OSError:
        return b""
    return data


def _read(process: subprocess.Popen[bytes]) -> bytes:
    import threading

    timer = threading.Timer(_SECONDS, process.kill)
    timer.start()
    try:
        assert process.stdout is not None
        data = process.stdout.read(_LIMIT + 1)
        process.kill()
        return data
    finally:
        timer.cancel()
