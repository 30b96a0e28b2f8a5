"""Make docs/session.svg: a real session of the offline demo on a tmux pane, at the moment a write waits.

python scripts/picture.py            needs tmux; run it from the checkout after `make run`
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
SOCKET = f"xun-picture-{os.getpid()}"
WIDTH, HEIGHT = 92, 30
SHOP = '''"""Prices of the shop."""

TAX = 0.19


def gross(net):
    return net * (1 + TAX)


def tax_of(net):
    return net * TAX
'''


def tmux(*arguments: str) -> str:
    """Run one tmux command on our own server."""
    done = subprocess.run(["tmux", "-L", SOCKET, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def say(text: str, wait_for: str) -> None:
    """Type a line and wait until the screen holds *wait_for*."""
    tmux("send-keys", "-l", text)
    tmux("send-keys", "Enter")
    deadline = time.monotonic() + 20
    while wait_for not in tmux("capture-pane", "-p"):
        if time.monotonic() > deadline:
            raise SystemExit(f"{wait_for!r} never came:\n{tmux('capture-pane', '-p')}")
        time.sleep(0.1)
    time.sleep(0.5)


def main() -> None:
    """Play the session and write the picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        shop = Path(folder) / "shop"
        shop.mkdir()
        (shop / "prices.py").write_text(SHOP, encoding="utf-8")
        command = f"env -u OPENAI_API_KEY HOME={folder} XUN_HOME={folder}/xun LANG=C.UTF-8 {sys.executable} -m xun_cli"
        tmux("-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), "-c", str(shop), command)
        try:
            time.sleep(3)
            say("find TAX", "prices.py")
            say("replace TAX = 0.19 with TAX = 0.21 in prices.py", "Allow this time only")
            screen = tmux("capture-pane", "-p", "-e").rstrip("\n")
        finally:
            subprocess.run(["tmux", "-L", SOCKET, "kill-server"], capture_output=True, check=False)
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen.replace(folder, "~")))
    # The fonts of the template are links to a server; a picture in a README needs none.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", console.export_svg(title="xun"), flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")
    (ROOT / "docs" / "session.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
