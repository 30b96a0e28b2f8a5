"""What becomes of each request of a page, before it is made."""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from xun.errors import ToolError
from xun_builtin_tools.browser.reach import Reach, place_of
from xun_builtin_tools.web.target import parse
from xun_policies.errors import PathOutsideWorkspace

if TYPE_CHECKING:
    from playwright.async_api import Request, Route

    from xun_policies.workspace import ResolvedPath, Workspace

MAX_FILE = 50_000_000
"""Bytes of a local file that a page shows."""

_FRAGMENT = "%/:=&?~#+!$,;'@()*[]-._|"


class Guard:
    """Answers the requests of the pages of one browser: local files from the workspace, others through the proxy."""

    def __init__(self, reach: Reach, workspace: Workspace) -> None:
        self._reach = reach
        self._workspace = workspace

    async def handle(self, route: Route) -> None:
        """Let a request go on, answer it, or end it."""
        from playwright.async_api import Error

        request = route.request
        try:
            try:
                await self._answer(route, request)
            except (ToolError, PathOutsideWorkspace, OSError, ValueError) as exc:
                self._reach.refuse(request.url, str(exc))
                # A page that was to be left stays as it is.
                await route.abort("aborted" if _moves_page(request) else "blockedbyclient")
        except Error:
            # The page went away in the meantime, and the request with it.
            return

    async def _answer(self, route: Route, request: Request) -> None:
        scheme = request.url.partition(":")[0].lower()
        if scheme in ("data", "blob", "about"):
            await route.continue_()
        elif scheme == "file":
            await self._show_file(route, request)
        elif scheme in ("http", "https"):
            await self._admit(request)
            await route.continue_()
        else:
            raise ToolError(f"{request.url[:200]!r} is not opened: only http, https, and files of the workspace are.")

    async def _admit(self, request: Request) -> None:
        target = place_of(request.url)
        if _moves_page(request) and not self._reach.may_open(target):
            raise ToolError(
                f"The page wants to go to {request.url[:200]}, a host that was not asked about: "
                "browser_page(action='navigate', url=...) asks."
            )
        await self._reach.admit(target)

    async def _show_file(self, route: Route, request: Request) -> None:
        if request.method != "GET":
            raise ToolError(f"A local file can only be read, not {request.method}.")
        resolved = local_file(self._workspace, request.url)
        # Not Chromium reads the file but the workspace, whose check no exchanged link gets around.
        data = self._workspace.read_bytes(resolved, MAX_FILE)
        kind = mimetypes.guess_type(resolved.path.name)[0] or "text/plain"
        charset = "; charset=utf-8" if kind.startswith("text/") else ""
        await route.fulfill(status=200, body=data, content_type=kind + charset)


def local_file(workspace: Workspace, url: str) -> ResolvedPath:
    """Return the file of the workspace that a ``file:`` URL names.

    Raises:
        ToolError: It names another machine.
        PathOutsideWorkspace: It is outside.
    """
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise ToolError(f"{url[:200]!r} names the machine {parts.netloc}; a local file is file:///absolute/path.")
    return workspace.resolve(unquote(parts.path))


def check_url(url: str) -> str:
    """Return the URL that a page may be asked to open: http, https or file.

    Raises:
        ToolError: It is none of these.
    """
    if url[:5].lower() == "file:":
        return url
    address, mark, fragment = url.partition("#")
    # The fragment goes nowhere, but it is the page within the page of many sites.
    return parse(address).url + mark + quote(fragment, safe=_FRAGMENT)


def _moves_page(request: Request) -> bool:
    from playwright.async_api import Error

    if not request.is_navigation_request():
        return False
    try:
        return request.frame.parent_frame is None
    except Error:
        # Before its first answer a new page has no frame yet.
        return True
