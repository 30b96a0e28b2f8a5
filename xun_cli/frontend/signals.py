"""Signals that a front end handles while it runs."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager


@contextmanager
def handled(handlers: Mapping[str, Callable[[], None]]) -> Iterator[None]:
    """Call the handler of a signal, by its name, in the event loop within the block; nothing on Windows."""
    loop = asyncio.get_running_loop()
    numbers = {} if sys.platform == "win32" else {getattr(signal, name): call for name, call in handlers.items()}
    for number, call in numbers.items():
        loop.add_signal_handler(number, call)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
