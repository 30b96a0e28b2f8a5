"""The terminal that xun was started on, for prompt_toolkit."""

from __future__ import annotations

import os
import sys

from prompt_toolkit.output.vt100 import Vt100_Output


def terminal_output() -> Vt100_Output:
    """Return the terminal as it is; the cursor's position is never asked for, no answer is waited for."""
    output = Vt100_Output.from_pty(sys.stdout, term=os.environ.get("TERM"))
    output.enable_cpr = False
    return output
