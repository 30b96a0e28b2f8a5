"""The log file: warnings and errors of xun itself. Nothing of it ever reaches the terminal."""

from __future__ import annotations

import io
import logging
import os
from logging.handlers import RotatingFileHandler

from xun_cli.places import NOFOLLOW, Places, make_dir

MAX_BYTES = 1_000_000
"""Beyond this the log begins anew; one older file is kept."""


class PrivateFileHandler(RotatingFileHandler):
    """A log file that only its owner can read, made at the first record."""

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NOFOLLOW
        return os.fdopen(os.open(self.baseFilename, flags, 0o600), "a", encoding="utf-8")

    def handleError(self, record: logging.LogRecord) -> None:
        """Lose the record: a full disk must not write a traceback over the prompt."""


def configure_log(places: Places, *, debug: bool) -> None:
    """Send the records of the ``xun`` loggers to the log file, and nowhere else.

    Warnings of the libraries go there as well, also those of `warnings`: Python writes them over what is on the screen.
    """
    logging.captureWarnings(True)
    logger, others = logging.getLogger("xun"), logging.getLogger()
    for handler in list(logger.handlers):
        logger.removeHandler(handler)
        others.removeHandler(handler)
        handler.close()
    logger.propagate = False
    logger.setLevel(logging.DEBUG if debug else logging.WARNING)
    try:
        make_dir(places.state)
    except OSError:
        _attach(logging.NullHandler(), logger, others)
        return
    handler = PrivateFileHandler(places.log_file, maxBytes=MAX_BYTES, backupCount=1, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    _attach(handler, logger, others)


def _attach(handler: logging.Handler, *loggers: logging.Logger) -> None:
    for logger in loggers:
        logger.addHandler(handler)
