"""Which Chromium runs, and how it is started."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from xun.errors import ToolError
from xun_policies.paths.programs import find_program, leads_into

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Programs that are looked for in PATH, in this order."""

INSTALL = "pip install 'playwright>=1.50,<2' pillow"
"""What installs the driver of the browser."""

ARGUMENTS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    # What does not go through the proxy does not go out: WebRTC would use UDP.
    "--force-webrtc-ip-handling-policy",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
)

_APPLICATION = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"


def find(environment: Mapping[str, str], roots: Sequence[str], bundled: str = "") -> str:
    """Return the absolute path of a Chromium: ``CHROME`` of *environment*, one in its PATH, or *bundled*.

    A program below one of *roots* is never taken: a project must not bring the browser that is run.

    Raises:
        ToolError: There is none.
    """
    named = environment.get("CHROME", "")
    if named and os.path.isabs(named) and _runs(named, roots):
        return named
    for name in NAMES:
        found = find_program(name, roots, environment.get("PATH", ""))
        if found is not None:
            return found
    for path in (_APPLICATION, bundled):
        if path and _runs(path, roots):
            return path
    raise ToolError(
        "No Chromium was found: install the chromium package of the system, or set CHROME to the absolute path of one "
        "outside the workspace."
    )


def _runs(path: str, roots: Sequence[str]) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK) and not leads_into(path, roots)


def wants_sandbox() -> bool:
    """Tell whether Chromium's own sandbox is used: always, but for root, as whom Chromium refuses to start with it."""
    return not hasattr(os, "geteuid") or os.geteuid() != 0
