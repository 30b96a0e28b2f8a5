"""``--last FILE``: a file that gets the answer's text."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from xun_cli.usage import UsageError
from xun_policies.paths.held import HeldFolder
from xun_policies.workspace import current_umask


class LastFile:
    """The file, found before anything runs: a command of the run may put a link in its place, and is not followed.

    Args:
        path: As it was typed; a link that is there now is followed, and what is no file is written to as it is.

    Raises:
        UsageError: It can't be written there.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._special: tuple[int, int, int] | None = None
        try:
            real = Path(os.path.realpath(path))
            try:
                found = os.stat(path)
            except FileNotFoundError:
                found = None
            if found is not None and not stat.S_ISREG(found.st_mode):
                if stat.S_ISDIR(found.st_mode):
                    raise IsADirectoryError(21, "it is a folder")
                self._special = _which(found)
                return
            self._mode = 0o666 & ~current_umask() if found is None else stat.S_IMODE(found.st_mode)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            self._folder, self._name = HeldFolder(os.open(real.parent, flags), str(real.parent)), real.name
        except (OSError, ValueError) as error:
            raise UsageError(f"--last {path}: can't be written: {getattr(error, 'strerror', None) or error}") from None

    def write(self, text: str) -> None:
        """Make *text* all that the file holds.

        Raises:
            OSError: It can't be written, or is another one by now.
        """
        data = text.encode("utf-8", "replace")
        if self._special is None:
            made = self._folder.write_temp(data, self._mode)
            try:
                self._folder.replace(made, self._name)
            except BaseException:
                self._folder.unlink(made)
                raise
            return
        with open(self._path, "wb", opener=self._same) as stream:
            stream.write(data)

    def _same(self, path: str, flags: int) -> int:
        fd = os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC) | os.O_NOCTTY | os.O_CLOEXEC)
        if _which(os.fstat(fd)) != self._special:
            os.close(fd)
            raise FileNotFoundError(2, "it is another one than at the start")
        return fd

    def close(self) -> None:
        """Let go of it."""
        if self._special is None:
            self._folder.close()


def _which(found: os.stat_result) -> tuple[int, int, int]:
    # The kind too: a number is given anew once its file is gone.
    return found.st_dev, found.st_ino, stat.S_IFMT(found.st_mode)
