"""``python -m xun_cli``; use ``python -I -m xun_cli`` in a folder that you don't trust."""

from __future__ import annotations

import sys

from xun_cli._entry import main

if __name__ == "__main__":
    sys.exit(main())
